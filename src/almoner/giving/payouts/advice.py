"""What a nonprofit is told of a payout: each gift, who gave it unless anonymously, and the message; pure."""

from typing import Final

from almoner.giving.donations.domain import Donation
from almoner.kit.ids import Ids
from almoner.kit.money import Money, exponent
from almoner.kit.time import iso

TITLES: Final = ("donation", "given at", "donor", "message", "given", "paid out", "currency")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
"""How a cell begins that a spreadsheet would run."""


def cells(ids: Ids, donation: Donation) -> list[str]:
    """One gift, as its row under ``TITLES``; amounts are plain decimals."""
    donor = " ".join(name for name in (donation.first_name, donation.last_name) if name)
    net = donation.owed
    return [
        ids.text("donation", donation.id),
        iso(donation.created_at),
        "anonymous" if donation.anonymous else donor,
        donation.message or "",
        _plain(donation.money),
        _plain(net),
        net.currency,
    ]


def safe(cell: str) -> str:
    """The cell as text in every spreadsheet: what would be a formula begins with an apostrophe."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _plain(money: Money) -> str:
    digits = exponent(money.currency)
    whole, rest = divmod(money.minor, 10**digits)
    return f"{whole}.{rest:0{digits}}" if digits else str(whole)

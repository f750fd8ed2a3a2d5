"""What a nonprofit is told of a payout: each gift, who gave it unless anonymously, and the message; pure."""

from decimal import Decimal
from typing import Final

from almoner.giving.checkout.donations.domain import Donation
from almoner.giving.disbursing.disbursements.domain import deductions_of
from almoner.kit.ids import Ids
from almoner.kit.money import currency_exponent
from almoner.kit.time import iso_timestamp

COLUMN_TITLES: Final = ("donation", "given at", "donor", "message", "given", "fee", "sent back", "paid out", "currency")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
"""How a cell begins that a spreadsheet would run."""


def advice_row(ids: Ids, donation: Donation) -> list[str]:
    """One gift, as its row under ``TITLES``; amounts are plain decimals."""
    donor = " ".join(name for name in (donation.first_name, donation.last_name) if name)
    net, off = donation.owed, deductions_of(donation)
    return [
        ids.text("donation", donation.id),
        iso_timestamp(donation.created_at),
        "anonymous" if donation.anonymous else donor,
        donation.message or "",
        *(
            _plain(minor, net.currency)
            for minor in (donation.money.minor, off.fee_minor, off.refunded_minor, net.minor)
        ),
        net.currency,
    ]


def escape_formula(cell: str) -> str:
    """The cell as text in every spreadsheet: what would be a formula begins with an apostrophe."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _plain(minor: int, currency: str) -> str:
    return str(Decimal(minor).scaleb(-currency_exponent(currency)))

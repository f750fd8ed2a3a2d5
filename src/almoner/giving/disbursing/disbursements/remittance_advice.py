"""The content of a remittance advice: each donation, its donor unless anonymous, and the donor's message; pure."""

from decimal import Decimal
from typing import Final

from almoner.giving.checkout.donations.domain import Donation
from almoner.giving.disbursing.disbursements.domain import deductions_of
from almoner.kit.ids import RecordIdCodec
from almoner.kit.money import currency_exponent
from almoner.kit.time import iso_timestamp

COLUMN_TITLES: Final = (
    "donation",
    "given at",
    "donor",
    "message",
    "designation",
    "given",
    "fee",
    "sent back",
    "paid out",
    "currency",
)


def build_remittance_advice_row(ids: RecordIdCodec, donation: Donation) -> list[str]:
    """One donation as a CSV row."""
    donor = " ".join(name for name in (donation.first_name, donation.last_name) if name)
    net, off = donation.net_amount_for_nonprofit, deductions_of(donation)
    return [
        ids.encode("donation", donation.id),
        iso_timestamp(donation.created_at),
        "anonymous" if donation.anonymous else donor,
        donation.message or "",
        donation.designation or "",
        *(
            _plain(minor, net.currency)
            for minor in (donation.money.minor, off.fee_minor, off.refunded_minor, net.minor)
        ),
        net.currency,
    ]


def _plain(minor: int, currency: str) -> str:
    return str(Decimal(minor).scaleb(-currency_exponent(currency)))

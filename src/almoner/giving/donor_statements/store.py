"""SQL for statements: the donations of one donor."""

from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from almoner.giving.donor_statements.domain import DonationDateRange
from almoner.platform.database.transactions import Partner, Tx

_OF_DONOR: Final = (
    "d.partner_id = $1 and lower(d.email) = lower($2) and d.email is not null and d.payment_id is not null"
)

_DONATIONS_OF_DONOR: Final = f"""
select d.id, d.refunded_minor, d.organisation_id, d.reassigned_from is not null as reassigned
from donation d join receipt r on r.donation_id = d.id
where {_OF_DONOR} and r.received_at >= $3 and r.received_at < $4
order by r.received_at, r.number limit $5
"""


class ReceiptedDonation(NamedTuple):
    """A donation with a receipt. ``organisation_id``: of the current nonprofit."""

    donation_id: UUID
    refunded_minor: int
    organisation_id: UUID
    is_reassigned: bool


async def list_receipted_donations_of_donor(
    tx: Tx, partner: Partner, donor_email: str, received_since: datetime, received_before: datetime, limit: int
) -> list[ReceiptedDonation]:
    """Donations with a receipt that were received in a period, oldest first."""
    return [
        ReceiptedDonation(*row)
        for row in await tx.fetch(_DONATIONS_OF_DONOR, partner.id, donor_email, received_since, received_before, limit)
    ]


_DONATION_SPAN: Final = f"""
select min(r.received_at) as first, max(r.received_at) as last, coalesce(bool_or(r.currency = 'GBP'), false) as pounds
from donation d join receipt r on r.donation_id = d.id where {_OF_DONOR}
"""


async def find_donation_date_range(tx: Tx, partner: Partner, donor_email: str) -> DonationDateRange | None:
    """The time from a donor's first to last donation."""
    row = await tx.fetchrow(_DONATION_SPAN, partner.id, donor_email)
    return DonationDateRange(row["first"], row["last"], row["pounds"]) if row and row["first"] else None

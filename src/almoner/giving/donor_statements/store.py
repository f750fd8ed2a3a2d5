"""SQL for statements: the donations of one donor, and the links that were mailed."""

from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.giving.donor_statements.domain import DonationSpan
from almoner.platform.database.across_partners import across_partners
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


async def donations_of_donor(
    tx: Tx, partner: Partner, email: str, since: datetime, until: datetime, limit: int
) -> list[tuple[UUID, int, UUID, bool]]:
    """Donations with a receipt that were received between two moments, oldest first.

    Of each: what of it went back, in minor units, who it is for now, and whether that is another than at first.
    """
    return [tuple(row) for row in await tx.fetch(_DONATIONS_OF_DONOR, partner.id, email, since, until, limit)]


_DONATION_SPAN: Final = f"""
select min(r.received_at) as first, max(r.received_at) as last, coalesce(bool_or(r.currency = 'GBP'), false) as pounds
from donation d join receipt r on r.donation_id = d.id where {_OF_DONOR}
"""


async def donation_span(tx: Tx, partner: Partner, email: str) -> DonationSpan | None:
    """From the donor's first donation to the last."""
    row = await tx.fetchrow(_DONATION_SPAN, partner.id, email)
    return DonationSpan(row["first"], row["last"], row["pounds"]) if row and row["first"] else None


async def lock_donor(tx: Tx, partner: Partner, email: str) -> None:
    """Whoever else asks for a link of this donor waits until the transaction ends."""
    await tx.execute(
        "select pg_advisory_xact_lock(hashtextextended('statement:' || $1::text || lower($2), 0))",
        str(partner.id),
        email,
    )


async def count_links_since(tx: Tx, partner: Partner, email: str, since: datetime) -> int:
    """How many links were mailed to the donor since a real moment."""
    return int(
        await tx.fetchval(
            f"""
            select count(*) from statement_email l join donation d on d.id = l.donation_id
            where {_OF_DONOR} and l.sent_at > $3
            """,
            partner.id,
            email,
            since,
        )
    )


async def insert_link(tx: Tx, partner: Partner, donation_id: UUID) -> UUID:
    """Record that a link is mailed now; its id."""
    link_id = tx.new_id()
    await tx.execute(
        "insert into statement_email (id, partner_id, donation_id, sent_at) values ($1, $2, $3, $4)",
        link_id,
        partner.id,
        donation_id,
        tx.real_now,
    )
    return link_id


@across_partners("link")
async def link_requested_at(tx: Tx, link_id: UUID) -> datetime | None:
    """When a link was asked for, real time."""
    found: datetime | None = await tx.fetchval("select sent_at from statement_email where id = $1", link_id)
    return found

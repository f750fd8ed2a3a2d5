"""SQL for emails about dedicated donations."""

from datetime import datetime
from uuid import UUID

from almoner.giving.checkout.dedications.domain import DedicationEmail
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx


async def upsert(tx: Tx, partner: Partner, donation_id: UUID, email: DedicationEmail) -> None:
    """Store the email of a donation in place of an earlier one."""
    await tx.execute(
        """
        insert into donation_dedication_email as known (partner_id, donation_id, recipient_name, recipient_email,
                                                        message, created_at)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (donation_id) do update set recipient_name = excluded.recipient_name,
            recipient_email = excluded.recipient_email, message = excluded.message
        where known.partner_id = $1
        """,
        partner.id,
        donation_id,
        email.recipient_name,
        email.recipient_email,
        email.message,
        tx.now,
    )


async def find(tx: Tx, partner: Partner, donation_id: UUID) -> DedicationEmail | None:
    """The email of a donation."""
    row = await tx.fetchrow(
        """
        select recipient_name, recipient_email, message from donation_dedication_email
        where partner_id = $1 and donation_id = $2
        """,
        partner.id,
        donation_id,
    )
    return DedicationEmail(*row) if row else None


async def delete(tx: Tx, partner: Partner, donation_id: UUID) -> None:
    """Delete the dedication email of a donation."""
    await tx.execute(
        "delete from donation_dedication_email where partner_id = $1 and donation_id = $2", partner.id, donation_id
    )


@across_partners("sweep")
async def find_oldest_dedication_email_at(tx: Tx) -> datetime | None:
    """When the oldest stored recipient was stored."""
    found: datetime | None = await tx.fetchval("select min(created_at) from donation_dedication_email")
    return found


@across_partners("sweep")
async def delete_old_recipients(tx: Tx, created_before: datetime, limit: int) -> int:
    """Delete recipients stored before a given time; returns how many."""
    return int(
        await tx.fetchval(
            """
            with gone as (
                delete from donation_dedication_email where donation_id in (
                    select donation_id from donation_dedication_email where created_at <= $1
                    order by created_at limit $2
                ) returning 1
            ) select count(*) from gone
            """,
            created_before,
            limit,
        )
    )

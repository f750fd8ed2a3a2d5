"""SQL for emails that visitors of pages request to an address."""

from datetime import datetime
from uuid import UUID

from almoner.giving.requested_emails.domain import EmailPurpose
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx


async def lock_recipient(tx: Tx, recipient_hash: bytes) -> None:
    """Lock an email address until the transaction ends, against concurrent requests."""
    await tx.execute("select pg_advisory_xact_lock($1)", int.from_bytes(recipient_hash[:8], signed=True))


async def count_requests_since(
    tx: Tx, partner: Partner, purpose: EmailPurpose, recipient_hash: bytes, since: datetime
) -> int:
    """Count the emails of a purpose that were requested since a given real time."""
    return int(
        await tx.fetchval(
            """
            select count(*) from requested_email
            where partner_id = $1 and purpose = $2 and recipient_hash = $3 and requested_at > $4
            """,
            partner.id,
            purpose,
            recipient_hash,
            since,
        )
    )


async def insert(tx: Tx, partner: Partner, purpose: EmailPurpose, recipient_hash: bytes) -> UUID:
    """Record that an email was requested now; returns its ID."""
    email_id = tx.new_id()
    await tx.execute(
        """
        insert into requested_email (id, partner_id, purpose, recipient_hash, requested_at)
        values ($1, $2, $3, $4, $5)
        """,
        email_id,
        partner.id,
        purpose,
        recipient_hash,
        tx.real_now,
    )
    return email_id


@across_partners("link")
async def find_request_time(tx: Tx, email_id: UUID) -> datetime | None:
    """When an email was requested (real time)."""
    found: datetime | None = await tx.fetchval("select requested_at from requested_email where id = $1", email_id)
    return found


@across_partners("sweep")
async def find_oldest_email_request_at(tx: Tx) -> datetime | None:
    """When the oldest stored email was requested (real time)."""
    found: datetime | None = await tx.fetchval("select min(requested_at) from requested_email")
    return found


@across_partners("sweep")
async def delete_old_requests(tx: Tx, requested_before: datetime, limit: int) -> int:
    """Delete requests up to that time; returns how many."""
    return int(
        await tx.fetchval(
            """
            with gone as (
                delete from requested_email where id in (
                    select id from requested_email where requested_at <= $1 order by requested_at limit $2
                ) returning 1
            ) select count(*) from gone
            """,
            requested_before,
            limit,
        )
    )

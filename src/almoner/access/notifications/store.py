"""SQL for undeliverable emails."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.access.notifications.domain import UndeliverableEmail, UndeliveredEmailJob
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx

_COLUMNS: Final = "id, partner_id, kind, recipient, reason, refused, created_at"
_LAST: Final = UUID(int=2**128 - 1)


async def insert_undeliverable_email(tx: Tx, email: UndeliverableEmail, payload: Mapping[str, object]) -> None:
    """Record an undeliverable email, with the payload of its job."""
    await tx.execute(
        """
        insert into undeliverable_email (id, partner_id, kind, payload, recipient, reason, refused, created_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        email.id,
        email.partner_id,
        email.kind,
        payload,
        email.recipient,
        email.reason,
        email.was_rejected,
        email.created_at,
    )


@across_partners("operators")
async def list_newest_undeliverable_emails(
    tx: Tx, limit: int, before: UUID | None = None, *, rejected: bool | None = None
) -> list[UndeliverableEmail]:
    """List undeliverable emails, newest first.

    ``before``: the last ID of the previous page. ``rejected``: True for emails that a mail server rejected, False for
    the others, None for all.
    """
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from undeliverable_email
        where id < $2 and ($3::boolean is null or refused = $3) order by id desc limit $1
        """,
        limit,
        before or _LAST,
        rejected,
    )
    return [UndeliverableEmail(*row) for row in rows]


@across_partners("operators")
async def find_undeliverable_email(tx: Tx, email_id: UUID) -> UndeliverableEmail | None:
    """Find one undeliverable email."""
    row = await tx.fetchrow(f"select {_COLUMNS} from undeliverable_email where id = $1", email_id)
    return None if row is None else UndeliverableEmail(*row)


@across_partners("operators")
async def count_undeliverable_emails(tx: Tx, max_count: int) -> int:
    """Count undeliverable emails, up to ``max_count``."""
    found: int = await tx.fetchval("select count(*) from (select from undeliverable_email limit $1) counted", max_count)
    return found


@across_partners("operators")
async def delete_undeliverable_email_and_return_job(tx: Tx, email_id: UUID) -> UndeliveredEmailJob | None:
    """Delete an undeliverable email; returns the job that sends it again."""
    row = await tx.fetchrow("delete from undeliverable_email where id = $1 returning kind, payload", email_id)
    return None if row is None else UndeliveredEmailJob(row["kind"], row["payload"])


@across_partners("sweep")
async def find_oldest_undeliverable_at(tx: Tx) -> datetime | None:
    """When the oldest undeliverable email was recorded."""
    found: datetime | None = await tx.fetchval("select min(created_at) from undeliverable_email")
    return found


@across_partners("sweep")
async def delete_undeliverable_emails(tx: Tx, recorded_before: datetime, limit: int) -> int:
    """Delete undeliverable emails recorded by ``recorded_before``; returns how many."""
    rows = await tx.fetch(
        """
        delete from undeliverable_email where id in (
            select id from undeliverable_email where created_at <= $1 order by created_at limit $2
        ) returning id
        """,
        recorded_before,
        limit,
    )
    return len(rows)

"""SQL to erase applicants' personal data and their answers to the partner (V6)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from almoner.platform.database.transactions import Tx
from almoner.validation.applications.submissions.domain import EndState

_PERSONAL: Final = """
    validation_submission s
    where num_nonnulls(first_name, last_name, email, partner_fields) > 0 and processed_at is not null
        and not exists (
            select from appeal a
            where a.validation_submission_id = s.id and (
                a.status = 'open' or a.status = 'reversed' and a.completed_at is null
                or coalesce(a.completed_at, a.decided_at) > $1::timestamptz
            )
        )
"""
_ERASABLE: Final[Mapping[EndState, str]] = {
    "answered": f"{_PERSONAL} and status in ('succeeded', 'failed')",
    "undecided": f"{_PERSONAL} and status = 'processed'",
}
"""Ended submissions that still have personal data, without an appeal that is open, incomplete or ended after $1."""


async def find_earliest_unerased_submission_end(
    tx: Tx, end_state: EndState, appealed_before: datetime
) -> datetime | None:
    """When the longest-ended submission that still has personal data ended."""
    found: datetime | None = await tx.fetchval(
        f"select processed_at from {_ERASABLE[end_state]} order by processed_at limit 1", appealed_before
    )
    return found


async def erase_personal_data(tx: Tx, end_state: EndState, ended_before: datetime, limit: int) -> int:
    """Erase personal data of submissions that ended in this state before a time; returns how many.

    Rows are locked first and the condition is checked again, so that an appeal committed before the lock is seen.
    """
    held = await tx.fetch(
        f"""
        select id from {_ERASABLE[end_state]} and processed_at <= $1
        order by processed_at limit $2 for no key update skip locked
        """,
        ended_before,
        limit,
    )
    rows = await tx.fetch(
        f"""
        with old as (select id from {_ERASABLE[end_state]} and s.id = any($2::uuid[]))
        update validation_submission v set first_name = null, last_name = null, email = null, partner_fields = null
        from old where v.id = old.id returning v.id
        """,
        ended_before,
        [row["id"] for row in held],
    )
    return len(rows)

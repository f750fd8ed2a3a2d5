"""SQL that reads numbered events. The table is the outbox's, which alone writes it."""

from collections.abc import Sequence
from uuid import UUID

from asyncpg import Record

from almoner.platform.db import Partner, Tx
from almoner.platform.http.paging import Page
from almoner.webhooks.events.domain import Filter, NumberedEvent

_COLUMNS = "id, sequence, type, payload, created_at"
_MATCHING = """
partner_id = $1 and sequence is not null and ($2::text is null or type = $2)
and ($3::timestamptz is null or created_at >= $3) and ($4::timestamptz is null or created_at < $4)
"""
# Numbers have no gaps, so the last and the lowest that is kept make the total. Both sides see one snapshot (P7).
_ALL = """
select coalesce((select last_sequence from event_counter where partner_id = $1) + 1
    - (select min(sequence) from event where partner_id = $1 and sequence is not null), 0) as total
"""
_SOME = f"select count(*) as total from event where {_MATCHING}"


def _event(row: Record) -> NumberedEvent:
    return NumberedEvent(row["id"], row["sequence"], row["type"], row["payload"], row["created_at"])


async def find(tx: Tx, partner: Partner, event_id: UUID) -> NumberedEvent | None:
    """One event of the partner that has its number."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from event where partner_id = $1 and id = $2 and sequence is not null",
        partner.id,
        event_id,
    )
    return _event(row) if row else None


async def page(tx: Tx, partner: Partner, page_: Page, filter_: Filter) -> tuple[list[NumberedEvent], int]:
    """One page of the partner's events by sequence in reading order, and the total, from one snapshot."""
    comparison, order = ("<", "desc") if page_.reads_down else (">", "asc")
    rows = await tx.fetch(
        f"""
        select {_COLUMNS}, total from ({_ALL if filter_.everything else _SOME}) counted
        left join lateral (
            select {_COLUMNS} from event
            where {_MATCHING} and ($5::bigint is null or sequence {comparison} $5)
            order by sequence {order} limit $6
        ) listed on true
        order by sequence {order}
        """,
        partner.id,
        filter_.type,
        filter_.starts,
        filter_.ends,
        None if page_.position is None else page_.position[0],
        page_.limit,
    )
    return [_event(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def within(
    tx: Tx, partner: Partner, filter_: Filter, types: Sequence[str] | None, limit: int
) -> list[tuple[UUID, int, str]]:
    """(id, sequence, type) of the events of a window, of any of the types; None for all types."""
    rows = await tx.fetch(
        f"""
        select id, sequence, type from event
        where {_MATCHING} and ($5::text[] is null or type = any($5)) order by sequence limit $6
        """,
        partner.id,
        filter_.type,
        filter_.starts,
        filter_.ends,
        types,
        limit,
    )
    return [(row["id"], row["sequence"], row["type"]) for row in rows]

"""SQL that reads numbered events. The table is the outbox's, which alone writes it."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.event_blocks import SIZE
from almoner.platform.http.paging import RequestedPage
from almoner.webhooks.events.domain import EventFilter, SequencedEvent

_COLUMNS: Final = "id, sequence, type, payload, created_at"
_TYPED: Final = "($2::text is null or type = $2)"
_MATCHING: Final = f"""
{_TYPED} and ($3::timestamptz is null or created_at >= $3) and ($4::timestamptz is null or created_at < $4)
"""
# Numbers have no gaps, so the last and the lowest that is kept make the total. Both sides see one snapshot (P7).
_ALL: Final = """
select coalesce((select last_sequence from event_counter where partner_id = $1) + 1
    - (select min(sequence) from event where partner_id = $1 and sequence is not null), 0) as total
"""
# Event blocks with matching events; whole: all match. Then events in no block yet.
_SPANS: Final = f"""
with kept as materialized (
    select coalesce((select summarised_sequence from event_counter where partner_id = $1), 0) as summarised_sequence,
           (select min(sequence) from event where partner_id = $1 and sequence is not null) as lowest
), spans as materialized (
    select block, events as n, ($3::timestamptz is null or first_at >= $3) and ($4::timestamptz is null or last_at < $4)
                     and block * {SIZE} + 1 >= lowest as whole
    from event_block, kept
    where partner_id = $1 and block >= (lowest - 1) / {SIZE} and {_TYPED}
      and ($3::timestamptz is null or last_at >= $3) and ($4::timestamptz is null or first_at < $4)
)
"""
_OPEN: Final = f"""
select block * {SIZE} as after, (block + 1) * {SIZE} as upto from (select distinct block from spans {{which}}) chosen
union all select summarised_sequence, {2**63 - 1} from kept
"""
_WITHIN: Final = f"partner_id = $1 and sequence > s.after and sequence <= s.upto and {_MATCHING}"
_SOME: Final = f"""
select coalesce((select sum(n)::bigint from spans where whole), 0) + (
    select coalesce(sum(read.n)::bigint, 0) from ({_OPEN.format(which="where not whole")}) s
    cross join lateral (select count(*) as n from event where {_WITHIN}) read
) as total
"""


def _every(order: str, comparison: str) -> str:
    """A page of all events: $2 its position, $3 its length."""
    return f"""
    with counted as ({_ALL}), picked as (
        select sequence from event
        where partner_id = $1 and sequence is not null and ($2::bigint is null or sequence {comparison} $2)
        order by sequence {order} limit $3
    )
    """


def _matching(order: str, comparison: str, reaches: str) -> str:
    """SQL for a page of matching events: block by block, skipping blocks without matches."""
    return f"""
    {_SPANS}, counted as ({_SOME}), picked as (
        select p.sequence from ({_OPEN.format(which="")}) s cross join lateral (
            select sequence from event where {_WITHIN} and ($5::bigint is null or sequence {comparison} $5)
            order by sequence {order} limit $6
        ) p where $5::bigint is null or {reaches} order by s.after {order}, p.sequence {order} limit $6
    )
    """


_SHOWN: Final = f"""
select {_COLUMNS}, total from counted left join lateral (
    select {_COLUMNS} from picked join event using (sequence) where partner_id = $1
) listed on true order by sequence
"""
_DOWN: Final = _every("desc", "<") + _SHOWN + "desc"
_UP: Final = _every("asc", ">") + _SHOWN + "asc"
_MATCHING_DOWN: Final = _matching("desc", "<", "s.after + 1 < $5") + _SHOWN + "desc"
_MATCHING_UP: Final = _matching("asc", ">", "s.upto > $5") + _SHOWN + "asc"


def _event(row: Record) -> SequencedEvent:
    return SequencedEvent(row["id"], row["sequence"], row["type"], row["payload"], row["created_at"])


async def find(tx: Tx, partner: Partner, event_id: UUID) -> SequencedEvent | None:
    """One event of the partner that has its number."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from event where partner_id = $1 and id = $2 and sequence is not null",
        partner.id,
        event_id,
    )
    return _event(row) if row else None


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, event_filter: EventFilter
) -> tuple[list[SequencedEvent], int]:
    """One page of the partner's events by sequence in reading order, and the total, from one snapshot."""
    position = None if page_.position is None else page_.position[0]
    if event_filter.matches_all:
        rows = await tx.fetch(_DOWN if page_.fetches_descending else _UP, partner.id, position, page_.fetch_limit)
    else:
        asked = (event_filter.type, event_filter.period_start, event_filter.period_end, position, page_.fetch_limit)
        rows = await tx.fetch(_MATCHING_DOWN if page_.fetches_descending else _MATCHING_UP, partner.id, *asked)
    return [_event(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def load_last_event_sequence(tx: Tx, partner: Partner) -> int:
    """The sequence number of the newest event; 0 without events."""
    found = await tx.fetchval("select last_sequence from event_counter where partner_id = $1", partner.id)
    return int(found or 0)


class EventSummary(NamedTuple):
    """The ID, sequence number and type of an event."""

    event_id: UUID
    sequence: int
    type: str


async def list_event_summaries_in_window(
    tx: Tx, partner: Partner, event_filter: EventFilter, event_types: Sequence[str] | None, limit: int
) -> list[EventSummary]:
    """Summaries of the events of a window, of any of the types; None for all types."""
    rows = await tx.fetch(
        f"""
        with picked as materialized (
            select sequence from event
            where partner_id = $1 and sequence is not null and {_MATCHING} and ($5::text[] is null or type = any($5))
            order by sequence limit $6
        )
        select id, sequence, type from picked join event using (sequence) where partner_id = $1 order by sequence
        """,
        partner.id,
        event_filter.type,
        event_filter.period_start,
        event_filter.period_end,
        event_types,
        limit,
    )
    return [EventSummary(row["id"], row["sequence"], row["type"]) for row in rows]

"""Counts of events in full blocks of sequence numbers, so that totals need not count every row.

Lists add up the blocks, and count single events only in the first and last block of a range and after the last full
block. A block's counts describe the events when it was counted: below the lowest retained event it no longer counts.
"""

from datetime import datetime
from typing import Any, Final

from almoner.platform.database.transactions import Tx

SIZE: Final = 5000
"""The number of events in a block, also fixed in the database; it never changes."""
_PARTNERS: Final = 16

_WAITING: Final = f"""
select partner_id, summarised_sequence from event_counter where last_sequence >= summarised_sequence + {SIZE}
order by partner_id limit {_PARTNERS} for no key update skip locked
"""
# One partner at a time: for several, all their events would be read and joined.
BUILD_BLOCK: Final = f"""
with built as (
    insert into event_block (partner_id, block, type, events, first_at, last_at)
    select $1, $2::bigint / {SIZE}, type, count(*), min(min(created_at)) over (), max(max(created_at)) over ()
    from event where partner_id = $1 and sequence > $2 and sequence <= $2 + {SIZE} group by type
)
update event_counter set summarised_sequence = $2 + {SIZE} where partner_id = $1
"""

_TIDY: Final = f"""
with gone as (
    delete from event_block b using event_counter c cross join lateral (
        select coalesce((select min(sequence) from event where partner_id = c.partner_id and sequence is not null),
                        c.last_sequence + 1) as lowest
    ) kept
    where b.partner_id = c.partner_id and b.block < (kept.lowest - 1) / {SIZE} returning 1
) select count(*) from gone
"""


async def next_sequence_block_count_due_at(tx: Tx) -> datetime | None:
    """When a full block of events is due to be counted; None if there is none."""
    waits = await tx.fetchval(
        f"select exists (select from event_counter where last_sequence >= summarised_sequence + {SIZE})"
    )
    return tx.now if waits else None


async def store_event_counts_of_full_sequence_blocks(tx: Tx) -> int:
    """Count the next full block (5,000 sequence numbers) of up to 16 partners; returns the number of blocks."""
    waiting = await tx.fetch(_WAITING)
    for row in waiting:
        await tx.execute(BUILD_BLOCK, row["partner_id"], row["summarised_sequence"])
    return len(waiting)


async def delete_event_counts_of_purged_blocks(tx: Tx) -> int:
    """Delete the counts of blocks whose events were purged; returns how many rows."""
    removed: Any = await tx.fetchval(_TIDY)
    return int(removed)

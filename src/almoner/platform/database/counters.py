"""List totals, summed from several counter rows, so that concurrent writers of a partner do not block.

A connection has one transaction at a time and always uses the same row. Connections share a row only if their server
process IDs differ by a multiple of the number of rows; a pool's IDs are mostly consecutive.
"""

from typing import Final

from almoner.platform.database.transactions import Partner, Tx

SLOTS: Final = 64

_INCREMENT: Final = f"""
insert into list_counter (partner_id, list, slot, records)
select {{partner}}, {{name}}, pg_backend_pid() % {SLOTS}, {{n}} {{source}}
on conflict (partner_id, list, slot) do update set records = list_counter.records + excluded.records"""


def increment_list_total_sql(list_name: str, partner_sql: str, source_sql: str) -> str:
    """SQL, as part of another statement, that adds the rows of ``source_sql`` to a list's total."""
    return _INCREMENT.format(partner=partner_sql, name=f"'{list_name}'", n=1, source=source_sql)


_ADD: Final = _INCREMENT.format(partner="$1", name="$2", n="$3", source="")


async def add_to_list_total(tx: Tx, partner: Partner, list_name: str, delta: int) -> None:
    """Add ``delta`` (may be negative) to a list's total in the caller's transaction."""
    await tx.execute(_ADD, partner.id, list_name, delta)


async def get_list_total(tx: Tx, partner: Partner, list_name: str) -> int:
    """The exact total of a list."""
    return int(await tx.fetchval(TOTAL, partner.id, list_name))


TOTAL: Final = "select coalesce(sum(records), 0)::bigint as total from list_counter where partner_id = $1 and list = $2"

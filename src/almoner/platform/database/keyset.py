"""Lists for operators: rows of a table by ID, page by page, and their number up to a limit.

The statement contains only the conditions in use, so that PostgreSQL can use an index.
"""

from collections.abc import Mapping
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.conditions import SqlConditions
from almoner.platform.database.transactions import Tx


def equality_conditions(column_values: Mapping[str, object]) -> SqlConditions:
    """Conditions that columns equal these values; None: not filtered."""
    found = SqlConditions(bound=0)
    for column, value in column_values.items():
        if value is not None:
            found.add(f"{column} = {{}}", value)
    return found


async def list_rows_after_id(
    tx: Tx,
    table: str,
    columns: str,
    where: SqlConditions,
    after_id: UUID | int | None,
    limit: int,
    *,
    oldest_first: bool = False,
) -> list[Record]:
    """Matching rows after an ID, newest or oldest first. ``where`` is the first to bind parameters."""
    sign, order = (">", "asc") if oldest_first else ("<", "desc")
    if after_id is not None:
        where.add(f"id {sign} {{}}", after_id)
    sql = f"select {columns} from {table} where {where.sql or 'true'} order by id {order} limit {int(limit)}"
    return await tx.fetch(sql, *where.values)


async def count_rows_up_to(tx: Tx, table: str, where: SqlConditions, max_count: int) -> int:
    """Count matching rows up to ``max_count``, and one more if there are more."""
    counted = f"select from {table} where {where.sql or 'true'} order by id limit {int(max_count) + 1}"
    sql = f"select count(*)::int from ({counted}) found"
    return int(await tx.fetchval(sql, *where.values))

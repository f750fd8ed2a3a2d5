"""One page of a partner's records by ID, or by other keys and then by ID, with the exact total in one statement (P7).

PostgreSQL caches the plan of a statement with a literal row limit. With a parameter it assumes a tenth of the table and
plans each call again, which cost more than reading. The cached plan must suit partners with many rows and with none:
ordered by (partner_id, id), the range can be read only through that key's index, whatever the statistics say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.counters import TOTAL
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.paging import RequestedPage

_LEAST: Final = UUID(int=0)
_GREATEST: Final = UUID(int=2**128 - 1)

_LISTED: Final = """
select {columns}, {once} from (select ({total}) as total{values}) counted
left join lateral (
    select {columns} from {table} where {within} order by partner_id {order}, id {order} limit {limit}
) listed on true
order by id {order}
"""


@dataclass(frozen=True, slots=True)
class SortKey:
    """A list's sort column before the ID. ``sql_template``: the expression in its index."""

    column: str
    type: str
    sql_template: str = "{}"

    def sort_expression_sql(self, column_or_placeholder: str) -> str:
        """The sort expression for a column or placeholder, in SQL."""
        return self.sql_template.format(column_or_placeholder)


_SORTED: Final = """
select {columns}, {once} from (select ({total}) as total{values}) counted
left join lateral (
    select {columns} from {table} where partner_id between $1 and $1 and {after}
    order by partner_id {order}, {sorted}, id {order} limit {limit}
) listed on true
order by {sorted}, id {order}
"""


async def list_sorted_partner_page(
    tx: Tx,
    partner: Partner,
    table: str,
    columns: str,
    page_: RequestedPage,
    sort_keys: Sequence[SortKey],
    *,
    extra_partner_column: str | None = None,
) -> tuple[list[Record], int]:
    """One page of a list, sorted by ``sort_keys`` and then by ID, through an index; and the total.

    A position has the values of the keys before the ID. Records with equal values follow each other by ID.
    """
    comparison, order = ("<", "desc") if page_.fetches_descending else (">", "asc")
    own = [key.sort_expression_sql(key.column) for key in sort_keys]
    given: list[object] = []
    after = "true"
    if page_.position is not None:
        *values, id_ = page_.position
        given = [UUID(bytes=id_), *values]
        placed = [key.sort_expression_sql(f"${number}::{key.type}") for number, key in enumerate(sort_keys, 4)]
        after = f"(partner_id, {', '.join(own)}, id) {comparison} ($1, {', '.join(placed)}, $3)"
    sql = _SORTED.format(
        columns=columns,
        once=f"{extra_partner_column}, total" if extra_partner_column else "total",
        total=TOTAL,
        values=f", (select {extra_partner_column} from partner where id = $1)" if extra_partner_column else "",
        table=table,
        after=after,
        sorted=", ".join(f"{one} {order}" for one in own),
        order=order,
        limit=page_.fetch_limit,
    )
    rows = await tx.fetch(sql, partner.id, table, *given)
    return [row for row in rows if row[0] is not None], rows[0]["total"]


async def list_partner_page(
    tx: Tx, partner: Partner, table: str, columns: str, page_: RequestedPage, *, extra_partner_column: str | None = None
) -> tuple[list[Record], int]:
    """One page of ``table`` in reading order, and its total from the list counter. ``columns`` begin with id.

    ``extra_partner_column``: a column of the partner that is appended to each row. It is read once: with a subquery per
    row PostgreSQL estimated the generic plan as more expensive and planned each call again.
    """
    if page_.fetches_descending:
        order, start, within = "desc", _GREATEST, "partner_id >= $1 and (partner_id, id) < ($1, $3)"
    else:
        order, start, within = "asc", _LEAST, "partner_id <= $1 and (partner_id, id) > ($1, $3)"
    sql = _LISTED.format(
        columns=columns,
        once=f"{extra_partner_column}, total" if extra_partner_column else "total",
        total=TOTAL,
        values=f", (select {extra_partner_column} from partner where id = $1)" if extra_partner_column else "",
        table=table,
        within=within,
        order=order,
        limit=page_.fetch_limit,
    )
    rows = await tx.fetch(sql, partner.id, table, page_.after_id or start)
    return [row for row in rows if row[0] is not None], rows[0]["total"]

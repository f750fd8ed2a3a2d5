"""SQL for users and groups in SCIM, always of one partner."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.transactions import Partner, Tx
from almoner.scim.attributes import ScalarSql
from almoner.scim.filters import SqlParameters
from almoner.scim.ordering import SortOrder
from almoner.scim.resources import Kind, StoredResource

_COLUMNS: Final = "{0}.id, {0}.profile, {0}.version, {0}.created_at, {0}.updated_at"
_GROUPS: Final = """
array(
    select row(g.id, g.profile ->> 'displayName') from member_group_member m join member_group g on g.id = m.group_id
    where m.person_id = p.id order by g.id
) as links
"""
_MEMBERS: Final = """
array(
    select row(m.person_id, null::text) from member_group_member m where m.group_id = g.id order by m.person_id
) as links
"""
_TABLES: Final = {"User": "person p", "Group": "member_group g"}
_ALIAS: Final = {"User": "p", "Group": "g"}
_SCOPES: Final = {"User": "p.realm = $1", "Group": "g.partner_id = $1"}
_LINKS: Final = {"User": _GROUPS, "Group": _MEMBERS}


_SELECTS: Final = {
    (kind, links): f"select {_COLUMNS.format(_ALIAS[kind])}{', ' + _LINKS[kind] if links else ''} from {_TABLES[kind]} "
    f"where {_SCOPES[kind]} and {_ALIAS[kind]}.id"
    for kind in _TABLES
    for links in (False, True)
}
"""By kind, without and with links; the condition on the ID is appended."""


@dataclass(frozen=True, slots=True)
class SearchTarget:
    """One kind of resource to search: its row condition and sort value."""

    kind: Kind
    condition_sql: str
    sort_value: ScalarSql | None


def _row(kind: Kind, row: Record, *, links: bool) -> StoredResource:
    found = [(one[0], one[1]) for one in row["links"]] if links else None
    return StoredResource(kind, row["id"], row["profile"], row["version"], row["created_at"], row["updated_at"], found)


async def find(tx: Tx, partner: Partner, kind: Kind, id_: UUID, *, include_memberships: bool) -> StoredResource | None:
    """One user or group."""
    row = await tx.fetchrow(f"{_SELECTS[kind, include_memberships]} = $2", partner.id, id_)
    return _row(kind, row, links=include_memberships) if row else None


async def find_for_update(tx: Tx, partner: Partner, kind: Kind, id_: UUID) -> StoredResource | None:
    """One user or group without links, locked until the transaction ends."""
    row = await tx.fetchrow(f"{_SELECTS[kind, False]} = $2 for no key update of {_ALIAS[kind]}", partner.id, id_)
    return _row(kind, row, links=False) if row else None


async def load_resources_by_id(
    tx: Tx, partner: Partner, kind: Kind, ids: Sequence[UUID], *, include_memberships: bool
) -> dict[UUID, StoredResource]:
    """Some users or groups by their ids."""
    rows = await tx.fetch(f"{_SELECTS[kind, include_memberships]} = any($2::uuid[])", partner.id, ids)
    return {row["id"]: _row(kind, row, links=include_memberships) for row in rows}


async def list_matches(
    tx: Tx,
    targets: Sequence[SearchTarget],
    order: SortOrder,
    position_condition: str,
    parameters: SqlParameters,
    *,
    backwards: bool,
    with_total: bool,
) -> list[Record]:
    """``kind``, ``id`` and ``v`` of the matches, in order. ``$1``: the partner; last two: limit, offset.

    ``total``: how many match, when they are ``with_total``.
    """
    found = " union all ".join(_match_sql(one, order.type) for one in targets)
    place = len(parameters.values)
    counting = "count(*) over ()" if with_total else "null::bigint"
    return await tx.fetch(
        f"""
        select kind, id, v, {counting} as total from ({found}) as found where {position_condition}
        order by {order.order_by_sql(backwards=backwards)} limit ${place - 1}::bigint offset ${place}::bigint
        """,
        *parameters.values,
    )


def _match_sql(one: SearchTarget, type_: str | None) -> str:
    value = one.sort_value.sql if one.sort_value else f"null::{type_ or 'text'}"
    return (
        f"select '{one.kind}' as kind, {_ALIAS[one.kind]}.id, {value} as v from {_TABLES[one.kind]} "
        f"where {_SCOPES[one.kind]} and {one.condition_sql}"
    )


async def count_matches(tx: Tx, targets: Sequence[SearchTarget], values: Sequence[object]) -> int:
    """Count the matches; ``$1``: the partner."""
    counts = " + ".join(
        f"(select count(*) from {_TABLES[one.kind]} where {_SCOPES[one.kind]} and {one.condition_sql})"
        for one in targets
    )
    return int(await tx.fetchval(f"select {counts}", *values))

"""SQL of organisations: single records, branding, milestones."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.organisations.domain import Branding, Change, Milestone, Organisation
from almoner.platform.db import Everyone, Partner, Tx
from almoner.platform.http.paging import Page

Scope = Partner | Everyone

_RECORD: Final = """
select o.id, o.partner_id, o.registry_id, r.code as registry_code, r.name as registry_name, o.registry_number, o.name,
    coalesce(b.display_name, o.display_name) as display_name, o.other_name, coalesce(b.description, o.description) as
    description,
    o.country_code, o.types, o.active, o.websites, o.address_line_1, o.address_line_2, o.city, o.state, o.postcode,
    o.registration_date, o.claimed_at, o.is_branch_parent, o.branch_of, o.usa_group_exempt, p.data_as_of, o.first_seen,
    b.logo,
    coalesce(b.images, '{}') as images, o.created_at, o.updated_at
from organisation o
join registry r on r.id = o.registry_id
left join register_part p on p.registry_id = o.registry_id and p.part = o.part
left join organisation_branding b on b.organisation_id = o.id
"""


_CHANGES: Final = """
select c.id, c.at, c.field, c.before, c.after, r.name as source
from organisation_change c join register_load l on l.id = c.load_id join registry r on r.id = l.registry_id
"""


def _organisation(row: Record) -> Organisation:
    values = dict(row)
    for several in ("types", "websites", "images"):
        values[several] = tuple(values[several])
    return Organisation(**values)


def owner(scope: Scope) -> UUID | None:
    """The partner whose unpublished organisations the scope may see."""
    return scope.id if isinstance(scope, Partner) else None


async def find(tx: Tx, scope: Scope, organisation_id: UUID) -> Organisation | None:
    """One organisation: published, or the partner's own."""
    row = await tx.fetchrow(
        _RECORD + "where o.id = $1 and (o.partner_id is null or o.partner_id = $2)", organisation_id, owner(scope)
    )
    return _organisation(row) if row else None


async def find_by_number(tx: Tx, scope: Scope, registry_id: UUID, number_key: str) -> Organisation | None:
    """The organisation of a number in a registry, the published one before the partner's own."""
    row = await tx.fetchrow(
        _RECORD
        + """
        where o.number_key = $1 and o.registry_id = $2 and (o.partner_id is null or o.partner_id = $3)
        order by o.partner_id is null desc limit 1
        """,
        number_key,
        registry_id,
        owner(scope),
    )
    return _organisation(row) if row else None


async def find_many(tx: Tx, scope: Scope, organisation_ids: Sequence[UUID]) -> dict[UUID, Organisation]:
    """The organisations of these ids, as far as the scope sees them."""
    rows = await tx.fetch(
        _RECORD + "where o.id = any($1) and (o.partner_id is null or o.partner_id = $2)", organisation_ids, owner(scope)
    )
    return {row["id"]: _organisation(row) for row in rows}


async def every_change(tx: Tx, _: Scope, organisation_id: UUID) -> list[Change]:
    """All changes of an organisation that the scope was shown to see, newest first."""
    rows = await tx.fetch(_CHANGES + "where c.organisation_id = $1 order by c.id desc", organisation_id)
    return [Change(*row) for row in rows]


async def page_of_changes(tx: Tx, _: Scope, organisation_id: UUID, page: Page) -> tuple[list[Change], int]:
    """One page of an organisation's changes in reading order, and their total."""
    comparison, order = ("<", "desc") if page.reads_down else (">", "asc")
    rows = await tx.fetch(
        f"""
        select shown.*, counted.total
        from (select count(*) as total from organisation_change where organisation_id = $1) counted
        left join lateral (
            {_CHANGES} where c.organisation_id = $1 and ($2::bigint is null or c.id {comparison} $2)
            order by c.id {order} limit $3
        ) shown on true
        order by shown.id {order}
        """,
        organisation_id,
        page.position[0] if page.position else None,
        page.limit,
    )
    return [Change(*row[:6]) for row in rows if row["id"] is not None], rows[0]["total"]


async def find_branding(tx: Tx, scope: Scope, organisation_id: UUID) -> Branding | None:
    """How an organisation is shown, from its own words or from its record."""
    row = await tx.fetchrow(
        """
        select o.id, coalesce(b.display_name, o.display_name, o.name) as display_name,
            coalesce(b.description, o.description) as description, b.logo, coalesce(b.images, '{}') as images,
            b.primary_color
        from organisation o left join organisation_branding b on b.organisation_id = o.id
        where o.id = $1 and (o.partner_id is null or o.partner_id = $2)
        """,
        organisation_id,
        owner(scope),
    )
    if row is None:
        return None
    return Branding(
        row["id"], row["display_name"], row["description"], row["logo"], tuple(row["images"]), row["primary_color"]
    )


async def page_of_milestones(
    tx: Tx, scope: Scope, organisation_id: UUID, page: Page
) -> tuple[list[Milestone], int] | None:
    """One page of an organisation's milestones in reading order and their total; None when it is not seen."""
    comparison, order = ("<", "desc") if page.reads_down else (">", "asc")
    rows = await tx.fetch(
        f"""
        select m.id, m.amount, m.currency_code, m.reward, c.total
        from organisation o
        cross join lateral (select count(*) as total from organisation_milestone where organisation_id = o.id) c
        left join lateral (
            select id, amount, currency_code, reward from organisation_milestone
            where organisation_id = o.id and ($3::uuid is null or id {comparison} $3)
            order by id {order} limit $4
        ) m on true
        where o.id = $1 and (o.partner_id is null or o.partner_id = $2)
        order by m.id {order}
        """,
        organisation_id,
        owner(scope),
        page.after_id,
        page.limit,
    )
    if not rows:
        return None
    found = [
        Milestone(row["id"], organisation_id, row["amount"], row["currency_code"], row["reward"])
        for row in rows
        if row["id"] is not None
    ]
    return found, rows[0]["total"]

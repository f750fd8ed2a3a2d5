"""SQL for organisations: single records, branding, milestones."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.organisations.domain import (
    DonationMilestone,
    EffectiveBranding,
    Organisation,
    OrganisationSource,
)
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.http.paging import RequestedPage

Scope = Partner | AllPartners

_SELECT: Final = """
select o.id, o.partner_id, o.registry_id, r.code as registry_code, r.name as registry_name, o.registry_number, o.name,
    coalesce(b.display_name, o.display_name) as display_name, o.secondary_name, o.other_names,
    coalesce(b.description, o.description) as description, o.country_code, o.types, o.active, o.websites,
    o.address_line_1, o.address_line_2, o.city, o.state, o.postcode, o.registration_date, o.claimed_at,
    o.is_branch_parent or coalesce(
        (select true from organisation under where under.branch_of = o.id limit 1), false
    ) as is_branch_parent,
    o.branch_of, o.usa_group_exempt, o.status_override, o.succeeded_by, o.same_as, o.activities,
    told.sources, p.data_as_of, o.first_seen, b.logo, coalesce(b.images, '{}') as images, o.created_at, o.updated_at
"""
# Order of sources: the one that lists the organisation, then others about it, then the same for its numbers in other
# registers. Other sources are checked in the index; an entry is read only if it exists.
_FROM: Final = """
from organisation o
join registry r on r.id = o.registry_id
left join register_part p on p.source = o.source and p.part = o.part
left join organisation_branding b on b.organisation_id = o.id
cross join lateral (
    select jsonb_agg(jsonb_build_array(
        g.name, n.registry_number, t.code, coalesce(t.unverified, false), t.data_as_of
    ) order by n.id <> o.id, t.code is distinct from n.source, g.code, t.code) as sources
    from organisation n
    join registry g on g.id = n.registry_id
    left join lateral (
        select s.code, s.unverified, d.data_as_of from register_source s
        left join register_part d on d.source = n.source and d.part = n.part where s.code = n.source
        union all
        select s.code, s.unverified, d.data_as_of
        from register_entry other
        join register_source s on s.code = other.source and s.registry_id = n.registry_id
        join register_entry e on e.number_key = other.number_key and e.source = other.source and e.valid_to is null
        left join register_part d on d.source = e.source and d.part = e.part
        where other.number_key = n.number_key and other.valid_to is null and other.source is distinct from n.source
    ) t on true
    where n.id = o.id or n.same_as = o.id
) told
"""
_RECORD: Final = _SELECT + _FROM
# The record as its register states it, without its own branding or the branch flag, for a given day.
_UNBRANDED: Final = _RECORD.replace("b.organisation_id = o.id", "false").replace(
    "under.branch_of = o.id", "under.branch_of = o.id and false"
)


def _organisation(row: Record) -> Organisation:
    values = dict(row)
    for several in ("types", "websites", "images", "other_names"):
        values[several] = tuple(values[several])
    values["sources"] = tuple(build_organisation_source(*reported) for reported in values["sources"])
    return Organisation(**values)


def build_organisation_source(
    registry_name: str,
    registry_number: str,
    source_code: str | None,
    is_format_unverified: bool,
    data_as_of: str | None,
) -> OrganisationSource:
    """The source in an array's JSON members."""
    dated = datetime.fromisoformat(data_as_of) if data_as_of else None
    return OrganisationSource(registry_name, registry_number, source_code, is_format_unverified, dated)


def partner_id_of_scope(scope: Scope) -> UUID | None:
    """The partner whose unpublished organisations the scope may see."""
    return scope.id if isinstance(scope, Partner) else None


async def find(tx: Tx, scope: Scope, organisation_id: UUID) -> Organisation | None:
    """One organisation, published or the partner's own, by the ID of any of its merged records."""
    row = await tx.fetchrow(
        _RECORD
        + """
        where o.id = coalesce((select same_as from organisation where id = $1), $1)
            and (o.partner_id is null or o.partner_id = $2)
        """,
        organisation_id,
        partner_id_of_scope(scope),
    )
    return _organisation(row) if row else None


async def find_record_even_if_merged(tx: Tx, scope: Scope, organisation_id: UUID) -> Organisation | None:
    """The record with exactly this ID, even if it is merged into another, as its register states it."""
    row = await tx.fetchrow(
        _UNBRANDED + "where o.id = $1 and (o.partner_id is null or o.partner_id = $2)",
        organisation_id,
        partner_id_of_scope(scope),
    )
    return _organisation(row) if row else None


async def load_records_by_id_even_if_merged(
    tx: Tx, scope: Scope, organisation_ids: Sequence[UUID]
) -> dict[UUID, Organisation]:
    """``find_record_even_if_merged`` for several records, by ID."""
    rows = await tx.fetch(
        _UNBRANDED + "where o.id = any((select $1::uuid[])::uuid[]) and (o.partner_id is null or o.partner_id = $2)",
        organisation_ids,
        partner_id_of_scope(scope),
    )
    return {row["id"]: _organisation(row) for row in rows}


@across_partners("registers")
async def list_merged_records(tx: Tx, organisation_id: UUID) -> list[Organisation]:
    """The records merged into this primary one, each as its register states it."""
    rows = await tx.fetch(_UNBRANDED + "where o.same_as = $1 order by o.id", organisation_id)
    return [_organisation(row) for row in rows]


async def find_by_number(tx: Tx, scope: Scope, registry_id: UUID, number_key: str) -> Organisation | None:
    """The organisation of a number in a registry, the published one before the partner's own."""
    row = await tx.fetchrow(
        _RECORD
        + """
        where o.id = (
            select coalesce(same_as, id) from organisation
            where number_key = $1 and registry_id = $2 and (partner_id is null or partner_id = $3)
            order by partner_id is null desc limit 1
        )
        """,
        number_key,
        registry_id,
        partner_id_of_scope(scope),
    )
    return _organisation(row) if row else None


@across_partners("registers")
async def find_record_by_number_even_if_merged(tx: Tx, registry_id: UUID, number_key: str) -> Organisation | None:
    """The published record with exactly this number, even if it is merged into another."""
    row = await tx.fetchrow(
        _RECORD + "where o.number_key = $1 and o.registry_id = $2 and o.partner_id is null", number_key, registry_id
    )
    return _organisation(row) if row else None


@across_partners("registers")
async def list_records_by_number_even_if_merged(
    tx: Tx, registry_id: UUID, number_keys: Sequence[str]
) -> list[Organisation]:
    """The published records with these numbers, even if they are merged into others."""
    rows = await tx.fetch(
        _RECORD + "where o.number_key = any($1::text[]) and o.registry_id = $2 and o.partner_id is null",
        number_keys,
        registry_id,
    )
    return [_organisation(row) for row in rows]


async def load_organisations_by_id(tx: Tx, scope: Scope, organisation_ids: Sequence[UUID]) -> dict[UUID, Organisation]:
    """The organisations with these IDs that the scope can see."""
    # The sub-select hides how many IDs there are; PostgreSQL would otherwise plan each call.
    rows = await tx.fetch(
        _RECORD + "where o.id = any((select $1::uuid[])::uuid[]) and (o.partner_id is null or o.partner_id = $2)",
        organisation_ids,
        partner_id_of_scope(scope),
    )
    return {row["id"]: _organisation(row) for row in rows}


@across_partners("registers")
async def list_registry_ids_of_primary_records(
    tx: Tx, registry_ids: Sequence[UUID], number_keys: Sequence[str]
) -> list[UUID]:
    """The registries of the primary records of these numbers."""
    rows = await tx.fetch(
        """
        select distinct p.registry_id from organisation o join organisation p on p.id = o.same_as
        where o.number_key = any($1::text[]) and o.registry_id = any($2::uuid[]) and o.partner_id is null
        """,
        number_keys,
        registry_ids,
    )
    return [row["registry_id"] for row in rows]


@across_partners("registers")
async def load_primary_record_ids_by_record_id(tx: Tx, organisation_ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """All records of these organisations, with the primary record of each."""
    rows = await tx.fetch(
        """
        select id, id as principal from organisation where id = any($1::uuid[])
        union all
        select id, same_as from organisation where same_as is not null and same_as = any($1::uuid[])
        """,
        organisation_ids,
    )
    return {row["id"]: row["principal"] for row in rows}


async def find_effective_branding(tx: Tx, scope: Scope, organisation_id: UUID) -> EffectiveBranding | None:
    """The branding of an organisation, its own or from its record."""
    row = await tx.fetchrow(
        """
        select o.id, coalesce(b.display_name, o.display_name, o.name) as display_name,
            coalesce(b.description, o.description) as description, b.logo, coalesce(b.images, '{}') as images,
            b.primary_color
        from organisation o left join organisation_branding b on b.organisation_id = o.id
        where o.id = coalesce((select same_as from organisation where id = $1), $1)
            and (o.partner_id is null or o.partner_id = $2)
        """,
        organisation_id,
        partner_id_of_scope(scope),
    )
    if row is None:
        return None
    return EffectiveBranding(
        row["id"], row["display_name"], row["description"], row["logo"], tuple(row["images"]), row["primary_color"]
    )


async def list_donation_milestones_page(
    tx: Tx, scope: Scope, organisation_id: UUID, page: RequestedPage
) -> tuple[list[DonationMilestone], int] | None:
    """One page of an organisation's milestones in reading order, and their total; None if the scope cannot see it.

    Includes milestones published under records that were merged into it later.
    """
    comparison, order = ("<", "desc") if page.fetches_descending else (">", "asc")
    rows = await tx.fetch(
        f"""
        select m.id, m.amount_minor, m.currency, m.reward, c.total
        from organisation o
        cross join lateral (
            select array(select o.id union all select n.id from organisation n where n.same_as = o.id) as ids
        ) records
        cross join lateral (
            select count(*) as total from organisation_milestone where organisation_id = any(records.ids)
        ) c
        left join lateral (
            select id, amount_minor, currency, reward from organisation_milestone
            where organisation_id = any(records.ids) and ($3::uuid is null or id {comparison} $3)
            order by id {order} limit $4
        ) m on true
        where o.id = coalesce((select same_as from organisation where id = $1), $1)
            and (o.partner_id is null or o.partner_id = $2)
        order by m.id {order}
        """,
        organisation_id,
        partner_id_of_scope(scope),
        page.after_id,
        page.fetch_limit,
    )
    if not rows:
        return None
    found = [
        DonationMilestone(row["id"], organisation_id, row["amount_minor"], row["currency"], row["reward"])
        for row in rows
        if row["id"] is not None
    ]
    return found, rows[0]["total"]

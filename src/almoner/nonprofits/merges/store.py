"""SQL for links between numbers and their effects on organisations; published organisations only."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.merges.domain import PrimaryRecordCandidate, RegistryNumber, Succession, SuccessionKind
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import AllPartners, Tx

_LOCK: Final = 0x616C6D6C


@dataclass(frozen=True, slots=True)
class LinkedRegistrationNumbers:
    """A link between two normalised numbers, as one part of a source states it."""

    register_part: str
    kind: str
    registry_id: UUID
    number_key: str
    to_registry_id: UUID
    to_number_key: str
    effective_at: datetime | None


@dataclass(frozen=True, slots=True)
class OrganisationStatusOverride:
    """Whether another list overrides an organisation's status."""

    organisation_id: UUID
    listed: bool
    active: bool
    status_override: str | None
    succeeded_by: UUID | None


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A changed field of an organisation."""

    organisation_id: UUID
    field: str
    before: object
    after: object
    kind: str


async def lock_register_links(tx: Tx) -> None:
    """Lock the links, so that loads apply them one at a time."""
    await tx.execute("select pg_advisory_xact_lock($1)", _LOCK)


async def set_planner_join_method(tx: Tx, *, uses_nested_loops: bool) -> None:
    """Set the query planner for a few rows or for whole tables.

    After a load, outdated statistics would make the planner scan millions of rows for a handful.
    """
    await tx.execute("select set_config('enable_nestloop', $1, true)", "on" if uses_nested_loops else "off")


async def stage_numbers_and_linked_numbers(tx: Tx, numbers: Collection[RegistryNumber]) -> None:
    """Collect these numbers and all linked to them in a temporary table for ``staged_only`` queries."""
    await tx.execute(
        """
        create temporary table merge_number on commit drop as
        with recursive reached (registry_id, number_key) as (
            select given.id, given.key collate "C" from unnest($1::uuid[], $2::text[]) given (id, key)
            union
            select linked.registry_id, linked.number_key from reached here cross join lateral (
                select l.to_registry_id as registry_id, l.to_number_key as number_key from register_link l
                where l.registry_id = here.registry_id and l.number_key = here.number_key and l.valid_to is null
                union all
                select l.registry_id, l.number_key from register_link l
                where l.to_registry_id = here.registry_id and l.to_number_key = here.number_key and l.valid_to is null
            ) linked
        )
        select * from reached
        """,
        [one.registry_id for one in numbers],
        [one.number_key for one in numbers],
    )
    await tx.execute("analyze merge_number")


_LINKS_WITHIN: Final = "and (l.registry_id, l.number_key) in (select registry_id, number_key from merge_number)"
_BODIES_WITHIN: Final = """
    and partner_id is null and (registry_id, number_key) in (select registry_id, number_key from merge_number)
"""


_GIVEN: Final = """
    given as (
        select distinct on (part, kind, registry_id, number_key, to_registry_id, to_number_key) *
        from unnest($5::text[], $6::text[], $7::uuid[], $8::text[], $9::uuid[], $10::text[], $11::timestamptz[])
        g (part, kind, registry_id, number_key, to_registry_id, to_number_key, at)
        order by part, kind, registry_id, number_key, to_registry_id, to_number_key, at
    )
"""


async def replace_register_links_and_list_changed_numbers(
    tx: Tx,
    source: str,
    import_id: UUID,
    data_date: datetime,
    register_parts: Sequence[str],
    links: Sequence[LinkedRegistrationNumbers],
) -> set[RegistryNumber]:
    """Replace the links of these parts of a source; returns the numbers of links that changed."""
    given = (
        source,
        import_id,
        data_date,
        list(register_parts),
        [row.register_part for row in links],
        [row.kind for row in links],
        [row.registry_id for row in links],
        [row.number_key for row in links],
        [row.to_registry_id for row in links],
        [row.to_number_key for row in links],
        [row.effective_at for row in links],
    )
    ended = await tx.fetch(
        f"""
        with {_GIVEN}
        update register_link l set valid_to = greatest($3, l.valid_from), ended_by_load_id = $2
        where l.source = $1 and l.part = any($4::text[]) and l.valid_to is null and not exists (
            select from given g
            where (g.part, g.kind, g.registry_id, g.number_key, g.to_registry_id, g.to_number_key)
                = (l.part, l.kind, l.registry_id, l.number_key, l.to_registry_id, l.to_number_key)
                and g.at is not distinct from l.at
        ) returning {_ENDS}
        """,
        *given,
    )
    begun = await tx.fetch(
        f"""
        with {_GIVEN}
        insert into register_link (
            source, part, kind, registry_id, number_key, to_registry_id, to_number_key, at, valid_from, load_id
        )
        select $1, part, kind, registry_id, number_key, to_registry_id, to_number_key, at, $3, $2
        from given where part = any($4::text[])
        on conflict (source, part, kind, registry_id, number_key, to_registry_id, to_number_key) where valid_to is null
        do nothing returning {_ENDS}
        """,
        *given,
    )
    return _ends(ended) | _ends(begun)


_ENDS: Final = "registry_id, number_key, to_registry_id, to_number_key"


def _ends(rows: Sequence[Record]) -> set[RegistryNumber]:
    return {RegistryNumber(*end) for row in rows for end in (row[:2], row[2:])}


async def revert_register_links_and_list_affected_numbers(
    tx: Tx, import_id: UUID, rollback_import_id: UUID
) -> set[RegistryNumber]:
    """Undo a load's changes of links; returns the affected numbers."""
    ended = await tx.fetch(
        f"""
        update register_link set valid_to = valid_from, ended_by_load_id = $2 where load_id = $1 and valid_to is null
        returning {_ENDS}
        """,
        import_id,
        rollback_import_id,
    )
    begun = await tx.fetch(
        f"""
        update register_link set valid_to = null, ended_by_load_id = null where ended_by_load_id = $1
        returning {_ENDS}
        """,
        import_id,
    )
    return _ends(ended) | _ends(begun)


_LINKED: Final = """
    from register_link l
    join organisation o on o.registry_id = l.registry_id and o.number_key = l.number_key and o.partner_id is null
    join organisation t on t.registry_id = l.to_registry_id and t.number_key = l.to_number_key
        and t.partner_id is null
    where l.valid_to is null
"""


@across_partners("registers")
async def list_register_successions(tx: Tx, *, staged_only: bool) -> list[Succession]:
    """All successions between known organisations."""
    within = _LINKS_WITHIN if staged_only else ""
    rows = await tx.fetch(f"select o.id, t.id as successor, l.kind, l.at {_LINKED} and l.kind <> 'same' {within}")
    return [Succession(row["id"], row["successor"], row["kind"], row["at"]) for row in rows]


class DuplicatePair(NamedTuple):
    """Two records of one organisation."""

    organisation_id: UUID
    other_organisation_id: UUID


@across_partners("registers")
async def list_duplicate_pairs(tx: Tx, *, staged_only: bool) -> list[DuplicatePair]:
    """All unambiguous pairs of duplicate records."""
    within = _LINKS_WITHIN if staged_only else ""
    rows = await tx.fetch(f"select o.id, t.id as other {_LINKED} and l.kind = 'same' {within} and not is_ambiguous(l)")
    return [DuplicatePair(row["id"], row["other"]) for row in rows]


async def has_register_links(tx: Tx, source: str, register_part: str) -> bool:
    """Whether a part of a source has links now."""
    sql = "select exists (select from register_link where source = $1 and part = $2 and valid_to is null)"
    return bool(await tx.fetchval(sql, source, register_part))


async def count_ambiguous_register_links(tx: Tx, source: str) -> int:
    """Links of a source that are not applied, since one of their numbers matches several of one register."""
    return int(
        await tx.fetchval(
            """
            select count(*) from register_link l
            where l.source = $1 and l.kind = 'same' and l.valid_to is null and is_ambiguous(l)
            """,
            source,
        )
    )


@across_partners("registers")
async def load_primary_record_candidates_by_id(
    tx: Tx, organisation_ids: Sequence[UUID]
) -> dict[UUID, PrimaryRecordCandidate]:
    """The facts that decide which record of an organisation is its primary one."""
    rows = await tx.fetch(
        """
        select o.id, o.active, o.registration_date, r.code, o.number_key
        from organisation o join registry r on r.id = o.registry_id where o.id = any($1)
        """,
        organisation_ids,
    )
    return {row["id"]: PrimaryRecordCandidate(*row) for row in rows}


@across_partners("registers")
async def load_primary_record_ids_by_duplicate_id(tx: Tx, *, staged_only: bool) -> dict[UUID, UUID]:
    """The current primary record of each duplicate record."""
    within = _BODIES_WITHIN if staged_only else ""
    rows = await tx.fetch(f"select id, same_as from organisation where same_as is not null {within}")
    return {row["id"]: row["same_as"] for row in rows}


_CARRY_BRANDING: Final = """
    with joined as (
        select distinct on (o.same_as) o.same_as as organisation_id, b.display_name, b.description, b.logo, b.images,
            b.primary_color
        from organisation_branding b join organisation o on o.id = b.organisation_id
        where o.id = any($1::uuid[]) and o.same_as is not null order by o.same_as, o.id
    ), said as (
        select c.organisation_id, max(c.at) as at from organisation_branding_change c
        where c.organisation_id in (select organisation_id from joined union select unnest($1::uuid[])) group by 1
    ), carried as (
        insert into organisation_branding as own (
            organisation_id, display_name, description, logo, images, primary_color
        )
        select * from joined
        on conflict (organisation_id) do update set
            display_name = coalesce(own.display_name, excluded.display_name),
            description = coalesce(own.description, excluded.description),
            logo = coalesce(own.logo, excluded.logo),
            images = case when own.images = '{}' then excluded.images else own.images end,
            primary_color = coalesce(own.primary_color, excluded.primary_color)
        returning organisation_id, display_name, description, logo, images
    )
    insert into organisation_branding_change (organisation_id, at, display_name, description, logo, images)
    select c.organisation_id, greatest($2, (
        select max(s.at) from said s join organisation o on o.id = s.organisation_id
        where o.id = c.organisation_id or o.same_as = c.organisation_id
    )), c.display_name, c.description, c.logo, c.images from carried c
"""


async def set_primary_records(
    tx: Tx, _: AllPartners, duplicate_and_primary_ids: Sequence[tuple[UUID, UUID | None]], changed_at: datetime
) -> None:
    """Store the primary records of duplicates.

    Categories and branding of a duplicate are copied to its primary record, whose own branding takes precedence.
    """
    await tx.execute(
        """
        update organisation o set same_as = w.principal, updated_at = $3
        from unnest($1::uuid[], $2::uuid[]) w (id, principal) where o.id = w.id
        """,
        [one for one, _ in duplicate_and_primary_ids],
        [primary for _, primary in duplicate_and_primary_ids],
        tx.now,
    )
    await tx.execute(
        """
        insert into category_member (partner_id, category_id, organisation_id, added_at)
        select m.partner_id, m.category_id, o.same_as, m.added_at
        from category_member m join organisation o on o.id = m.organisation_id
        where o.id = any($1::uuid[]) and o.same_as is not null on conflict do nothing
        """,
        [one for one, _ in duplicate_and_primary_ids],
    )
    await tx.execute(_CARRY_BRANDING, [one for one, _ in duplicate_and_primary_ids], changed_at)
    await tx.execute(
        """
        update organisation p set search_shown = coalesce(nullif(p.search_shown, ''), m.search_shown),
            search_shown_description = coalesce(nullif(p.search_shown_description, ''), m.search_shown_description)
        from organisation m
        where m.id = any($1::uuid[]) and m.same_as = p.id and (m.search_shown, m.search_shown_description) <> ('', '')
        """,
        [one for one, _ in duplicate_and_primary_ids],
    )


_OVERRULED: Final = """
    select o.id, o.last_seen is null and coalesce((e.record->>'active')::boolean, true) as listed, o.active,
        o.status_override, o.succeeded_by
    from organisation o
    left join register_entry e on e.number_key = o.number_key and e.source = o.source and e.valid_to is null
"""


async def list_status_overrides_by_kind_or_id(
    tx: Tx, override_kinds: Sequence[SuccessionKind], organisation_ids: Sequence[UUID], *, staged_only: bool
) -> list[OrganisationStatusOverride]:
    """Organisations whose status is overridden for one of these reasons, and those with these IDs."""
    within = _BODIES_WITHIN if staged_only else ""
    rows = await tx.fetch(
        f"""
        {_OVERRULED} where o.id in (
            select id from organisation
            where status_override is not null and status_override = any($1::text[]) {within}
            union select unnest($2::uuid[])
        )
        """,
        override_kinds,
        organisation_ids,
    )
    return [OrganisationStatusOverride(*row) for row in rows]


@across_partners("registers")
async def list_status_overrides(tx: Tx, organisation_ids: Sequence[UUID]) -> list[OrganisationStatusOverride]:
    """The status overrides of these organisations."""
    rows = await tx.fetch(f"{_OVERRULED} where o.id = any($1::uuid[])", organisation_ids)
    return [OrganisationStatusOverride(*row) for row in rows]


async def set_status_overrides(tx: Tx, overrides: Sequence[OrganisationStatusOverride]) -> None:
    """Store status overrides, and update which organisations are active."""
    await tx.execute(
        """
        update organisation o set status_override = w.status_override, succeeded_by = w.succeeded_by, active = w.active,
            updated_at = $5
        from unnest($1::uuid[], $2::text[], $3::uuid[], $4::boolean[]) w (id, status_override, succeeded_by, active)
        where o.id = w.id
        """,
        [row.organisation_id for row in overrides],
        [row.status_override for row in overrides],
        [row.succeeded_by for row in overrides],
        [row.active for row in overrides],
        tx.now,
    )


async def insert_field_changes(
    tx: Tx, import_id: UUID, data_date: datetime, field_changes: Sequence[FieldChange]
) -> None:
    """Add changes to the history."""
    await tx.executemany(
        """
        insert into organisation_change (organisation_id, load_id, at, field, before, after, kind)
        values ($1, $2, $3, $4, $5, $6, $7)
        """,
        [
            (row.organisation_id, import_id, data_date, row.field, row.before, row.after, row.kind)
            for row in field_changes
        ],
    )


async def stage_affected_branches(tx: Tx, registry_id: UUID, changed_group_keys: Collection[str]) -> None:
    """Write the organisations whose parent organisation may have changed to the temporary table ``merge_branch``."""
    await tx.execute(
        """
        create temporary table merge_branch on commit drop as
        with seen as materialized (
            select o.id, o.number_key, case when o.is_branch_parent then o.group_key end as group_key
            from merge_number m
            join organisation o
                on o.registry_id = m.registry_id and o.number_key = m.number_key and o.partner_id is null
            where m.registry_id = $1
        )
        select id from seen
        union
        select o.id from seen p join organisation o
            on o.registry_id = $1 and o.parent_key = p.number_key and o.parent_key is not null and o.partner_id is null
        union
        select o.id from (
            select group_key from seen where group_key is not null union select unnest($2::text[])
        ) moved (group_key)
        join organisation o
            on o.registry_id = $1 and o.group_key = moved.group_key and o.group_key is not null and o.partner_id is null
        """,
        registry_id,
        list(changed_group_keys),
    )
    await tx.execute("analyze merge_branch")


@across_partners("registers")
async def update_branch_parents(
    tx: Tx, registry_id: UUID, import_id: UUID, data_date: datetime, *, staged_only: bool
) -> None:
    """Update the parent organisations of branches.

    The register states the parent's number, or both share a group number; then the parent is the central body, of
    several the one with the lowest number. Where the register says which bodies a group's ruling exempts, only those.
    An inactive body is no parent.
    """
    groups = "and group_key in (select group_key from organisation join merge_branch using (id))" if staged_only else ""
    within = "and o.id in (select id from merge_branch)" if staged_only else ""
    await tx.execute(
        f"""
        with central as materialized (
            select distinct on (group_key) group_key, id from organisation
            where registry_id = $1 and is_branch_parent and active and partner_id is null and group_key is not null
                {groups}
            order by group_key, number_key
        ), wanted as (
            select o.id, o.branch_of, nullif(case when o.parent_key is not null then p.id else c.id end, o.id) as parent
            from organisation o
            left join central c
                on coalesce(o.usa_group_exempt, not o.is_branch_parent) and c.group_key = o.group_key
            left join organisation p
                on p.registry_id = o.registry_id and p.number_key = o.parent_key and p.partner_id is null and p.active
            where o.registry_id = $1 and o.partner_id is null {within}
                and (o.branch_of is not null or o.usa_group_exempt or o.parent_key is not null
                    or (o.usa_group_exempt is null and o.group_key is not null))
        ), moved as (
            update organisation o set branch_of = w.parent, updated_at = $4
            from wanted w
            where o.id = w.id and w.branch_of is distinct from w.parent
            returning o.id, w.branch_of, w.parent, o.first_seen, o.created_at
        )
        insert into organisation_change (organisation_id, load_id, at, field, before, after, kind)
        select id, $2, $3, 'branch_of', to_jsonb(branch_of), to_jsonb(parent), 'branch' from moved
        where first_seen < $3 or created_at < $4 order by id
        """,
        registry_id,
        import_id,
        data_date,
        tx.now,
    )

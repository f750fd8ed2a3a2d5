"""SQL for organisations' history, and for the progress of notifications."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.organisations.domain import FormerName, OrganisationChange, OrganisationSource
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx
from almoner.platform.http.paging import RequestedPage

# Without activities assigned by changed rules of ours, which no register reported (slice activities).
_CHANGES: Final = """
select c.id, c.at, c.field, c.before, c.after,
    case l.source when 'activity-tags' then l.source else r.name end as source, c.kind,
    l.status = 'rolled_back' or l.rolls_back is not null as taken_back
from organisation_change c join register_load l on l.id = c.load_id join registry r on r.id = l.registry_id
"""
_RECORDS: Final = "c.organisation_id in (select id from organisation where id = $1 or same_as = $1)"


@dataclass(frozen=True, slots=True)
class BrandingSnapshot:
    """An organisation's branding at a given time."""

    display_name: str | None
    description: str | None
    logo: str | None
    images: tuple[str, ...]


@across_partners("registers")
async def list_changes(tx: Tx, organisation_id: UUID) -> list[OrganisationChange]:
    """All changes of a record, newest first; the caller has checked that the scope can see it."""
    rows = await tx.fetch(_CHANGES + "where c.organisation_id = $1 order by c.id desc", organisation_id)
    return [OrganisationChange(*row) for row in rows]


@across_partners("registers")
async def list_changes_page(tx: Tx, organisation_id: UUID, page: RequestedPage) -> tuple[list[OrganisationChange], int]:
    """One page of the changes of all records of an organisation in reading order, and their total."""
    comparison, order = ("<", "desc") if page.fetches_descending else (">", "asc")
    rows = await tx.fetch(
        f"""
        select shown.*, counted.total
        from (select count(*) as total from organisation_change c where {_RECORDS}) counted
        left join lateral (
            {_CHANGES} where {_RECORDS} and ($2::bigint is null or c.id {comparison} $2)
            order by c.id {order} limit $3
        ) shown on true
        order by shown.id {order}
        """,
        organisation_id,
        page.position[0] if page.position else None,
        page.fetch_limit,
    )
    return [OrganisationChange(*row[:8]) for row in rows if row["id"] is not None], rows[0]["total"]


def _versions(conditions: str) -> str:
    """Select current and ended versions, each by its own index: a shared one would be a further index to update."""
    return f"""
        select * from register_entry e where {conditions} and e.valid_to is null
        union all
        select * from register_entry e where {conditions} and e.valid_to is not null
    """


_OWN_VERSIONS: Final = _versions("e.number_key = o.number_key and e.source = o.source")
_TOLD_VERSIONS: Final = _versions("e.number_key = o.number_key and e.source = s.code")


@across_partners("registers")
async def was_listed_as_active_at(tx: Tx, organisation_id: UUID, moment: datetime) -> bool | None:
    """Whether its register listed an organisation as active on a day; None if no load mentioned it."""
    row = await tx.fetchrow(
        f"""
        select bool_or(
            e.valid_from <= $2 and (e.valid_to is null or e.valid_to > $2)
            and coalesce((e.record->>'active')::boolean, true)
        ) as listed
        from organisation o
        join lateral ({_OWN_VERSIONS}) e on true
        where o.id = $1
        """,
        organisation_id,
        moment,
    )
    return row["listed"] if row else None


@across_partners("registers")
async def list_sources_at(tx: Tx, organisation_ids: Sequence[UUID], moment: datetime) -> list[OrganisationSource]:
    """The sources of these records on a day, with the first record's listing first."""
    rows = await tx.fetch(
        f"""
        select g.name, o.registry_number, s.code, s.unverified, loaded.data_as_of
        from organisation o
        join registry g on g.id = o.registry_id
        join register_source s on s.registry_id = o.registry_id
        cross join lateral (
            select e.part from ({_TOLD_VERSIONS}) e
            where e.valid_from <= $2 and (s.code = o.source or e.valid_to is null or e.valid_to > $2)
            order by e.id desc limit 1
        ) entry
        cross join lateral (
            select max(l.data_as_of) as data_as_of from register_load l join register_load_part p on p.load_id = l.id
            where l.source = s.code and p.part = entry.part and l.data_as_of <= $2 and l.status = 'loaded'
                and l.rolls_back is null
        ) loaded
        where o.id = any($1::uuid[])
        order by array_position($1::uuid[], o.id), s.code is distinct from o.source, s.code
        """,
        list(organisation_ids),
        moment,
    )
    return [OrganisationSource(*row) for row in rows]


def _value_on_day(field: str) -> str:
    """Joins that give a column's value on the day ``$2`` as ``held.value``, from its changes (``as_of``)."""
    reported = f"from organisation_change c where c.organisation_id = o.id and c.field = '{field}'"
    return f"""
        left join lateral (
            select c.after as value, true as known {reported} and c.at <= $2 order by c.id desc limit 1
        ) last on true
        left join lateral (select c.before as value, true as known {reported} order by c.id limit 1) first on true
        cross join lateral (select case
            when last.known then last.value when first.known then first.value else to_jsonb(o.{field})
        end as value) held
    """


_SAME_AS_HELD: Final = _value_on_day("same_as")
_BRANCH_OF_HELD: Final = _value_on_day("branch_of")


@across_partners("registers")
async def list_merged_record_ids_at(tx: Tx, organisation_id: UUID, moment: datetime) -> list[UUID]:
    """The records that were merged into this one on a day."""
    rows = await tx.fetch(
        f"""
        with recursive body as (
            select registry_id, number_key from organisation where id = $1
            union
            select linked.registry_id, linked.number_key from body cross join lateral (
                select to_registry_id, to_number_key from register_link l
                where l.kind = 'same' and l.registry_id = body.registry_id and l.number_key = body.number_key
                union all
                select registry_id, number_key from register_link l
                where l.kind = 'same' and l.to_registry_id = body.registry_id and l.to_number_key = body.number_key
            ) linked (registry_id, number_key)
        )
        select o.id from body
        join organisation o on o.registry_id = body.registry_id and o.number_key = body.number_key
            and o.partner_id is null
        {_SAME_AS_HELD}
        where o.id <> $1 and held.value = to_jsonb($1::uuid) order by o.id
        """,
        organisation_id,
        moment,
    )
    return [row["id"] for row in rows]


@across_partners("registers")
async def had_branches_at(tx: Tx, organisation_id: UUID, moment: datetime) -> bool:
    """Whether the organisation had a branch on a day."""
    return bool(
        await tx.fetchval(
            f"""
            select exists (
                select from (
                    select id from organisation where branch_of = $1
                    union
                    select organisation_id from organisation_change
                    where field = 'branch_of' and before = to_jsonb($1::uuid)
                ) ever
                join organisation o on o.id = ever.id
                {_BRANCH_OF_HELD}
                where held.value = to_jsonb($1::uuid) and o.first_seen <= $2
            )
            """,
            organisation_id,
            moment,
        )
    )


async def find_branding_at(tx: Tx, organisation_id: UUID, moment: datetime) -> BrandingSnapshot | None:
    """The branding at a moment, with images that still exist; None if there was none."""
    row = await tx.fetchrow(
        """
        select b.display_name, b.description, (select key from media where key = b.logo) as logo,
            array(
                select m.key from media m where m.key = any(b.images) order by array_position(b.images, m.key)
            ) as images
        from organisation_branding_change b
        where b.organisation_id = $1 and b.at <= $2 order by b.id desc limit 1
        """,
        organisation_id,
        moment,
    )
    return BrandingSnapshot(row["display_name"], row["description"], row["logo"], tuple(row["images"])) if row else None


@dataclass(frozen=True, slots=True)
class NotificationProgress:
    """How far partners were notified of a load's changes."""

    last_notified_id: UUID | None
    done: bool


async def insert_notification_progress(tx: Tx, import_id: UUID) -> None:
    """Start to notify the followers of an import's changes."""
    await tx.execute(
        "insert into organisation_change_notification (load_id) values ($1) on conflict (load_id) do nothing", import_id
    )


async def lock_notification_progress(tx: Tx, import_id: UUID) -> NotificationProgress | None:
    """The progress of a notification, locked until the transaction ends; None if none was started."""
    row = await tx.fetchrow(
        "select last_notified_id, completed_at from organisation_change_notification "
        "where load_id = $1 for no key update",
        import_id,
    )
    return NotificationProgress(row["last_notified_id"], row["completed_at"] is not None) if row else None


async def advance_notification_progress(tx: Tx, import_id: UUID, last_notified_id: UUID | None) -> None:
    """Record that followers up to this organisation were notified; None: all."""
    await tx.execute(
        """
        update organisation_change_notification set last_notified_id = coalesce($2::uuid, last_notified_id),
            completed_at = case when $2::uuid is null then $3::timestamptz end
        where load_id = $1
        """,
        import_id,
        last_notified_id,
        tx.now,
    )


class ChangedRecord(NamedTuple):
    """A changed record, and its primary record."""

    organisation_id: UUID
    primary_record_id: UUID


@across_partners("registers")
async def list_records_changed_by_import(
    tx: Tx, import_id: UUID, after_id: UUID | None, limit: int
) -> list[ChangedRecord]:
    """Records that a load changed, after an ID, by ID.

    Of several records of one organisation only the one with the lowest ID.
    """
    rows: list[Record] = await tx.fetch(
        """
        select changed.organisation_id, coalesce(o.same_as, o.id) as principal
        from (
            select distinct organisation_id from organisation_change
            where load_id = $1 and ($2::uuid is null or organisation_id > $2) order by organisation_id limit $3
        ) changed join organisation o on o.id = changed.organisation_id
        order by changed.organisation_id
        """,
        import_id,
        after_id,
        limit,
    )
    return [ChangedRecord(row["organisation_id"], row["principal"]) for row in rows]


@across_partners("registers")
async def find_already_notified_record_ids(tx: Tx, import_id: UUID, record_ids: Sequence[UUID]) -> set[UUID]:
    """The records among these whose organisation was notified by a record with a lower ID."""
    rows = await tx.fetch(
        """
        select o.id from organisation o
        join organisation other on (other.id = o.same_as or other.same_as = coalesce(o.same_as, o.id))
            and other.id < o.id
        where o.id = any($2::uuid[]) and exists (
            select from organisation_change c where c.load_id = $1 and c.organisation_id = other.id
        )
        """,
        import_id,
        list(record_ids),
    )
    return {row["id"] for row in rows}


@across_partners("registers")
async def list_former_names(tx: Tx, organisation_id: UUID) -> list[FormerName]:
    """An organisation's former names from current loads, newest first."""
    rows = await tx.fetch(
        """
        select c.before #>> '{}' as name, c.at from organisation_change c join register_load l on l.id = c.load_id
        where c.organisation_id = $1 and c.field = 'name' and c.before is not null
            and l.rolls_back is null and l.status <> 'rolled_back'
        order by c.id desc limit 20
        """,
        organisation_id,
    )
    return [FormerName(row["name"], row["at"]) for row in rows]

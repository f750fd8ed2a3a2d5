"""SQL for retagging all organisations after the rules changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.activities.domain import AssignedTags, RetaggingRun
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx

SOURCE: Final = "activity-tags"
"""The source that the history shows for changes of tags."""


@dataclass(frozen=True, slots=True)
class TaggedOrganisation:
    """An organisation with its current tags and register record."""

    id: UUID
    registry_id: UUID
    registry_code: str
    assigned_tags: AssignedTags
    register_record: dict[str, Any] | None


@across_partners("registers")
async def lock_next_organisations(tx: Tx, after_id: UUID | None, limit: int) -> list[TaggedOrganisation]:
    """Lock the next published organisations by ID until the transaction ends.

    For one that is not listed any more, its last register record counts.
    """
    rows = await tx.fetch(
        """
        select o.id, o.registry_id, g.code, o.tag_ids, o.activities, coalesce((
                select e.record from register_entry e
                where e.number_key = o.number_key and e.source = o.source and e.valid_to is null
            ), (
                select e.record from register_entry e
                where e.number_key = o.number_key and e.source = o.source and e.valid_to is not null
                order by e.id desc limit 1
            )) as record
        from organisation o
        join registry g on g.id = o.registry_id
        where o.partner_id is null and ($1::uuid is null or o.id > $1)
        order by o.id limit $2 for no key update of o
        """,
        after_id,
        limit,
    )
    return [_tagged_organisation(row) for row in rows]


def _tagged_organisation(row: Record) -> TaggedOrganisation:
    return TaggedOrganisation(
        row["id"],
        row["registry_id"],
        row["code"],
        AssignedTags(tuple(row["tag_ids"]), row["activities"] or {}),
        row["record"],
    )


async def insert_retagging_run(tx: Tx, run: RetaggingRun) -> None:
    """Store a new retagging run."""
    await tx.execute(
        "insert into activity_classification_run (id, version, started_at) values ($1, $2, $3)",
        run.id,
        run.version,
        run.started_at,
    )


async def update_retagging_progress(tx: Tx, run: RetaggingRun) -> None:
    """Store the progress of a retagging run."""
    await tx.execute(
        "update activity_classification_run set organisations = $2, changed = $3, completed_at = $4 where id = $1",
        run.id,
        run.organisations,
        run.changed,
        run.completed_at,
    )


async def list_retagging_runs(tx: Tx, limit: int) -> list[RetaggingRun]:
    """The latest retagging runs, newest first."""
    rows = await tx.fetch(
        """
        select id, version, started_at, completed_at, organisations, changed
        from activity_classification_run order by id desc limit $1
        """,
        limit,
    )
    return [RetaggingRun(**row) for row in rows]


async def insert_import_for_tag_changes(tx: Tx, import_id: UUID, registry_id: UUID) -> None:
    """Store the load under which the tag changes of one registry are recorded."""
    await tx.execute(
        """
        insert into register_load (
            id, registry_id, source, data_as_of, loaded_at, rows, added, changed, removed, quarantined, forced, status
        ) values ($1, $2, $3, date_trunc('day', $4::timestamptz, 'UTC'), $4, 0, 0, 0, 0, 0, false, 'loaded')
        """,
        import_id,
        registry_id,
        SOURCE,
        tx.now,
    )


async def update_organisation_tags(tx: Tx, changed: Sequence[tuple[TaggedOrganisation, AssignedTags, UUID]]) -> None:
    """Store the new tags of these organisations, and their history."""
    rows = [
        {
            "id": str(body.id),
            "load": str(load_id),
            "tags": list(map(str, found.tag_ids)),
            "rules": dict(found.rules_by_sub_tag),
        }
        for body, found, load_id in changed
    ]
    await tx.execute(
        """
        with told as (
            select (row ->> 'id')::uuid as id, (row ->> 'load')::uuid as load_id, row -> 'rules' as rules,
                array(select jsonb_array_elements_text(row -> 'tags')::uuid) as tag_ids
            from jsonb_array_elements($1::jsonb) row
        ), kept as (
            insert into organisation_change (organisation_id, load_id, at, field, before, after)
            select o.id, t.load_id, date_trunc('day', $2::timestamptz, 'UTC'), 'activities', o.activities,
                nullif(t.rules, '{}')
            from told t join organisation o on o.id = t.id order by o.id
        )
        update organisation o set tag_ids = t.tag_ids, activities = nullif(t.rules, '{}'), updated_at = $2
        from told t where o.id = t.id
        """,
        rows,
        tx.now,
    )

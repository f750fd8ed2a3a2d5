"""Retags all loaded organisations after the rules changed, in batches; an interrupted run can be repeated."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from almoner.nonprofits.activities import rules, store
from almoner.nonprofits.activities.domain import (
    RETAGGING_COMPLETED,
    AssignedTags,
    RetaggingCompletedEvent,
    RetaggingRun,
)
from almoner.nonprofits.activities.store import TaggedOrganisation
from almoner.nonprofits.registers.domain import RegisterEntry
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.events import outbox

ReportProgress = Callable[[RetaggingRun], None]
RecordAudit = Callable[[Tx, RetaggingRun], Awaitable[None]]
"""Audits who started the run, in the transaction that ends it."""

_BATCH: Final = 5_000


async def retag_organisations(
    db: Database,
    *,
    batch_size: int = _BATCH,
    on_progress: ReportProgress | None = None,
    record_audit: RecordAudit | None = None,
) -> RetaggingRun:
    """Apply the current rules to every published organisation, in batches; can be resumed.

    Followers are not notified: the organisation itself has not changed. Its history records the new tags.
    """
    async with db.write() as tx:
        application = RetaggingRun(tx.new_id(), rules.VERSION, tx.now)
        await store.insert_retagging_run(tx, application)
    loads: dict[UUID, UUID] = {}
    after: UUID | None = None
    while True:
        async with db.write() as tx:
            organisations = await store.lock_next_organisations(tx, after, batch_size)
            changed = await _retag_batch(tx, organisations, loads)
            application = replace(
                application,
                organisations=application.organisations + len(organisations),
                changed=application.changed + changed,
            )
            if not organisations:
                application = replace(application, completed_at=tx.now)
            await store.update_retagging_progress(tx, application)
            if not organisations:
                await outbox.emit_internal_event(
                    tx, RETAGGING_COMPLETED, RetaggingCompletedEvent(application.id, application.changed)
                )
                if record_audit is not None:
                    await record_audit(tx, application)
                return application
            after = organisations[-1].id
        if on_progress is not None:
            on_progress(application)


async def _retag_batch(tx: Tx, organisations: list[TaggedOrganisation], loads: dict[UUID, UUID]) -> int:
    found = [
        (body, _tags_of_record(body.registry_code, body.register_record))
        for body in organisations
        if body.register_record is not None
    ]
    differ = [(body, now) for body, now in found if not _has_same_tags(body.assigned_tags, now)]
    for body, _ in differ:
        if body.registry_id not in loads:
            loads[body.registry_id] = tx.new_id()
            await store.insert_import_for_tag_changes(tx, loads[body.registry_id], body.registry_id)
    if differ:
        await store.update_organisation_tags(tx, [(body, now, loads[body.registry_id]) for body, now in differ])
    return len(differ)


def _tags_of_record(registry_code: str, stated: Mapping[str, Any]) -> AssignedTags:
    entry = RegisterEntry(
        stated.get("number", ""), stated.get("part", ""), stated.get("name", ""), facts=stated.get("facts", {})
    )
    return rules.derive_tags_of_register_entry(registry_code, entry)


def _has_same_tags(one: AssignedTags, other: AssignedTags) -> bool:
    return set(one.tag_ids) == set(other.tag_ids) and dict(one.rules_by_sub_tag) == dict(other.rules_by_sub_tag)

"""Applies a load's links between numbers (mergers, duplicates) to organisations."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.nonprofits.legal_status import service as legal_status
from almoner.nonprofits.merges import domain, store
from almoner.nonprofits.merges.domain import ImportScope, RegistryNumber, SuccessionKind
from almoner.nonprofits.merges.store import FieldChange, LinkedRegistrationNumbers, OrganisationStatusOverride
from almoner.nonprofits.merges.store import count_ambiguous_register_links as count_ambiguous_register_links
from almoner.nonprofits.merges.store import has_register_links as has_register_links
from almoner.nonprofits.merges.store import (
    revert_register_links_and_list_affected_numbers as revert_register_links_and_list_affected_numbers,
)
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.registers.domain import CHANGED, RegisterChangedEvent, RegisterLink
from almoner.nonprofits.registries import domain as registries_domain
from almoner.nonprofits.registries import service as registries
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.events import outbox

_ENDINGS: Final[tuple[SuccessionKind, ...]] = ("merged", "reregistered")


async def replace_register_links_and_list_affected_numbers(
    tx: Tx,
    source: str,
    import_id: UUID,
    data_date: datetime,
    links: Sequence[RegisterLink],
    complete_parts: Collection[str],
) -> set[RegistryNumber]:
    """Replace a source's links by those of a load, part by part; returns the affected numbers.

    ``complete_parts``: parts for which the load is complete, even without any link. Links of other parts without any
    stay, since their table was not among the files. Links of an invalid number, or of a number with itself, are
    omitted.
    """
    parts = {*complete_parts, *(link.part for link in links)}
    if not parts:
        return set()
    ids = {registry.code: registry.id for registry in await registries.list_registries(tx)}
    rows = []
    for link in links:
        one, other = _key(link.registry_code, link.number), _key(link.to_registry_code, link.to_number)
        of, to = ids.get(link.registry_code), ids.get(link.to_registry_code)
        if one and other and of and to and (of, one) != (to, other):
            rows.append(LinkedRegistrationNumbers(link.part, link.kind, of, one, to, other, link.at))
    return await store.replace_register_links_and_list_changed_numbers(
        tx, source, import_id, data_date, sorted(parts), rows
    )


def _key(registry_code: str, number: str) -> str | None:
    return registries_domain.normalise_stored_number(registry_code, number)


async def apply_register_links_to_organisations(
    tx: Tx,
    import_id: UUID,
    data_date: datetime,
    import_scope: ImportScope,
    numbers_with_changed_links: Collection[RegistryNumber],
) -> None:
    """Update organisations' successors and primary records after a load.

    These and the status decide who is active; branches and merged records follow from that. Changes are recorded in the
    load's history and followers are notified. ``numbers_with_changed_links``: numbers whose links changed.
    """
    await store.lock_register_links(tx)
    await store.set_planner_join_method(tx, uses_nested_loops=True)
    registry_id, numbers = import_scope.registry_id, import_scope.changed_numbers
    if narrow := numbers is not None:
        redated = await legal_status.list_unchanged_registry_numbers_to_recheck(
            tx, registry_id, import_scope.source, import_scope.register_parts
        )
        numbers = {*numbers, *redated}
        own = {RegistryNumber(registry_id, number) for number in numbers}
        await store.stage_numbers_and_linked_numbers(tx, own | set(numbers_with_changed_links))
    await _apply_successors(tx, import_id, data_date, collected_only=narrow)
    async for judged in legal_status.iterate_changed_status_overrides(tx, registry_id, numbers):
        known = await store.list_status_overrides(tx, list(judged)) if judged else []
        changed = [
            (
                row,
                replace(
                    row,
                    status_override=judged[row.organisation_id],
                    active=row.listed and judged[row.organisation_id] is None,
                ),
            )
            for row in known
            if row.succeeded_by is None
        ]
        await _apply_overrides(tx, import_id, data_date, changed)
    if narrow:
        await store.stage_affected_branches(tx, registry_id, import_scope.changed_group_keys)
    await store.set_planner_join_method(tx, uses_nested_loops=narrow)
    await store.update_branch_parents(tx, registry_id, import_id, data_date, staged_only=narrow)
    await store.set_planner_join_method(tx, uses_nested_loops=True)
    await _apply_primary_records(tx, import_id, data_date, collected_only=narrow)
    await organisations.enqueue_import_notifications(tx, import_id)
    await outbox.emit_internal_event(tx, CHANGED, RegisterChangedEvent(registry_id, import_id))


async def _apply_successors(tx: Tx, load_id: UUID, day: datetime, *, collected_only: bool) -> None:
    found = domain.resolve_final_successors_by_organisation(
        await store.list_register_successions(tx, staged_only=collected_only)
    )
    known = await store.list_status_overrides_by_kind_or_id(tx, _ENDINGS, list(found), staged_only=collected_only)
    changed = []
    for row in known:
        successor = found.get(row.organisation_id)
        if successor is not None:
            new = replace(row, status_override=successor.kind, succeeded_by=successor.organisation_id, active=False)
        else:
            new = replace(row, status_override=None, succeeded_by=None, active=row.listed)
        changed.append((row, new))
    await _apply_overrides(tx, load_id, day, changed)


async def _apply_overrides(
    tx: Tx, load_id: UUID, day: datetime, rows: Iterable[tuple[OrganisationStatusOverride, OrganisationStatusOverride]]
) -> None:
    changed = [(before, after) for before, after in rows if before != after]
    if not changed:
        return
    await store.set_status_overrides(tx, [after for _, after in changed])
    reported = []
    for before, after in changed:
        kind = after.status_override or _reversal_kind(before)
        for field in ("active", "status_override", "succeeded_by"):
            one, other = getattr(before, field), getattr(after, field)
            if one != other:
                reported.append(FieldChange(before.organisation_id, field, one, other, kind))
    await store.insert_field_changes(tx, load_id, day, reported)


def _reversal_kind(before: OrganisationStatusOverride) -> str:
    return "parted" if before.status_override in _ENDINGS else "reinstated"


async def _apply_primary_records(tx: Tx, load_id: UUID, day: datetime, *, collected_only: bool) -> None:
    pairs = await store.list_duplicate_pairs(tx, staged_only=collected_only)
    known: Mapping[UUID, UUID] = await store.load_primary_record_ids_by_duplicate_id(tx, staged_only=collected_only)
    bodies = (
        await store.load_primary_record_candidates_by_id(tx, list({member for pair in pairs for member in pair}))
        if pairs
        else {}
    )
    found = domain.choose_primary_record_ids_by_duplicate_id(pairs, bodies)
    changed = [(one, found.get(one)) for one in sorted(known.keys() | found.keys()) if known.get(one) != found.get(one)]
    if not changed:
        return
    await store.set_primary_records(tx, ALL_PARTNERS, changed, day)
    reported = [
        FieldChange(one, "same_as", known.get(one), primary, "joined" if primary else "parted")
        for one, primary in changed
    ]
    await store.insert_field_changes(tx, load_id, day, reported)
    for left in sorted({known[one] for one, _ in changed if one in known}):
        await organisations.emit_public_details_changed_event(
            tx, left
        )  # its own row is unchanged, but it is the primary record of fewer

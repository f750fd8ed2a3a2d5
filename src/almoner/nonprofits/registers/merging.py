"""Merges a staged load into entries, organisations and links."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from almoner.nonprofits.merges import service as merges
from almoner.nonprofits.merges.domain import ImportScope
from almoner.nonprofits.registers import store, store_merge, store_staging
from almoner.nonprofits.registers.domain import FilledRowCounts, ImportRefused, RegisterImport
from almoner.nonprofits.registers.ports import RegisterSource, RegistryDeclaringSource
from almoner.nonprofits.registers.reading import ProgressReporter
from almoner.nonprofits.registers.store_merge import ImportRun, NumberChangeCounts
from almoner.nonprofits.registries import service as registries
from almoner.nonprofits.registries.domain import DeclaredRegistry, Registry
from almoner.platform.database.transactions import Tx

RecordAudit = Callable[[Tx, RegisterImport], Awaitable[None]]
"""Audits who loaded it, in the same transaction; also for a quarantined load."""

_STEPS: Final = 5


async def get_registry_of_source(tx: Tx, source: RegisterSource) -> Registry:
    """The registry of a source's numbers. Raises ImportRefused if it is not declared."""
    for row in await registries.list_registries(tx):
        if row.code == source.registry_code:
            return row
    raise ImportRefused(f"{source.registry_code} is not a registry: nothing of {source.code} was ever loaded")


async def create_declared_registry(tx: Tx, source: RegisterSource) -> DeclaredRegistry | None:
    """Create the registry that a source declares. Raises ImportRefused if it differs from a known one."""
    declared = source.declared_registry if isinstance(source, RegistryDeclaringSource) else None
    if declared is None:
        return None
    entered = await registries.insert_registry_if_new(tx, declared)
    if entered is None:
        raise ImportRefused(
            f"the registry {declared.code} already exists with other names or another country: "
            "see GET /v1/registries. Give yours a code of its own, or leave [registry] out"
        )
    return declared if entered else None


async def apply_staged_import(
    tx: Tx,
    source: RegisterSource,
    registry_id: UUID,
    staging_id: UUID,
    new_import: RegisterImport,
    filled_counts_by_staged_part: Mapping[str, FilledRowCounts],
    unchanged_parts: Sequence[str],
    progress_reporter: ProgressReporter,
    max_row_lookups: int,
) -> RegisterImport:
    """Apply the staged parts, leaving ``unchanged_parts`` unchanged; returns the import with its counts.

    Up to ``max_row_lookups`` differing rows are looked up one by one.
    """
    staged, day = store_staging.staging_table_name(staging_id), new_import.data_as_of
    parts = list(filled_counts_by_staged_part)
    if source.has_repeated_numbers:
        staged = await store_merge.create_rows_by_number_table(tx, staging_id)
    compared = new_import.rows <= max_row_lookups or await store_merge.has_entries(tx, source.code)
    if compared:
        rows_sql, counts = await store_merge.create_and_count_differences(
            tx, source.code, staged, parts, unchanged_parts, source.ignored_columns, day, max_row_lookups
        )
    else:
        rows_sql, counts = store_merge.first_import_rows_sql(staged), NumberChangeCounts()
    progress_reporter.report_apply_steps(1, _STEPS)
    doing = ImportRun(
        source.code, registry_id, new_import.id, day, rows_sql, compared and counts.total <= max_row_lookups
    )
    if compared:
        await store_merge.end_superseded_entries(tx, doing)
    inserted = await store_merge.insert_entries(tx, doing)
    progress_reporter.report_apply_steps(2, _STEPS)
    if source.lists_organisations:
        await apply_changes_to_organisations(tx, doing, had_previous_entries=compared)
    progress_reporter.report_apply_steps(3, _STEPS)
    reported = await store_staging.list_staged_register_links(tx, staging_id)
    # A single file without links states that there are none; an extract may lack their table.
    silent = () if source.reads_files_together else filled_counts_by_staged_part.keys()
    relinked = await merges.replace_register_links_and_list_affected_numbers(
        tx, source.code, new_import.id, day, reported, silent
    )
    await store.upsert_register_parts(tx, new_import, filled_counts_by_staged_part)
    await store.update_source_dates(tx, source.code, registry_id)
    scope = await import_scope_of_parts(tx, doing, filled_counts_by_staged_part)
    await merges.apply_register_links_to_organisations(tx, new_import.id, day, scope, relinked)
    progress_reporter.report_apply_steps(4, _STEPS)
    added = counts.added if compared else inserted
    ambiguous = await merges.count_ambiguous_register_links(tx, source.code)
    return _with_counts(new_import, counts, added, ambiguous)


def _with_counts(
    register_import: RegisterImport, counts: NumberChangeCounts, added: int, ambiguous: int
) -> RegisterImport:
    return replace(
        register_import,
        added=added,
        changed=counts.changed,
        ignored_changes=counts.ignored_changes,
        moved=counts.moved,
        removed=counts.removed,
        ambiguous=ambiguous,
    )


async def import_scope_of_parts(tx: Tx, import_run: ImportRun, register_parts: Collection[str]) -> ImportScope:
    """The numbers and parts that a merge affected."""
    if not import_run.looks_up_rows_one_by_one:
        return ImportScope(import_run.registry_id, import_run.source, register_parts, None)
    numbers, changed_groups = await store_merge.list_changed_numbers_and_groups(tx)
    return ImportScope(import_run.registry_id, import_run.source, register_parts, numbers, changed_groups)


async def apply_changes_to_organisations(tx: Tx, import_run: ImportRun, *, had_previous_entries: bool) -> None:
    """Update organisations from the differing entries.

    ``had_previous_entries``: whether there were previous entries.
    """
    await store_merge.insert_organisation_changes(tx, import_run)
    await store_merge.update_organisations(tx, import_run)
    await store_merge.insert_organisations(tx, import_run)
    if had_previous_entries:
        await store_merge.deactivate_removed_organisations(tx, import_run)

"""Rolls back the newest load of a source, by a load of its own."""

from typing import Any, Final
from uuid import UUID

from almoner.nonprofits.merges import service as merges
from almoner.nonprofits.registers import merging, records, store, store_diff, store_merge, store_staging
from almoner.nonprofits.registers.domain import ImportRefused, RegisterImport
from almoner.nonprofits.registers.merging import RecordAudit, get_registry_of_source
from almoner.nonprofits.registers.ports import RegisterSource
from almoner.nonprofits.registers.reading import AnotherImportInProgress
from almoner.nonprofits.registers.store_merge import FEW_ROWS, ImportRun
from almoner.platform.database.transactions import Database, Tx

_AT_ONCE: Final = 5_000


async def roll_back_newest_import(
    db: Database, source: RegisterSource, record_audit: RecordAudit | None = None
) -> RegisterImport:
    """Roll back the newest load of a source.

    Raises ImportRefused. Previous entries become current again, organisations get their fields back, and those it added
    become inactive. The changes have the date of the reverted data, so that no day shows them.
    """
    async with db.write() as tx:
        registry = await get_registry_of_source(tx, source)
        await store.lock_registry(tx, registry.id)
        newest = await store.find_newest_import(tx, source.code)
        if newest is None:
            raise ImportRefused(f"nothing of {source.code} is loaded: there is nothing to take back")
        if newest.rolls_back is not None:
            raise ImportRefused(
                f"the newest load of {source.code} was taken back already: load the files that are to count"
            )
        made = await _undo(tx, source, registry.id, newest)
        if record_audit is not None:
            await record_audit(tx, made)
    async with db.write() as tx:
        await store_merge.analyse_search_tables(tx, made)
    return made


async def _undo(tx: Tx, source: RegisterSource, registry_id: UUID, newest: RegisterImport) -> RegisterImport:
    load_id = tx.new_id()
    if (started := await store_staging.begin_or_resume_staging(tx, source.code, [load_id.bytes])) is None:
        raise AnotherImportInProgress(source.code)
    staging_id = started.staging_id
    total = await _stage(tx, source, staging_id, newest)
    await store_staging.tune_session_for_import(tx, staging_id, is_small_import=total <= FEW_ROWS)
    staged = store_staging.staging_table_name(staging_id)
    rows_sql, counts = await store_merge.create_and_count_reverted_differences(tx, source.code, staged, newest.id)
    await store_diff.mark_import_rolled_back(tx, newest.id)
    parts = await store_diff.restore_previous_register_parts(tx, source.code, newest.id)
    standing = await store.load_imported_parts_by_code(tx, source.code)
    doing = ImportRun(
        source.code, registry_id, load_id, newest.data_as_of, rows_sql, counts.total <= FEW_ROWS, is_rollback=True
    )
    await store_merge.end_superseded_entries(tx, doing)
    await store_merge.insert_entries(tx, doing)
    if source.lists_organisations:
        await merging.apply_changes_to_organisations(tx, doing, had_previous_entries=True)
    created = RegisterImport(
        id=load_id,
        registry_code=newest.registry_code,
        source=source.code,
        data_as_of=max((part.data_as_of for part in standing.values()), default=newest.data_as_of),
        loaded_at=tx.now,
        rows=counts.added + counts.changed,
        added=counts.added,
        changed=counts.changed,
        removed=counts.removed,
        quarantined=0,
        forced=False,
        files=(),
        moved=counts.moved,
        rolls_back=newest.id,
    )
    await store.insert_import(tx, registry_id, created, [], {})
    await store.update_source_dates(tx, source.code, registry_id)
    relinked = await merges.revert_register_links_and_list_affected_numbers(tx, newest.id, load_id)
    scope = await merging.import_scope_of_parts(tx, doing, parts)
    await merges.apply_register_links_to_organisations(tx, load_id, newest.data_as_of, scope, relinked)
    await store_staging.delete_staging(tx, staging_id)
    return created


async def _stage(tx: Tx, source: RegisterSource, staging_id: UUID, newest: RegisterImport) -> int:
    """Stage the versions that the load ended as if a file contained them; returns how many."""
    total = await store_diff.stage_entries_ended_by_import(tx, newest.id)
    for after in range(0, total, _AT_ONCE):
        ended = await store_diff.list_staged_ended_entries(tx, after, after + _AT_ONCE)
        rows = [_staged_record(tx, source, newest.registry_code, row, after + nth) for nth, row in enumerate(ended)]
        await store_staging.copy_staging_rows(tx, staging_id, rows)
    return total


def _staged_record(tx: Tx, source: RegisterSource, registry_code: str, row: Any, line: int) -> tuple[Any, ...]:
    record = row["record"]
    if not source.lists_organisations:
        return records.build_staging_row_from_record(row["number_key"], row["part"], record, line)
    entry = records.parse_register_record(row["part"], record)
    staged = records.build_staging_row_or_problem(registry_code, entry, record, tx.new_id(), 0, line)
    assert not isinstance(staged, str)  # it was stored before
    return staged

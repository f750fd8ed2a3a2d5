"""Imports a register: files are staged, checked, and merged in one transaction."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

from almoner.nonprofits.registers import files, load_checks, reading, store, store_merge, store_staging
from almoner.nonprofits.registers.domain import (
    QUARANTINED,
    FileReadResult,
    FilledRowCounts,
    ImportedFile,
    ImportRefused,
    QuarantinedDifferences,
    RegisterImport,
    RegisterImportQuarantined,
    RegisterQuarantinedEvent,
    UnreadableColumns,
    add_unreadable_values,
)
from almoner.nonprofits.registers.files import ImportFile
from almoner.nonprofits.registers.load_checks import FirstRejectedRow, RegisterImportSummary
from almoner.nonprofits.registers.merging import RecordAudit as RecordAudit
from almoner.nonprofits.registers.merging import apply_staged_import, get_registry_of_source
from almoner.nonprofits.registers.merging import create_declared_registry as create_declared_registry
from almoner.nonprofits.registers.ports import RegisterSource, SourceWithDataDate
from almoner.nonprofits.registers.quarantine import find_quarantined_differences
from almoner.nonprofits.registers.reading import AnotherImportInProgress, ProgressReporter, ReportProgress
from almoner.nonprofits.registers.rollback import roll_back_newest_import as roll_back_newest_import
from almoner.nonprofits.registers.store import ImportedPart
from almoner.nonprofits.registers.store_merge import FEW_ROWS
from almoner.nonprofits.registries.domain import Registry
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.events import outbox

_KEPT_QUARANTINE: Final = 50_000


async def import_files(
    db: Database,
    source: RegisterSource,
    paths: Sequence[Path],
    *,
    as_of: datetime | None = None,
    force: bool = False,
    on_progress: ReportProgress | None = None,
    record_audit: RecordAudit | None = None,
    max_row_lookups: int = FEW_ROWS,
) -> RegisterImport:
    """Load the files of one register as one snapshot, all or nothing.

    ``as_of``: the date of the data (00:00 UTC); by default the one stated in the files, else that of
    ``files.data_date_of_files``. ``force``: load despite failed load checks. ``record_audit``: called before the
    commit. Files that are already loaded are skipped unless their date is newer, which then becomes the date of the
    data. Files read before an interruption are not read again. Up to ``max_row_lookups`` rows are looked up one
    by one, more are joined with whole tables. Raises RegisterImportQuarantined when load checks fail, and ImportRefused
    when the files cannot be read.
    """
    found = await asyncio.to_thread(files.find_import_files, paths)  # hashing gigabytes must not block the event loop
    as_of = as_of or await asyncio.to_thread(_data_date_inside, source, found)
    async with db.write() as tx:
        registry = await get_registry_of_source(tx, source)
        await store.upsert_source(tx, registry.id, source)
        loaded = await store.load_data_dates_by_file_hash(tx, source.code, [one.imported_file.sha256 for one in found])
    fresh = found if force else [one for one in found if _is_new(one, loaded, as_of)]
    if not fresh:
        return await _unchanged_load(db, source, registry, found)
    fresh = found if source.reads_files_together else fresh
    day = as_of or files.data_date_of_files(fresh)
    _check_data_date(db, day)
    staging_id, pace = await reading.read_files_into_staging(db, source, fresh, day, on_progress)
    async with db.write() as tx:
        await store.lock_registry(tx, registry.id)
        if not await store_staging.try_lock_staging(tx, staging_id):
            raise AnotherImportInProgress(source.code)
        load = await _ImportRun(tx, source, registry, staging_id, fresh, day, pace, max_row_lookups).finish(force=force)
        await store_staging.delete_staging(tx, staging_id)
        if record_audit is not None:
            await record_audit(tx, load)
    if load.status == "quarantined":
        raise RegisterImportQuarantined(load)
    async with db.write() as tx:
        await store_merge.analyse_search_tables(tx, load)
    return load


def _data_date_inside(source: RegisterSource, found: Sequence[ImportFile]) -> datetime | None:
    if not isinstance(source, SourceWithDataDate):
        return None
    with ExitStack() as stack, suppress(ImportRefused):  # the reading step reports and stores the reason
        return source.data_date([stack.enter_context(files.open_import_file(one)) for one in found])
    return None


def _is_new(one: ImportFile, loaded: Mapping[bytes, datetime], as_of: datetime | None) -> bool:
    """Whether a file is not loaded yet, or is loaded with an earlier date."""
    known = loaded.get(one.imported_file.sha256)
    return known is None or known < (as_of or files.data_date_of_files([one]))


def _check_data_date(db: Database, day: datetime) -> None:
    """Refuse data with a future date: all later files would seem older.

    Raises ImportRefused. Dates are compared with real time, or with a sandbox's clock if that is further ahead.
    """
    clock = db.deployment.clock
    if day > max(clock.now(), clock.real_now()) + timedelta(days=1):
        raise ImportRefused(
            f"the data would be of {day:%Y-%m-%d}, a day to come: name the day they are of with --as-of, or rename "
            "the file or folder that names a wrong one"
        )


async def _unchanged_load(
    db: Database, source: RegisterSource, registry: Registry, found: Sequence[ImportFile]
) -> RegisterImport:
    async with db.read() as tx:
        newest = await store.find_newest_import(tx, source.code)
        assert newest is not None  # a loaded file has a load
        given = tuple(one.imported_file for one in found)
        return RegisterImport(
            tx.new_id(), registry.code, source.code, newest.data_as_of, tx.now, 0, 0, 0, 0, 0, False, given, "unchanged"
        )


@dataclass(frozen=True, slots=True)
class _ImportRun:
    """Files that were read and are about to become a load."""

    tx: Tx
    source: RegisterSource
    registry: Registry
    staging_id: UUID
    found: Sequence[ImportFile]
    data_date: datetime
    pace: ProgressReporter
    few: int

    async def finish(self, *, force: bool) -> RegisterImport:
        """Check the load, then merge or quarantine it."""
        tx, staging_id = self.tx, self.staging_id
        self.pace.report_apply_steps(0, 1)
        read = await store_staging.list_file_read_results(tx, staging_id)
        await store_staging.tune_session_for_import(tx, staging_id, is_small_import=_count_staged(read) <= self.few)
        by_file = _fills_by_file(read, await self._rejected_repeats())
        parts = _sum_fills(by_file)
        rows = sum(fills["rows"] for fills in parts.values())
        loaded = await store.load_imported_parts_by_code(tx, self.source.code)
        strays = await self._parts_named_by_mistake(parts, loaded, rows)
        parts = {part: fills for part, fills in parts.items() if part not in strays}
        parts |= {part: {"rows": 0} for part in await self._parts_to_remove(parts) if part in loaded}
        bad = await store_staging.count_rejected_rows_by_file(tx, staging_id)
        await store_staging.retain_entries_with_rejected_rows(
            tx, staging_id, self.source.code, lists_organisations=self.source.lists_organisations
        )
        covered = [part for part in loaded if part in parts]
        await store_staging.retain_missing_entries_if_rows_lack_numbers(
            tx, staging_id, self.source.code, covered, retain_all_if_a_row_matches_no_name=not force
        )
        reasons = load_checks.quarantine_reasons(await self._summarise(read, parts, loaded, sum(bad.values())))
        refused = bool(reasons) and (not force or not any(fills["rows"] for fills in parts.values()))
        load = RegisterImport(
            id=tx.new_id(),
            registry_code=self.registry.code,
            source=self.source.code,
            data_as_of=self.data_date,
            loaded_at=tx.now,
            rows=rows,
            added=0,
            changed=0,
            removed=0,
            quarantined=sum(bad.values()),
            forced=force,
            files=tuple(self._with_counts(place, by_file, bad, strays) for place in range(len(self.found))),
            status="quarantined" if refused else "loaded",
            reasons=tuple(reasons) if refused else (),
            unnumbered=sum(one.rows_without_number for one in read),
            unreadable_values=_unreadable_columns(read),
            notes=await store_staging.list_file_remarks(tx, staging_id),
            carried_over=0 if refused else await store_staging.count_retained_numbers(tx),
        )
        differences = await self._quarantine(load, parts, loaded) if refused else None
        if not refused:
            load = await self._merge(load, parts, loaded)
        stored = await store_staging.list_rejected_rows(tx, staging_id, _KEPT_QUARANTINE)
        await store.insert_import(tx, self.registry.id, load, stored, {} if refused else parts, differences)
        return load

    async def _quarantine(
        self, load: RegisterImport, parts: Mapping[str, FilledRowCounts], loaded: Mapping[str, ImportedPart]
    ) -> QuarantinedDifferences | None:
        """Report the quarantine; returns what the load would change, or None if its files hold no rows."""
        event = RegisterQuarantinedEvent(load.source, load.data_as_of, load.reasons)
        await outbox.emit_internal_event(self.tx, QUARANTINED, event)
        if not load.rows:
            return None
        others = [part for part in loaded if part not in parts]
        return await find_quarantined_differences(
            self.tx, self.source, self.staging_id, self.data_date, list(parts), others
        )

    async def _merge(
        self, load: RegisterImport, parts: Mapping[str, FilledRowCounts], loaded: Mapping[str, ImportedPart]
    ) -> RegisterImport:
        others = [part for part in loaded if part not in parts]
        return await apply_staged_import(
            self.tx, self.source, self.registry.id, self.staging_id, load, parts, others, self.pace, self.few
        )

    async def _rejected_repeats(self) -> dict[tuple[int, str], int]:
        if self.source.has_repeated_numbers:
            return {}
        return await store_staging.reject_repeated_numbers_returning_counts(self.tx, self.staging_id)

    async def _parts_named_by_mistake(
        self, parts: Mapping[str, FilledRowCounts], loaded: Mapping[str, ImportedPart], rows: int
    ) -> frozenset[str]:
        """Parts that a few rows of other files name by mistake: no stored number of theirs is in those parts.

        Such a row is loaded with the part it names, but nothing else of that part is replaced.
        """
        few = [
            part
            for part in parts.keys() & loaded.keys()
            if parts[part]["rows"] <= rows * load_checks.MAX_REJECTED_SHARE
        ]
        return frozenset(few) - await store_staging.list_parts_with_known_numbers(
            self.tx, self.staging_id, self.source.code, few
        )

    async def _parts_to_remove(self, parts: Mapping[str, FilledRowCounts]) -> set[str]:
        """Parts of a replaced file that the new files lack: their organisations are removed.

        A file is replaced by one with its name, or by files with most of its parts; one state alone does not replace a
        region.
        """
        left: set[str] = set()
        names = {one.imported_file.name for one in self.found}
        for name, of_file in await store.list_file_names_and_parts(self.tx, self.source.code):
            there = of_file & parts.keys()
            if there and (name in names or 2 * len(there) > len(of_file)):
                left |= of_file - there
        return left

    async def _summarise(
        self,
        read: Sequence[FileReadResult],
        parts: Mapping[str, FilledRowCounts],
        loaded: Mapping[str, ImportedPart],
        bad: int,
    ) -> RegisterImportSummary:
        tx, source = self.tx, self.source
        covered = {part: one for part, one in loaded.items() if part in parts}
        missing: list[str] = []
        if covered and covered.keys() == loaded.keys() and source.canary_numbers:
            probes = sorted(source.canary_numbers)
            if not await store_staging.is_any_number_staged(tx, self.staging_id, probes):
                missing = await store.list_currently_listed_numbers(tx, source.code, probes)
        numbers, gone = await store_staging.count_total_and_missing_numbers(
            tx, self.staging_id, source.code, list(covered)
        )
        first = await store_staging.list_rejected_rows(tx, self.staging_id, 1)
        return RegisterImportSummary(
            refusal_reasons=tuple(one.refusal_reason for one in read if one.refusal_reason),
            rows=sum(fills["rows"] for fills in parts.values()),
            rejected_rows=bad,
            first_rejected_row=FirstRejectedRow(
                self.found[first[0].file_position].imported_file.name,
                first[0].line_number,
                first[0].reason,
            )
            if first
            else None,
            filled_counts_before={part: one.filled_counts for part, one in covered.items()},
            filled_counts_after=parts,
            number_count=numbers,
            missing_number_count=gone,
            missing_canary_numbers=missing,
            data_date=self.data_date,
            newest_data_date=max((one.data_as_of for one in covered.values()), default=None),
        )

    def _with_counts(
        self,
        place: int,
        by_file: Mapping[int, Mapping[str, FilledRowCounts]],
        bad: Mapping[int, int],
        strays: frozenset[str],
    ) -> ImportedFile:
        own = {part: fills["rows"] for part, fills in by_file.get(place, {}).items() if fills["rows"]}
        facts = self.found[place].imported_file
        return replace(
            facts, parts=tuple(sorted(own.keys() - strays)), rows=sum(own.values()), quarantined=bad.get(place, 0)
        )


def _fills_by_file(
    read: Sequence[FileReadResult], again: Mapping[tuple[int, str], int]
) -> dict[int, dict[str, FilledRowCounts]]:
    """The filled columns per file and part, without rows of repeated numbers."""
    by_file = {one.position: {part: dict(fills) for part, fills in one.filled_counts.items()} for one in read}
    for (place, part), rows in again.items():
        by_file[place][part]["rows"] -= rows
    return by_file


def _count_staged(read: Sequence[FileReadResult]) -> int:
    return sum(one.staged_rows for one in read)


def _unreadable_columns(read: Sequence[FileReadResult]) -> UnreadableColumns:
    columns: UnreadableColumns = {}
    for one in read:
        for column, found in one.unreadable_values.items():
            add_unreadable_values(columns, column, found["rows"], found["examples"])
    return columns


def _sum_fills(by_file: Mapping[int, Mapping[str, FilledRowCounts]]) -> dict[str, FilledRowCounts]:
    parts: dict[str, FilledRowCounts] = {}
    for of_file in by_file.values():
        for part, fills in of_file.items():
            total = parts.setdefault(part, {"rows": 0})
            for column, filled in fills.items():
                total[column] = total.get(column, 0) + filled
    return parts


async def list_imports(db: Database, limit: int = 50) -> list[RegisterImport]:
    """The newest loads, newest first."""
    async with db.read() as tx:
        return await store.list_imports(tx, limit)

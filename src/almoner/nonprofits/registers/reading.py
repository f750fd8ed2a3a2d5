"""Reads a load's files into staging, and reports progress."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple
from uuid import UUID

from almoner.nonprofits.registers import domain, files, records, store_staging
from almoner.nonprofits.registers.domain import (
    FileReadResult,
    FilledRowCounts,
    ImportProgress,
    ImportRefused,
    RegisterEntry,
    RegisterFileRemark,
    RegisterLink,
    RejectedRow,
    RowWithoutNumber,
    UnreadableColumns,
    UnreadableValue,
)
from almoner.nonprofits.registers.files import ImportFile, OpenedImportFile
from almoner.nonprofits.registers.ports import RegisterSource, SourceRow
from almoner.nonprofits.registries.domain import parse_number_key
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs.sidecar import run_in_detached_thread

ReportProgress = Callable[[ImportProgress], None]

_ROWS_BETWEEN_REPORTS: Final = 5_000
_ROWS_AT_ONCE: Final = 1_000
_READING: Final = 0.5
"""The measured share of reading in the total load time, for the progress display."""
_FIRST_ROW: Final = 2  # the header is line 1
_LINKS_PART: Final = "links"
"""The part of links from a source that lists no organisations; its rows are counted and checked like others."""


class AnotherImportInProgress(ImportRefused):
    """Another process is importing the same files."""

    def __init__(self, source: str) -> None:
        super().__init__(f"another process is loading {source}: wait until it is done, and run the command again")


@dataclass(slots=True)
class ProgressReporter:
    """Reports the progress of an import."""

    total_bytes: int
    on_progress: ReportProgress | None
    clock_now: Callable[[], datetime]
    rows_read: int = 0
    _started: datetime = field(init=False)

    def __post_init__(self) -> None:
        self._started = self.clock_now()

    def report_bytes_read(self, bytes_read: int) -> None:
        """Report how many bytes of all files were read."""
        self._report_progress("reading", _READING * (bytes_read / self.total_bytes if self.total_bytes else 1.0))

    def report_apply_steps(self, steps_done: int, total_steps: int) -> None:
        """Report how many steps of the merge are done."""
        self._report_progress("merging", _READING + (1 - _READING) * steps_done / total_steps)

    def _report_progress(self, stage: Any, share: float) -> None:
        if self.on_progress is not None:
            elapsed = max((self.clock_now() - self._started).total_seconds(), 1e-6)
            left = domain.estimate_seconds_left(share, elapsed)
            self.on_progress(ImportProgress(stage, self.rows_read, self.rows_read / elapsed, share, left))


class StagedFiles(NamedTuple):
    """Files that were read into staging, and the progress of their import."""

    staging_id: UUID
    progress_reporter: ProgressReporter


async def read_files_into_staging(
    db: Database,
    source: RegisterSource,
    import_files: Sequence[ImportFile],
    data_date: datetime,
    on_progress: ReportProgress | None,
) -> StagedFiles:
    """Read all files that were not read before an interruption, as data of a day. Raises AnotherImportInProgress."""
    hashes = [*(one.imported_file.sha256 for one in import_files), data_date.isoformat().encode()]
    async with db.write() as tx:
        if (
            started := await store_staging.begin_or_resume_staging(
                tx, source.code, hashes, reads_files_together=source.reads_files_together
            )
        ) is None:
            raise AnotherImportInProgress(source.code)
    pace = ProgressReporter(
        sum(one.imported_file.bytes for one in import_files), on_progress, db.deployment.clock.real_now
    )
    pace.rows_read = sum(one.rows for one in started.earlier_read_results)
    known = {one.position for one in started.earlier_read_results}
    before = 0
    for place, together in _read_units(source, import_files):
        if place not in known:
            async with db.write() as tx:
                if not await store_staging.try_lock_staging(tx, started.staging_id):
                    raise AnotherImportInProgress(source.code)
                await _ReadUnit(tx, source, together, place, data_date, pace, before).read(started.staging_id)
        before += sum(one.imported_file.bytes for one in together)
    return StagedFiles(started.staging_id, pace)


def _read_units(source: RegisterSource, import_files: Sequence[ImportFile]) -> list[tuple[int, Sequence[ImportFile]]]:
    """Units that are read at once, as (position of the first file, files): all tables of an extract, or each file."""
    return (
        [(0, import_files)]
        if source.reads_files_together
        else [(place, [one]) for place, one in enumerate(import_files)]
    )


async def _iterate_in_thread(records: Iterator[tuple[Any, ...]]) -> AsyncIterator[tuple[Any, ...]]:
    """Iterate over the records in a thread, so that the worker can extend its leases and run other jobs."""

    def some() -> list[tuple[Any, ...]]:
        return list(islice(records, _ROWS_AT_ONCE))

    while read := await run_in_detached_thread(some):
        for record in read:
            yield record


@dataclass(slots=True)
class _ReadUnit:
    """Files that are read at once."""

    tx: Tx
    source: RegisterSource
    found: Sequence[ImportFile]
    place: int
    data_date: datetime
    pace: ProgressReporter
    before: int
    rows: int = 0
    staged: int = 0
    unnumbered: int = 0
    filled: dict[str, tuple[Counter[str], Counter[str]]] = field(default_factory=dict)
    unreadable_values: UnreadableColumns = field(default_factory=dict)

    async def read(self, staging_id: UUID) -> None:
        """Read the files into staging; if they are refused, store the reason."""
        refused = None
        try:
            async with self.tx.savepoint():
                await store_staging.copy_staging_rows(self.tx, staging_id, _iterate_in_thread(self._records()))
        except ImportRefused as error:
            refused = str(error)
            if not any(one.imported_file.name in refused for one in self.found):
                refused = f"{self.found[0].imported_file.name}: {refused}"
            self.rows, self.staged, self.unnumbered, self.filled, self.unreadable_values = 0, 0, 0, {}, {}
        read = FileReadResult(
            self.place, self.rows, self.staged, self.unnumbered, self._fills(), refused, self.unreadable_values
        )
        await store_staging.insert_file_read_result(self.tx, staging_id, read)

    def _records(self) -> Iterator[tuple[Any, ...]]:
        """One record for each row that is kept."""
        with ExitStack() as stack:
            opened = [stack.enter_context(files.open_import_file(one)) for one in self.found]
            for nth, row in enumerate(self.source.read(opened)):
                if nth % _ROWS_BETWEEN_REPORTS == 0:
                    self._report_progress(opened)
                if (record := self._record(row, nth + _FIRST_ROW)) is not None:
                    self.staged += 1
                    yield record
            self.pace.rows_read += self.rows % _ROWS_BETWEEN_REPORTS

    def _report_progress(self, opened: Sequence[OpenedImportFile]) -> None:
        self.pace.report_bytes_read(self.before + sum(file.bytes_read for file in opened))

    def _record(self, row: SourceRow, line: int) -> tuple[Any, ...] | None:
        match row:
            case RegisterEntry():
                return self._entry(row, line)
            case UnreadableValue():
                self._unread(row.column, row.file_position, row.line_number, row.redacted_value)
                return None
            case RegisterFileRemark():
                return records.build_remark_staging_row(row, self.place)
            case RejectedRow():
                key = parse_number_key(self.source.registry_code, row.number_key) if row.number_key else None
                return records.build_rejected_staging_row(
                    row._replace(number_key=key or row.number_key), self.place + row.file_position
                )
            case RegisterLink():
                if not self.source.lists_organisations:
                    self._count(_LINKS_PART, ("number",), ())
                return records.build_link_staging_row(row, self.place, line)
            case RowWithoutNumber():
                self.unnumbered += 1
                return records.build_unnumbered_staging_row(row, self.place + row.file_position)

    def _entry(self, row: RegisterEntry, line: int) -> tuple[Any, ...]:
        source = self.source
        row = domain.ignore_deregistration_after_data_date(row, self.data_date)
        if long := records.find_oversized_fields(row):
            cleared: dict[str, Any] = dict.fromkeys(long)
            row = row._replace(**cleared)
            for member, text in long.items():
                self._unread(member, 0, line, f"(a text of {len(text)} characters)")
        record = records.serialise_entry(row)
        new_id = self.tx.new_id() if source.lists_organisations else None
        staged = records.build_staging_row_or_problem(source.registry_code, row, record, new_id, self.place, line)
        if isinstance(staged, str):
            number = row.number[: records.MAX_NUMBER_LENGTH]
            key = parse_number_key(source.registry_code, number) or number
            return records.build_rejected_staging_row(RejectedRow(line, staged, number, number_key=key), self.place)
        self._count(row.part, record.keys(), row.facts.keys())
        return staged

    def _unread(self, column: str, file: int, line: int, example: str) -> None:
        domain.add_unreadable_values(
            self.unreadable_values, column, 1, [(self.found[file].imported_file.name, line, example)]
        )

    def _count(self, part: str, members: Iterable[str], facts: Iterable[str]) -> None:
        """Count one more row of the part, with its filled columns."""
        self.rows += 1
        if self.rows % _ROWS_BETWEEN_REPORTS == 0:
            self.pace.rows_read += _ROWS_BETWEEN_REPORTS
        if (filled := self.filled.get(part)) is None:
            filled = self.filled[part] = (Counter(), Counter())
        filled[0].update(members)
        filled[1].update(facts)

    def _fills(self) -> dict[str, FilledRowCounts]:
        """The fill counts; the count of numbers is that of rows, since every record has one."""
        return {
            part: {"rows": members["number"], **members, **{f"facts.{name}": n for name, n in facts.items()}}
            for part, (members, facts) in self.filled.items()
        }

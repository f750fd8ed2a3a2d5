"""Register loads: what a source delivers, and the result of loading it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypedDict
from uuid import UUID

from almoner.kit.events import InternalEvent


class RegisterEntry(NamedTuple):
    """One organisation as a source lists it, without personal data.

    ``part``: the unit that a file replaces (for the IRS a state; for a register in one file ``all``). ``facts``: the
    source's own codes under its own names, the basis of decisions and evidence; empty ones are omitted.
    ``secondary_name``: the second line, which distinguishes organisations with the same first line. A source that
    creates no organisations fills the other members as far as it knows them. ``until``: when an inactive organisation
    ended or will end, if stated; readers have no clock, so the load decides by the date of its data.
    """

    number: str
    part: str
    name: str
    display_name: str | None = None
    secondary_name: str | None = None
    other_names: Sequence[str] = ()
    description: str = ""
    types: Sequence[str] = ()
    active: bool = True
    websites: Sequence[str] = ()
    address_line_1: str | None = None
    address_line_2: str | None = None
    city: str | None = None
    state: str | None = None
    postcode: str | None = None
    registration_date: datetime | None = None
    group_key: str | None = None
    is_branch_parent: bool = False
    usa_group_exempt: bool | None = None
    parent_number: str | None = None
    prominence: int = 0
    facts: Mapping[str, object] = MappingProxyType({})
    until: datetime | None = None


def ignore_deregistration_after_data_date(entry: RegisterEntry, data_date: datetime) -> RegisterEntry:
    """The entry as of the date of its data: an end announced for later is ignored."""
    if not entry.active and entry.until is not None and entry.until > data_date:
        return entry._replace(active=True)
    return entry


class RegisterLink(NamedTuple):
    """A relation between two numbers: merger, duplicate or re-registration.

    ``same``: one organisation in two registers; ``merged``: the first merged into the second; ``reregistered``: the
    second is the first under a new number. ``part``: of the file that states it; a link missing from a later load of
    the part ends.
    """

    kind: Literal["same", "merged", "reregistered"]
    registry_code: str
    number: str
    to_registry_code: str
    to_number: str
    at: datetime | None = None
    part: str = "all"


class RejectedRow(NamedTuple):
    """A rejected row with its reason, without personal data.

    ``file_position``: the position of its file if a source reads several at once. ``number_key``: the key of its
    number, if readable; the number's stored data are kept. ``organisation_name``: else the organisation's name in the
    row. ``lists_organisation``: False for a row that only adds data to an organisation listed by another row.
    """

    line_number: int
    reason: str
    content: str
    file_position: int = 0
    number_key: str | None = None
    organisation_name: str = ""
    lists_organisation: bool = True


class RowWithoutNumber(NamedTuple):
    """A row that the register publishes without a number on purpose.

    ``organisation_name``: the organisation's name. If a stored organisation with this name is missing, it lost its
    number here.
    """

    line_number: int
    file_position: int = 0
    organisation_name: str = ""


class UnreadableValue(NamedTuple):
    """An optional value that cannot be read; the row is loaded without it."""

    line_number: int
    column: str
    redacted_value: str
    file_position: int = 0


class RegisterFileRemark(NamedTuple):
    """A remark about the files of a register as a whole, made while they are read."""

    text: str


class ImportRefused(Exception):
    """The import was refused and changed nothing; the message says why."""


class RegisterImportQuarantined(ImportRefused):
    """The files were read but failed the load checks; the previous load stays current."""

    def __init__(self, load: "RegisterImport") -> None:
        forced = (
            ", or load them as they are with --force" if load.rows else ""
        )  # --force cannot load files without rows
        super().__init__(
            f"these files of {load.source} are put into quarantine, and what was loaded before stays: "
            f"{'; '.join(load.reasons)}. Fetch them again{forced}"
        )
        self.load = load


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """One file of a load. ``sha256``, ``bytes``: of its unpacked content."""

    name: str
    sha256: bytes
    bytes: int
    parts: tuple[str, ...] = ()
    rows: int = 0
    quarantined: int = 0


@dataclass(frozen=True, slots=True)
class RegisterQuarantinedEvent:
    """The internal event that a register's load was quarantined."""

    source: str
    data_as_of: datetime
    reasons: tuple[str, ...]


QUARANTINED: Final = InternalEvent("internal.register_quarantined", RegisterQuarantinedEvent)
"""Emitted when files are quarantined."""


@dataclass(frozen=True, slots=True)
class RegisterChangedEvent:
    """The internal event that a registry's data changed."""

    registry: UUID
    load: UUID


CHANGED: Final = InternalEvent("internal.register_changed", RegisterChangedEvent)
"""Emitted when data about a registry's organisations may have changed."""


class UnreadableColumn(TypedDict):
    """The number of rows in which a column was unreadable, with examples (file, line, redacted value)."""

    rows: int
    examples: list[Sequence[str | int]]


UnreadableColumns = dict[str, UnreadableColumn]
_EXAMPLES: Final = 3


def add_unreadable_values(
    unreadable_columns: UnreadableColumns, column: str, row_count: int, examples: Iterable[Sequence[str | int]]
) -> None:
    """Count more rows in which a column could not be read; the first few are the examples."""
    found = unreadable_columns.setdefault(column, {"rows": 0, "examples": []})
    found["rows"] += row_count
    found["examples"] += islice(examples, _EXAMPLES - len(found["examples"]))


LoadStatus = Literal["loaded", "unchanged", "quarantined", "rolled_back"]


@dataclass(frozen=True, slots=True)
class RegisterImport:
    """One load of a source and its counts.

    ``status`` ``unchanged``: the same files were loaded before. ``changed``: numbers whose data differ;
    ``ignored_changes``: numbers with changes only in facts that the source ignores; ``moved``: numbers in another part
    (included in ``changed``). ``ambiguous``: stored links that are not applied because others contradict them.
    ``unreadable_values``: unreadable optional values. ``carried_over``: numbers kept unchanged because their rows were
    rejected, or because a row with an unreadable number may be theirs. ``notes``: what its files lack.
    """

    id: UUID
    registry_code: str
    source: str
    data_as_of: datetime
    loaded_at: datetime
    rows: int
    added: int
    changed: int
    removed: int
    quarantined: int
    forced: bool
    files: tuple[ImportedFile, ...]
    status: LoadStatus = "loaded"
    reasons: tuple[str, ...] = ()
    ignored_changes: int = 0
    moved: int = 0
    unnumbered: int = 0
    rolls_back: UUID | None = None
    ambiguous: int = 0
    unreadable_values: UnreadableColumns = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    carried_over: int = 0


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """The progress of an import. ``share_done``: of the whole work, 0 to 1."""

    stage: Literal["reading", "merging"]
    rows_read: int
    rows_per_second: float
    share_done: float
    seconds_left: float | None


FilledRowCounts = dict[str, int]
"""The number of rows in which a column is filled, by column; ``rows``: of all rows."""


@dataclass(frozen=True, slots=True)
class FileReadResult:
    """The result of reading one file into staging."""

    position: int
    rows: int
    staged_rows: int
    rows_without_number: int
    filled_counts: dict[str, FilledRowCounts]
    refusal_reason: str | None = None
    unreadable_values: UnreadableColumns = field(default_factory=dict)


class QuarantinedImport(NamedTuple):
    """A load in quarantine, and why."""

    import_id: UUID
    quarantined_at: datetime
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The status of a source: its newest load, age and later quarantined loads.

    ``data_as_of``: of its newest part; ``oldest_data_as_of``: of its oldest one. ``active_organisation_count``:
    organisations that it lists now.
    """

    source: str
    registry_code: str
    lists_organisations: bool
    is_format_unverified: bool
    data_as_of: datetime | None
    oldest_data_as_of: datetime | None
    part_count: int
    row_count: int
    active_organisation_count: int
    last_import_id: UUID | None
    loaded_at: datetime | None
    quarantined_imports: tuple[QuarantinedImport, ...]


@dataclass(frozen=True, slots=True)
class SourceFreshness:
    """The age of a source's data.

    ``max_age``: the promised age; ``waiting``: quarantined loads. ``every``: None if it is not scheduled. ``reading``:
    rows read by an import in progress.
    """

    source: str
    registry_code: str
    unverified: bool
    data_as_of: datetime | None
    max_age: timedelta | None
    loaded_at: datetime | None
    waiting: int
    every: timedelta | None
    due_at: datetime | None
    attempted_at: datetime | None
    status: str | None
    failures: int | None
    reason: str | None
    reading: int | None

    def is_stale(self, now: datetime) -> bool:
        """Whether the data are older than promised."""
        return self.data_as_of is not None and self.max_age is not None and now - self.data_as_of > self.max_age


Decision = Literal["released", "refused"]


@dataclass(frozen=True, slots=True)
class RegisterImportDecision:
    """An operator's decision about a quarantined load."""

    decision: Decision
    decided_by: str
    decided_at: datetime
    note: str


def estimate_seconds_left(share_done: float, elapsed_seconds: float) -> float | None:
    """Estimate the remaining seconds at the current pace; None before 1 % is done."""
    return elapsed_seconds / share_done * (1 - share_done) if share_done >= 0.01 else None


@dataclass(frozen=True, slots=True)
class RegisterImportDifference:
    """The differences between two loads of a source.

    ``columns``: the number of changed and ignored numbers in which a column differs, most frequent first.
    """

    added: int
    removed: int
    changed: int
    ignored_changes: int
    moved: int
    renamed: int
    columns: dict[str, int]


@dataclass(frozen=True, slots=True)
class DifferingRow:
    """A number that a quarantined load would add, change or remove. ``columns``: each name, old and new value."""

    number: str
    fate: str
    columns: list[tuple[str, str | None, str | None]]


@dataclass(frozen=True, slots=True)
class QuarantinedDifferences:
    """What a quarantined load would change. ``rows``: the first numbers of each kind."""

    added: int
    changed: int
    removed: int
    rows: list[DifferingRow]


@dataclass(frozen=True, slots=True)
class NumberDifference:
    """One number that differs between two loads."""

    number: str
    change_kind: str
    old_part: str | None
    new_part: str | None
    old_name: str | None
    new_name: str | None

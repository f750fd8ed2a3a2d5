"""Register loads: what a source delivers, and the decisions that guard a load."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple
from uuid import UUID

SMALLEST_SHARE: Final = 0.9
"""With fewer than this share of the rows it had, a file is refused: it was cut off, or is not the whole register."""
MOST_BAD: Final = 0.01
"""More bad rows than this share and the file is refused: its form has changed."""
BAD_ROWS_IN_ANY_FILE: Final = 10
JUDGED_PART: Final = 100
"""Parts with fewer rows than this may shrink freely; the whole file may not."""


class Entry(NamedTuple):
    """One body as a register lists it. ``part`` is what a file replaces (for the IRS, a state)."""

    number: str
    part: str
    name: str
    display_name: str | None
    other_name: str | None
    types: list[str]
    address_line_1: str | None
    address_line_2: str | None
    city: str | None
    state: str | None
    postcode: str | None
    registration_date: datetime | None
    group_key: str | None
    is_branch_parent: bool
    usa_group_exempt: bool | None
    prominence: int


class BadRow(NamedTuple):
    """A row that is kept in quarantine: why, and its content without personal members."""

    line: int
    reason: str
    content: str


class ImportRefused(Exception):
    """The files were not loaded and nothing was changed; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Where a load came from: one file. ``sha256`` is that of the content, compressed or not."""

    name: str
    sha256: bytes
    bytes: int
    parts: tuple[str, ...] = ()
    rows: int = 0
    quarantined: int = 0


@dataclass(frozen=True, slots=True)
class Load:
    """One load and what it changed. ``status`` is ``unchanged`` when the same files are what is loaded already."""

    id: UUID
    registry_code: str
    source: str
    data_as_of: datetime
    loaded_at: datetime
    rows: int
    added: int
    changed: int
    gone: int
    quarantined: int
    forced: bool
    files: tuple[FileFacts, ...]
    status: Literal["loaded", "unchanged"] = "loaded"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an import is. ``seconds_left`` is None until it can be told."""

    stage: Literal["reading", "merging"]
    rows: int
    rows_per_second: float
    share: float
    seconds_left: float | None


def shrunken(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    """One sentence for every part, and for the whole, that lost more than a tenth of its rows."""
    found = []
    total_before, total_after = sum(before.values()), sum(after.get(part, 0) for part in before)
    if total_after < total_before * SMALLEST_SHARE:
        found.append(f"the files hold {total_after} rows where {total_before} were loaded before")
    for part, rows in sorted(before.items()):
        if rows >= JUDGED_PART and after.get(part, 0) < rows * SMALLEST_SHARE:
            found.append(f"part '{part}' has {after.get(part, 0)} rows where it had {rows}")
    return found


def too_many_bad(good: int, bad: int) -> bool:
    """Whether a file has more bad rows than a register in its known form ever has."""
    return bad > max(BAD_ROWS_IN_ANY_FILE, (good + bad) * MOST_BAD)


def seconds_left(share: float, elapsed: float) -> float | None:
    """Time left at the pace so far, None before the first hundredth."""
    return elapsed / share * (1 - share) if share >= 0.01 else None

"""Checks that a load must pass before it is merged; pure.

Each is based on a real incident: truncated downloads, an HTML page in place of a file, a column that was renamed,
emptied or converted to numbers without leading zeros, a missing state.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from almoner.nonprofits.registers.domain import FilledRowCounts

_MIN_ROW_SHARE: Final = 0.9
"""With fewer than this share of its previous rows a file is refused: it is truncated or not the whole register."""
MAX_REJECTED_SHARE: Final = 0.01
"""With more than this share of bad rows a file is refused: its format has changed."""
_TOLERATED_REJECTED_ROWS: Final = 10
_MIN_CHECKED_ROWS: Final = 100
"""Parts with fewer rows than this may shrink freely; the whole file may not."""
_MIN_CHECKED_FILL: Final = 0.05
"""A column filled in a smaller share of rows may become empty."""
_MIN_FILL_SHARE: Final = 0.5
"""If a column's fill falls below this share of its previous fill, its content was lost."""


class FirstRejectedRow(NamedTuple):
    """The first rejected row of a load, and why."""

    file_name: str
    line_number: int
    reason: str


@dataclass(frozen=True, slots=True)
class RegisterImportSummary:
    """The figures by which a load is checked.

    ``number_count``: how many numbers those parts have; ``missing_number_count``: how many of them are in no file.
    ``missing_canary_numbers``: loaded canary numbers, if the load replaces all parts and contains none of them.
    """

    refusal_reasons: tuple[str, ...]
    rows: int
    rejected_rows: int
    first_rejected_row: FirstRejectedRow | None
    filled_counts_before: Mapping[str, FilledRowCounts]
    filled_counts_after: Mapping[str, FilledRowCounts]
    number_count: int
    missing_number_count: int
    missing_canary_numbers: Collection[str]
    data_date: datetime
    newest_data_date: datetime | None


def quarantine_reasons(summary: RegisterImportSummary) -> list[str]:
    """Why a load must be quarantined; empty if it passes."""
    found = list(summary.refusal_reasons)
    if summary.rows == 0 and not found:
        found.append("the files hold no rows")
    if has_too_many_rejected_rows(summary.rows, summary.rejected_rows) and summary.first_rejected_row is not None:
        first = summary.first_rejected_row
        found.append(
            f"{summary.rejected_rows} of {summary.rows + summary.rejected_rows} rows are bad, "
            f"the first in line {first.line_number} of {first.file_name}: {first.reason}"
        )
    if summary.rows:
        rows_before = {part: fills["rows"] for part, fills in summary.filled_counts_before.items()}
        rows_after = {part: fills["rows"] for part, fills in summary.filled_counts_after.items()}
        found += find_reduced_part_problems(rows_before, rows_after) or find_missing_number_problems(
            summary.number_count, summary.missing_number_count
        )
        found += find_emptied_column_problems(summary.filled_counts_before, summary.filled_counts_after)
    if summary.missing_canary_numbers and summary.rows:
        missing = ", ".join(sorted(summary.missing_canary_numbers)[:3])
        found.append(f"none of the numbers that are always in it is there ({missing})")
    if summary.newest_data_date is not None and summary.data_date < summary.newest_data_date:
        found.append(
            f"the data are of {summary.data_date:%Y-%m-%d}, data of {summary.newest_data_date:%Y-%m-%d} are loaded "
            "(say --as-of if that day is wrong)"
        )
    return found


def find_reduced_part_problems(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    """One sentence for every part that lost more than a tenth of its rows."""
    found = []
    total_before, total_after = sum(before.values()), sum(after.get(part, 0) for part in before)
    if total_after < total_before * _MIN_ROW_SHARE:
        found.append(f"the register shrank: the files hold {total_after} rows where {total_before} were loaded before")
    for part, rows in sorted(before.items()):
        if rows >= _MIN_CHECKED_ROWS and after.get(part, 0) < rows * _MIN_ROW_SHARE:
            found.append(f"part '{part}' has {after.get(part, 0)} rows where it had {rows}")
    return found


def find_missing_number_problems(number_count: int, missing_count: int) -> list[str]:
    """A sentence if more than a tenth of the numbers disappeared."""
    if number_count < _MIN_CHECKED_ROWS or number_count - missing_count >= number_count * _MIN_ROW_SHARE:
        return []
    reported = f"{missing_count} of the {number_count} numbers that were loaded before are in none of the files"
    return [f"{reported}: they are written otherwise, or the files are of another register"]


def has_too_many_rejected_rows(accepted_count: int, rejected_count: int) -> bool:
    """Whether a file has more bad rows than the register's known format ever has."""
    return rejected_count > max(_TOLERATED_REJECTED_ROWS, (accepted_count + rejected_count) * MAX_REJECTED_SHARE)


def find_emptied_column_problems(
    before: Mapping[str, FilledRowCounts], after: Mapping[str, FilledRowCounts]
) -> list[str]:
    """One sentence for every column that is much emptier than before."""
    was, now = _sum_fills(before), _sum_fills({part: fills for part, fills in after.items() if part in before})
    rows_was, rows_now = was.pop("rows", 0), now.pop("rows", 0)
    if rows_was < _MIN_CHECKED_ROWS or rows_now == 0:
        return []
    found = []
    for column, filled in sorted(was.items()):
        share, left = filled / rows_was, now.get(column, 0) / rows_now
        if share >= _MIN_CHECKED_FILL and left < share * _MIN_FILL_SHARE:
            found.append(f"{column} holds something in {left:.1%} of the rows where it was {share:.1%}")
    return found


def _sum_fills(fills: Mapping[str, FilledRowCounts]) -> FilledRowCounts:
    total: FilledRowCounts = {}
    for of_part in fills.values():
        for column, filled in of_part.items():
            total[column] = total.get(column, 0) + filled
    return total

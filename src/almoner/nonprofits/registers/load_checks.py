"""What a load must pass before it is merged: pure, each a list of sentences, none when all is well.

Each is there because it happened: files cut off while they were fetched, a page of HTML in the place of a file, a
column that was renamed, emptied, or written as numbers so that leading zeros went, a state that was left out.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from almoner.nonprofits.registers.domain import Fills

SMALLEST_SHARE: Final = 0.9
"""With fewer than this share of the rows it had, a file is refused: it was cut off, or is not the whole register."""
MOST_BAD: Final = 0.01
"""More bad rows than this share and the file is refused: its form has changed."""
BAD_ROWS_IN_ANY_FILE: Final = 10
JUDGED_PART: Final = 100
"""Parts with fewer rows than this may shrink freely; the whole file may not."""
FILLED: Final = 0.05
"""A column that holds something in a smaller share of rows may lose it."""
SMALLEST_FILL: Final = 0.5
"""Of the share that a column was filled in: with less, its content was lost."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a load is judged by. ``before`` and ``after`` count rows and filled columns of the parts that it replaces.

    ``numbers`` is how many numbers stand in those parts, ``removed`` how many of these are in none of the files.
    ``missing``: canaries that were loaded and are not in it, when it replaces all parts and holds none of them.
    """

    refused: tuple[str, ...]
    rows: int
    bad: int
    first_bad: tuple[str, int, str] | None
    before: Mapping[str, Fills]
    after: Mapping[str, Fills]
    numbers: int
    removed: int
    missing: Collection[str]
    day: datetime
    newest: datetime | None


def reasons(judged: Judged) -> list[str]:
    """All that is wrong with a load."""
    found = list(judged.refused)
    if judged.rows == 0 and not found:
        found.append("the files hold no rows")
    if too_many_bad(judged.rows, judged.bad) and judged.first_bad is not None:
        name, line, reason = judged.first_bad
        found.append(
            f"{judged.bad} of {judged.rows + judged.bad} rows are bad, the first in line {line} of {name}: {reason}"
        )
    if judged.rows:
        rows_before = {part: fills["rows"] for part, fills in judged.before.items()}
        rows_after = {part: fills["rows"] for part, fills in judged.after.items()}
        found += shrunken_columns(rows_before, rows_after) or exchanged(judged.numbers, judged.removed)
        found += emptied_columns(judged.before, judged.after)
    if judged.missing and judged.rows:
        found.append(f"none of the numbers that are always in it is there ({', '.join(sorted(judged.missing)[:3])})")
    if judged.newest is not None and judged.day < judged.newest:
        found.append(
            f"the data are of {judged.day:%Y-%m-%d}, data of {judged.newest:%Y-%m-%d} are loaded (say --as-of if that "
            f"day is wrong)"
        )
    return found


def shrunken_columns(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    """One sentence for every part, and for the whole, that lost more than a tenth of its rows."""
    found = []
    total_before, total_after = sum(before.values()), sum(after.get(part, 0) for part in before)
    if total_after < total_before * SMALLEST_SHARE:
        found.append(f"the register shrank: the files hold {total_after} rows where {total_before} were loaded before")
    for part, rows in sorted(before.items()):
        if rows >= JUDGED_PART and after.get(part, 0) < rows * SMALLEST_SHARE:
            found.append(f"part '{part}' has {after.get(part, 0)} rows where it had {rows}")
    return found


def exchanged(numbers: int, gone: int) -> list[str]:
    """A sentence when more than a tenth of the numbers went, though as many rows are there."""
    if numbers < JUDGED_PART or numbers - gone >= numbers * SMALLEST_SHARE:
        return []
    told = f"{gone} of the {numbers} numbers that were loaded before are in none of the files"
    return [f"{told}: they are written otherwise, or the files are of another register"]


def too_many_bad(good: int, bad: int) -> bool:
    """Whether a file has more bad rows than a register in its known form ever has."""
    return bad > max(BAD_ROWS_IN_ANY_FILE, (good + bad) * MOST_BAD)


def emptied_columns(before: Mapping[str, Fills], after: Mapping[str, Fills]) -> list[str]:
    """One sentence for every column that holds far less than it did in the parts that were loaded before."""
    was, now = _sum(before), _sum({part: fills for part, fills in after.items() if part in before})
    rows_was, rows_now = was.pop("rows", 0), now.pop("rows", 0)
    if rows_was < JUDGED_PART or rows_now == 0:
        return []
    found = []
    for column, filled in sorted(was.items()):
        share, left = filled / rows_was, now.get(column, 0) / rows_now
        if share >= FILLED and left < share * SMALLEST_FILL:
            found.append(f"{column} holds something in {left:.1%} of the rows where it was {share:.1%}")
    return found


def _sum(fills: Mapping[str, Fills]) -> Fills:
    total: Fills = {}
    for of_part in fills.values():
        for column, filled in of_part.items():
            total[column] = total.get(column, 0) + filled
    return total

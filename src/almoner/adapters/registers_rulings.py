"""Registers with one row per ruling: an organisation is active while one is in force, else the latest counts."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry
from almoner.nonprofits.registers.ports import SourceRow

_MAX_ENDED: Final = 300_000
"""The maximum number of organisations with only ended rulings, held until the end of the file, about 1 kB each."""
_NO_DAY: Final = datetime(1, 1, 1, tzinfo=UTC)


def select_current_or_latest_rulings(
    rows: Iterable[tuple[SourceRow, datetime | None]], max_ended_organisations: int = _MAX_ENDED
) -> Iterator[SourceRow]:
    """The latest ruling of each organisation. ``rows``: each with the date on which the ruling ended.

    A ruling in force is used, whatever other rows the file has. Raises ImportRefused if more organisations have ended
    than any register has.
    """
    standing: set[str] = set()
    ended: dict[str, tuple[datetime, RegisterEntry]] = {}
    for row, day in rows:
        if not isinstance(row, RegisterEntry):
            yield row
        elif row.active:
            standing.add(row.number)
            yield row
        elif row.number not in standing:
            known = ended.get(row.number)
            if known is None or known[0] < (day or _NO_DAY):
                ended[row.number] = (day or _NO_DAY, row)
            if len(ended) > max_ended_organisations:
                raise ImportRefused(
                    f"more than {max_ended_organisations} organisations have ended: it is not this register"
                )
    for number, (_, row) in ended.items():
        if number not in standing:
            yield row

"""Check whether the data read may replace the current version of a list."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

from almoner.screening.watchlists.ports import WatchlistSource

_MOST_BAD: Final = 0.01
_FEW_BAD: Final = 5
_MOST_REMOVED: Final = 0.2
_FEW_REMOVED: Final = 10


class ImportStatistics(NamedTuple):
    """The size and date of a version. ``name_count``: the names of all entries."""

    entry_count: int
    name_count: int
    published_at: datetime | None


def find_import_problems(
    source: WatchlistSource,
    new_statistics: ImportStatistics,
    current_statistics: ImportStatistics,
    *,
    rejected_count: int,
    removed_count: int,
) -> Iterator[str]:
    """The problems of an import, one sentence each."""
    entry_count = new_statistics.entry_count
    if entry_count < max(source.min_entries, 1):
        yield f"the list has {entry_count:,} entries, but a complete list has at least {max(source.min_entries, 1):,}"
    if rejected_count > max(_FEW_BAD, _MOST_BAD * (entry_count + rejected_count)):
        yield f"{rejected_count:,} of {entry_count + rejected_count:,} rows could not be read"
    if removed_count > max(_FEW_REMOVED, _MOST_REMOVED * current_statistics.entry_count):
        yield f"{removed_count:,} of the {current_statistics.entry_count:,} current entries are missing from the list"
    if current_statistics.name_count - new_statistics.name_count > max(
        _FEW_REMOVED, _MOST_REMOVED * current_statistics.name_count
    ):
        yield (
            f"the entries have {new_statistics.name_count:,} names, but those of the current version have "
            f"{current_statistics.name_count:,}"
        )
    if (
        new_statistics.published_at
        and current_statistics.published_at
        and new_statistics.published_at < current_statistics.published_at
    ):
        yield (
            f"the list is dated {new_statistics.published_at:%Y-%m-%d}, but the current version is dated "
            f"{current_statistics.published_at:%Y-%m-%d}"
        )

"""Check whether the data read may replace the current version of a list."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from almoner.screening.watchlists.ports import WatchlistSource

_MOST_BAD: Final = 0.01
_FEW_BAD: Final = 5
_MOST_REMOVED: Final = 0.2
_FEW_REMOVED: Final = 10


def find_import_problems(
    source: WatchlistSource,
    entry_count: int,
    rejected_count: int,
    removed_count: int,
    current_count: int,
    new_and_current_name_count: tuple[int, int],
    new_and_current_published_at: tuple[datetime | None, datetime | None],
) -> Iterator[str]:
    """The problems of an import, one sentence each.

    ``new_and_current_name_count``: the names of all entries. ``new_and_current_published_at``: the publication times of
    the new and the current version.
    """
    if entry_count < max(source.min_entries, 1):
        yield f"the list has {entry_count:,} entries, but a complete list has at least {max(source.min_entries, 1):,}"
    if rejected_count > max(_FEW_BAD, _MOST_BAD * (entry_count + rejected_count)):
        yield f"{rejected_count:,} of {entry_count + rejected_count:,} rows could not be read"
    if removed_count > max(_FEW_REMOVED, _MOST_REMOVED * current_count):
        yield f"{removed_count:,} of the {current_count:,} current entries are missing from the list"
    names, names_before = new_and_current_name_count
    if names_before - names > max(_FEW_REMOVED, _MOST_REMOVED * names_before):
        yield f"the entries have {names:,} names, but those of the current version have {names_before:,}"
    new, old = new_and_current_published_at
    if new and old and new < old:
        yield f"the list is dated {new:%Y-%m-%d}, but the current version is dated {old:%Y-%m-%d}"

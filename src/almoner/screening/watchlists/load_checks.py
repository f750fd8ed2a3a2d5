"""Check whether the data read may replace the current version of a list."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from almoner.screening.watchlists.ports import WatchlistSource

_MOST_BAD: Final = 0.01
_FEW_BAD: Final = 5
_MOST_REMOVED: Final = 0.2
_FEW_REMOVED: Final = 10


def refusal_reasons(
    source: WatchlistSource,
    entries: int,
    bad: int,
    removed: int,
    before: int,
    published: tuple[datetime | None, datetime | None],
) -> Iterator[str]:
    """The problems of an import, one sentence each.

    ``published``: the publication times of the new and the current version.
    """
    if entries < max(source.min_entries, 1):
        yield f"the list has {entries:,} entries, but a complete list has at least {max(source.min_entries, 1):,}"
    if bad > max(_FEW_BAD, _MOST_BAD * (entries + bad)):
        yield f"{bad:,} of {entries + bad:,} rows could not be read"
    if removed > max(_FEW_REMOVED, _MOST_REMOVED * before):
        yield f"{removed:,} of the {before:,} current entries are missing from the list"
    new, old = published
    if new and old and new < old:
        yield f"the list is dated {new:%Y-%m-%d}, but the current version is dated {old:%Y-%m-%d}"

"""Whether what was read of a list may take the place of what is loaded."""

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
    """What is wrong with a load, a sentence each. ``published``: it, and what is loaded, are of these moments."""
    if entries < max(source.min_entries, 1):
        yield f"it has {entries:,} entries, and every whole list has at least {max(source.min_entries, 1):,}"
    if bad > max(_FEW_BAD, _MOST_BAD * (entries + bad)):
        yield f"{bad:,} of its {entries + bad:,} rows cannot be read"
    if removed > max(_FEW_REMOVED, _MOST_REMOVED * before):
        yield f"{removed:,} of the {before:,} entries that are loaded are not in it"
    new, old = published
    if new and old and new < old:
        yield f"it is of {new:%Y-%m-%d}, and what is loaded of {old:%Y-%m-%d}"

"""The interface of a watch list reader; one adapter for each format."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from almoner.screening.watchlists.domain import Category, ListedEntity, RejectedEntry


class WatchlistSource(Protocol):
    """A format in which a watch list is published."""

    @property
    def code(self) -> str:
        """Its name on the command line: ``ofac-sdn``."""
        ...

    @property
    def title(self) -> str:
        """The name of the list, with its publisher."""
        ...

    @property
    def licence(self) -> str:
        """Under what its data may be used."""
        ...

    @property
    def category(self) -> Category | None:
        """The category of a match; None if each entry has its own."""
        ...

    @property
    def unverified(self) -> bool:
        """Written from the layout alone, never run on a real file."""
        ...

    @property
    def min_entries(self) -> int:
        """Entries that every whole list has at least; fewer are a list that was cut off."""
        ...

    def read(self, files: Sequence[Path]) -> Iterator[ListedEntity | RejectedEntry]:
        """The entries, one at a time. Raises WatchlistRefused when the files are no such list."""
        ...


@runtime_checkable
class DatedWatchlist(Protocol):
    """A source whose files contain their publication time."""

    def published_at(self, files: Sequence[Path]) -> datetime | None:
        """The publication time; None if the files do not contain it. Raises WatchlistRefused."""
        ...

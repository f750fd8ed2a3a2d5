"""The interface of a watchlist reader; one adapter for each format."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from almoner.screening.watchlists.domain import Category, ListedEntity, RejectedEntry


class WatchlistSource(Protocol):
    """A format in which a watchlist is published."""

    @property
    def code(self) -> str:
        """Its code on the command line: ``ofac-sdn``."""
        ...

    @property
    def title(self) -> str:
        """The name of the list, with its publisher."""
        ...

    @property
    def licence(self) -> str:
        """The licence of its data."""
        ...

    @property
    def category(self) -> Category | None:
        """The category of a match; None if each entry has its own."""
        ...

    @property
    def is_format_unverified(self) -> bool:
        """Whether the reader was written from the file layout only, and never run on a real file."""
        ...

    @property
    def min_entries(self) -> int:
        """The least number of entries of a complete list; fewer mean that the file is truncated."""
        ...

    def read_entries(self, files: Sequence[Path]) -> Iterator[ListedEntity | RejectedEntry]:
        """Read the entries one by one. Raises WatchlistImportRefused if the files are not of this list."""
        ...


@runtime_checkable
class DatedWatchlistSource(Protocol):
    """A source whose files contain their publication time."""

    def find_publication_time(self, files: Sequence[Path]) -> datetime | None:
        """The publication time; None if the files do not contain it. Raises WatchlistImportRefused."""
        ...

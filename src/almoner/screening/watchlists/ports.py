"""What a watch list's reader gives; one adapter for each format."""

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
        """What people call it, with its publisher."""
        ...

    @property
    def licence(self) -> str:
        """Under what its data may be used."""
        ...

    @property
    def category(self) -> Category | None:
        """What a hit means; None where each entry says so itself."""
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
    """A source whose files say of which moment they are."""

    def published_at(self, files: Sequence[Path]) -> datetime | None:
        """The moment; None where these do not say it. Raises WatchlistRefused."""
        ...

"""What verifications need from outside: nonprofits compared with the watch lists, and people asked about matches."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar
from uuid import UUID

from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.db import Database, Tx
from almoner.screening.screenings.domain import Result

Compared = TypeVar("Compared")


class Screening(Protocol):
    """The watch lists."""

    async def comparing(self, db: Database, use: Callable[[Tx], Awaitable[Compared]]) -> Compared:
        """Run ``use`` in a writing transaction in which ``look`` can be asked."""
        ...

    async def look(self, tx: Tx, records: Sequence[Organisation], partner_id: UUID) -> Sequence[Result]:
        """Compare all records of one body, from now on whenever a list changes; people are asked about what is new.

        ``partner_id``: for whom.
        """
        ...

"""What verifications need from outside: nonprofits compared with the watch lists, and people asked about matches."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar
from uuid import UUID

from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.database.transactions import Database, Tx
from almoner.screening.screenings.domain import ScreeningResult

Compared = TypeVar("Compared")


@dataclass(frozen=True, slots=True)
class VerifiedAccount:
    """An approved account of a nonprofit: its name, and what verifications keep of it.

    ``differs``: its holder is named quite otherwise than the register has the nonprofit; ``denied``: which says that it
    is not its own.
    """

    account: str
    facts: Mapping[str, object]
    holder_differs: bool
    denied: bool = False


class ApprovedAccounts(Protocol):
    """The accounts that people have approved."""

    async def __call__(self, tx: Tx, organisation_id: UUID, /) -> VerifiedAccount | None:
        """That of a nonprofit; None while it has none."""
        ...


class Screening(Protocol):
    """The watch lists."""

    async def run_with_screening(self, db: Database, use: Callable[[Tx], Awaitable[Compared]]) -> Compared:
        """Run ``use`` in a writing transaction in which ``look`` can be asked."""
        ...

    async def screen(self, tx: Tx, records: Sequence[Organisation], partner_id: UUID) -> Sequence[ScreeningResult]:
        """Compare all records of one body, from now on whenever a list changes; people are asked about what is new.

        ``partner_id``: for whom.
        """
        ...

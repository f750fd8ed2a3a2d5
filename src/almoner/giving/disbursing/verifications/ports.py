"""The ports of verifications: watchlist screening, and approved accounts."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar
from uuid import UUID

from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.database.transactions import Database, Tx
from almoner.screening.screenings.domain import ScreeningResult

OperationResult = TypeVar("OperationResult")


@dataclass(frozen=True, slots=True)
class ApprovedPayeeAccount:
    """An approved account of a nonprofit, as verifications use it.

    ``holder_name_differs``: the holder's name differs from the register's; ``ownership_denied``: the nonprofit denies
    to own it.
    """

    account_id: str
    facts: Mapping[str, object]
    holder_name_differs: bool
    ownership_denied: bool = False


class ApprovedAccountLookup(Protocol):
    """Looks up nonprofits' approved bank accounts."""

    async def __call__(self, tx: Tx, organisation_id: UUID, /) -> ApprovedPayeeAccount | None:
        """The approved account of a nonprofit; None if there is none."""
        ...


class OrganisationScreener(Protocol):
    """Screens nonprofits against watchlists."""

    async def run_in_screening_transaction(
        self, db: Database, operation: Callable[[Tx], Awaitable[OperationResult]]
    ) -> OperationResult:
        """Run ``operation`` in a write transaction in which ``screen`` can be called."""
        ...

    async def screen(
        self, tx: Tx, organisations: Sequence[Organisation], partner_id: UUID
    ) -> Sequence[ScreeningResult]:
        """Screen all records of a nonprofit, now and whenever a list changes, for ``partner_id``."""
        ...

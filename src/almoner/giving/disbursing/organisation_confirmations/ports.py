"""The port to the email addresses of nonprofits."""

from typing import Protocol
from uuid import UUID

from almoner.giving.disbursing.organisation_confirmations.domain import NonprofitContact
from almoner.platform.database.transactions import Tx


class NonprofitContactLookup(Protocol):
    """Looks up the email addresses that operators recorded for nonprofits."""

    async def __call__(self, tx: Tx, organisation_id: UUID, /) -> NonprofitContact | None:
        """The contact of a nonprofit; None if none is recorded."""
        ...

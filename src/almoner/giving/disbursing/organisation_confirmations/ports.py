"""What asking nonprofits needs from outside: where each of them can be asked."""

from typing import Protocol
from uuid import UUID

from almoner.giving.disbursing.organisation_confirmations.domain import Contact
from almoner.platform.database.transactions import Tx


class Contacts(Protocol):
    """The addresses that officers have recorded of nonprofits."""

    async def __call__(self, tx: Tx, organisation_id: UUID, /) -> Contact | None:
        """That of one; None where nobody has recorded any."""
        ...

"""E-mails: what one is, and the port of whoever carries it. Mails are sent by jobs, never inside a transaction."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID


class MailRefused(Exception):
    """The mail will never be taken: the address does not exist or is not one. Trying again is of no use."""


class MailDelayed(Exception):
    """The mail could not be handed over just now; try again later."""


@dataclass(frozen=True, slots=True)
class Mail:
    """One e-mail in both forms.

    ``key`` is the same for the same mail: a carrier that is handed it twice delivers it once where it can, and always
    under the same Message-ID. ``at`` is the business time of what the mail is about, ``partner`` whose it is.
    """

    key: str
    at: datetime
    partner: UUID | None
    to: str
    subject: str
    text: str
    html: str
    language: str


class MailTransport(Protocol):
    """Carries mails to their readers."""

    async def send(self, mail: Mail) -> None:
        """Hand the mail over. Raises MailRefused or MailDelayed."""
        ...

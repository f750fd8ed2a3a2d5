"""Emails and the interface of mail transports. Jobs send them, outside transactions."""

from dataclasses import dataclass
from datetime import datetime
from email.utils import parseaddr
from typing import Protocol
from uuid import UUID

from almoner.platform.database.identity import DeploymentIdentity
from almoner.platform.database.transactions import Tx


class MailRefused(Exception):
    """The mail server rejected the email permanently."""


class TransientMailFailure(Exception):
    """The email could not be sent now; try again later."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file attached to an email; ``name`` is ASCII."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Mail:
    """An email in text and HTML.

    ``key`` is the same for the same email: a transport delivers duplicates once if it can, and always with the same
    Message-ID. ``at``: the business time of what the email is about. ``partner``: whose email it is. ``reply_to``:
    where replies go, None if nobody reads them. ``sender_name``: the sender's displayed name, None for the name in the
    settings.
    """

    key: str
    at: datetime
    partner: UUID | None
    to: str
    subject: str
    text: str
    html: str
    language: str
    attachments: tuple[Attachment, ...] = ()
    reply_to: str | None = None
    sender_name: str | None = None

    def sender_name_and_address(self, configured_sender: str) -> tuple[str, str]:
        """The sender's name and address; ``configured_sender`` is like ``Giving <giving@example.org>``."""
        name, address = parseaddr(configured_sender)
        return " ".join((self.sender_name or name).split()), address


class MailTransport(Protocol):
    """Sends emails: an SMTP server or the sandbox's mailbox."""

    async def send(self, mail: Mail) -> None:
        """Send the email. Raises MailRefused or TransientMailFailure."""
        ...


class ActiveDeploymentMailTransport:
    """A mail transport that refuses to send from an unreleased copy of the database."""

    def __init__(self, transport: MailTransport, identity: DeploymentIdentity) -> None:
        self._transport = transport
        self._identity = identity

    async def send(self, mail: Mail) -> None:
        """Send the email. Also raises UnreleasedDatabaseCopy."""
        self._identity.ensure_active()
        await self._transport.send(mail)


async def store_in_sandbox_mailbox(tx: Tx, mail: Mail, mail_id: UUID, sender: str, links: list[str]) -> None:
    """Store an email in the sandbox's mailbox; duplicates by ID are skipped."""
    tag = await tx.execute(
        """insert into sandbox_mail (id, partner_id, sender, recipient, subject, text, html, links, created_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (id) do nothing""",
        mail_id,
        mail.partner,
        sender,
        mail.to,
        mail.subject,
        mail.text,
        mail.html,
        links,
        mail.at,
    )
    if mail.attachments and tag == "INSERT 0 1":
        rows = [(mail_id, one.name, one.media_type, one.content) for one in mail.attachments]
        await tx.executemany(
            "insert into sandbox_attachment (mail_id, name, media_type, content) values ($1, $2, $3, $4)", rows
        )

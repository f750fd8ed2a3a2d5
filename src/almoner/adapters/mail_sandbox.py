"""The sandbox's mailbox: emails are stored in a table, where partners can read them (settled 9)."""

import re
from hashlib import sha256
from html.parser import HTMLParser
from typing import Final
from uuid import UUID

from almoner.platform.database.transactions import Database
from almoner.platform.outbound import mail as mails
from almoner.platform.outbound.mail import Mail, MailRefused

UNDELIVERABLE: Final = "test_undeliverable"
"""The local part of addresses to which emails are rejected."""
_URL: Final = re.compile(r"https?://[^\s<>\"]*[^\s<>\".,;:!?)]")


class SandboxMailbox:
    """A MailTransport that stores emails in the table sandbox_mail."""

    def __init__(self, database: Database, sender: str) -> None:
        self._database = database
        self._sender = sender

    async def send(self, mail: Mail) -> None:
        """Store the email, once for each key. Raises MailRefused for a test value."""
        if mail.to.partition("@")[0].lower() == UNDELIVERABLE:
            raise MailRefused("the mail server rejected it: 550 5.1.1 There is no such mailbox")
        sender = "{} <{}>".format(*mail.sender_name_and_address(self._sender))
        async with self._database.write() as tx:
            await mails.store_in_sandbox_mailbox(tx, mail, mail_id_from_time_and_key(mail), sender, extract_links(mail))


def mail_id_from_time_and_key(mail: Mail) -> UUID:
    """A UUIDv7 from the email's time and a hash of its key.

    It sorts by time, and is the same for the same email.
    """
    ms = int(mail.at.timestamp() * 1000)
    tail = int.from_bytes(sha256(mail.key.encode()).digest()[:10])
    return UUID(int=ms << 80 | 7 << 76 | (tail >> 62 & 0xFFF) << 64 | 2 << 62 | tail & ((1 << 62) - 1))


def extract_links(mail: Mail) -> list[str]:
    """All link addresses in the email, without duplicates, in order."""
    anchors = _AnchorParser()
    anchors.feed(mail.html)
    anchors.close()
    return list(dict.fromkeys([*_URL.findall(mail.text), *anchors.found]))


class _AnchorParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = dict(attrs).get("href") if tag == "a" else None
        if target and target.startswith(("http://", "https://")):
            self.found.append(target)

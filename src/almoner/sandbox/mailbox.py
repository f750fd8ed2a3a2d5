"""The addresses of the sandbox's mailbox."""

from typing import Final
from urllib.parse import quote
from uuid import UUID

from almoner.platform.deployment import Deployment

MAILBOX: Final = "/sandbox/mailbox"
PURPOSE: Final = "mailbox"
ATTACHMENT: Final = "mailbox-attachment"
"""Purposes of page tokens: of a partner's mailbox, and of what one mail brings."""


def mailbox_url(deployment: Deployment, partner: UUID) -> str:
    """Where a partner reads the sandbox's mails."""
    page = deployment.links.pages + MAILBOX
    if deployment.receivers.loopback:
        return page
    return f"{page}?token={deployment.vault.page_token(PURPOSE, partner)}"


def attachment_url(deployment: Deployment, mail_id: UUID, name: str) -> str:
    """Where a file that a mail brings is downloaded; the address is the key."""
    token = deployment.vault.page_token(ATTACHMENT, mail_id)
    return f"{deployment.links.pages}{MAILBOX}/attachments/{quote(name)}?token={token}"

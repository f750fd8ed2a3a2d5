"""The addresses of the sandbox's mailbox."""

from typing import Final
from urllib.parse import quote
from uuid import UUID

from almoner.platform.deployment import Deployment

MAILBOX: Final = "/sandbox/mailbox"
PURPOSE: Final = "mailbox"
ATTACHMENT: Final = "mailbox-attachment"
"""Purposes of page tokens: of a partner's mailbox, and of what one mail brings."""


def mailbox_url(deployment: Deployment, partner_id: UUID) -> str:
    """The URL of a partner's sandbox mailbox."""
    page = deployment.base_urls.pages + MAILBOX
    if deployment.outbound_address_policy.allows_loopback:
        return page
    return f"{page}?token={deployment.vault.create_page_token(PURPOSE, partner_id)}"


def attachment_url(deployment: Deployment, mail_id: UUID, name: str) -> str:
    """The URL to download an email's attachment; it needs no API key."""
    token = deployment.vault.create_page_token(ATTACHMENT, mail_id)
    return f"{deployment.base_urls.pages}{MAILBOX}/attachments/{quote(name)}?token={token}"

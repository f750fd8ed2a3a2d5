"""Emails the new link to regular donations that a donor requested. Jobs contain only IDs."""

from pathlib import Path
from typing import Final

from almoner.access.notifications.service import Email, NotificationDefinition
from almoner.giving.requested_emails import service as requested_emails
from almoner.giving.subscriptions.donor_pages import service
from almoner.giving.subscriptions.donor_pages.service import SEND_LINK, SendManagementLinkJob
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.queue import DecodedJob
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.outbound.mailing import RETRY_FOR_HOURS
from almoner.platform.pages import formats


async def compose_management_link_email(
    tx: Tx, mails: MailRenderer, job: DecodedJob[SendManagementLinkJob]
) -> Email | None:
    """The email with the link; None after a day (real time) or if the donor was erased."""
    link_id = job.details.link
    asked = await requested_emails.find_request_time(tx, link_id)
    if asked is None:
        return None
    try:
        subscription = await service.get_subscription(tx, job.details.subscription)
    except NotFound:
        return None
    assert subscription.email is not None, "just looked"
    locale = mails.language_for_tag(subscription.language).locale
    facts = {
        "name": formats.greeting_name(subscription.first_name or "", subscription.last_name or "", locale),
        "link": service.build_management_url(tx, subscription.id, asked),
    }
    return Email(subscription.email, f"regular_link:{link_id}", facts, subscription.language, subscription.partner_id)


notifications: Final = (
    NotificationDefinition(
        SEND_LINK,
        Path(__file__).parent / "mails" / "link.html",
        compose_management_link_email,
        retry_policy=RETRY_FOR_HOURS,
    ),
)

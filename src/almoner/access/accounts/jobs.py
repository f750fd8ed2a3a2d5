"""The job that emails a person the URLs of their sign-in pages."""

from pathlib import Path
from typing import Final

from almoner.access.accounts import service
from almoner.access.accounts.service import SendSignInPageUrlsJob
from almoner.access.notifications.service import Email, NotificationDefinition
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.queue import DecodedJob
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.outbound.mailing import RETRY_FOR_ONE_DAY


async def compose_sign_in_page_urls_email(
    tx: Tx, _mails: MailRenderer, job: DecodedJob[SendSignInPageUrlsJob]
) -> Email | None:
    """The email with links to a person's sign-in pages; None if no account has this address."""
    email, found = await service.decrypt_email_and_find_sign_in_page_urls(tx, job.details.email)
    return Email(email, f"accounts:{job.id}", {"addresses": found}) if found else None


_TEMPLATE: Final = Path(__file__).parent / "mails" / "addresses.html"
notifications: Final = (
    NotificationDefinition(
        service.SEND_ADDRESSES, _TEMPLATE, compose_sign_in_page_urls_email, retry_policy=RETRY_FOR_ONE_DAY
    ),
)

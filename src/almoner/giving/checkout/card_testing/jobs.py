"""Emails the codes, and deletes card testing data after a day."""

from datetime import timedelta
from pathlib import Path
from typing import Final

from almoner.access.notifications.service import Email, NotificationDefinition
from almoner.giving.checkout.card_testing import service
from almoner.giving.checkout.card_testing.service import SEND_CODE, SendEmailCodeJob
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.checkout.sessions import service as sessions
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import TaskRegistry
from almoner.platform.jobs.queue import DecodedJob
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.outbound.mailing import MailRetryPolicy

_SOON: Final = MailRetryPolicy(timedelta(seconds=20), timedelta(seconds=20), None)
"""The donor is waiting, and the code expires after ten minutes."""

tasks: Final = TaskRegistry()
tasks.add_periodic_job(
    "card_testing.delete_old", service.next_expired_record_deletion_at, service.delete_expired_records
)


async def compose_verification_code_email(
    tx: Tx, _mails: MailRenderer, job: DecodedJob[SendEmailCodeJob]
) -> Email | None:
    """The email with the code, in the session's language; None if the code has expired."""
    if (found := await service.find_valid_email_code_and_recipient(tx, job.details.code)) is None:
        return None
    sent, recipient = found
    session = await sessions.get_for_hosted_page(tx, sent.code.session_id)
    facts = {
        "organisation": (await hosted_page.load_nonprofit_profile_of_session(tx, session)).name,
        "code": service.derive_email_code_digits(tx, sent.code.id),
    }
    return Email(recipient, f"code:{sent.code.id}", facts, session.language, sent.partner_id)


_TEMPLATE: Final = Path(__file__).parent / "mails" / "code.html"
notifications: Final = (
    NotificationDefinition(SEND_CODE, _TEMPLATE, compose_verification_code_email, retry_policy=_SOON),
)

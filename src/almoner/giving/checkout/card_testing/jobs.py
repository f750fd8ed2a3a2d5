"""The code goes out by e-mail, and what the brakes know is forgotten after a day."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

from almoner.giving.checkout.card_testing import service
from almoner.giving.checkout.card_testing.domain import CodeMail
from almoner.giving.checkout.card_testing.service import SEND_CODE
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.checkout.sessions import service as sessions
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import Handler, JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDone, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import Mail, MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer

MAILS: Final = Path(__file__).parent / "mails"
_SOON: Final = mailing.MailRetryPolicy(timedelta(seconds=20), timedelta(seconds=20), None)
"""The donor waits, and the code lives ten minutes."""


def handlers(mails: MailRenderer, transport: MailTransport) -> Mapping[str, Handler]:
    """The job's handler, with the carrier of mails."""

    async def send(work: JobContext, job: Job) -> Result:
        async with work.db.read() as tx:
            found = await service.find_sendable_code(tx, UUID(job.payload["code"]))
            mail = await _compose_mail(tx, mails, *found, job.due_at) if found else None
        if mail is None:
            return JobDone()  # over before it could be sent
        return await mailing.send_mail(transport, mail, job, _SOON)

    return {SEND_CODE: send}


async def _compose_mail(tx: Tx, mails: MailRenderer, sent: CodeMail, recipient: str, at: datetime) -> Mail:
    """The mail, in the language of the session."""
    session = await sessions.get_for_page(tx, sent.code.session_id)
    cause = await hosted_page.load_nonprofit(tx, session)
    language = mails.language(session.language)
    code = service.code_digits(tx, sent.code.id)
    facts = {"cause": cause, "code": code}
    return mails.render_mail(
        "code",
        language,
        facts,
        key=f"code:{sent.code.id}",
        at=at,
        partner=sent.partner_id,
        to=recipient,
    )


schedules: Final = (Schedule("brakes.forget", service.next_due_at, service.delete_expired_records),)

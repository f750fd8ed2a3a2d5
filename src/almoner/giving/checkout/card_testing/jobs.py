"""The code goes out by e-mail, and what the brakes know is forgotten after a day."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from almoner.giving.checkout.card_testing import service
from almoner.giving.checkout.card_testing.domain import CodeMail
from almoner.giving.checkout.card_testing.service import SEND_CODE, SendCode
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.checkout.sessions import service as sessions
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import JobContext, Tasks, TasksWith
from almoner.platform.jobs.queue import JobOf, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import Mail
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.outbound.mailing import Mailer

MAILS: Final = Path(__file__).parent / "mails"
_SOON: Final = mailing.MailRetryPolicy(timedelta(seconds=20), timedelta(seconds=20), None)
"""The donor waits, and the code lives ten minutes."""


tasks: Final = Tasks()
tasks.periodic("brakes.forget", service.next_due_at, service.delete_expired_records)
mail_tasks: Final = TasksWith[Mailer]()


@mail_tasks.job(SEND_CODE)
async def send_code(mailer: Mailer, work: JobContext, job: JobOf[SendCode]) -> Result:
    """Mail the code, unless it is over before it can be sent."""
    async with work.db.read() as tx:
        found = await service.find_sendable_code(tx, job.details.code)
        mail = await _compose_mail(tx, mailer.mails, *found, job.due_at) if found else None
    return await mailer.send(mail, job, _SOON)


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

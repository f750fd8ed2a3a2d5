"""Background work of the hosted form: mails that hand it over, and forgetting what was never sent."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final
from uuid import UUID

from almoner.platform.mail import Mail, MailDelayed, MailRefused, MailTransport
from almoner.platform.pages.rendering import Pages
from almoner.platform.queue import Done, Drop, Job, Result, Retry
from almoner.platform.work import Handler, Schedule, Work
from almoner.validation.applications import service, writing

_FIRST_WAIT: Final = timedelta(minutes=1)
_LONGEST_WAIT: Final = timedelta(hours=6)
_MOST_ATTEMPTS: Final = 16  # about three days

schedules: Final = (
    Schedule("applications.forget_drafts", service.next_forgotten, service.forget, every=timedelta(hours=1)),
)


def handlers(pages: Pages, transport: MailTransport) -> Mapping[str, Handler]:
    """The jobs' handlers, with the mails' templates (``service.MAILS``) and who carries them."""

    async def hand_over(work: Work, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await writing.handover(tx, pages, UUID(job.payload["handover"]), job.due_at)
        return await _carry(transport, mail, job)

    return {service.HAND_OVER: hand_over}


async def _carry(transport: MailTransport, mail: Mail | None, job: Job) -> Result:
    if mail is None:
        return Done()
    try:
        await transport.send(mail)
    except MailRefused as refused:
        return Drop(str(refused))
    except MailDelayed as delayed:
        wait = min(_FIRST_WAIT * (1 << (job.attempt - 1)), _LONGEST_WAIT)
        return Retry(wait, str(delayed)) if job.attempt < _MOST_ATTEMPTS else Drop(str(delayed))
    return Done()

"""Letters go out."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from almoner.access.letters import service
from almoner.access.letters.service import SEND
from almoner.platform.mail import MailDelayed, MailRefused, MailTransport
from almoner.platform.pages.rendering import Pages
from almoner.platform.queue import Done, Drop, Job, Result, Retry
from almoner.platform.work import Handler, Work

_AGAIN: Final = timedelta(minutes=1)
_MOST_ATTEMPTS: Final = 60 * 24
"""A day: a link of an hour is over then, and who reads a notice later has not been served."""


def handlers(pages: Pages, transport: MailTransport) -> Mapping[str, Handler]:
    """The job's handler. ``pages``: of ``service.MAILS``."""

    async def send(work: Work, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await service.written(tx, pages, f"letter:{job.id}", job.payload, job.due_at)
        if mail is None:
            return Done()
        try:
            await transport.send(mail)
        except MailRefused as refused:
            return Drop(str(refused))
        except MailDelayed as delayed:
            return Retry(_AGAIN, str(delayed)) if job.attempt < _MOST_ATTEMPTS else Drop(str(delayed))
        return Done()

    return {SEND: send}

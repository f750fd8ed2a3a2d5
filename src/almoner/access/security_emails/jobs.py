"""Letters go out."""

from collections.abc import Mapping

from almoner.access.security_emails import service
from almoner.access.security_emails.service import SEND
from almoner.platform.jobs.background_tasks import Handler, Work
from almoner.platform.jobs.queue import Job, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.pages.rendering import Pages


def handlers(pages: Pages, transport: MailTransport) -> Mapping[str, Handler]:
    """The job's handler. ``pages``: of ``service.MAILS``."""

    async def send(work: Work, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await service.written(tx, pages, f"letter:{job.id}", job.payload, job.due_at)
        return await mailing.carry(transport, mail, job, mailing.A_DAY)

    return {SEND: send}

"""Letters go out."""

from collections.abc import Mapping

from almoner.access.security_emails import service
from almoner.access.security_emails.service import SEND_JOB
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer


def handlers(mails: MailRenderer, transport: MailTransport) -> Mapping[str, Handler]:
    """The job's handler. ``mails``: of ``service.MAILS``."""

    async def send(work: JobContext, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await service.render_email(tx, mails, f"letter:{job.id}", job.payload, job.due_at)
        return await mailing.send_mail(transport, mail, job, mailing.RETRY_FOR_ONE_DAY)

    return {SEND_JOB: send}

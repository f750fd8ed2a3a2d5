"""Letters go out."""

from typing import Final

from almoner.access.security_emails import service
from almoner.access.security_emails.service import SEND_JOB, SendSecurityEmail
from almoner.platform.jobs.background_tasks import JobContext, TasksWith
from almoner.platform.jobs.queue import JobOf, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mailing import Mailer

tasks: Final = TasksWith[Mailer]()
"""The mails are those of ``service.MAILS``."""


@tasks.job(SEND_JOB)
async def send_email(mailer: Mailer, work: JobContext, job: JobOf[SendSecurityEmail]) -> Result:
    """Mail it, unless its reader is gone."""
    async with work.db.read() as tx:
        mail = await service.render_email(tx, mailer.mails, f"letter:{job.id}", job.details, job.due_at)
    return await mailer.send(mail, job, mailing.RETRY_FOR_ONE_DAY)

"""The mail with the addresses of somebody's sign-in pages."""

from typing import Final

from almoner.access.accounts import service
from almoner.access.accounts.service import SEND_ADDRESSES, SendSignInUrls
from almoner.platform.jobs.background_tasks import JobContext, TasksWith
from almoner.platform.jobs.queue import JobDone, JobOf, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mailing import Mailer

tasks: Final = TasksWith[Mailer]()
"""The mails are those of ``service.MAILS``."""


@tasks.job(SEND_ADDRESSES)
async def send_sign_in_urls(mailer: Mailer, work: JobContext, job: JobOf[SendSignInUrls]) -> Result:
    """Mail them; nothing where nobody has the address, and nobody is told so."""
    async with work.db.read() as tx:
        email, found = await service.find_sign_in_urls(tx, job.details.email)
    if not found:
        return JobDone()
    english = mailer.mails.language(None)
    mail = mailer.mails.render_mail(
        "addresses",
        english,
        {"addresses": found},
        key=f"accounts:{job.id}",
        at=job.due_at,
        partner=None,
        to=email,
    )
    return await mailer.send(mail, job, mailing.RETRY_FOR_ONE_DAY)

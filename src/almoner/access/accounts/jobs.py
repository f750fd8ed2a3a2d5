"""The mail with the addresses of somebody's sign-in pages."""

from collections.abc import Mapping

from almoner.access.accounts import service
from almoner.access.accounts.service import SEND_ADDRESSES
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, JobDone, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer


def handlers(mails: MailRenderer, transport: MailTransport) -> Mapping[str, Handler]:
    """The job's handler. ``mails``: of ``service.MAILS``."""

    async def send(work: JobContext, job: Job) -> Result:
        async with work.db.read() as tx:
            email, found = await service.find_sign_in_urls(tx, job.payload["email"])
        if not found:
            return JobDone()  # nobody has this address, and nobody is told so
        english = mails.language(None)
        mail = mails.render_mail(
            "addresses",
            english,
            {"addresses": found},
            key=f"accounts:{job.id}",
            at=job.due_at,
            partner=None,
            to=email,
        )
        return await mailing.send_mail(transport, mail, job, mailing.RETRY_FOR_ONE_DAY)

    return {SEND_ADDRESSES: send}

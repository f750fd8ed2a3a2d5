"""The mail with the addresses of somebody's sign-in pages."""

from collections.abc import Mapping

from almoner.access.accounts import service
from almoner.access.accounts.service import SEND_ADDRESSES
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, JobDone, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import Mail, MailTransport
from almoner.platform.pages.rendering import PageRenderer


def handlers(pages: PageRenderer, transport: MailTransport) -> Mapping[str, Handler]:
    """The job's handler. ``pages``: of ``service.MAILS``."""

    async def send(work: JobContext, job: Job) -> Result:
        async with work.db.read() as tx:
            email, found = await service.find_sign_in_urls(tx, job.payload["email"])
        if not found:
            return JobDone()  # nobody has this address, and nobody is told so
        english = pages.language(None)
        mail = Mail(
            key=f"accounts:{job.id}",
            at=job.due_at,
            partner=None,
            to=email,
            subject="Where you sign in",
            text=pages.render_text("addresses.txt", english, addresses=found),
            html=pages.render_text("addresses.html", english, addresses=found),
            language=english.html_lang,
        )
        return await mailing.send_mail(transport, mail, job, mailing.RETRY_FOR_ONE_DAY)

    return {SEND_ADDRESSES: send}

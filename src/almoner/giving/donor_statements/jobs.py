"""A donor asked for a statement: a job mails the link. It holds ids; what it sends is read when it runs."""

from collections.abc import Mapping
from uuid import UUID

from almoner.giving.donor_statements import domain, service, store
from almoner.giving.donor_statements.documents import StatementDocuments
from almoner.giving.donor_statements.service import SEND
from almoner.kit.errors import NotFound
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, JobDone, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer


def handlers(mails: MailRenderer, transport: MailTransport) -> Mapping[str, Handler]:
    """The job's handler, with the templates and the carrier of mails."""
    papers = StatementDocuments(mails)

    async def send(work: JobContext, job: Job) -> Result:
        link_id, donation_id = UUID(job.payload["link"]), UUID(job.payload["donation"])
        async with work.db.read() as tx:
            asked = await store.link_requested_at(tx, link_id)
            if asked is None or tx.real_now >= asked + domain.LINK_LIFETIME:
                return JobDone()
            try:
                receipt = await service.get_receipt(tx, donation_id)
                to = await service.donor_email_of(tx, donation_id)
            except NotFound:
                return JobDone()  # the donor was forgotten meanwhile
            issuer = await service.issuer_name_of(tx, receipt)
        mail = papers.compose_mail(mails, link_id, receipt, issuer, to, asked + domain.LINK_LIFETIME, job.due_at)
        return await mailing.send_mail(transport, mail, job, mailing.RETRY_FOR_HOURS)

    return {SEND: send}

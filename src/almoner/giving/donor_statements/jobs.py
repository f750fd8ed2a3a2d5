"""A donor asked for a statement: a job mails the link. It holds ids; what it sends is read when it runs."""

from collections.abc import Mapping
from uuid import UUID

from almoner.giving.donor_statements import domain, service, store
from almoner.giving.donor_statements.papers import Papers
from almoner.giving.donor_statements.service import SEND
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import EVERYONE
from almoner.platform.jobs.background_tasks import Handler, Work
from almoner.platform.jobs.queue import Done, Job, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.pages.rendering import Pages


def handlers(pages: Pages, transport: MailTransport) -> Mapping[str, Handler]:
    """The job's handler, with the templates and the carrier of mails."""
    papers = Papers(pages)

    async def send(work: Work, job: Job) -> Result:
        link_id, donation_id = UUID(job.payload["link"]), UUID(job.payload["donation"])
        async with work.db.read() as tx:
            asked = await store.mailed_at(tx, EVERYONE, link_id)
            if asked is None or tx.wall >= asked + domain.LIVES:
                return Done()
            try:
                receipt = await service.opened_by(tx, donation_id)
                to = await service.address(tx, donation_id)
            except NotFound:
                return Done()  # the donor was forgotten meanwhile
            issuer = await service.issuer(tx, receipt)
        mail = papers.mail(link_id, receipt, issuer, to, asked + domain.LIVES, job.due_at)
        return await mailing.carry(transport, mail, job, mailing.HOURS)

    return {SEND: send}

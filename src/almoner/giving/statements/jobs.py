"""A donor asked for a statement: a job mails the link. It holds ids; what it sends is read when it runs."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final
from uuid import UUID

from almoner.giving.statements import domain, service, store
from almoner.giving.statements.papers import Papers
from almoner.giving.statements.service import SEND
from almoner.kit.errors import NotFound
from almoner.platform.db import EVERYONE
from almoner.platform.mail import MailDelayed, MailRefused, MailTransport
from almoner.platform.pages.rendering import Pages
from almoner.platform.queue import Done, Drop, Job, Result, Retry
from almoner.platform.work import Handler, Work

_FIRST_WAIT: Final = timedelta(minutes=1)
_MOST_ATTEMPTS: Final = 9  # about four hours; the link ends a day after it was asked for


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
        try:
            await transport.send(mail)
        except MailRefused as refused:
            return Drop(str(refused))
        except MailDelayed as delayed:
            return Retry(_wait(job.attempt), str(delayed)) if job.attempt < _MOST_ATTEMPTS else Drop(str(delayed))
        return Done()

    return {SEND: send}


def _wait(attempt: int) -> timedelta:
    """1 minute, doubled after each attempt."""
    return _FIRST_WAIT * (1 << (attempt - 1))

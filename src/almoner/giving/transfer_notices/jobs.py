"""A donor has confirmed a bank transfer: a job mails its details. It holds an id; the rest is read when it runs."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.checkout.bank_transfers.domain import CONFIRMED, Confirmed, PayTo
from almoner.giving.transfer_notices import service
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, Work
from almoner.platform.jobs.queue import Job, NewJob, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.pages.rendering import Pages

SEND: Final = "transfer_notices.send"


async def on_confirmed(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue the mails."""
    told = [str(msgspec.convert(event.record(), Confirmed).donation) for event in events]
    await queue.enqueue_all(tx, [NewJob(SEND, {"donation": donation}, unique=donation) for donation in told])


reactions: Final = (Reaction(CONFIRMED, on_confirmed),)


def handlers(pages: Pages, transport: MailTransport, accounts: Mapping[str, PayTo]) -> Mapping[str, Handler]:
    """The job's handler, with the carrier of mails and our own accounts by currency."""

    async def send(work: Work, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await service.compose(tx, pages, accounts, UUID(job.payload["donation"]), job.due_at)
        return await mailing.carry(transport, mail, job)

    return {SEND: send}

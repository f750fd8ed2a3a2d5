"""Money is back with its donor: a job tells them. The job holds an id; what it sends is read when it runs."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.accounting.refunds.domain import SENT, Sent
from almoner.giving.accounting.suspense.domain import REFUNDED, Refunded
from almoner.giving.refund_notices import service
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, Work
from almoner.platform.jobs.queue import Job, NewJob, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.pages.rendering import Pages

SEND: Final = "refund_notices.send"
SEND_OF_GIFT: Final = "refund_notices.send_of_gift"


async def on_refund(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue the mails."""
    told = [str(msgspec.convert(event.record(), Refunded).held) for event in events]
    await queue.enqueue_all(tx, [NewJob(SEND, {"held": held}, unique=held) for held in told])


async def on_refund_of_gift(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue the mails."""
    told = [str(msgspec.convert(event.record(), Sent).refund) for event in events]
    await queue.enqueue_all(tx, [NewJob(SEND_OF_GIFT, {"refund": refund}, unique=refund) for refund in told])


reactions: Final = (Reaction(REFUNDED, on_refund), Reaction(SENT, on_refund_of_gift))


def handlers(pages: Pages, transport: MailTransport) -> Mapping[str, Handler]:
    """The jobs' handlers, with the carrier of mails."""

    async def send(work: Work, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await service.compose(tx, pages, UUID(job.payload["held"]), job.due_at)
        return await mailing.carry(transport, mail, job)

    async def send_of_gift(work: Work, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await service.compose_of_gift(tx, pages, UUID(job.payload["refund"]), job.due_at)
        return await mailing.carry(transport, mail, job)

    return {SEND: send, SEND_OF_GIFT: send_of_gift}

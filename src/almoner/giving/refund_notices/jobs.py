"""Money is back with its donor: a job tells them. The job holds an id; what it sends is read when it runs."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.accounting.refunds.domain import SENT, RefundSent
from almoner.giving.accounting.suspense.domain import REFUNDED, UnallocatedPaymentRefunded
from almoner.giving.refund_notices import service
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, NewJob, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer

SEND: Final = "refund_notices.send"
SEND_DONATION_REFUND: Final = "refund_notices.send_of_gift"


async def on_unallocated_refunded(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue the mails."""
    reported = [str(msgspec.convert(event.event_data(), UnallocatedPaymentRefunded).held) for event in events]
    await queue.enqueue_jobs(tx, [NewJob(SEND, {"held": held}, unique=held) for held in reported])


async def on_donation_refunded(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue the mails."""
    reported = [str(msgspec.convert(event.event_data(), RefundSent).refund) for event in events]
    await queue.enqueue_jobs(
        tx, [NewJob(SEND_DONATION_REFUND, {"refund": refund}, unique=refund) for refund in reported]
    )


reactions: Final = (Reaction(REFUNDED.name, on_unallocated_refunded), Reaction(SENT.name, on_donation_refunded))


def handlers(mails: MailRenderer, transport: MailTransport) -> Mapping[str, Handler]:
    """The jobs' handlers, with the carrier of mails."""

    async def send(work: JobContext, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await service.compose_unallocated_refund_mail(tx, mails, UUID(job.payload["held"]), job.due_at)
        return await mailing.send_mail(transport, mail, job)

    async def send_of_gift(work: JobContext, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await service.compose_donation_refund_mail(tx, mails, UUID(job.payload["refund"]), job.due_at)
        return await mailing.send_mail(transport, mail, job)

    return {SEND: send, SEND_DONATION_REFUND: send_of_gift}

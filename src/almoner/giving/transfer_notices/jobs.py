"""A donor has confirmed a bank transfer: a job mails its details. It holds an id; the rest is read when it runs."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.checkout.bank_transfers.domain import CONFIRMED, BankDetails, TransferConfirmed
from almoner.giving.transfer_notices import service
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, NewJob, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer

SEND: Final = "transfer_notices.send"


async def on_transfer_confirmed(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue the mails."""
    reported = [str(msgspec.convert(event.event_data(), TransferConfirmed).donation) for event in events]
    await queue.enqueue_jobs(tx, [NewJob(SEND, {"donation": donation}, unique=donation) for donation in reported])


reactions: Final = (Reaction(CONFIRMED.name, on_transfer_confirmed),)


def handlers(
    mails: MailRenderer, transport: MailTransport, accounts: Mapping[str, BankDetails]
) -> Mapping[str, Handler]:
    """The job's handler, with the carrier of mails and our own accounts by currency."""

    async def send(work: JobContext, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await service.compose_mail(tx, mails, accounts, UUID(job.payload["donation"]), job.due_at)
        return await mailing.send_mail(transport, mail, job)

    return {SEND: send}

"""A gift was given to another nonprofit: a job tells its donor. It holds an id; what it sends is read when it runs."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.checkout.donations.domain import REASSIGNED
from almoner.giving.reassignment_notices import service
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, NewJob, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer

SEND: Final = "reassignment_notices.send"


class _Reassigned(msgspec.Struct):
    """What is read of the event's donation."""

    id: str
    type: str


async def on_reassignment(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue the mails: whoever gave on a page is told by us, the donors of a partner by the partner."""
    jobs = []
    for event in events:
        given = msgspec.convert(event.event_data(), _Reassigned)
        donation_id = tx.ids.parse("donation", given.id)
        if donation_id is not None and given.type == "hosted":
            jobs.append(NewJob(SEND, {"donation": str(donation_id)}, unique=str(donation_id)))
    await queue.enqueue_jobs(tx, jobs)


reactions: Final = (Reaction(REASSIGNED, on_reassignment),)


def handlers(mails: MailRenderer, transport: MailTransport) -> Mapping[str, Handler]:
    """The job's handler, with the carrier of mails."""

    async def send(work: JobContext, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await service.compose_mail(tx, mails, UUID(job.payload["donation"]), job.due_at)
        return await mailing.send_mail(transport, mail, job)

    return {SEND: send}

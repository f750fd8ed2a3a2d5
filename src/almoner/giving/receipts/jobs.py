"""A payment was received: a job issues the receipt, once, and sends it. The job holds ids and the moment, no more."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.checkout.donations.domain import PAYMENT_SUCCESSFUL
from almoner.giving.receipts import service
from almoner.giving.receipts.documents import ReceiptDocuments
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, JobDone, NewJob, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer

SEND: Final = "receipts.send"


class _PaidDonation(msgspec.Struct):
    """What is read of the event's donation."""

    id: str
    type: str


async def on_payment_received(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue the receipts of hosted donations."""
    jobs = []
    for event in events:
        paid = msgspec.convert(event.event_data(), _PaidDonation)
        donation_id = tx.ids.parse("donation", paid.id)
        if event.partner_id is not None and donation_id is not None and paid.type == "hosted":
            payload = {
                "partner": str(event.partner_id),
                "donation": str(donation_id),
                "received": iso_timestamp(event.created_at),
            }
            jobs.append(NewJob(SEND, payload, unique=str(donation_id)))
    await queue.enqueue_jobs(tx, jobs)


reactions: Final = (Reaction(PAYMENT_SUCCESSFUL, on_payment_received),)


def handlers(mails: MailRenderer, transport: MailTransport) -> Mapping[str, Handler]:
    """The job's handler, with the templates and the carrier of mails."""
    papers = ReceiptDocuments(mails)

    async def send(work: JobContext, job: Job) -> Result:
        partner, donation_id = Partner(UUID(job.payload["partner"])), UUID(job.payload["donation"])
        async with work.db.write() as tx:
            issued = await service.issue_receipt(
                tx, partner, donation_id, datetime.fromisoformat(job.payload["received"])
            )
            to = await service.donor_email_of(tx, partner, donation_id)
            if issued is None or to is None:
                return JobDone()
            receipt = await service.get(tx, donation_id)  # a receipt that is sent late may be void by now
        mail = await papers.compose_mail(mails, receipt, to)
        return await mailing.send_mail(transport, mail, job)

    return {SEND: send}

"""Reviews by rule, mails, and what follows from validation requests and from time."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs.background_tasks import Handler, JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDone, JobRetry, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.screening.screenings.domain import CHANGED, ScreeningChanged
from almoner.screening.screenings.service import Screener
from almoner.validation.agents import agent_review, email_confirmation, emails, service
from almoner.validation.agents.ports import MailHosts
from almoner.validation.applications.documents.domain import SCANNED, DocumentScanned, RetentionPeriods
from almoner.validation.requests.domain import DECIDED, RequestDecided

_MAX_LOOKUPS: Final = 5  # a quarter of an hour; then a person looks


async def on_request_decided(tx: Tx, events: Sequence[Event]) -> None:
    """Validation requests were decided."""
    await service.review_after_request_decisions(
        tx, [msgspec.convert(event.event_data(), RequestDecided).request for event in events]
    )


async def on_screening_changed(tx: Tx, events: Sequence[Event]) -> None:
    """Lists or a person say something else of an applicant: the rules look again at who is not decided about yet.

    Who was approved stays so; the match waits for a person.
    """
    for event in events:
        reported = msgspec.convert(event.event_data(), ScreeningChanged)
        if reported.type == "agent_verification":
            await agent_review.enqueue_review(tx, reported.id)


async def on_document_scanned(tx: Tx, events: Sequence[Event]) -> None:
    """Documents were scanned."""
    for event in events:
        reported = msgspec.convert(event.event_data(), DocumentScanned)
        if not reported.clean:
            await agent_review.restore_answer_deadline(tx, reported.document)


reactions: Final = (
    Reaction(DECIDED, on_request_decided),
    Reaction(CHANGED, on_screening_changed),
    Reaction(SCANNED, on_document_scanned),
)


def schedules(stored: RetentionPeriods) -> Sequence[Schedule]:
    """The sweeps."""
    forget, due = partial(service.erase_personal_data, stored), partial(service.next_erasure_at, stored)
    return (
        Schedule("agent_verifications.expire", service.next_expiry_at, service.record_expiries),
        Schedule("agent_verifications.forget_applicants", due, forget, every=timedelta(days=1)),
    )


def handlers(
    mails: MailRenderer, transport: MailTransport, hosts: MailHosts, screener: Screener
) -> Mapping[str, Handler]:
    """The jobs' handlers, with the mails' templates (``service.MAILS``), who carries them, hosts and lists."""

    async def review(work: JobContext, job: Job) -> Result:
        verification_id = UUID(job.payload["verification"])
        if (asked_for := job.payload["then"]) is not None:
            async with work.db.write() as tx:
                await service.apply_sandbox_action(tx, verification_id, asked_for)
            return JobDone()
        async with work.db.read() as tx:
            domain = await agent_review.find_mail_domain(tx, verification_id)
        takes_mail = None if domain is None else await hosts.accepts_mail(domain)
        if domain is not None and takes_mail is None and job.attempt < _MAX_LOOKUPS:
            return JobRetry(
                mailing.RETRY_FOR_DAYS.delay_after(job.attempt), f"nobody tells whether {domain} takes mail"
            )
        await screener.run_with_watchlists(
            work.db,
            partial(
                agent_review.review_agent, screener=screener, verification_id=verification_id, takes_mail=takes_mail
            ),
        )
        return JobDone()

    async def send_confirmation(work: JobContext, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await emails.confirmation_email(tx, mails, UUID(job.payload["confirmation"]), job.due_at)
        return await mailing.send_mail(transport, mail, job)

    async def request_confirmation(work: JobContext, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await emails.representation_request_email(tx, mails, UUID(job.payload["verification"]), job.due_at)
        return await mailing.send_mail(transport, mail, job)

    return {
        agent_review.REVIEW: review,
        email_confirmation.SEND_CONFIRMATION: send_confirmation,
        agent_review.ASK_NONPROFIT: request_confirmation,
    }

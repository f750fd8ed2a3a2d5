"""Reviews by rule, emails, and reactions to validation requests and expiries."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

from almoner.access.notifications.service import NotificationDefinition
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobRetry, Result
from almoner.platform.outbound import mailing
from almoner.screening.screenings.domain import CHANGED, ScreeningChangedEvent
from almoner.screening.screenings.service import Screener
from almoner.validation.agents import agent_review, email_confirmation, emails, service
from almoner.validation.agents.ports import MailHostLookup
from almoner.validation.applications.documents.domain import SCANNED, DocumentScannedEvent, RetentionPeriods
from almoner.validation.requests.domain import DECIDED, RequestDecidedEvent

_MAX_LOOKUPS: Final = 5  # a quarter of an hour; then a reviewer decides


@dataclass(frozen=True, slots=True)
class AgentReviewDependencies:
    """The dependencies of agent jobs: the mail host lookup and the watchlists."""

    mail_hosts: MailHostLookup
    screener: Screener


tasks: Final = TaskRegistry()
tasks.add_periodic_job("agent_verifications.expire", service.next_expiry_at, service.expire_overdue_verifications)
review_tasks: Final = DependentTaskRegistry[AgentReviewDependencies]()
retention_tasks: Final = DependentTaskRegistry[RetentionPeriods]()
retention_tasks.add_periodic_job(
    "agent_verifications.erase_applicants",
    service.next_erasure_at,
    service.erase_personal_data,
    period=timedelta(days=1),
)


@tasks.on_internal_event(DECIDED)
async def on_validation_request_decided(tx: Tx, events: Sequence[RequestDecidedEvent]) -> None:
    """Review agents whose validation requests were decided."""
    await service.enqueue_reviews_after_request_decisions(tx, [one.request for one in events])


@tasks.on_internal_event(CHANGED)
async def on_screening_changed(tx: Tx, events: Sequence[ScreeningChangedEvent]) -> None:
    """Review pending agents again whose screening has changed.

    Approved ones stay approved; the match waits for a reviewer.
    """
    for reported in events:
        if reported.type == "agent_verification":
            await agent_review.enqueue_review(tx, reported.id)


@tasks.on_internal_event(SCANNED)
async def on_document_scanned(tx: Tx, events: Sequence[DocumentScannedEvent]) -> None:
    """Enqueue reviews of the agents whose documents were scanned."""
    for reported in events:
        if not reported.clean:
            await agent_review.restore_answer_deadlines_after_document_rejection(tx, reported.document)


@review_tasks.job(agent_review.REVIEW)
async def review_agent_by_rules(
    dependencies: AgentReviewDependencies, context: JobContext, job: DecodedJob[agent_review.AgentVerificationReviewJob]
) -> Result:
    """Review by rule, or apply a test value."""
    verification_id = job.details.verification_id
    if (asked_for := job.details.sandbox_action) is not None:
        async with context.db.write() as tx:
            await service.apply_sandbox_action(tx, verification_id, asked_for)
        return JobDone()
    async with context.db.read() as tx:
        domain = await agent_review.find_mail_domain_to_check(tx, verification_id)
    takes_mail = None if domain is None else await dependencies.mail_hosts.accepts_mail(domain)
    if domain is not None and takes_mail is None and job.attempt < _MAX_LOOKUPS:
        return JobRetry(mailing.RETRY_FOR_DAYS.delay_after(job.attempt), f"nobody tells whether {domain} takes mail")
    await dependencies.screener.run_with_current_watchlists(
        context.db,
        partial(
            agent_review.review_agent,
            screener=dependencies.screener,
            verification_id=verification_id,
            domain_accepts_mail=takes_mail,
        ),
    )
    return JobDone()


_MAILS: Final = Path(__file__).parent / "mails"
notifications: Final = (
    NotificationDefinition(
        email_confirmation.SEND_CONFIRMATION, _MAILS / "confirmation.html", emails.compose_confirmation_email
    ),
    NotificationDefinition(
        agent_review.ASK_NONPROFIT, _MAILS / "question.html", emails.compose_representation_request_email
    ),
)

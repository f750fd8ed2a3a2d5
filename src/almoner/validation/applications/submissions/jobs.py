"""Background work of submissions: evaluate them once their checks end, and erase personal data."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.outbox import Event, list_event_record_ids
from almoner.platform.jobs.background_tasks import JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, Result
from almoner.validation.agents import domain as agents_domain
from almoner.validation.applications.configurations import domain as configurations_domain
from almoner.validation.applications.configurations.domain import SubmissionConfigurationChangedEvent
from almoner.validation.applications.submissions import service, submission_evaluation
from almoner.validation.ongoing.eligibility import domain as eligibility_domain
from almoner.validation.ongoing.eligibility.domain import EligibilitySubscriptionEndedEvent
from almoner.validation.ongoing.monitoring import domain as monitoring_domain
from almoner.validation.ongoing.monitoring.domain import MonitoringStatusChangedEvent
from almoner.validation.requests.domain import DECIDED, RequestDecidedEvent

tasks: Final = TaskRegistry()
tasks.add_periodic_job(
    "validation_submissions.erase_applicants",
    service.next_erasure_at,
    service.erase_personal_data,
    period=timedelta(days=1),
)


@tasks.job(service.EVALUATE)
async def evaluate_submission(context: JobContext, job: DecodedJob[service.EvaluateSubmissionJob]) -> Result:
    """Evaluate one submission; does nothing if it already has its result."""
    async with context.db.write() as tx:
        await submission_evaluation.evaluate_submission(tx, job.details.submission)
    return JobDone()


@tasks.on_internal_event(DECIDED)
async def on_validation_request_decided(tx: Tx, events: Sequence[RequestDecidedEvent]) -> None:
    """Evaluate the submissions of decided validation requests."""
    await service.evaluate_after_request_decisions(tx, [one.request for one in events])


@tasks.on_internal_event(configurations_domain.CHANGED)
async def on_configuration_changed(tx: Tx, events: Sequence[SubmissionConfigurationChangedEvent]) -> None:
    """Evaluate the undecided submissions of changed configurations."""
    for reported in events:
        await service.evaluate_after_configuration_change(tx, Partner(reported.partner), reported.configuration)


@tasks.on_public_event(agents_domain.EVENTS["approved"], agents_domain.EVENTS["rejected"])
async def on_agent_decided(tx: Tx, events: Sequence[Event]) -> None:
    """Evaluate the submissions of decided agents."""
    await service.evaluate_after_check_results(
        tx, "agent_verification", list_event_record_ids(tx, "agentverification", events)
    )


@tasks.on_public_event(monitoring_domain.UPDATED)
async def on_monitoring_results_updated(tx: Tx, events: Sequence[Event]) -> None:
    """Evaluate submissions whose monitoring results changed."""
    await service.evaluate_after_check_results(
        tx, "compliance", list_event_record_ids(tx, "monitoringsubscription", events)
    )


@tasks.on_internal_event(monitoring_domain.STATUS_CHANGED)
async def on_monitoring_status_changed(tx: Tx, events: Sequence[MonitoringStatusChangedEvent]) -> None:
    """Evaluate submissions whose monitoring became live or ended."""
    await service.evaluate_after_check_results(tx, "compliance", [one.subscription for one in events])


@tasks.on_public_event(eligibility_domain.UPDATED)
async def on_eligibility_results_updated(tx: Tx, events: Sequence[Event]) -> None:
    """Evaluate submissions whose eligibility results changed."""
    await service.evaluate_after_check_results(
        tx, "eligibility", list_event_record_ids(tx, "eligibilitysubscription", events)
    )


@tasks.on_internal_event(eligibility_domain.ENDED)
async def on_eligibility_subscription_ended(tx: Tx, events: Sequence[EligibilitySubscriptionEndedEvent]) -> None:
    """Evaluate submissions whose eligibility subscription ended."""
    await service.evaluate_after_check_results(tx, "eligibility", [one.subscription for one in events])

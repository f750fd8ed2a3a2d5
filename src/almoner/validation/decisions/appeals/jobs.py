"""Background work of appeals: complete a reversal once the remaining checks have ended."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, list_event_record_ids
from almoner.platform.jobs.background_tasks import JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, Result
from almoner.validation.agents import domain as agents_domain
from almoner.validation.decisions.appeals import service
from almoner.validation.ongoing.eligibility import domain as eligibility_domain
from almoner.validation.ongoing.eligibility.domain import EligibilitySubscriptionEndedEvent
from almoner.validation.ongoing.monitoring import domain as monitoring_domain
from almoner.validation.ongoing.monitoring.domain import MonitoringStatusChangedEvent

tasks: Final = TaskRegistry()
tasks.add_periodic_job(
    "appeals.erase_texts", service.next_erasure_at, service.erase_appeal_texts, period=timedelta(days=1)
)


@tasks.job(service.COMPLETE_REVERSAL)
async def complete_reversal(context: JobContext, job: DecodedJob[service.CompleteReversalJob]) -> Result:
    """Complete the reversal of one submission; does nothing if it is already complete."""
    async with context.db.write() as tx:
        await service.complete_reversal(tx, job.details.submission)
    return JobDone()


@tasks.on_public_event(agents_domain.EVENTS["approved"], agents_domain.EVENTS["rejected"])
async def on_agent_decided(tx: Tx, events: Sequence[Event]) -> None:
    """Complete reversals whose agents were decided."""
    await service.enqueue_completion_of_appeal_reversals(
        tx, "agent", list_event_record_ids(tx, "agentverification", events)
    )


@tasks.on_public_event(monitoring_domain.UPDATED)
async def on_monitoring_results_updated(tx: Tx, events: Sequence[Event]) -> None:
    """Complete reversals whose monitoring results changed."""
    await service.enqueue_completion_of_appeal_reversals(
        tx, "monitoring", list_event_record_ids(tx, "monitoringsubscription", events)
    )


@tasks.on_internal_event(monitoring_domain.STATUS_CHANGED)
async def on_monitoring_status_changed(tx: Tx, events: Sequence[MonitoringStatusChangedEvent]) -> None:
    """Complete reversals whose monitoring became live or ended."""
    await service.enqueue_completion_of_appeal_reversals(tx, "monitoring", [one.subscription for one in events])


@tasks.on_public_event(eligibility_domain.UPDATED)
async def on_eligibility_results_updated(tx: Tx, events: Sequence[Event]) -> None:
    """Complete reversals whose eligibility results changed."""
    await service.enqueue_completion_of_appeal_reversals(
        tx, "eligibility", list_event_record_ids(tx, "eligibilitysubscription", events)
    )


@tasks.on_internal_event(eligibility_domain.ENDED)
async def on_eligibility_subscription_ended(tx: Tx, events: Sequence[EligibilitySubscriptionEndedEvent]) -> None:
    """Complete reversals whose eligibility subscription ended."""
    await service.enqueue_completion_of_appeal_reversals(tx, "eligibility", [one.subscription for one in events])

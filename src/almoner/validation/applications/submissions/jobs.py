"""Background work of submissions: evaluating them once their checks tell what became of them, and forgetting."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import msgspec

from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs.background_tasks import JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDone, Result
from almoner.validation.agents import domain as agents_domain
from almoner.validation.applications.configurations import domain as configurations_domain
from almoner.validation.applications.configurations.domain import Check, ConfigurationChanged
from almoner.validation.applications.submissions import service, submission_evaluation
from almoner.validation.ongoing.eligibility import domain as eligibility_domain
from almoner.validation.ongoing.monitoring import domain as monitoring_domain
from almoner.validation.requests.domain import DECIDED, RequestDecided


async def evaluate(work: JobContext, job: Job) -> Result:
    """Evaluate one submission. A second run finds it answered."""
    async with work.db.write() as tx:
        await submission_evaluation.evaluate_submission(tx, UUID(job.payload["submission"]))
    return JobDone()


async def on_request_decided(tx: Tx, events: Sequence[Event]) -> None:
    """Validation requests were decided."""
    decided = [msgspec.convert(event.event_data(), RequestDecided).request for event in events]
    await service.evaluate_after_request_decisions(tx, decided)


async def on_configuration_changed(tx: Tx, events: Sequence[Event]) -> None:
    """Configurations were changed."""
    for event in events:
        reported = msgspec.convert(event.event_data(), ConfigurationChanged)
        await service.evaluate_after_configuration_change(tx, Partner(reported.partner), reported.configuration)


def _reaction_of(check: Check, type_: str) -> Callable[[Tx, Sequence[Event]], Awaitable[None]]:
    """Something became of checks; their events carry their records."""

    async def react(tx: Tx, events: Sequence[Event]) -> None:
        records: list[Any] = [event.event_data() for event in events]
        named = [tx.ids.parse(type_, record["id"]) for record in records]
        await service.evaluate_after_check_results(tx, check, list(dict.fromkeys(one for one in named if one)))

    return react


_on_agent: Final = _reaction_of("agent_verification", "agentverification")
_on_monitoring: Final = _reaction_of("compliance", "monitoringsubscription")
_on_eligibility: Final = _reaction_of("eligibility", "eligibilitysubscription")

reactions: Final = (
    Reaction(DECIDED, on_request_decided),
    Reaction(agents_domain.EVENTS["approved"], _on_agent),
    Reaction(agents_domain.EVENTS["rejected"], _on_agent),
    Reaction(monitoring_domain.UPDATED, _on_monitoring),
    Reaction(monitoring_domain.STATUS_CHANGED, _on_monitoring),
    Reaction(eligibility_domain.UPDATED, _on_eligibility),
    Reaction(eligibility_domain.ENDED, _on_eligibility),
    Reaction(configurations_domain.CHANGED, on_configuration_changed),
)
schedules: Final = (
    Schedule(
        "validation_submissions.forget_applicants",
        service.next_erasure_at,
        service.erase_personal_data,
        every=timedelta(days=1),
    ),
)
handlers: Final = {service.EVALUATE: evaluate}

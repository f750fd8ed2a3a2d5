"""Background work of submissions: evaluating them once their checks tell what became of them, and forgetting."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import msgspec

from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs.background_tasks import Schedule, Work
from almoner.platform.jobs.queue import Done, Job, Result
from almoner.validation.agents import domain as agents
from almoner.validation.applications.configurations import domain as configurations
from almoner.validation.applications.configurations.domain import Check, ConfigurationChanged
from almoner.validation.applications.submissions import evaluating, service
from almoner.validation.ongoing.eligibility import domain as eligibility
from almoner.validation.ongoing.monitoring import domain as monitoring
from almoner.validation.requests.domain import DECIDED, RequestDecided


async def evaluate(work: Work, job: Job) -> Result:
    """Evaluate one submission. A second run finds it answered."""
    async with work.db.write() as tx:
        await evaluating.evaluate(tx, UUID(job.payload["submission"]))
    return Done()


async def on_decision(tx: Tx, events: Sequence[Event]) -> None:
    """Validation requests were decided."""
    decided = [msgspec.convert(event.record(), RequestDecided).request for event in events]
    await service.follow_requests(tx, decided)


async def on_configuration(tx: Tx, events: Sequence[Event]) -> None:
    """Configurations were changed."""
    for event in events:
        told = msgspec.convert(event.record(), ConfigurationChanged)
        await service.follow_configuration(tx, Partner(told.partner), told.configuration)


def _on(check: Check, type_: str) -> Callable[[Tx, Sequence[Event]], Awaitable[None]]:
    """Something became of checks; their events carry their records."""

    async def react(tx: Tx, events: Sequence[Event]) -> None:
        records: list[Any] = [event.record() for event in events]
        named = [tx.ids.parse(type_, record["id"]) for record in records]
        await service.follow_checks(tx, check, list(dict.fromkeys(one for one in named if one)))

    return react


_on_agent: Final = _on("agent_verification", "agentverification")
_on_monitoring: Final = _on("compliance", "monitoringsubscription")
_on_eligibility: Final = _on("eligibility", "eligibilitysubscription")

reactions: Final = (
    Reaction(DECIDED, on_decision),
    Reaction(agents.EVENTS["approved"], _on_agent),
    Reaction(agents.EVENTS["rejected"], _on_agent),
    Reaction(monitoring.UPDATED, _on_monitoring),
    Reaction(monitoring.MOVED, _on_monitoring),
    Reaction(eligibility.UPDATED, _on_eligibility),
    Reaction(eligibility.ENDED, _on_eligibility),
    Reaction(configurations.CHANGED, on_configuration),
)
schedules: Final = (
    Schedule(
        "validation_submissions.forget_applicants", service.next_forgotten, service.forget, every=timedelta(days=1)
    ),
)
handlers: Final = {service.EVALUATE: evaluate}

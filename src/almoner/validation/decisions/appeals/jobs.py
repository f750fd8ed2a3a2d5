"""Background work of appeals: the answer once what was never looked at has been."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs.background_tasks import Handler, JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDone, Result
from almoner.validation.agents import domain as agents_domain
from almoner.validation.decisions.appeals import service
from almoner.validation.ongoing.eligibility import domain as eligibility_domain
from almoner.validation.ongoing.monitoring import domain as monitoring_domain


async def complete_reversal(work: JobContext, job: Job) -> Result:
    """Settle one submission. A second run finds it answered."""
    async with work.db.write() as tx:
        await service.complete_reversal(tx, UUID(job.payload["submission"]))
    return JobDone()


def _reaction_of(check: str, type_: str) -> Callable[[Tx, Sequence[Event]], Awaitable[None]]:
    """Something became of checks; their events carry their records."""

    async def react(tx: Tx, events: Sequence[Event]) -> None:
        records: list[Any] = [event.event_data() for event in events]
        named = [tx.ids.parse(type_, record["id"]) for record in records]
        await service.complete_reversals_after_checks(tx, check, list(dict.fromkeys(one for one in named if one)))

    return react


reactions: Final = (
    Reaction(agents_domain.EVENTS["approved"], _reaction_of("agent", "agentverification")),
    Reaction(agents_domain.EVENTS["rejected"], _reaction_of("agent", "agentverification")),
    Reaction(monitoring_domain.UPDATED, _reaction_of("monitoring", "monitoringsubscription")),
    Reaction(monitoring_domain.STATUS_CHANGED, _reaction_of("monitoring", "monitoringsubscription")),
    Reaction(eligibility_domain.UPDATED, _reaction_of("eligibility", "eligibilitysubscription")),
    Reaction(eligibility_domain.ENDED, _reaction_of("eligibility", "eligibilitysubscription")),
)
schedules: Final = (
    Schedule("appeals.forget_texts", service.next_erasure_at, service.erase_texts, every=timedelta(days=1)),
)
handlers: Final[Mapping[str, Handler]] = {service.COMPLETE_REVERSAL: complete_reversal}

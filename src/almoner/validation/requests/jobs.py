"""Background work of validation requests: evaluating new ones, and pending ones anew when a register changes."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from almoner.nonprofits.registers.domain import CHANGED, RegisterChanged
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, JobDone, Result
from almoner.validation.requests import evaluate as evaluation_module
from almoner.validation.requests import service

_FIRST: Final = UUID(int=0)


async def evaluate(threshold: float, work: JobContext, job: Job) -> Result:
    """Evaluate one request. A second run finds it decided, or adds another evaluation to the evidence."""
    async with work.db.write() as tx:
        request = UUID(job.payload["request"])
        await evaluation_module.evaluate_request(tx, threshold, request, job.payload["occasion"], job.payload["then"])
    return JobDone()


async def reevaluate_pending(work: JobContext, job: Job) -> Result:
    """Have the pending requests of a registry evaluated anew, a batch in each transaction."""
    registry, after = UUID(job.payload["registry"]), _FIRST
    while True:
        async with work.db.write() as tx:
            last = await service.reevaluate_batch(tx, registry, after)
        if last is None:
            return JobDone()
        after = last


async def on_register_changed(tx: Tx, events: Sequence[Event]) -> None:
    """A job for each registry of which something else may be said now."""
    changed = {msgspec.convert(event.event_data(), RegisterChanged).registry for event in events}
    for registry in sorted(changed):
        await queue.enqueue_job(tx, service.REEVALUATE_PENDING, {"registry": str(registry)}, unique=str(registry))


reactions: Final = (Reaction(CHANGED, on_register_changed),)


def handlers(threshold: float) -> Mapping[str, Handler]:
    """The jobs, with how well names have to agree, 0 to 1."""
    return {service.EVALUATE: partial(evaluate, threshold), service.REEVALUATE_PENDING: reevaluate_pending}

"""Background work of validation requests: evaluate new ones, and pending ones again when a register changes."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from almoner.nonprofits.registers.domain import CHANGED, RegisterChangedEvent
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, Result
from almoner.validation.applications.documents.domain import SCANNED, DocumentScannedEvent
from almoner.validation.requests import evaluate as evaluation_module
from almoner.validation.requests import service

_FIRST: Final = UUID(int=0)


tasks: Final = TaskRegistry()
evaluation_tasks: Final = DependentTaskRegistry[float]()
"""The tasks' parameter is the required name agreement, 0 to 1."""


@evaluation_tasks.job(service.EVALUATE)
async def evaluate_request(
    min_name_score: float, context: JobContext, job: DecodedJob[service.EvaluateRequestJob]
) -> Result:
    """Evaluate one request. A second run finds it decided, or adds another evaluation to the evidence."""
    async with context.db.write() as tx:
        wanted = job.details
        await evaluation_module.evaluate_request(
            tx, min_name_score, wanted.request_id, wanted.occasion, wanted.sandbox_action
        )
    return JobDone()


@tasks.job(service.REEVALUATE_PENDING)
async def reevaluate_pending_requests(
    context: JobContext, job: DecodedJob[service.ReevaluatePendingRequestsJob]
) -> Result:
    """Re-evaluate the pending requests of a registry, a batch in each transaction."""
    registry, after = job.details.registry, _FIRST
    while True:
        async with context.db.write() as tx:
            last = await service.enqueue_evaluation_batch_and_get_last_id(tx, registry, after)
        if last is None:
            return JobDone()
        after = last


@tasks.on_internal_event(CHANGED)
async def on_register_changed(tx: Tx, events: Sequence[RegisterChangedEvent]) -> None:
    """Enqueue re-evaluations for each registry whose data have changed."""
    for registry in sorted({one.registry for one in events}):
        await service.REEVALUATE_PENDING.enqueue(
            tx, service.ReevaluatePendingRequestsJob(registry), unique_key=str(registry)
        )


@tasks.on_internal_event(SCANNED)
async def on_document_scanned(tx: Tx, events: Sequence[DocumentScannedEvent]) -> None:
    """Notify partners of rejected documents."""
    for reported in events:
        if not reported.clean:
            await service.emit_document_rejected(tx, reported.document)

"""Background work of donation requests: the nightly run, and allocations that a crash left unfinished."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from almoner.giving.checkout.donation_requests import flows, service
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import JobContext, TaskRegistry
from almoner.platform.jobs.failing_rows import process_rows_returning_failures
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, NoDetails, Result

RUN: Final = JobKind("donation_requests.run", NoDetails)
ALLOCATE: Final = "requests.cover"
_TRIED: Final = 50
tasks: Final = TaskRegistry()


@tasks.job(RUN)
async def run_invoicing(context: JobContext, _job: DecodedJob[NoDetails]) -> Result:
    """Create donation requests for the direct donations of past periods."""
    await flows.run_invoicing(context.db)
    return JobDone()


async def _allocation_due_at(tx: Tx) -> datetime | None:
    return tx.now if await service.list_request_ids_awaiting_allocation(tx, 1) else None


async def _allocate_next(tx: Tx) -> int:
    """Allocate a batch of the first request that waits; one, because ledger accounts are a transaction's last locks."""

    async def allocate(ids: Sequence[UUID]) -> None:
        for request_id in ids:
            await service.allocate_payments_to_donation_batch(tx, request_id)

    for request_id in await service.list_request_ids_awaiting_allocation(tx, _TRIED):
        if not await process_rows_returning_failures(tx, ALLOCATE, [request_id], allocate, row_key=str):
            return 1
    return 0


async def _enqueue_run(tx: Tx) -> int:
    """Enqueue a job that creates the requests in batches, one transaction each."""
    await RUN.enqueue(tx, NoDetails(), unique_key=RUN.name)
    return 0


tasks.add_periodic_job(ALLOCATE, _allocation_due_at, _allocate_next)
tasks.add_periodic_job(RUN.name, partial(service.next_invoicing_at, schedule_name=RUN.name), _enqueue_run)

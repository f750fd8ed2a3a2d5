"""Background work of donation requests: the run after each midnight, and what a crash left half received."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Final

from almoner.giving.checkout.donation_requests import flows, service
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDone, Result

RUN: Final = "requests.run"


async def run_invoicing(work: JobContext, _job: Job) -> Result:
    """Ask partners for the direct donations of the periods that are over."""
    await flows.run_invoicing(work.db)
    return JobDone()


handlers: Final[Mapping[str, Handler]] = {RUN: run_invoicing}


async def _allocation_due_at(tx: Tx) -> datetime | None:
    return tx.now if await service.requests_awaiting_allocation(tx, 1) else None


async def _allocate_next(tx: Tx) -> int:
    for request_id in await service.requests_awaiting_allocation(tx, 1):
        await service.allocate_payment(tx, request_id)
        return 1
    return 0


async def _enqueue_run(tx: Tx) -> int:
    """Have a worker bundle the donations, a batch in each transaction. The sweep itself deals with none."""
    await queue.enqueue_job(tx, RUN, {}, unique=RUN)
    return 0


schedules: Final = (
    Schedule("requests.cover", _allocation_due_at, _allocate_next),
    Schedule(RUN, partial(service.next_run_at, name=RUN), _enqueue_run),
)

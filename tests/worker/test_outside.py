"""Jobs that wait for somebody outside take no place from others."""

import asyncio

from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import JobContext
from almoner.platform.jobs.outside import free_job_slot_while_waiting
from almoner.platform.jobs.queue import Job, JobDone, NewJob, Result
from almoner.platform.jobs.runner import CONCURRENT_JOBS, JobRunner
from tests.support.eventually import eventually
from tests.worker.conftest import Ground


async def test_jobs_that_wait_for_a_server_that_hangs_hold_up_no_other(ground: Ground) -> None:
    answered, stop, done = asyncio.Event(), asyncio.Event(), asyncio.Event()
    waiting = 0

    async def mail(_context: JobContext, _job: Job) -> Result:
        nonlocal waiting
        waiting += 1
        with free_job_slot_while_waiting():
            await answered.wait()
        return JobDone()

    async def other(_context: JobContext, _job: Job) -> Result:
        done.set()
        return JobDone()

    hanging = 3 * CONCURRENT_JOBS
    async with ground.db.write() as tx:
        await queue.enqueue_jobs(tx, [NewJob("mail", {}) for _ in range(hanging)])
        await queue.enqueue_job(tx, "other", {})
    runner = JobRunner(JobContext(ground.db), {"mail": mail, "other": other}, ground.telemetry)
    running = asyncio.create_task(runner.run(stop))
    async with asyncio.timeout(30):
        await done.wait()
    assert waiting == hanging
    answered.set()
    await eventually(lambda: _empty(ground))
    stop.set()
    await running


async def _empty(ground: Ground) -> bool:
    return not await ground.look("select from job")

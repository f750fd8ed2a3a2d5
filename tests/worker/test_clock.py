"""The two clocks over several processes: who moved it waits until all live processes follow."""

import asyncio
from datetime import timedelta

import pytest

from almoner.kit.time import SystemClock
from almoner.platform import business_clock
from almoner.platform.business_clock import BusinessClock, ClockOffsetSynchroniser
from almoner.platform.database.transactions import Database
from almoner.platform.jobs import processes, queue
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import BackgroundTasks, JobContext
from almoner.platform.jobs.processes import Heartbeat
from almoner.platform.jobs.queue import Job, JobDone, Result
from almoner.sandbox.clock import ClockInUse, ClockReading, SandboxClock
from tests.support.clock import TestClock
from tests.support.eventually import eventually
from tests.worker.conftest import Ground

HOUR = timedelta(hours=1)


def pulse(ground: Ground, db: Database, role: processes.Role = "server") -> tuple[Heartbeat, list[int]]:
    heard: list[int] = []
    return Heartbeat(db, role, ground.telemetry, heard.append), heard


async def advance(ground: Ground, clock: SandboxClock, by: timedelta) -> ClockReading:
    async with ground.db.idempotency_transaction() as tx:
        return await clock.advance(tx, by)


def test_the_business_clock_is_real_time_and_what_it_was_moved_never_back() -> None:
    real = TestClock()
    clock = BusinessClock(real)
    assert abs(clock.now() - clock.real_now()) < HOUR
    clock.advance_to_offset(HOUR)
    clock.advance_to_offset(timedelta())
    assert clock.offset == HOUR
    assert timedelta(seconds=-1) < clock.now() - clock.real_now() - HOUR < timedelta(seconds=1)
    assert abs(BusinessClock(SystemClock()).real_now() - SystemClock().now()) < timedelta(seconds=5)


async def test_servers_share_the_limits_and_a_silent_one_counts_no_more(ground: Ground) -> None:
    ground.clock.stop_wall()
    first, heard = pulse(ground, ground.db)
    second, _ = pulse(ground, ground.db)
    worker, _ = pulse(ground, ground.db, "worker")
    for one in (second, worker, first):
        await one.record_heartbeat()
    assert heard == [2]
    ground.clock.advance_wall(seconds=3.1)
    await first.record_heartbeat()
    assert heard == [2, 1]
    await second.record_heartbeat()
    await second.deregister()
    await first.record_heartbeat()
    assert heard == [2, 1, 1]


async def test_a_move_waits_for_every_live_process_and_for_no_dead_one(ground: Ground) -> None:
    ground.clock.stop_wall()
    dead, _ = pulse(ground, ground.db)
    await dead.record_heartbeat()
    ground.clock.advance_wall(seconds=4)
    stop = asyncio.Event()
    async with ground.another() as other_db, asyncio.TaskGroup() as group:
        theirs = TestClock(ground.clock.now())
        other, _ = pulse(ground, other_db)
        watch = ClockOffsetSynchroniser(other_db, theirs, other, ground.telemetry)
        await other.record_heartbeat()
        group.create_task(watch.run(stop))
        clock = SandboxClock(BackgroundWorker(ground.db, BackgroundTasks(), ground.telemetry), ground.clock)
        reading = await advance(ground, clock, HOUR)
        assert theirs.offset == reading.offset == ground.clock.offset == HOUR
        stop.set()


async def test_a_new_process_begins_in_the_moved_time(ground: Ground) -> None:
    await advance(
        ground, SandboxClock(BackgroundWorker(ground.db, BackgroundTasks(), ground.telemetry), ground.clock), HOUR
    )
    clock = TestClock(ground.clock.now() - HOUR)
    mine, _ = pulse(ground, ground.db)
    await ClockOffsetSynchroniser(ground.db, clock, mine, ground.telemetry).apply_stored_offset()
    assert clock.offset == HOUR
    async with ground.db.read() as tx:
        assert (
            await processes.count_processes_behind_clock_version(tx, (await business_clock.read_offset(tx)).version)
            == 0
        )


async def test_the_clock_stops_at_each_due_moment_and_jobs_see_their_own(ground: Ground) -> None:
    start, seen = ground.clock.now(), []

    async def handle(context: JobContext, job: Job) -> Result:
        seen.append((job.payload["n"], context.db.deployment.clock.now() - start))
        if job.payload["n"] == 2:
            async with context.db.write() as tx:
                await queue.enqueue_job(tx, "a.job", {"n": 20}, due_at=tx.now + timedelta(minutes=14))
        return JobDone()

    async with ground.db.write() as tx:
        for n in (1, 2, 5):
            await queue.enqueue_job(tx, "a.job", {"n": n}, due_at=start + n * HOUR)
    background = BackgroundWorker(ground.db, BackgroundTasks(handlers={"a.job": handle}), ground.telemetry)
    reading = await advance(ground, SandboxClock(background, ground.clock), 3 * HOUR)
    assert seen == [(1, HOUR), (2, 2 * HOUR), (20, 2 * HOUR + timedelta(minutes=14))]
    assert (reading.now - start, reading.outstanding_work_count) == (3 * HOUR, 0)


async def test_the_clock_waits_for_a_limited_time_and_says_what_still_runs(ground: Ground) -> None:
    leave = asyncio.Event()

    async def handle(_context: JobContext, _job: Job) -> Result:
        await leave.wait()
        return JobDone()

    async with ground.db.write() as tx:
        await queue.enqueue_job(tx, "a.job", {}, due_at=tx.now + HOUR)
    background = BackgroundWorker(ground.db, BackgroundTasks(handlers={"a.job": handle}), ground.telemetry)
    clock = SandboxClock(background, ground.clock, patience_seconds=0.1)
    reading = await advance(ground, clock, 2 * HOUR)
    assert (reading.offset, reading.outstanding_work_count) == (2 * HOUR, 1)
    leave.set()

    async def nothing_left() -> bool:
        await background.drain()  # on a slow machine the job may not even have begun when patience ended
        return (await clock.read()).outstanding_work_count == 0

    await eventually(nothing_left)


async def test_the_clock_waits_for_work_that_another_process_has_in_hand(ground: Ground) -> None:
    async with ground.another() as other:
        async with ground.db.write() as tx:
            await queue.enqueue_job(tx, "a.job", {})
        async with other.write() as tx:
            (job,) = await queue.claim_jobs(tx, 1)
        clock = SandboxClock(BackgroundWorker(ground.db, BackgroundTasks(), ground.telemetry), ground.clock)
        moving = asyncio.create_task(advance(ground, clock, HOUR))
        done, _ = await asyncio.wait({moving}, timeout=0.2)
        assert not done
        async with other.write() as tx:
            await queue.record_job_results(tx, [queue.FinishedJob(job, JobDone())])
        assert (await moving).outstanding_work_count == 0


async def test_one_call_moves_the_clock_at_a_time(ground: Ground) -> None:
    clock = SandboxClock(BackgroundWorker(ground.db, BackgroundTasks(), ground.telemetry), ground.clock)
    async with ground.db.write() as tx:
        assert await business_clock.try_lock_clock(tx)
        with pytest.raises(ClockInUse):
            await advance(ground, clock, HOUR)
    await advance(ground, clock, HOUR)

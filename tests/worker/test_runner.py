"""Workers: what handlers answer, what they raise, how they stop; and the sweeps."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta

import asyncpg
import pytest

from almoner.kit.events import InternalEvent
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import EventReaction, emit_internal_event
from almoner.platform.jobs import queue
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import BackgroundTasks, Handler, JobContext, Schedule
from almoner.platform.jobs.queue import (
    FinishedJob,
    Job,
    JobDone,
    JobDropped,
    JobResultRecorded,
    JobRetry,
    NewJob,
    Result,
)
from almoner.platform.jobs.runner import JobRunner
from almoner.platform.jobs.schedules import request_schedule_run
from tests.support.eventually import eventually
from tests.worker.conftest import Ground

TOLD = InternalEvent("internal.thing", object)

Answer = Callable[[Job], Awaitable[Result]]


def doing(answer: Answer) -> Mapping[str, Handler]:
    async def handle(_context: JobContext, job: Job) -> Result:
        return await answer(job)

    return {"a.job": handle}


async def enqueue(ground: Ground, *jobs: NewJob) -> None:
    async with ground.db.write() as tx:
        await queue.enqueue_jobs(tx, jobs)


async def round_of(runner: JobRunner) -> None:
    await runner.record_results_and_start_jobs()
    await runner.wait_until_idle()


@pytest.fixture
def seen() -> list[int]:
    return []


async def test_a_done_job_is_forgotten(ground: Ground, seen: list[int]) -> None:
    async def answer(job: Job) -> Result:
        seen.append(job.payload["n"])
        return JobDone()

    await enqueue(ground, *(NewJob("a.job", {"n": n}) for n in range(100)))
    await BackgroundWorker(ground.db, BackgroundTasks(handlers=doing(answer)), ground.telemetry).drain()
    assert sorted(seen) == list(range(100))
    assert await ground.look("select from job") == []


async def test_an_exception_is_told_without_its_words_and_tried_again_later(ground: Ground) -> None:
    async def answer(job: Job) -> Result:
        if job.attempt < 3:
            raise RuntimeError("donor@example.org")
        return JobDone()

    await enqueue(ground, NewJob("a.job", {}))
    runner = JobRunner(JobContext(ground.db), doing(answer), ground.telemetry)
    for pause in (1, 2):
        await round_of(runner)
        await round_of(runner)
        ((due_at, error),) = await ground.look("select due_at, last_error from job")
        assert due_at == ground.clock.now() + timedelta(seconds=pause)
        assert error.startswith("RuntimeError")
        ground.clock.advance(seconds=pause)
    await round_of(runner)
    assert await ground.look("select from job") == []
    assert len([line for line in ground.log if line["event"] == "job_failed"]) == 2
    assert b"donor@example.org" not in b"".join(ground.lines)


async def test_a_job_that_always_raises_dies_visibly(ground: Ground) -> None:
    async def answer(_job: Job) -> Result:
        raise RuntimeError

    await enqueue(ground, NewJob("a.job", {}))
    runner = JobRunner(JobContext(ground.db), doing(answer), ground.telemetry)
    for _ in range(queue.MAX_FAILURES):
        await round_of(runner)
        ground.clock.advance(hours=1)
    ((attempt, dead_at, error),) = await ground.look("select attempt, dead_at, last_error from job")
    assert (attempt, error) == (20, "RuntimeError in attempt 20")
    assert dead_at is not None


async def test_a_job_runs_as_long_as_its_kind_may(ground: Ground) -> None:
    ended = asyncio.Event()

    async def answer(_job: Job) -> Result:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return JobDone()

    await enqueue(ground, NewJob("a.job", {}))
    limits = {"a.job": timedelta(milliseconds=20), "b.job": timedelta(hours=1)}
    await round_of(JobRunner(JobContext(ground.db), doing(answer), ground.telemetry, limits=limits))
    assert ended.is_set()
    ((error, failures),) = await ground.look("select last_error, failures from job")
    assert (error, failures) == ("TimeoutError in attempt 1", 1)


async def test_retry_and_drop_are_recorded(ground: Ground) -> None:
    async def answer(job: Job) -> Result:
        return JobDropped("never") if job.payload["n"] else JobRetry(timedelta(minutes=1), "again")

    await enqueue(ground, NewJob("a.job", {"n": 0}), NewJob("a.job", {"n": 1}))
    await round_of(JobRunner(JobContext(ground.db), doing(answer), ground.telemetry))
    rows = await ground.look("select payload, due_at, dead_at, leased_until from job order by id")
    now = ground.clock.now()
    assert [tuple(row) for row in rows] == [
        ({"n": 0}, now + timedelta(minutes=1), None, None),
        ({"n": 1}, now, now, None),
    ]


async def test_a_job_that_records_itself_ends_with_what_it_did_and_the_next_begins_with_one_commit(
    ground: Ground, seen: list[int]
) -> None:
    claimed_by: list[int] = []
    ended_by: list[int] = []

    async def handle(context: JobContext, job: Job) -> queue.Answer:
        async with context.db.write() as tx:
            claimed_by.append(await tx.fetchval("select xmin::text::bigint from job where id = $1", job.id))
            await emit_internal_event(tx, TOLD, job.payload)
            await context.record_results(tx, [FinishedJob(job, JobDone())])
            ended_by.append(await tx.fetchval("select pg_current_xact_id()::text::bigint"))
        seen.append(job.payload["n"])
        return JobResultRecorded(JobDone())

    await enqueue(ground, *(NewJob("a.job", {"n": n}, lane="one") for n in range(20)))
    async with ground.db.write() as tx:
        await queue.set_lane_limits(tx, [queue.LaneLimits("one", 1, 1, None)])
    await round_of(JobRunner(JobContext(ground.db), {"a.job": handle}, ground.telemetry))
    assert seen == list(range(20))
    assert (len(await ground.look("select from internal_event")), await ground.look("select from job")) == (20, [])
    assert claimed_by[1:] == ended_by[:-1], "each was claimed by the transaction that ended the one before"


async def test_what_was_claimed_with_a_commit_that_failed_is_not_begun(ground: Ground, seen: list[int]) -> None:
    async def handle(context: JobContext, job: Job) -> queue.Answer:
        seen.append(job.payload["n"])
        async with context.db.write() as tx:
            await context.record_results(tx, [FinishedJob(job, JobDone())])
            if len(seen) == 1:
                raise RuntimeError
        return JobResultRecorded(JobDone())

    await enqueue(ground, *(NewJob("a.job", {"n": n}, lane="one") for n in range(2)))
    async with ground.db.write() as tx:
        await queue.set_lane_limits(tx, [queue.LaneLimits("one", 1, 1, None)])
    runner = JobRunner(JobContext(ground.db), {"a.job": handle}, ground.telemetry)
    await round_of(runner)
    assert seen == [0]
    assert [tuple(row) for row in await ground.look("select attempt, failures, leased_until from job order by id")] == [
        (1, 1, None),
        (0, 0, None),
    ]
    ground.clock.advance(seconds=1)
    await round_of(runner)
    assert (seen, await ground.look("select from job")) == ([0, 1, 0], [])


async def test_a_kind_that_nobody_handles_is_kept_as_dead(ground: Ground) -> None:
    await enqueue(ground, NewJob("b.unknown", {}))
    await round_of(JobRunner(JobContext(ground.db), {}, ground.telemetry))
    ((error,),) = await ground.look("select last_error from job where dead_at is not null")
    assert error == "no handler of this version does b.unknown"


async def test_a_stopping_worker_finishes_what_it_has_and_claims_nothing_more(ground: Ground) -> None:
    started, leave, stop = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def answer(_job: Job) -> Result:
        started.set()
        await leave.wait()
        return JobDone()

    await enqueue(ground, NewJob("a.job", {}))
    running = asyncio.create_task(JobRunner(JobContext(ground.db), doing(answer), ground.telemetry).run(stop))
    await started.wait()
    stop.set()
    await enqueue(ground, NewJob("a.job", {"later": True}))
    leave.set()
    await running
    rows = await ground.look("select payload, attempt, leased_until from job")
    assert [tuple(row) for row in rows] == [({"later": True}, 0, None)]


async def test_a_stopping_worker_gives_back_what_does_not_end(ground: Ground) -> None:
    started, stop = asyncio.Event(), asyncio.Event()

    async def answer(_job: Job) -> Result:
        started.set()
        await asyncio.Event().wait()
        return JobDone()

    await enqueue(ground, NewJob("a.job", {}))
    running = asyncio.create_task(
        JobRunner(JobContext(ground.db), doing(answer), ground.telemetry, stop_seconds=0.05).run(stop)
    )
    await started.wait()
    stop.set()
    await running
    rows = await ground.look("select attempt, leased_until from job")
    assert [tuple(row) for row in rows] == [(1, None)]


async def test_a_worker_that_lost_its_job_ends_it(ground: Ground) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def answer(_job: Job) -> Result:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return JobDone()

    await enqueue(ground, NewJob("a.job", {}))
    runner = JobRunner(JobContext(ground.db), doing(answer), ground.telemetry)
    await runner.record_results_and_start_jobs()
    await started.wait()
    ground.clock.advance_wall(seconds=61)
    async with ground.another() as other:
        async with other.write() as tx:
            await queue.release_expired_jobs(tx)
            (taken,) = await queue.claim_jobs(tx, 1)
        assert taken.attempt == 2
        await runner.maintain_leases()
        async with asyncio.timeout(30):
            await ended.wait()
        await runner.wait_until_idle()
        assert [tuple(row) for row in await ground.look("select attempt from job")] == [(2,)]


async def test_waiting_receivers_do_not_take_the_places_of_other_jobs(ground: Ground, seen: list[int]) -> None:
    leave = asyncio.Event()

    async def answer(job: Job) -> Result:
        if job.lane:
            await leave.wait()
        else:
            seen.append(job.id)
        return JobDone()

    await enqueue(ground, *(NewJob("a.job", {}, lane=f"dead {n}") for n in range(40)))
    runner = JobRunner(JobContext(ground.db), doing(answer), ground.telemetry, lane_places=30)
    assert await runner.record_results_and_start_jobs() == 30
    await enqueue(ground, NewJob("a.job", {}))
    await runner.record_results_and_start_jobs()
    await eventually(lambda: len(seen) == 1)
    leave.set()
    await runner.wait_until_idle()


async def test_work_is_done_at_once_in_the_process_that_enqueued_it(ground: Ground, seen: list[int]) -> None:
    stop = asyncio.Event()

    async def answer(job: Job) -> Result:
        seen.append(job.id)
        return JobDone()

    async def enqueue_again(tx: Tx, _events: object) -> None:
        await queue.enqueue_job(tx, "a.job", {})

    duties = BackgroundTasks(handlers=doing(answer), reactions=(EventReaction(TOLD.name, enqueue_again),))
    running = asyncio.create_task(BackgroundWorker(ground.db, duties, ground.telemetry).run(stop))
    for n in range(1, 4):
        async with ground.db.write() as tx:
            await emit_internal_event(tx, TOLD, {})
        await eventually(lambda n=n: len(seen) == n)  # type: ignore[misc]
    stop.set()
    await running


class Expiring:
    """Records that expire, and the sweep that notices."""

    def __init__(self, *expiries: datetime) -> None:
        self.open = sorted(expiries)
        self.swept_at: list[datetime] = []

    async def next_due(self, _tx: Tx) -> datetime | None:
        return self.open[0] if self.open else None

    async def run(self, tx: Tx) -> int:
        if not self.open or self.open[0] > tx.now:
            return 0
        self.open.pop(0)
        self.swept_at.append(tx.now)
        return 1


async def test_a_sweep_runs_when_its_moment_has_passed_until_nothing_is_left(ground: Ground) -> None:
    start = ground.clock.now()
    records = Expiring(*(start + timedelta(hours=hours) for hours in (1, 1, 3)))
    schedule = Schedule("records.expire", records.next_due, records.run)
    background = BackgroundWorker(ground.db, BackgroundTasks(schedules=(schedule,)), ground.telemetry)
    await background.drain()
    assert records.swept_at == []
    async with ground.db.read() as tx:
        assert await background.next_due_at(tx) == start + timedelta(hours=1)
    ground.clock.advance(hours=1)
    async with ground.db.read() as tx:
        assert await background.count_outstanding_work(tx) == 1
    await background.drain()
    assert len(records.swept_at) == 2
    async with ground.db.read() as tx:
        assert await background.count_outstanding_work(tx) == 0
        assert await background.next_due_at(tx) == start + timedelta(hours=3)


async def test_a_tidying_sweep_runs_at_the_end_of_its_period(ground: Ground) -> None:
    moment = ground.clock.now().replace(hour=10, minute=20)
    records = Expiring(moment)
    schedule = Schedule("records.purge", records.next_due, records.run, period=timedelta(hours=1))
    async with ground.db.read() as tx:
        assert await schedule.due_at(tx) == moment.replace(hour=11, minute=0)
    records.open = [moment.replace(minute=0)]
    async with ground.db.read() as tx:
        assert await schedule.due_at(tx) == moment.replace(minute=0)


async def test_a_tidying_sweep_that_is_due_now_runs_in_the_midst_of_its_period(ground: Ground) -> None:
    left = [3]

    async def due(tx: Tx) -> datetime | None:
        return tx.now if left[0] else None

    async def run(_tx: Tx) -> int:
        return left.pop(0) if left[0] else 0

    left.append(0)
    ground.clock.advance(seconds=7)
    schedule = Schedule("totals.refresh", due, run, period=timedelta(minutes=1))
    background = BackgroundWorker(ground.db, BackgroundTasks(schedules=(schedule,)), ground.telemetry)
    await background.drain()
    assert left == [0]


async def test_the_loop_looks_at_a_tidying_sweep_once_in_its_period(ground: Ground) -> None:
    looks: list[datetime] = []
    others = 0
    records = Expiring(ground.clock.now() + timedelta(hours=2))

    async def due(tx: Tx) -> datetime | None:
        looks.append(tx.now)
        return await records.next_due(tx)

    async def other_due(_tx: Tx) -> None:
        nonlocal others
        others += 1

    schedules = (
        Schedule("records.purge", due, records.run, period=timedelta(hours=1)),
        Schedule("records.expire", other_due, records.run),
    )
    sweeper = BackgroundWorker(ground.db, BackgroundTasks(schedules=schedules), ground.telemetry).sweeper
    started, stop = ground.clock.now(), asyncio.Event()
    running = asyncio.create_task(sweeper.run(stop))
    await eventually(lambda: others >= 2)
    assert looks == [started]
    ground.clock.advance(hours=4)
    await eventually(lambda: len(records.swept_at) == 1)
    stop.set()
    await running
    looked = len(looks)  # before each turn, and once more in it
    await sweeper.run_due_jobs()
    assert len(looks) == looked + 1, "who asks for a sweep gets one"


async def test_a_sweep_has_one_runner_at_a_time(ground: Ground) -> None:
    entered, leave = asyncio.Event(), asyncio.Event()
    runs = 0

    async def due(tx: Tx) -> datetime:
        return tx.now

    async def run(_tx: Tx) -> int:
        nonlocal runs
        runs += 1
        entered.set()
        await leave.wait()
        return 0

    duties = BackgroundTasks(schedules=(Schedule("records.expire", due, run),))
    async with ground.another() as other, asyncio.TaskGroup() as group:
        group.create_task(BackgroundWorker(ground.db, duties, ground.telemetry).sweeper.run_due_jobs())
        await entered.wait()
        assert await BackgroundWorker(other, duties, ground.telemetry).sweeper.run_due_jobs() == 0
        leave.set()
    assert runs == 1


async def test_a_failing_sweep_does_not_hold_up_the_others(ground: Ground) -> None:
    records = Expiring(ground.clock.now())

    async def due(tx: Tx) -> datetime:
        return tx.now

    broken = True

    async def fail(_tx: Tx) -> int:
        if broken:
            raise RuntimeError("no such moon")
        return 0

    schedules = (Schedule("a.broken", due, fail), Schedule("records.expire", records.next_due, records.run))

    def worker() -> BackgroundWorker:
        return BackgroundWorker(ground.db, BackgroundTasks(schedules=schedules), ground.telemetry)

    assert await worker().sweeper.run_due_jobs() == 1
    assert [line["schedule"] for line in ground.log if line["event"] == "schedule_failed"] == ["a.broken"]
    async with ground.db.read() as tx:
        failed, other = await worker().sweeper.list_periodic_jobs(tx)
    assert (failed.last_run_at, other.last_error) == (None, None)
    assert failed.last_error is not None
    assert failed.last_error.startswith("RuntimeError at ")
    assert "moon" not in failed.last_error, "a message may contain user data"
    broken = False
    await worker().sweeper.run_due_jobs()
    async with ground.db.read() as tx:
        mended, _ = await worker().sweeper.list_periodic_jobs(tx)
    assert (mended.last_error, mended.failed_at) == (None, None)
    assert mended.last_run_at is not None


async def test_a_requested_run_does_not_wait_for_the_end_of_its_period(ground: Ground) -> None:
    records, now = Expiring(ground.clock.now() - timedelta(seconds=1)), ground.clock.now()
    schedules = (Schedule("records.tidy", records.next_due, records.run, period=timedelta(days=1000)),)
    sweeper = BackgroundWorker(ground.db, BackgroundTasks(schedules=schedules), ground.telemetry).sweeper
    assert await sweeper.run_due_jobs() == 0
    async with ground.db.write() as tx:
        await request_schedule_run(tx, "records.tidy")
    assert await sweeper.run_due_jobs() == 1
    async with ground.db.read() as tx:
        (done,) = await sweeper.list_periodic_jobs(tx)
    assert (done.requested, done.last_run_at) == (False, now)


async def test_the_loops_survive_a_statement_that_the_database_refuses(ground: Ground, seen: list[int]) -> None:
    async def answer(job: Job) -> Result:
        seen.append(job.id)
        return JobDone()

    stop = asyncio.Event()
    owner = await asyncpg.connect(ground.database.owner_dsn)
    try:
        await owner.execute("alter table job rename to job_away")
        running = asyncio.create_task(
            BackgroundWorker(ground.db, BackgroundTasks(handlers=doing(answer)), ground.telemetry).run(stop)
        )
        await eventually(lambda: any(line["event"] == "runner_waits" for line in ground.log))
        await owner.execute("alter table job_away rename to job")
        await enqueue(ground, NewJob("a.job", {}))
        await eventually(lambda: len(seen) == 1)
        stop.set()
        await running
    finally:
        await owner.close()

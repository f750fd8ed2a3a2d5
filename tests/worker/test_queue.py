"""Jobs: in the caller's transaction, due by business time, leased by real time, fenced, in lanes."""

import asyncio
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.platform.database.transactions import Database, Tx
from almoner.platform.events import dispatcher
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import FinishedJob, Job, JobDone, JobDropped, JobFailed, JobRetry, NewJob
from tests.worker.conftest import Ground


async def claim(db: Database, limit: int = 10) -> list[Job]:
    async with db.write() as tx:
        return await queue.claim_jobs(tx, limit)


async def claim_lanes(db: Database, limit: int = 100) -> list[Job]:
    async with db.write() as tx:
        await queue.mark_due_lane_jobs_ready(tx)
        return (await queue.claim_lane_jobs(tx, "", limit)).jobs


async def finish(db: Database, job: Job, result: queue.Result | JobFailed) -> int:
    async with db.write() as tx:
        return await queue.record_job_results(tx, [FinishedJob(job, result)])


async def rescue(db: Database) -> int:
    async with db.write() as tx:
        return await queue.release_expired_jobs(tx)


async def enqueue(ground: Ground, *jobs: NewJob) -> None:
    async with ground.db.write() as tx:
        await queue.enqueue_jobs(tx, jobs)


async def figures(ground: Ground) -> tuple[int, int, int]:
    async with ground.db.read() as tx:
        found = await queue.queue_metrics(tx)
    return found.outstanding, found.later, found.dead


async def test_a_job_is_enqueued_with_the_change_or_not_at_all(ground: Ground) -> None:
    with suppress(RuntimeError):
        async with ground.db.write() as tx:
            await queue.enqueue_job(tx, "a.job", {})
            raise RuntimeError
    assert await claim(ground.db) == []


async def test_a_job_is_given_to_one_worker(ground: Ground) -> None:
    await enqueue(ground, *(NewJob("a.job", {"n": n}) for n in range(40)))
    async with ground.another() as other:
        batches = await asyncio.gather(*(claim(db, 7) for db in (ground.db, other) for _ in range(4)))
    taken = [job.payload["n"] for batch in batches for job in batch]
    assert sorted(taken) == list(range(40))
    assert await claim(ground.db) == []


async def test_jobs_come_in_the_order_of_their_due_time(ground: Ground) -> None:
    now = ground.clock.now()
    due = [now - timedelta(minutes=1), now, now - timedelta(minutes=2)]
    await enqueue(ground, *(NewJob("a.job", {"n": n}, due_at=moment) for n, moment in enumerate(due)))
    assert [(await claim(ground.db, 1))[0].payload["n"] for _ in due] == [2, 0, 1]


async def test_a_job_is_due_by_business_time(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {}, due_at=ground.clock.now() + timedelta(hours=24)))
    assert await claim(ground.db) == []
    assert await figures(ground) == (0, 1, 0)
    async with ground.db.read() as tx:
        assert await queue.next_job_due_at(tx) == ground.clock.now() + timedelta(hours=24)
    ground.clock.advance(hours=24, milliseconds=-1)
    assert await claim(ground.db) == []
    ground.clock.advance(milliseconds=1)
    (job,) = await claim(ground.db)
    assert job.attempt == 1
    assert await figures(ground) == (1, 0, 0)


async def test_a_lease_runs_out_by_real_time_alone(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {}))
    (first,) = await claim(ground.db)
    ground.clock.advance(days=60)
    assert await rescue(ground.db) == 0
    ground.clock.advance_wall(seconds=61)
    assert await rescue(ground.db) == 1
    (second,) = await claim(ground.db)
    assert (first.id, first.attempt, second.attempt) == (second.id, 1, 2)


@pytest.mark.parametrize("result", [JobDone(), JobRetry(timedelta(hours=1), "again"), JobDropped("no use")])
async def test_who_lost_a_job_finishes_nothing(ground: Ground, result: queue.Result) -> None:
    await enqueue(ground, NewJob("a.job", {}))
    (lost,) = await claim(ground.db)
    ground.clock.advance_wall(seconds=61)
    await rescue(ground.db)
    (held,) = await claim(ground.db)
    before = await ground.look("select * from job")
    assert await finish(ground.db, lost, result) == 0
    assert await ground.look("select * from job") == before
    assert await finish(ground.db, held, JobDone()) == 1
    assert await ground.look("select from job") == []
    assert await finish(ground.db, held, result) == 0


async def test_a_finished_job_is_not_finished_twice(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {}))
    (job,) = await claim(ground.db)
    assert await finish(ground.db, job, JobDropped("no use")) == 1
    assert await finish(ground.db, job, JobDone()) == 0
    assert await figures(ground) == (0, 0, 1)


async def test_a_kept_lease_does_not_run_out_and_a_lost_one_is_told(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {"n": 1}), NewJob("a.job", {"n": 2}))
    jobs = await claim(ground.db)
    ground.clock.advance_wall(seconds=50)
    async with ground.db.write() as tx:
        assert await queue.renew_leases_returning_held_job_ids(tx, jobs[:1]) == {jobs[0].id}
    ground.clock.advance_wall(seconds=20)
    assert await rescue(ground.db) == 1
    async with ground.db.write() as tx:
        assert await queue.renew_leases_returning_held_job_ids(tx, jobs) == {jobs[0].id}


async def test_a_retried_job_comes_back_after_its_time(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {}))
    (job,) = await claim(ground.db)
    assert await finish(ground.db, job, JobRetry(timedelta(minutes=14), "not yet")) == 1
    assert await figures(ground) == (0, 1, 0)
    ground.clock.advance(minutes=14)
    (again,) = await claim(ground.db)
    assert (again.id, again.attempt) == (job.id, 2)
    assert [row["last_error"] for row in await ground.look("select last_error from job")] == ["not yet"]


async def test_a_dropped_job_stays_visible_with_its_reason(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {"n": 1}))
    (job,) = await claim(ground.db)
    await finish(ground.db, job, JobDropped("the address does not exist"))
    assert await claim(ground.db) == []
    ((reason, dead_at, payload),) = await ground.look("select last_error, dead_at, payload from job")
    assert (reason, dead_at, payload) == ("the address does not exist", ground.clock.now(), {"n": 1})


async def test_a_job_that_kills_its_workers_dies_after_20_attempts(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {}))
    for attempt in range(1, queue.MAX_FAILURES + 1):
        (job,) = await claim(ground.db)
        assert (job.attempt, job.failures) == (attempt, attempt - 1)
        ground.clock.advance_wall(seconds=61)
        assert await rescue(ground.db) == 1
    assert await claim(ground.db) == []
    assert await figures(ground) == (0, 0, 1)


async def test_waiting_for_what_is_away_never_makes_a_job_dead(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {}))
    for _ in range(5 * queue.MAX_FAILURES):
        (job,) = await claim(ground.db)
        await finish(ground.db, job, JobRetry(timedelta(minutes=1), "the provider cannot be reached"))
        ground.clock.advance(minutes=1)
    (job,) = await claim(ground.db)
    ground.clock.advance_wall(seconds=61)
    assert await rescue(ground.db) == 1
    assert await figures(ground) == (1, 0, 0)


async def test_a_retry_begins_the_count_of_failures_again(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {}))
    for _ in range(queue.MAX_FAILURES - 1):
        (job,) = await claim(ground.db)
        ground.clock.advance_wall(seconds=61)
        await rescue(ground.db)
    (job,) = await claim(ground.db)
    assert job.failures == queue.MAX_FAILURES - 1
    await finish(ground.db, job, JobRetry(timedelta(), "again"))
    (job,) = await claim(ground.db)
    assert job.failures == 0
    assert await finish(ground.db, job, JobFailed("RuntimeError")) == 1
    assert await figures(ground) == (0, 1, 0)


async def test_an_attempt_that_fails_after_its_lease_counts_once(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {}))
    (job,) = await claim(ground.db)
    ground.clock.advance_wall(seconds=61)
    await rescue(ground.db)
    assert await finish(ground.db, job, JobFailed("RuntimeError")) == 1
    assert [row["failures"] for row in await ground.look("select failures from job")] == [1]


async def test_a_unique_job_is_left_out_while_an_equal_one_has_not_begun(ground: Ground) -> None:
    job = NewJob("a.job", {}, unique_key="one")
    await enqueue(ground, job, job, NewJob("b.job", {}, unique_key="one"), NewJob("a.job", {}, unique_key="two"))
    await enqueue(ground, job)
    started = await claim(ground.db)
    assert Counter(taken.kind for taken in started) == {"a.job": 2, "b.job": 1}
    await enqueue(ground, job)
    (second,) = await claim(ground.db)
    for taken in [*started, second]:
        assert await finish(ground.db, taken, JobRetry(timedelta(), "again")) == 1
    assert len(await claim(ground.db)) == 4


async def test_released_jobs_are_taken_by_another_worker_at_once(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {}), NewJob("b.job", {}, lane="here"))
    jobs = [*await claim(ground.db), *await claim_lanes(ground.db)]
    assert len(jobs) == 2
    async with ground.db.write() as tx:
        await queue.release_jobs(tx, jobs)
    assert {job.id for job in [*await claim(ground.db), *await claim_lanes(ground.db)]} == {job.id for job in jobs}


async def test_a_lane_runs_at_most_its_cap_in_any_number_of_workers(ground: Ground) -> None:
    await enqueue(ground, *(NewJob("a.job", {"n": n}, lane=lane) for n in range(30) for lane in ("dead", "well")))
    async with ground.another() as other:
        batches = await asyncio.gather(*(claim_lanes(db) for db in (ground.db, other) for _ in range(8)))
        taken = [job for batch in batches for job in batch]
        # Lanes that were being claimed are skipped, not waited for; a last look finds what room they left.
        taken += await claim_lanes(ground.db)
        assert Counter(job.lane for job in taken) == {"dead": 4, "well": 4}
        assert await claim_lanes(other) == []
        for job in [job for job in taken if job.lane == "well"][:3]:
            await finish(ground.db, job, JobDone())
        more = await claim_lanes(other)
        assert [job.lane for job in more] == ["well"] * 3
        assert [job.payload["n"] for job in more] == [4, 5, 6]


async def test_enqueueing_does_not_wait_for_who_claims_from_the_lane(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {}, lane="one"))
    async with ground.db.write() as tx, asyncio.timeout(30):
        assert len((await queue.claim_lane_jobs(tx, "", 10)).jobs) == 1
        await enqueue(ground, NewJob("a.job", {}, lane="one"))


async def test_a_lane_cap_is_counted_over_live_leases(ground: Ground) -> None:
    await enqueue(ground, *(NewJob("a.job", {"n": n}, lane="one") for n in range(6)))
    async with ground.db.write() as tx:
        await tx.execute("update queue_lane set cap = 2 where lane = 'one'")
    assert len(await claim_lanes(ground.db)) == 2
    ground.clock.advance_wall(seconds=61)
    assert await claim(ground.db) == [], "a job of a lane is never claimed past its cap"
    await rescue(ground.db)
    assert [job.attempt for job in await claim_lanes(ground.db)] == [2, 2]


async def test_a_lane_job_for_later_waits_for_business_time(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {}, lane="one", due_at=ground.clock.now() + timedelta(minutes=1)))
    assert await claim_lanes(ground.db) == []
    ground.clock.advance(minutes=1)
    (job,) = await claim_lanes(ground.db)
    assert await finish(ground.db, job, JobRetry(timedelta(minutes=14), "again")) == 1
    assert await claim_lanes(ground.db) == []
    ground.clock.advance(minutes=14)
    assert len(await claim_lanes(ground.db)) == 1


async def test_a_lane_with_a_burst_cap_is_filled_up_again_while_it_is_above_its_cap(ground: Ground) -> None:
    await enqueue(ground, *(NewJob("a.job", {}, lane="fast") for _ in range(80)))
    async with ground.db.write() as tx:
        await queue.set_lane_limits(tx, [queue.LaneLimits("fast", 4, 32, None)])
    taken = await claim_lanes(ground.db)
    assert len(taken) == 32
    for job in taken[:5]:
        assert await finish(ground.db, job, JobDone()) == 1
    assert len(await claim_lanes(ground.db)) == 5


async def test_a_paused_lane_is_left_alone_until_its_moment(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {}, lane="dead"))
    until = ground.clock.now() + timedelta(minutes=1)
    async with ground.db.write() as tx:
        await queue.set_lane_limits(tx, [queue.LaneLimits("dead", 1, 1, until)])
    assert await claim_lanes(ground.db) == []
    assert (await figures(ground))[:2] == (0, 1)
    async with ground.db.read() as tx:
        assert not (await queue.load_queue_availability(tx)).has_lanes_with_room
        assert await queue.next_job_due_at(tx) == until
    ground.clock.advance(minutes=1)
    assert len(await claim_lanes(ground.db)) == 1


async def test_every_lane_has_its_turn(ground: Ground) -> None:
    lanes = [f"lane {n:03}" for n in range(300)]
    await enqueue(ground, *(NewJob("a.job", {}, lane=lane) for lane in lanes for _ in range(2)))
    seen: list[str | None] = []
    after = ""
    for _ in range(3):
        async with ground.db.write() as tx:
            jobs, after = await queue.claim_lane_jobs(tx, after, 1000)
        seen += [job.lane for job in jobs]
    assert sorted(set(filter(None, seen))) == lanes
    assert len(seen) == 600


async def test_full_lanes_do_not_hide_the_others(ground: Ground) -> None:
    full = [f"a {n:03}" for n in range(200)]
    await enqueue(ground, *(NewJob("a.job", {}, lane=lane) for lane in full for _ in range(5)))
    taken = 0
    while jobs := await claim_lanes(ground.db, 1000):
        taken += len(jobs)
    assert taken == 200 * 4
    await enqueue(ground, NewJob("a.job", {}, lane="z"))
    assert [job.lane for job in await claim_lanes(ground.db)] == ["z"]


async def test_what_claims_and_numbers_is_planned_once(ground: Ground) -> None:
    hot = [queue.ROOM, queue.CLAIM_LANES, queue.DONE, dispatcher.WAITING, dispatcher.TURNS, dispatcher.NUMBER]

    async def planned(tx: Tx) -> int:
        return int(
            await tx.fetchval(
                "select coalesce(sum(custom_plans), 0) from pg_prepared_statements where statement = any($1::text[])",
                hot,
            )
        )

    await enqueue(ground, *(NewJob("a.job", {}, lane=f"lane {n % 5}") for n in range(100)))
    async with ground.db.write() as tx:
        await tx.execute("set local plan_cache_mode = auto")  # as the service runs, and no other test
        await tx.execute(queue.BY_INDEX)
        before, taken = await planned(tx), 0
        for size in (1, 20, 3, 7, 12, 2, 9, 20, 5, 11, 4):
            jobs, _ = await queue.claim_lane_jobs(tx, "", size)
            taken += await queue.record_job_results(tx, [FinishedJob(job, JobDone()) for job in jobs])
            await tx.fetch(dispatcher.WAITING, UUID(int=0), size, [], size)
            await tx.fetch(dispatcher.TURNS, [uuid4() for _ in range(size)])
            await tx.fetch(dispatcher.NUMBER, [uuid4() for _ in range(size)], [1] * size, 250)
        assert (taken, await planned(tx) - before) == (88, 0)


async def test_the_database_refuses_a_dead_job_with_a_lease(ground: Ground) -> None:
    await enqueue(ground, NewJob("a.job", {}))
    await claim(ground.db)
    with pytest.raises(asyncpg.CheckViolationError):
        async with ground.db.write() as tx:
            await tx.execute("update job set dead_at = created_at")

"""Periodic jobs are asked together when they are due."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import asyncpg

from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import BackgroundTasks, Schedule
from tests.worker.conftest import Ground


async def test_all_are_asked_in_one_statement_when_they_are_due(ground: Ground) -> None:
    asked: list[str] = []
    start, hours = ground.clock.now(), range(1, 40)

    def due_after(count: int) -> Callable[[Tx], Awaitable[datetime | None]]:
        async def due(tx: Tx) -> datetime | None:
            if not await tx.fetchval("select $1::int > 0 -- whether it is due at all", count):
                return None
            two = await tx.fetchrow("select $1::timestamptz as start, $2::int as hours", tx.now, count)
            assert two is not None
            moment: datetime = two["start"] + timedelta(hours=two["hours"])
            return moment

        async def one_statement(tx: Tx) -> datetime | None:
            moment: datetime = await tx.fetchval("select $2::timestamptz + $1::int * interval '1 hour'", count, start)
            return moment

        return due if count < 3 else one_statement

    async def run(_tx: Tx) -> int:
        return 0

    schedules = tuple(Schedule(f"job.{count}", due_after(count), run) for count in (-1, 0, *hours))
    sweeper = BackgroundWorker(ground.db, BackgroundTasks(schedules=schedules), ground.telemetry).sweeper
    async with ground.db.read() as tx:
        assert await sweeper.next_due_times(tx) == [start + timedelta(hours=count) for count in hours]
    connection = await asyncpg.connect(ground.database.dsn)
    try:
        connection.add_query_logger(lambda query: asked.append(query.query))
        tx = ground.db.build_transaction(connection, "read")  # type: ignore[arg-type]
        assert len(await sweeper.next_due_times(tx)) == len(hours)
    finally:
        await connection.close()
    assert len(asked) == 1 + 2, "one for all, and one for each whose answer leads to another"


async def test_one_that_cannot_tell_when_it_is_due_does_not_hold_up_the_others(ground: Ground) -> None:
    left = [1, 1]

    async def broken(tx: Tx) -> datetime | None:
        return tx.now if await tx.fetchval("select 1 / (random() * $1)::int", 0) else None

    async def due(tx: Tx) -> datetime | None:
        return tx.now if left else None

    async def run(_tx: Tx) -> int:
        return left.pop() if left else 0

    schedules = (Schedule("a.broken", broken, run), Schedule("records.expire", due, run))
    sweeper = BackgroundWorker(ground.db, BackgroundTasks(schedules=schedules), ground.telemetry).sweeper
    assert await sweeper.run_due_jobs() == 2
    left.append(1)
    assert await sweeper.run_due_jobs() == 1
    failures = [line for line in ground.log if line["event"] == "schedule_failed"]
    failed = [(line["schedule"], line["error"]) for line in failures]
    assert failed == [("due times", "DivisionByZeroError"), ("a.broken", "DivisionByZeroError")]

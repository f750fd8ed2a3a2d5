"""kill -9 at every transaction boundary of a round of work: no event lost, none phantom (W1, W7)."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from almoner.platform.database.transactions import Database
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.observability.telemetry import Telemetry
from tests.chaos import victim
from tests.support import forks
from tests.support.database import TestDatabase
from tests.support.figures import Figures

MOST_POINTS = 60

TABLES = """
create table chaos_change (id uuid primary key);
create table chaos_told (event_id uuid primary key, sequence bigint not null unique);
create table chaos_note (event_id uuid not null, attempt integer not null);
grant select, insert on chaos_change, chaos_told, chaos_note to almoner_app;
"""


@pytest.fixture
async def owner(empty_database: TestDatabase) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(empty_database.owner_dsn)
    await connection.execute(TABLES)
    yield connection
    await connection.close()


async def kill_at(database: TestDatabase, first: int, last: int) -> list[str]:
    """Run victims; what became of each."""
    words = ("-m", "tests.chaos.victim", database.dsn, str(first), str(last))
    _, printed = await asyncio.to_thread(forks.run, words, {})
    return [line.split(" ", 1)[1] for line in printed.splitlines()]


async def recover(db: Database, owner: "asyncpg.Connection[asyncpg.Record]") -> None:
    """What a minute later any live process does: the leases of the dead have run out."""
    await owner.execute("update job set leased_until = leased_until - interval '2 minutes'")
    background = BackgroundWorker(db, victim.DUTIES, Telemetry(lambda _line: None))
    await background.runner.maintain_leases()
    await background.drain()
    async with db.read() as tx:
        assert await background.count_outstanding_work(tx) == 0


async def check(owner: "asyncpg.Connection[asyncpg.Record]") -> int:
    """Every change has its event and no event is without change; numbers have no gap; every event had its effect."""
    rows = await owner.fetch(
        "select id, sequence, convert_from(payload, 'UTF8')::json payload from event order by sequence"
    )
    changes = {str(row["id"]) for row in await owner.fetch("select id from chaos_change")}
    reported = {
        row["event_id"]: row["sequence"] for row in await owner.fetch("select event_id, sequence from chaos_told")
    }
    noted = {row["event_id"] for row in await owner.fetch("select event_id from chaos_note")}
    of_events = await owner.fetch(
        "select convert_from(payload, 'UTF8')::jsonb #>> '{data,eventData,change}' as id from event"
    )
    assert {row["id"] for row in of_events} == changes
    assert len(of_events) == len(changes)
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))
    assert reported == {row["id"]: row["sequence"] for row in rows}
    assert noted == set(reported)
    assert await owner.fetchval("select count(*) from job") == 0
    return len(rows)


@pytest.mark.soak
async def test_w1_w7_kill_9_at_every_transaction_boundary_loses_no_event_and_makes_none_up(
    empty_database: TestDatabase, owner: "asyncpg.Connection[asyncpg.Record]", figures: Figures
) -> None:
    killed = events = 0
    db = await victim.connect(empty_database.dsn)
    try:
        for _ in range(figures.count(1, 20)):
            fates = await kill_at(empty_database, 1, MOST_POINTS)
            assert fates[-1] == "lived", "the last point lies beyond the round's end"
            assert set(fates[:-1]) == {"killed"}
            assert len(fates) > 12
            killed += len(fates) - 1
            await recover(db, owner)
            events = await check(owner)
    finally:
        await db.close()
    again = await owner.fetchval("select max(attempt) from chaos_note")
    assert again > 1, "a job whose worker was killed after its effect runs again"
    figures.write("crashes", "Killed processes", f"{killed} processes killed, {events} events: none lost, none made up")

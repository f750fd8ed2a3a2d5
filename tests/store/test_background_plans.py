"""What runs for every event and every job is answered from an index, also when the history is long."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.platform.events import dispatcher
from almoner.platform.jobs import queue
from tests.support.clock import START
from tests.support.database import TestDatabase

PARTNERS = [uuid4() for _ in range(40)]


@pytest.fixture(scope="module", params=["the planner knows", "the planner saw a backlog"])
async def filled(
    request: pytest.FixtureRequest, session_database: TestDatabase
) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """20,000 old events and 100 new ones, 3000 jobs for later and 300 due ones in lanes and out of them."""
    connection = await asyncpg.connect(session_database.owner_dsn)
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("set local enable_seqscan = off")
    await connection.execute(
        """
        insert into event (id, partner_id, type, payload, created_at, sequence)
        select gen_random_uuid(), ($1::uuid[])[1 + n % 40], 'donation.created', '{}', $2,
               case when n <= 20000 then 1 + n / 40 end
        from generate_series(1, 20100) as n
        """,
        PARTNERS,
        START,
    )
    if request.param == "the planner saw a backlog":
        await connection.execute("update event set sequence = null where position % 2 = 0")
        await connection.execute("analyze event")
        await connection.execute("update event set sequence = 100000 + position where sequence is null")
    else:
        await connection.execute("analyze event")
    await connection.execute(
        "insert into event_counter (partner_id, last_sequence) select p, 501 from unnest($1::uuid[]) as p", PARTNERS
    )
    await connection.execute("insert into queue_lane (lane) select 'plan ' || n from generate_series(1, 50) as n")
    await connection.execute(
        """
        insert into job (kind, payload, lane, due_at, ready, created_at, attempt, leased_until)
        select 'a.job', '{}', case when n % 2 = 0 then 'plan ' || (1 + n % 50) end,
               case when n > 3000 then $1::timestamptz else $2::timestamptz end, n > 3000, $1, (n % 5 = 0)::int,
               case when n > 3000 and n % 5 = 0 then $2::timestamptz end
        from generate_series(1, 3300) as n
        """,
        START,
        START + timedelta(days=1),
    )
    await connection.execute("analyze event_counter, job, queue_lane")
    yield connection
    await transaction.rollback()
    await connection.close()


async def indexes(connection: "asyncpg.Connection[asyncpg.Record]", sql: str, *args: object) -> set[str]:
    """The indexes that a statement reads; fails when it reads a whole table."""
    answer = await connection.fetchval("explain (format json) " + sql, *args)
    used: set[str] = set()
    waiting: list[dict[str, Any]] = [json.loads(answer)[0]["Plan"]]
    while waiting:
        node = waiting.pop()
        waiting += node.get("Plans", [])
        whole = node["Node Type"] == "Seq Scan"
        assert not whole, f"{sql} reads all of {node['Relation Name']}"
        if "Index Name" in node:
            used.add(node["Index Name"])
    return used


@pytest.mark.parametrize(
    ("sql", "args", "needed"),
    [
        (dispatcher.WAITING, (UUID(int=0), 64, [], 250), {"event_unnumbered", "internal_event_pkey"}),
        (dispatcher.TURNS, (PARTNERS,), {"event_counter_pkey"}),
        (dispatcher.NUMBER, (PARTNERS, [501] * 40, 250), {"event_unnumbered", "event_counter_pkey", "event_pkey"}),
        (queue.FIND_AVAILABILITY, (START, START), {"job_due", "job_ready", "job_later"}),
        (queue.CLAIM, (START, START, 24), {"job_due", "job_pkey"}),
        (queue.PROMOTE, (START, 1000), {"job_later", "job_pkey"}),
        (queue.ROOM, ("", START, START), {"job_ready", "job_in_flight", "queue_lane_pkey"}),
        (
            queue.CLAIM_LANES,
            (START, START, 256, ["plan 1", "plan 2"], [4, 4]),
            {"job_ready", "job_in_flight", "job_pkey"},
        ),
        (queue.DONE, ([1, 2, 3], [1, 1, 1]), {"job_pkey"}),
    ],
    ids=["waiting", "turns", "number", "look", "claim", "promote", "room", "claim lanes", "done"],
)
async def test_hot_statements_of_background_work_use_their_indexes(
    filled: "asyncpg.Connection[asyncpg.Record]", sql: str, args: tuple[object, ...], needed: set[str]
) -> None:
    assert needed <= await indexes(filled, sql, *args)

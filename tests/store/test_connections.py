"""Connections at hand: in turn, none lost to a cancelled waiter, a dead one replaced, closed when all are back."""

import asyncio
import sys
from collections.abc import AsyncIterator

import asyncpg
import pytest

from almoner.platform.database import transactions
from almoner.platform.database.connections import ACQUIRE_TIMEOUT_SECONDS, ConnectionPool, ConnectionUnavailable
from almoner.platform.observability.failures import CONNECTION_ERRORS, UNAVAILABLE_ERRORS
from tests.support.database import TestDatabase
from tests.support.eventually import eventually

SIZE = 3


@pytest.fixture
async def connections(session_database: TestDatabase) -> AsyncIterator[ConnectionPool]:
    made = ConnectionPool(await transactions.open_pool(session_database.dsn, SIZE), ACQUIRE_TIMEOUT_SECONDS)
    yield made
    await made.close()


async def backend(connections: ConnectionPool) -> int:
    """The server's process behind the next connection."""
    async with connections.borrow() as connection:
        return int(await connection.fetchval("select pg_backend_pid()"))


async def test_a_used_connection_is_used_again(connections: ConnectionPool) -> None:
    assert len({await backend(connections) for _ in range(10)}) == 1


_ASK_ON_TWO = """
import asyncio, sys
from almoner.platform.database import transactions

async def main():
    asked = []
    pool = await transactions.open_pool(sys.argv[1], 2, lambda query: asked.append("typeinfo_tree" in query.query))
    async with pool.acquire() as one, pool.acquire() as two:
        for connection in (one, two):
            assert await connection.fetchval("select $1::uuid[]", []) == []
    print(sum(asked))

asyncio.run(main())
"""


async def test_array_types_are_asked_about_once_for_all_connections(session_database: TestDatabase) -> None:
    asking = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _ASK_ON_TWO, session_database.dsn, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await asking.communicate()
    assert (asking.returncode, said.decode().strip()) == (0, "1")


async def test_many_share_few(connections: ConnectionPool) -> None:
    running = most = 0

    async def work() -> int:
        nonlocal running, most
        async with connections.borrow() as connection:
            running += 1
            most = max(most, running)
            found = await connection.fetchval("select pg_backend_pid()")
            running -= 1
            return int(found)

    backends = await asyncio.gather(*(work() for _ in range(200)))
    assert most == SIZE
    assert len(set(backends)) == SIZE


async def test_waiters_get_their_turn_in_order(connections: ConnectionPool) -> None:
    held = [await connections.acquire() for _ in range(SIZE)]
    order: list[int] = []

    async def wait(number: int) -> None:
        async with connections.borrow():
            order.append(number)

    waiting = [asyncio.create_task(wait(number)) for number in range(6)]
    await asyncio.sleep(0)
    for connection in held:
        connections.return_healthy_connection(connection)
    await asyncio.gather(*waiting)
    assert order == list(range(6))


async def test_a_cancelled_waiter_loses_nobody_a_connection(connections: ConnectionPool) -> None:
    for _ in range(50):
        held = [await connections.acquire() for _ in range(SIZE)]
        waiting = [asyncio.create_task(backend(connections)) for _ in range(6)]
        await asyncio.sleep(0)
        connections.return_healthy_connection(held.pop())
        for task in waiting[::2]:
            task.cancel()
        for connection in held:
            connections.return_healthy_connection(connection)
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert sum(isinstance(one, int) for one in found) >= 3
    assert len(await asyncio.gather(*(backend(connections) for _ in range(20)))) == 20


async def test_a_cancelled_query_leaves_a_clean_connection(connections: ConnectionPool) -> None:
    async def slow() -> None:
        async with connections.borrow() as connection:
            await connection.execute("select pg_sleep(30)")

    for _ in range(SIZE * 2):
        task = asyncio.create_task(slow())
        done, _ = await asyncio.wait({task}, timeout=0.05)
        assert not done
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await asyncio.gather(*(backend(connections) for _ in range(10)))


async def test_a_failed_transaction_leaves_a_clean_connection(connections: ConnectionPool) -> None:
    for _ in range(SIZE * 2):
        with pytest.raises(asyncpg.UndefinedTableError):
            async with connections.borrow() as connection, connection.transaction():
                await connection.execute("select from nothing_of_this_name")
    async with connections.borrow() as connection:
        assert not connection.is_in_transaction()


async def test_a_lost_connection_is_replaced(connections: ConnectionPool, session_database: TestDatabase) -> None:
    lost = {await backend(connections)}
    owner = await asyncpg.connect(session_database.server.superuser_url())
    for number in lost:
        await owner.execute("select pg_terminate_backend($1)", number)
    await owner.close()

    async def replaced() -> bool:
        try:
            return await backend(connections) not in lost
        except UNAVAILABLE_ERRORS:
            return False

    assert any([await replaced() for _ in range(3)])


async def test_a_connection_that_is_lost_in_a_transaction_is_no_wrong_use(
    connections: ConnectionPool, session_database: TestDatabase
) -> None:
    owner = await asyncpg.connect(session_database.server.superuser_url())

    async def lose(goes_on: bool) -> None:
        async with connections.borrow() as connection, connection.transaction():
            number = await connection.fetchval("select pg_backend_pid()")
            await owner.execute("select pg_terminate_backend($1, 5000)", number)
            try:
                await connection.execute("select 1")
            except CONNECTION_ERRORS:
                if not goes_on:
                    raise
            await connection.execute("select 1")

    for goes_on in (False, True):
        with pytest.raises(CONNECTION_ERRORS):  # which requests answer with 503
            await lose(goes_on)
    await owner.close()


async def test_all_lost_connections_are_replaced(connections: ConnectionPool, session_database: TestDatabase) -> None:
    for _ in range(3):
        lost = [await connections.acquire() for _ in range(SIZE)]
        numbers = [await connection.fetchval("select pg_backend_pid()") for connection in lost]
        for connection in lost:
            connections.return_healthy_connection(connection)
        owner = await asyncpg.connect(session_database.server.superuser_url())
        for number in numbers:
            await owner.execute("select pg_terminate_backend($1, 5000)", number)
        await owner.close()
        async with asyncio.timeout(30):
            found = [await asyncio.gather(backend(connections), return_exceptions=True) for _ in range(2 * SIZE)]
        assert isinstance(found[-1][0], int)
        assert len(await asyncio.gather(*(backend(connections) for _ in range(20)))) == 20


async def test_what_a_rush_left_over_is_closed_and_what_is_old_is_replaced(session_database: TestDatabase) -> None:
    pool = await transactions.open_pool(session_database.dsn, SIZE)
    idle = ConnectionPool(pool, ACQUIRE_TIMEOUT_SECONDS, idle_seconds=0.0)
    held = [await idle.acquire() for _ in range(SIZE)]
    for connection in held:
        idle.return_healthy_connection(connection)
    kept = {await backend(idle) for _ in range(2 * SIZE)}
    assert len(kept) == 1
    await eventually(lambda: pool.get_size() == 1)
    assert pool.get_min_size() == 0, "up to so many are opened in their place"
    await idle.close()

    old = ConnectionPool(await transactions.open_pool(session_database.dsn, SIZE), 30.0, life_seconds=0.0)
    assert len({await backend(old) for _ in range(4)}) == 4
    assert len(set(await asyncio.gather(*(backend(old) for _ in range(20))))) == 20
    await old.close()


async def test_nobody_waits_for_ever_and_who_gave_up_costs_nobody_a_connection(session_database: TestDatabase) -> None:
    connections = ConnectionPool(await transactions.open_pool(session_database.dsn, 2), 0.05)  # both open already
    held = [await connections.acquire() for _ in range(2)]
    found = await asyncio.gather(*(backend(connections) for _ in range(20)), return_exceptions=True)
    assert {type(one) for one in found} == {ConnectionUnavailable}
    for connection in held:
        connections.return_healthy_connection(connection)
    again = [await connections.acquire() for _ in range(2)]
    for connection in again:
        connections.return_healthy_connection(connection)
    await connections.close()


async def test_closing_waits_for_those_in_use_and_turns_others_away(connections: ConnectionPool) -> None:
    started, end = asyncio.Event(), asyncio.Event()

    async def work() -> int:
        async with connections.borrow() as connection:
            started.set()
            await end.wait()
            return int(await connection.fetchval("select 1"))

    working = asyncio.create_task(work())
    await started.wait()
    others = [await connections.acquire() for _ in range(SIZE - 1)]
    waiting = asyncio.create_task(backend(connections))
    await asyncio.sleep(0)
    closing = asyncio.create_task(connections.close())
    with pytest.raises(ConnectionUnavailable):
        await waiting
    assert not closing.done()
    end.set()
    assert await working == 1
    for other in others:
        connections.return_failed_connection(other)
    async with asyncio.timeout(30):
        await closing

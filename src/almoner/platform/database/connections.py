"""A pool of asyncpg connections with fair queuing between partners.

Acquiring from asyncpg's own pool and releasing costs a task, a shield and two timeouts, about a sixth of a whole GET.
So a healthy connection is handed to the next caller directly; after a failure it goes back to asyncpg's pool, which can
cancel a query and replace a lost connection. ``fair_queue`` decides who is next. Nobody waits longer than five seconds,
while the client still listens.

PostgreSQL uses 5 to 30 MB for each connection: plans, and caches of our tables. The connection used last is used next,
so that those opened in a burst stay idle and are closed after a minute. Others are replaced after some minutes.
"""

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import asyncpg
from asyncpg import Record

from almoner.platform.database.fair_queue import FairQueue, FairShareClient, QueueFull, current_fair_share_client

if TYPE_CHECKING:
    PooledConnection = asyncpg.pool.PoolConnectionProxy[Record]

ACQUIRE_TIMEOUT_SECONDS: Final = 5.0
_CANCEL_SECONDS: Final = 10.0
"""How long a server may take to end a cancelled statement before the connection is dropped."""
_IDLE_SECONDS: Final = 60.0
"""Connections idle for longer are closed."""
_LIFE_SECONDS: Final = 300.0
"""The maximum age of a connection. A new one needs some 10 ms to plan its statements again."""


class ConnectionUnavailable(OSError):
    """No connection became free in time, too many callers wait, or the pool is closing."""


class ConnectionPool:
    """A connection pool; callers wait in a fair queue for at most ``patience`` seconds."""

    def __init__(
        self,
        pool: "asyncpg.Pool[Record]",
        patience: float,
        *,
        idle_seconds: float = _IDLE_SECONDS,
        life_seconds: float = _LIFE_SECONDS,
    ) -> None:
        self._pool = pool
        self._patience = patience
        self._idle_seconds = idle_seconds
        self._life_seconds = life_seconds
        self._places = FairQueue(pool.get_max_size())
        self._idle: list[tuple[PooledConnection, float]] = []  # with the time since when; the longest idle first
        self._opened: dict[PooledConnection, float] = {}
        self._discarding: set[asyncio.Task[None]] = set()
        self._closing = False

    def borrow(self) -> "BorrowedConnection":
        """A connection for the time of a block, queued for the current fair-share client."""
        return BorrowedConnection(self, current_fair_share_client())

    async def acquire(self, fair_share_client: FairShareClient | None = None) -> "PooledConnection":
        """Acquire an open connection. Raises OSError or asyncpg.PostgresError.

        Raises ConnectionUnavailable, an OSError, after a timeout, if too many callers wait, or once ``close`` was
        called.
        """
        if self._idle and _is_open(self._idle[-1][0]) and self._places.try_acquire_slot(fair_share_client):
            return self._idle.pop()[0]
        ends = asyncio.get_running_loop().time() + self._patience
        try:
            await self._places.acquire_slot(fair_share_client, self._patience)
            try:
                if self._idle and _is_open(self._idle[-1][0]):
                    return self._idle.pop()[0]
                async with asyncio.timeout_at(ends):
                    return await self._acquire()
            except BaseException:
                self._places.release_slot(fair_share_client)
                raise
        except QueueFull as error:
            raise ConnectionUnavailable(str(error)) from None
        except TimeoutError:
            raise ConnectionUnavailable("no connection to the database came free in time") from None

    async def _acquire(self) -> "PooledConnection":
        while self._idle:
            connection, _ = self._idle.pop()
            if _is_open(connection):
                return connection
            await self._close(connection)
        connection = await self._pool.acquire()
        self._opened[connection] = time.monotonic()
        return connection

    def return_connection(
        self,
        connection: "PooledConnection",
        error: BaseException | None,
        fair_share_client: FairShareClient | None = None,
    ) -> None:
        """Return a connection after its use, which ended with ``error``, if any.

        Raises ConnectionUnavailable if the server closed the connection meanwhile.
        """
        if error is None and not self._closing:
            self.return_healthy_connection(connection, fair_share_client)
            return
        lost = isinstance(error, asyncpg.InterfaceError) and not _is_open(connection)
        self.return_failed_connection(connection, fair_share_client)
        if lost:  # not a misuse: the server closed the connection, so the transaction cannot continue
            raise ConnectionUnavailable("the connection to the database was lost") from error

    def return_healthy_connection(
        self, connection: "PooledConnection", fair_share_client: FairShareClient | None = None
    ) -> None:
        """Return a healthy connection for reuse; close the one that was idle for too long, or is too old."""
        now = time.monotonic()
        if now - self._opened[connection] > self._life_seconds:
            self._run(self._retire(connection, fair_share_client))
            return
        self._idle.append((connection, now))
        self._places.release_slot(fair_share_client)
        if now - self._idle[0][1] > self._idle_seconds:
            self._run(self._close(self._idle.pop(0)[0]))

    def return_failed_connection(
        self, connection: "PooledConnection", fair_share_client: FairShareClient | None = None
    ) -> None:
        """Return a connection after an error; asyncpg checks or closes it."""
        self._run(self._discard(connection, fair_share_client))

    def _run(self, ending: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(ending)
        self._discarding.add(task)
        task.add_done_callback(self._discarding.discard)

    async def _close(self, connection: "PooledConnection") -> None:
        with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):  # TimeoutError is an OSError
            await connection.close(timeout=_CANCEL_SECONDS)
        await self._return_to_pool(connection)

    async def _return_to_pool(self, connection: "PooledConnection") -> None:
        self._opened.pop(connection, None)
        with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            await self._pool.release(connection, timeout=_CANCEL_SECONDS)

    async def _retire(self, connection: "PooledConnection", fair_share_client: FairShareClient | None) -> None:
        try:
            await self._close(connection)
        finally:
            self._places.release_slot(fair_share_client)

    async def _discard(self, connection: "PooledConnection", fair_share_client: FairShareClient | None) -> None:
        try:
            await self._return_to_pool(connection)
        finally:
            self._places.release_slot(fair_share_client)

    async def close(self) -> None:
        """Close all connections after waiting for those in use; waiting callers fail."""
        self._closing = True
        self._places.close()
        while self._idle:
            await self._return_to_pool(self._idle.pop()[0])
        await asyncio.gather(*self._discarding)
        await self._pool.close()


def _is_open(connection: "PooledConnection") -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:
        return False  # asyncpg's pool has already taken it back, because the server closed it


class BorrowedConnection:
    """A connection borrowed for the time of a block."""

    __slots__ = ("_connection", "_connections", "_fair_share_client")

    def __init__(self, connections: ConnectionPool, fair_share_client: FairShareClient | None) -> None:
        self._connections = connections
        self._fair_share_client = fair_share_client

    async def __aenter__(self) -> "PooledConnection":
        self._connection = await self._connections.acquire(self._fair_share_client)
        return self._connection

    async def __aexit__(self, _failure: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self._connections.return_connection(self._connection, error, self._fair_share_client)

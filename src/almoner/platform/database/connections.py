"""A pool of asyncpg connections with fair queuing between partners.

Taking a connection from asyncpg's pool and giving it back costs a task, a shield and two time-outs, about a sixth of a
whole GET. What ended well is handed on at once; after a failure a connection goes back to the pool, which knows how to
end a cancelled query and how to replace a lost connection. Who waits for whom is decided by ``places``. Nobody waits
for ever: who has none after five seconds is told so, while the caller still listens.
"""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import asyncpg
from asyncpg import Record

from almoner.platform.database.fair_queue import FairQueue, QueueClient, QueueFull, current_queue_client

if TYPE_CHECKING:
    Held = asyncpg.pool.PoolConnectionProxy[Record]

ACQUIRE_TIMEOUT_SECONDS: Final = 5.0
_CANCEL_SECONDS: Final = 10.0
"""How long a server may take to end a statement; then the connection is dropped, and whoever it ran for is gone."""


class ConnectionUnavailable(OSError):
    """No connection became free in time, too many callers wait, or the pool is closing."""


class ConnectionPool:
    """A connection pool; callers wait in a fair queue for at most ``patience`` seconds."""

    def __init__(self, pool: "asyncpg.Pool[Record]", patience: float) -> None:
        self._pool = pool
        self._patience = patience
        self._places = FairQueue(pool.get_max_size())
        self._idle: list[Held] = []
        self._discarding: set[asyncio.Task[None]] = set()
        self._closing = False

    @property
    def is_closing(self) -> bool:
        """Whether ``close`` was called."""
        return self._closing

    def borrow(self) -> "BorrowedConnection":
        """A connection for the time of a block, queued for the current queue client."""
        return BorrowedConnection(self, current_queue_client())

    async def acquire(self, claimant: QueueClient | None = None) -> "Held":
        """An open connection. Raises OSError or asyncpg.PostgresError.

        ConnectionUnavailable, which is an OSError, when it took too long, too many wait, or once ``close`` was called.
        """
        if self._idle and _is_open(self._idle[-1]) and self._places.try_acquire(claimant):
            return self._idle.pop()
        try:
            async with asyncio.timeout(self._patience):
                await self._places.acquire(claimant)
                try:
                    return await self._acquire()
                except BaseException:
                    self._places.release(claimant)
                    raise
        except QueueFull as error:
            raise ConnectionUnavailable(str(error)) from None
        except TimeoutError:
            raise ConnectionUnavailable("no connection to the database came free in time") from None

    async def _acquire(self) -> "Held":
        while self._idle:
            connection = self._idle.pop()
            if _is_open(connection):
                return connection
            await self._pool.release(connection)
        return await self._pool.acquire()

    def release(self, connection: "Held", claimant: QueueClient | None = None) -> None:
        """Return a healthy connection for reuse."""
        self._idle.append(connection)
        self._places.release(claimant)

    def discard(self, connection: "Held", claimant: QueueClient | None = None) -> None:
        """Return a connection after an error; asyncpg checks or closes it."""
        task = asyncio.create_task(self._discard(connection, claimant))
        self._discarding.add(task)
        task.add_done_callback(self._discarding.discard)

    async def _discard(self, connection: "Held", claimant: QueueClient | None) -> None:
        try:
            with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):  # TimeoutError is an OSError
                await self._pool.release(connection, timeout=_CANCEL_SECONDS)
        finally:
            self._places.release(claimant)

    async def close(self) -> None:
        """Close all connections after waiting for those in use; waiting callers fail."""
        self._closing = True
        self._places.close()
        while self._idle:
            await self._pool.release(self._idle.pop())
        await asyncio.gather(*self._discarding)
        await self._pool.close()


def _is_open(connection: "Held") -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:
        return False  # asyncpg's pool has taken it back already, since the server ended it


class BorrowedConnection:
    """A connection borrowed for the time of a block."""

    __slots__ = ("_claimant", "_connection", "_connections")

    def __init__(self, connections: ConnectionPool, claimant: QueueClient | None) -> None:
        self._connections = connections
        self._claimant = claimant

    async def __aenter__(self) -> "Held":
        self._connection = await self._connections.acquire(self._claimant)
        return self._connection

    async def __aexit__(self, failure: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if failure is None and not self._connections.is_closing:
            self._connections.release(self._connection, self._claimant)
            return
        lost = isinstance(error, asyncpg.InterfaceError) and not _is_open(self._connection)
        self._connections.discard(self._connection, self._claimant)
        if lost:  # as when the server of a transaction has gone: no wrong use, but nothing to go on with
            raise ConnectionUnavailable("the connection to the database was lost") from error

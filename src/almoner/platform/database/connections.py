"""Connections at hand: asyncpg's pool opens, checks and closes them, this keeps the open ones from use to use.

Taking a connection from asyncpg's pool and giving it back costs a task, a shield and two time-outs, about a sixth of a
whole GET. What ended well is handed on at once; after a failure a connection goes back to the pool, which knows how to
end a cancelled query and how to replace a lost connection. Nobody waits for ever: who has none after five seconds is
told so, while the caller still listens.
"""

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

import asyncpg
from asyncpg import Record

if TYPE_CHECKING:
    Held = asyncpg.pool.PoolConnectionProxy[Record]

ACQUIRE_TIMEOUT_SECONDS: Final = 5.0


class ConnectionUnavailable(OSError):
    """All connections stayed in use, no new one could be opened in time, or they are being closed."""


class ConnectionPool:
    """Up to ``pool``'s size; who finds none waits in turn, for ``patience`` seconds."""

    def __init__(self, pool: "asyncpg.Pool[Record]", patience: float) -> None:
        self._pool = pool
        self._patience = patience
        self._size = pool.get_max_size()
        self._idle: list[Held] = []
        self._held = 0
        self._closing = False
        self._waiting: deque[asyncio.Future[Held | None]] = deque()

    @property
    def is_closing(self) -> bool:
        """Whether ``close`` was called: then no connection is kept for the next."""
        return self._closing

    def borrow(self) -> "BorrowedConnection":
        """``async with connections.take() as connection``."""
        return BorrowedConnection(self)

    async def acquire(self) -> "Held":
        """An open connection. Raises OSError or asyncpg.PostgresError when a new one cannot be opened.

        ConnectionUnavailable, which is an OSError, when it took too long or once ``close`` was called.
        """
        if self._idle and not self._closing and _is_open(self._idle[-1]):
            return self._idle.pop()
        try:
            async with asyncio.timeout(self._patience):
                return await self._acquire()
        except TimeoutError:
            raise ConnectionUnavailable("no connection to the database came free in time") from None

    async def _acquire(self) -> "Held":
        while True:
            if self._closing:
                raise ConnectionUnavailable("the connections are being closed")
            while self._idle:
                connection = self._idle.pop()
                if _is_open(connection):
                    return connection
                await self._return(connection)
            if self._held < self._size:
                return await self._open()
            if (handed := await self._turn()) is not None:
                if _is_open(handed):
                    return handed
                await self._return(handed)

    def release(self, connection: "Held") -> None:
        """It was used and all went well: the next one may have it."""
        if not self._wake(connection):
            self._idle.append(connection)

    async def discard(self, connection: "Held") -> None:
        """Something failed: the pool looks after it."""
        await self._return(connection)

    async def close(self) -> None:
        """Close all connections, waiting for those in use; whoever waits for one is turned away."""
        self._closing = True
        while self._wake():
            pass
        while self._idle:
            await self._return(self._idle.pop())
        await self._pool.close()

    async def _open(self) -> "Held":
        self._held += 1
        try:
            return await self._pool.acquire()
        except BaseException:
            self._held -= 1
            self._wake()
            raise

    async def _return(self, connection: "Held") -> None:
        try:
            await self._pool.release(connection)
        finally:
            self._held -= 1
            self._wake()

    async def _turn(self) -> "Held | None":
        """Wait for a connection that is handed over, or for None: there is room for another one."""
        turn: asyncio.Future[Held | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it had come already: the next one's, then
                handed = turn.result()
                self._wake() if handed is None else self.release(handed)
            raise

    def _wake(self, handed: "Held | None" = None) -> bool:
        """Give the longest waiting a connection or its chance; False when nobody waits."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(handed)
                return True
        return False


def _is_open(connection: "Held") -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:
        return False  # asyncpg's pool has taken it back already, since the server ended it


class BorrowedConnection:
    """One connection for the time of a block."""

    __slots__ = ("_connection", "_connections")

    def __init__(self, connections: ConnectionPool) -> None:
        self._connections = connections

    async def __aenter__(self) -> "Held":
        self._connection = await self._connections.acquire()
        return self._connection

    async def __aexit__(self, failure: type[BaseException] | None, *_more: object) -> None:
        if failure is None and not self._connections.is_closing:
            self._connections.release(self._connection)
        else:
            await self._connections.discard(self._connection)

"""PostgreSQL: the pool, transactions, and the scopes that every store function takes.

A transaction is opened at the edge (``platform.http.service``, the worker, ``platform.flow``) and nowhere else, one
per request or job, and committed before the answer is sent (architecture 5).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeVar
from uuid import UUID

import asyncpg
import msgspec
from asyncpg import Record

from almoner.kit.ids import Ids, new_id
from almoner.kit.time import Clock
from almoner.platform.crypto import Vault
from almoner.platform.database.connections import ACQUIRE_TIMEOUT_SECONDS, BorrowedConnection, ConnectionPool
from almoner.platform.database.disk_space import DiskSpace
from almoner.platform.database.places import Places, claiming, current_claimant
from almoner.platform.deployment import BaseUrls, Deployment

StatementListener = Callable[[Any], None]
"""Hears of a statement as asyncpg's ``LoggedQuery``."""
Mode = Literal["read", "write", "single", "around"]
_Item = TypeVar("_Item")

_inside: ContextVar[bool] = ContextVar("almoner_inside_transaction", default=False)

STATEMENTS: Final = 300
"""That a connection keeps prepared: sweeps and the self-check have two hundred, which would push out all others."""
REQUEST_SECONDS: Final = 10.0
"""How long a statement of a request may take."""
BACKGROUND_SECONDS: Final = 300.0
"""How long one of a job, loop or sweep may take. Jobs with a limit of their own have that, commands have none."""

_Seconds = float | None
_Limit = _Seconds | Literal["default"]
_limit: ContextVar[_Limit] = ContextVar("almoner_statement_limit", default="default")


class StatementTimeout(TimeoutError):
    """A statement took too long, and the server was asked to end it. What its transaction did is undone."""


def begin_statement_timeout(seconds: _Seconds) -> "Token[_Limit]":
    """As ``statement_timeout``, until ``end_statement_timeout``: for what every request does."""
    return _limit.set(seconds)


def end_statement_timeout(token: "Token[_Limit]") -> None:
    """Take the limit from before."""
    _limit.reset(token)


@contextmanager
def statement_timeout(seconds: _Seconds) -> Iterator[None]:
    """What is read and written inside takes at most so long for each statement, also in tasks started there."""
    token = _limit.set(seconds)
    try:
        yield
    finally:
        _limit.reset(token)


@dataclass(frozen=True, slots=True)
class Partner:
    """The scope of one partner: what a store may see and change."""

    id: UUID


class AllPartners:
    """The scope without a partner: reference data, sweeps, operators, and records reached by a page token."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ALL_PARTNERS"


ALL_PARTNERS: Final = AllPartners()


def is_inside_transaction() -> bool:
    """Whether a writing transaction is open in this task: no network call may start now (architecture 5)."""
    return _inside.get()


class Tx:
    """One transaction: SQL in, records out, with the time and the deployment it runs in.

    ``now`` is business time and ``real_now`` real time, both fixed when the transaction opened, so that all rows of one
    change carry one moment.
    """

    __slots__ = (
        "_after_commit",
        "_at_end",
        "_connection",
        "_deployment",
        "_seconds",
        "_statements",
        "mode",
        "now",
        "real_now",
    )

    def __init__(
        self,
        connection: "asyncpg.pool.PoolConnectionProxy[Record]",
        deployment: Deployment,
        mode: Mode,
        seconds: _Seconds = None,
    ) -> None:
        self._connection = connection
        self._seconds = seconds
        self._deployment = deployment
        self._after_commit: list[Callable[[], None]] = []
        self._at_end: dict[Callable[[Tx, list[Any]], Awaitable[None]], list[Any]] = {}
        self._statements = 0
        self.mode = mode
        self.now: datetime = deployment.clock.now()
        self.real_now: datetime = deployment.clock.real_now()

    @property
    def deployment(self) -> Deployment:
        """Where the transaction runs."""
        return self._deployment

    @property
    def clock(self) -> Clock:
        """The deployment's clocks."""
        return self._deployment.clock

    @property
    def ids(self) -> Ids:
        """Text form of identifiers."""
        return self._deployment.ids

    @property
    def links(self) -> BaseUrls:
        """Absolute base addresses."""
        return self._deployment.links

    @property
    def vault(self) -> Vault:
        """Secrets."""
        return self._deployment.vault

    def new_id(self) -> UUID:
        """A new identifier that sorts by this transaction's business time."""
        return new_id(self.now)

    async def fetch(self, sql: str, *args: object) -> list[Record]:
        """All rows."""
        self._count()
        return await _with_timeout(self._connection.fetch(sql, *args, timeout=self._seconds))

    async def fetchrow(self, sql: str, *args: object) -> Record | None:
        """The first row or None."""
        self._count()
        return await _with_timeout(self._connection.fetchrow(sql, *args, timeout=self._seconds))

    async def fetchval(self, sql: str, *args: object) -> Any:
        """The first column of the first row or None."""
        self._count()
        return await _with_timeout(self._connection.fetchval(sql, *args, timeout=self._seconds))

    async def execute(self, sql: str, *args: object) -> str:
        """Run a statement; the answer is PostgreSQL's command tag."""
        self._count()
        return await _with_timeout(self._connection.execute(sql, *args, timeout=self._seconds))

    async def executemany(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement once for every row, in one round trip."""
        self._count()
        await _with_timeout(self._connection.executemany(sql, rows, timeout=self._seconds))

    async def copy_records(self, table: str, columns: Sequence[str], rows: Any) -> str:
        """COPY rows (an iterable or asynchronous iterable of tuples) into a table."""
        self._count()
        return await _with_timeout(self._copied(table, columns, rows))

    async def _copied(self, table: str, columns: Sequence[str], rows: Any) -> str:
        async with asyncio.timeout(self._seconds):  # asyncpg's own begins only once it knows the table
            return await self._connection.copy_records_to_table(table, records=rows, columns=columns)

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """Of a writing transaction: what the block did is undone when it raises, and the transaction goes on."""
        waiting, outside = len(self._after_commit), self._at_end
        self._at_end = {}
        try:
            async with self._connection.transaction():
                yield
                await self.run_end_steps()
        except BaseException:
            del self._after_commit[waiting:]
            raise
        finally:
            self._at_end = outside

    def add_end_step(self, step: Callable[["Tx", list[_Item]], Awaitable[None]], items: Iterable[_Item]) -> None:
        """Have ``step`` done once with all ``items`` that it is given, as the last of the transaction or savepoint."""
        if self.mode not in {"write", "around"}:
            raise RuntimeError("nothing is done at the end of such a transaction; open db.write() instead")
        self._at_end.setdefault(step, []).extend(items)

    async def run_end_steps(self) -> None:
        """Do what was to be done last. Called by ``Database`` only."""
        for step, items in self._at_end.items():
            await step(self, items)

    def after_commit(self, call: Callable[[], None]) -> None:
        """Run ``call`` when the transaction has been committed; it is forgotten on rollback."""
        self._after_commit.append(call)

    def run_commit_callbacks(self) -> None:
        """Run what waits for the commit. Called by ``Database`` only."""
        for call in self._after_commit:
            call()

    def _count(self) -> None:
        self._statements += 1
        if self.mode == "single" and self._statements > 1:
            raise RuntimeError("a single-statement transaction was given a second statement; open db.write() instead")


async def _with_timeout(statement: Awaitable[_Item]) -> _Item:
    """What the statement gives. Raises StatementTimeout when asyncpg's time for it is up."""
    try:
        return await statement
    except TimeoutError as error:
        raise StatementTimeout from error


class _Reading:
    """``Database.read``, on every GET: a class costs a third of what a generator does."""

    __slots__ = ("_deployment", "_seconds", "_taken")

    def __init__(self, taken: BorrowedConnection, deployment: Deployment, seconds: _Seconds) -> None:
        self._taken = taken
        self._deployment = deployment
        self._seconds = seconds

    async def __aenter__(self) -> Tx:
        return Tx(await self._taken.__aenter__(), self._deployment, "read", self._seconds)

    async def __aexit__(self, failure: type[BaseException] | None, *more: object) -> None:
        await self._taken.__aexit__(failure, *more)


class Database:
    """The connection pool with the deployment; the only maker of transactions.

    ``disk``: how much room there is; while that is too little, requests open no transaction that writes.
    """

    def __init__(
        self,
        pool: "asyncpg.Pool[Record]",
        deployment: Deployment,
        *,
        patience: float = ACQUIRE_TIMEOUT_SECONDS,
        seconds: _Seconds = None,
    ) -> None:
        """``seconds``: how long a statement may take where ``statement_timeout`` says nothing else."""
        self._connections = ConnectionPool(pool, patience)
        self._seconds = seconds
        self._arounds = Places(max(1, pool.get_max_size() // 2))
        self.deployment = deployment
        self.disk = DiskSpace()

    def read(self) -> AbstractAsyncContextManager[Tx]:
        """For reading: no BEGIN, so each statement has its own snapshot. Read in one statement what must agree."""
        return _Reading(self._connections.borrow(), self.deployment, self._limited())

    @asynccontextmanager
    async def single(self) -> AsyncIterator[Tx]:
        """For hot writes: exactly one statement, which is its own transaction and saves two round trips."""
        self.disk.ensure_writable()
        async with self._connections.borrow() as connection:
            tx = Tx(connection, self.deployment, "single", self._limited())
            token = _inside.set(True)
            try:
                yield tx
            finally:
                _inside.reset(token)
            tx.run_commit_callbacks()

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Tx]:
        """For writing: READ COMMITTED, committed when the block ends, rolled back when it raises."""
        self.disk.ensure_writable()
        async with self._connections.borrow() as connection:
            tx = Tx(connection, self.deployment, "write", self._limited())
            token = _inside.set(True)
            try:
                async with connection.transaction():
                    yield tx
                    await tx.run_end_steps()
            finally:
                _inside.reset(token)
            tx.run_commit_callbacks()

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Tx]:
        """For reading what must agree with more than one statement: all see the same moment."""
        async with self._connections.borrow() as connection:
            tx = Tx(connection, self.deployment, "read", self._limited())
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                yield tx

    @asynccontextmanager
    async def around(self) -> AsyncIterator[Tx]:
        """For work that runs in transactions of its own: this one keeps equal calls out, and then the answer.

        The work may call the outside. It needs connections while this one is held, so that at most half of the pool is
        given to such calls: with all of it, each would wait for the others for ever.
        """
        self.disk.ensure_writable()
        claimant = current_claimant()
        async with self._arounds.hold(claimant), self._connections.borrow() as connection:
            tx = Tx(connection, self.deployment, "around", self._limited())
            with claiming(None):  # what it needs besides does not count for the claimant's share, which may be used up
                async with connection.transaction():
                    yield tx
                    await tx.run_end_steps()
            tx.run_commit_callbacks()

    def open(self, mode: Mode) -> AbstractAsyncContextManager[Tx]:
        """The transaction of a declared mode."""
        match mode:
            case "read":
                return self.read()
            case "single":
                return self.single()
            case "write":
                return self.write()
            case "around":
                return self.around()

    def _limited(self) -> _Seconds:
        return self._seconds if (limit := _limit.get()) == "default" else limit

    async def close(self) -> None:
        """Close all connections, waiting for those in use."""
        await self._connections.close()


async def _register_json_codec(connection: "asyncpg.Connection[Record]") -> None:
    """Let jsonb come and go as Python values."""
    await connection.set_type_codec(
        "jsonb", encoder=_encode_json, decoder=msgspec.json.decode, schema="pg_catalog", format="text"
    )


def _encode_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


async def _skip_reset(_connection: object) -> None:
    """No reset query on release: no code sets session state (architecture 2 has the figures)."""


@asynccontextmanager
async def advisory_lock(dsn: str, name: str) -> AsyncIterator[None]:
    """What processes that start beside each other on a database do one after the other, under a name."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("select pg_advisory_lock(hashtext($1))", name)
        yield
    finally:
        await connection.close()


async def open_database(dsn: str, deployment: Deployment, *, size: int, seconds: _Seconds = None) -> Database:
    """The database. Raises OSError or asyncpg.PostgresError when it cannot be reached."""
    return Database(await open_pool(dsn, size), deployment, seconds=seconds)


async def open_service_database(
    dsn: str, deployment: Deployment, *, size: int, on_statement: StatementListener | None = None
) -> Database:
    """The database of a server or worker, whose statements have their time. Raises as ``open_database`` does."""
    return Database(await open_pool(dsn, size, on_statement), deployment, seconds=BACKGROUND_SECONDS)


async def open_pool(dsn: str, size: int, on_statement: StatementListener | None = None) -> "asyncpg.Pool[Record]":
    """Asyncpg's pool as the service uses it; ``on_statement`` hears of each that has ended.

    Raises OSError or asyncpg.PostgresError.
    """

    async def prepare(connection: "asyncpg.Connection[Record]") -> None:
        await _register_json_codec(connection)
        if on_statement is not None:
            connection.add_query_logger(on_statement)

    return await asyncpg.create_pool(
        dsn,
        min_size=min(2, size),
        max_size=size,
        init=prepare,
        reset=_skip_reset,
        max_inactive_connection_lifetime=300,
        statement_cache_size=STATEMENTS,
        server_settings={"application_name": "almoner", "timezone": "UTC"},  # which poolers know; see session_settings
    )

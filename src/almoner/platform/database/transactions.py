"""PostgreSQL transactions, and the scopes that every store function takes.

Transactions are opened only at the edge (``platform.http.service``, the worker, ``platform.jobs.leases``), one per
request or job, and committed before the response is sent (architecture 5).
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeVar
from uuid import UUID

import asyncpg
import msgspec
from asyncpg import Record

from almoner.kit.context_values import ContextValue
from almoner.kit.ids import RecordIdCodec, new_id
from almoner.kit.time import Clock
from almoner.platform.crypto import Vault
from almoner.platform.database.array_types import TypeCachingConnection
from almoner.platform.database.connections import ACQUIRE_TIMEOUT_SECONDS, ConnectionPool
from almoner.platform.database.deadlines import Deadlines, StatementTimeout
from almoner.platform.database.disk_space import DiskSpace
from almoner.platform.database.fair_queue import FairQueue, current_fair_share_client, run_as_fair_share_client
from almoner.platform.deployment import BaseUrls, Deployment

StatementListener = Callable[[Any], None]
"""Receives each statement as asyncpg's ``LoggedQuery``."""
Mode = Literal["read", "write", "single", "around"]
_Item = TypeVar("_Item")

_inside: ContextVar[bool] = ContextVar("almoner_inside_transaction", default=False)

_STATEMENTS: Final = 300
"""The number of prepared statements per connection: sweeps and the self-check alone have two hundred."""
REQUEST_SECONDS: Final = 10.0
"""The statement timeout of requests."""
BACKGROUND_SECONDS: Final = 300.0
"""The statement timeout of jobs, loops and sweeps. Jobs with their own limit use that; commands have none."""

_Seconds = float | None
_Limit = _Seconds | Literal["default"]
_limit: ContextVar[_Limit] = ContextVar("almoner_statement_limit", default="default")


set_statement_timeout = _limit.set
"""Set the statement timeout of this task until ``reset_statement_timeout``."""
reset_statement_timeout = _limit.reset
"""Restore the statement timeout from before."""


def statement_timeout(seconds: _Seconds) -> ContextValue[_Limit]:
    """Statements inside this block, also in tasks started there, may take this many seconds."""
    return ContextValue(_limit, seconds)


@dataclass(frozen=True, slots=True)
class Partner:
    """The scope of one partner: a store function sees and changes only its rows."""

    id: UUID


class AllPartners:
    """The scope without a partner: reference data, periodic jobs, operators, page tokens."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ALL_PARTNERS"


ALL_PARTNERS: Final = AllPartners()


def is_inside_transaction() -> bool:
    """Whether a write transaction is open in this task, so that no network call may start (architecture 5)."""
    return _inside.get()


class Tx:
    """One database transaction, with the deployment's clocks, identifiers and secrets.

    ``now`` is business time and ``real_now`` real time, both fixed when the transaction opened, so that all rows of one
    change have the same timestamp.
    """

    __slots__ = (
        "_after_commit",
        "_at_end",
        "_connection",
        "_deadlines",
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
        deadlines: Deadlines | None = None,
        seconds: _Seconds = None,
    ) -> None:
        self._connection = connection
        self._deadlines = deadlines
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
        """This installation of Almoner: its clocks, identifiers, base URLs and secrets."""
        return self._deployment

    @property
    def clock(self) -> Clock:
        """The deployment's clocks."""
        return self._deployment.clock

    @property
    def ids(self) -> RecordIdCodec:
        """Converts record UUIDs to text identifiers (``donation_...``) and back."""
        return self._deployment.ids

    @property
    def base_urls(self) -> BaseUrls:
        """The base URLs of the API and the pages."""
        return self._deployment.base_urls

    @property
    def vault(self) -> Vault:
        """Encryption and keyed hashes."""
        return self._deployment.vault

    def new_id(self) -> UUID:
        """A new UUIDv7 at this transaction's business time."""
        return new_id(self.now)

    def fetch(self, sql: str, *args: object) -> Awaitable[list[Record]]:
        """Run a query and return all rows."""
        self._count()
        return self.run_within_timeout(self._connection.fetch(sql, *args))

    def fetchrow(self, sql: str, *args: object) -> Awaitable[Record | None]:
        """The first row or None."""
        self._count()
        return self.run_within_timeout(self._connection.fetchrow(sql, *args))

    def fetchval(self, sql: str, *args: object) -> Awaitable[Any]:
        """The first column of the first row or None."""
        self._count()
        return self.run_within_timeout(self._connection.fetchval(sql, *args))

    def execute(self, sql: str, *args: object) -> Awaitable[str]:
        """Run a statement; returns PostgreSQL's command tag."""
        self._count()
        return self.run_within_timeout(self._connection.execute(sql, *args))

    def executemany(self, sql: str, rows: Iterable[Sequence[object]]) -> Awaitable[None]:
        """Run a statement once for every row, in one round trip."""
        self._count()
        return self.run_within_timeout(self._connection.executemany(sql, rows))

    def copy_records(self, table: str, columns: Sequence[str], rows: Any) -> Awaitable[str]:
        """COPY rows (an iterable or asynchronous iterable of tuples) into a table."""
        self._count()
        return self.run_within_timeout(self._connection.copy_records_to_table(table, records=rows, columns=columns))

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """A savepoint: an exception in the block undoes only what the block did."""
        waiting, outside = len(self._after_commit), self._at_end
        self._at_end = {}
        try:
            async with _Transaction(self, self._connection.transaction(), nested=True):
                yield
                await self.run_before_commit_steps()
        except BaseException:
            del self._after_commit[waiting:]
            raise
        finally:
            self._at_end = outside

    def add_before_commit_step(
        self, step: Callable[["Tx", list[_Item]], Awaitable[None]], items: Iterable[_Item]
    ) -> None:
        """Have ``step`` run once at the end of the transaction with all ``items`` added to it."""
        if self.mode not in {"write", "around"}:
            raise RuntimeError("nothing is done at the end of such a transaction; open db.write() instead")
        self._at_end.setdefault(step, []).extend(items)

    async def run_before_commit_steps(self) -> None:
        """Run the end steps; called by ``Database`` only."""
        for step, items in self._at_end.items():
            await step(self, items)

    def add_commit_callback(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` after the commit; not after a rollback."""
        self._after_commit.append(callback)

    def run_commit_callbacks(self) -> None:
        """Run the commit callbacks; called by ``Database`` only."""
        for call in self._after_commit:
            call()

    def _count(self) -> None:
        self._statements += 1
        if self.mode == "single" and self._statements > 1:
            raise RuntimeError("a single-statement transaction was given a second statement; open db.write() instead")

    def run_within_timeout(self, statement: Awaitable[_Item]) -> Awaitable[_Item]:
        """Await the statement within the timeout. Raises StatementTimeout."""
        if self._seconds is None or self._deadlines is None:
            return statement
        return self._deadlines.run_with_timeout(statement, self._seconds)


class _Transaction:
    """BEGIN or SAVEPOINT and its end, within the statement timeout, because a server may hang there, too."""

    __slots__ = ("_nested", "_transaction", "_tx")

    def __init__(self, tx: Tx, transaction: "asyncpg.transaction.Transaction", *, nested: bool = False) -> None:
        self._tx = tx
        self._transaction = transaction
        self._nested = nested

    async def __aenter__(self) -> None:
        await self._tx.run_within_timeout(self._transaction.__aenter__())

    async def __aexit__(self, kind: type[BaseException] | None, *more: object) -> None:
        if self._nested or kind is None or not issubclass(kind, StatementTimeout):
            await self._tx.run_within_timeout(self._transaction.__aexit__(kind, *more))


class _Reading:
    """``Database.read`` as a class: every GET uses it, and it costs a third of a generator."""

    __slots__ = ("_connection", "_connections", "_database", "_fair_share_client")

    def __init__(self, database: "Database", connections: ConnectionPool) -> None:
        self._database = database
        self._connections = connections
        self._fair_share_client = current_fair_share_client()

    async def __aenter__(self) -> Tx:
        self._connection = await self._connections.acquire(self._fair_share_client)
        return self._database.build_transaction(self._connection, "read")

    async def __aexit__(self, _failure: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self._connections.return_connection(self._connection, error, self._fair_share_client)


class Database:
    """The connection pool of a deployment, which opens all transactions.

    ``disk``: free space; while it is low, requests cannot open write transactions.
    """

    def __init__(
        self,
        pool: "asyncpg.Pool[Record]",
        deployment: Deployment,
        *,
        patience: float = ACQUIRE_TIMEOUT_SECONDS,
        seconds: _Seconds = None,
    ) -> None:
        """Create a database. ``seconds``: the statement timeout where ``statement_timeout`` sets no other."""
        self._connections = ConnectionPool(pool, patience)
        self._seconds = seconds
        self._deadlines = Deadlines(StatementTimeout)
        self._arounds = FairQueue(max(1, pool.get_max_size() // 2))
        self.deployment = deployment
        self.disk = DiskSpace()

    def read(self) -> AbstractAsyncContextManager[Tx]:
        """Read without BEGIN: each statement has its own snapshot."""
        return _Reading(self, self._connections)

    @asynccontextmanager
    async def single_statement(self) -> AsyncIterator[Tx]:
        """For exactly one statement, which is its own transaction and saves two round trips."""
        self.disk.ensure_writable()
        async with self._connections.borrow() as connection:
            tx = self.build_transaction(connection, "single")
            token = _inside.set(True)
            try:
                yield tx
            finally:
                _inside.reset(token)
            tx.run_commit_callbacks()

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Tx]:
        """A write transaction (READ COMMITTED): commits at the end of the block, rolls back on an exception."""
        self.disk.ensure_writable()
        async with self._connections.borrow() as connection:
            tx = self.build_transaction(connection, "write")
            token = _inside.set(True)
            try:
                async with _Transaction(tx, connection.transaction()):
                    yield tx
                    await tx.run_before_commit_steps()
            finally:
                _inside.reset(token)
            tx.run_commit_callbacks()

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Tx]:
        """A read-only transaction in which all statements see the same snapshot."""
        async with self._connections.borrow() as connection:
            tx = self.build_transaction(connection, "read")
            async with _Transaction(tx, connection.transaction(isolation="repeatable_read", readonly=True)):
                yield tx

    @asynccontextmanager
    async def idempotency_transaction(self) -> AsyncIterator[Tx]:
        """A transaction around nested ones: it only holds the idempotency lock and stores the response.

        The work inside may call the outside, and needs further connections while this one is held. So at most half of
        the pool is given to such transactions; with all of it they would wait for each other forever.
        """
        self.disk.ensure_writable()
        async with self._arounds.slot(current_fair_share_client()), self._connections.borrow() as connection:
            tx = self.build_transaction(connection, "around")
            with run_as_fair_share_client(
                None
            ):  # its further connections do not count towards the client's share, which may be used up
                async with _Transaction(tx, connection.transaction()):
                    yield tx
                    await tx.run_before_commit_steps()
            tx.run_commit_callbacks()

    def open_transaction(self, mode: Mode) -> AbstractAsyncContextManager[Tx]:
        """Open a transaction in a declared mode."""
        match mode:
            case "read":
                return self.read()
            case "single":
                return self.single_statement()
            case "write":
                return self.write()
            case "around":
                return self.idempotency_transaction()

    def build_transaction(self, connection: "asyncpg.pool.PoolConnectionProxy[Record]", mode: Mode) -> Tx:
        """Begin a transaction on a connection, with the current statement timeout. Called by ``Database`` only."""
        limit = _limit.get()
        return Tx(connection, self.deployment, mode, self._deadlines, self._seconds if limit == "default" else limit)

    async def close(self) -> None:
        """Close all connections after waiting for those in use."""
        await self._connections.close()


async def _register_json_codec(connection: "asyncpg.Connection[Record]") -> None:
    """Encode and decode jsonb as Python values."""
    await connection.set_type_codec(
        "jsonb", encoder=_encode_json, decoder=msgspec.json.decode, schema="pg_catalog", format="text"
    )


def _encode_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


async def _skip_reset(_connection: object) -> None:
    """No reset query on release: no code sets session state (architecture 2 has the figures)."""


@asynccontextmanager
async def advisory_lock(dsn: str, name: str) -> AsyncIterator[None]:
    """A named lock between processes that start on the same database."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("select pg_advisory_lock(hashtext($1))", name)
        yield
    finally:
        await connection.close()


async def open_database(
    dsn: str, deployment: Deployment, *, pool_size: int, statement_timeout_seconds: _Seconds = None
) -> Database:
    """Connect to the database. Raises OSError or asyncpg.PostgresError."""
    return Database(await open_pool(dsn, pool_size), deployment, seconds=statement_timeout_seconds)


async def open_service_database(
    dsn: str, deployment: Deployment, *, pool_size: int, on_statement: StatementListener | None = None
) -> Database:
    """Connect for a server or worker, with statement timeouts."""
    return Database(await open_pool(dsn, pool_size, on_statement), deployment, seconds=BACKGROUND_SECONDS)


async def open_pool(dsn: str, pool_size: int, on_statement: StatementListener | None = None) -> "asyncpg.Pool[Record]":
    """An asyncpg pool with the service's settings. Raises OSError or asyncpg.PostgresError."""

    async def prepare(connection: "asyncpg.Connection[Record]") -> None:
        await _register_json_codec(connection)
        if on_statement is not None:
            connection.add_query_logger(on_statement)

    return await asyncpg.create_pool(
        dsn,
        init_size=min(2, pool_size),
        min_size=0,  # otherwise asyncpg replaces closed idle connections
        max_size=pool_size,
        init=prepare,
        connection_class=TypeCachingConnection,
        reset=_skip_reset,
        max_inactive_connection_lifetime=300,
        statement_cache_size=_STATEMENTS,
        server_settings={"application_name": "almoner", "timezone": "UTC"},  # poolers know these; see session_settings
    )

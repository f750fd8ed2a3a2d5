"""Background work on a database of its own, without the rest of the service."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from almoner.kit.ids import RecordIdCodec
from almoner.platform.crypto import Vault
from almoner.platform.database import transactions
from almoner.platform.database.postgres import PostgresServer
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.deployment import BaseUrls, Deployment
from almoner.platform.observability.telemetry import Telemetry
from tests.support import database as database_support
from tests.support.clock import TestClock
from tests.support.database import TestDatabase

LINKS = BaseUrls("http://localhost:8080", "http://localhost:8080")


@dataclass(slots=True)
class Ground:
    """A database, a clock that tests move, and the log lines as written."""

    database: TestDatabase
    db: Database
    clock: TestClock
    telemetry: Telemetry
    lines: list[bytes] = field(default_factory=list)

    @property
    def log(self) -> list[dict[str, object]]:
        """The log lines, decoded."""
        return [msgspec.json.decode(line) for line in self.lines]

    @asynccontextmanager
    async def another(self) -> AsyncIterator[Database]:
        """A second pool, as another process has."""
        other = await connect(self.database, self.clock)
        try:
            yield other
        finally:
            await other.close()

    async def look(self, sql: str, *args: object) -> list[asyncpg.Record]:
        """Look behind the service."""
        async with self.db.read() as tx:
            return await tx.fetch(sql, *args)


async def connect(database: TestDatabase, clock: TestClock) -> Database:
    """A pool of its own."""
    deployment = Deployment("sandbox", clock, RecordIdCodec(sandbox=True), LINKS, Vault(os.urandom(32)))
    return await transactions.open_database(database.dsn, deployment, pool_size=10)


@pytest.fixture(scope="session")
async def own_database(postgres_server: PostgresServer) -> AsyncIterator[TestDatabase]:
    """One for all tests of this folder, which leave nothing in it."""
    async with database_support.copied(postgres_server) as made:
        await _empty(made)  # of what the template says has run already
        yield made


@pytest.fixture
async def ground(own_database: TestDatabase) -> AsyncIterator[Ground]:
    """A migrated database with nothing in it."""
    clock = TestClock()
    lines: list[bytes] = []
    db = await connect(own_database, clock)
    try:
        yield Ground(own_database, db, clock, Telemetry(lines.append), lines)
    finally:
        await db.close()
        await _empty(own_database)


async def _empty(database: TestDatabase) -> None:
    owner = await asyncpg.connect(database.owner_dsn)
    try:
        await owner.execute(
            "truncate event, event_counter, internal_event, job, queue_lane, schedule, process, rate_limit_use"
        )
        await owner.execute("update business_clock set clock_offset = interval '0', version = 0")
    finally:
        await owner.close()


@pytest.fixture
def partner() -> UUID:
    """A partner's id: events do not ask who it is."""
    return uuid4()


async def sequences(tx: Tx, partner: UUID) -> list[int]:
    """The numbers that a partner's events were given, in order."""
    rows = await tx.fetch(
        "select sequence from event where partner_id = $1 and sequence is not null order by sequence", partner
    )
    return [row["sequence"] for row in rows]

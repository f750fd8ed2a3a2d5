"""Databases for tests: a template built by the migrations, copied quickly for each test that needs one."""

import asyncio
import fcntl
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import uuid4

import asyncpg
import psutil

from almoner import migrations
from almoner.platform.database import postgres
from almoner.platform.database.postgres import PostgresServer
from almoner.platform.database.session_settings import SESSION_SETTINGS
from almoner.platform.observability import selfcheck

OWNER, APP = "almoner_owner", "almoner_app"
PASSWORD = "for-tests-only"
_FAST = (
    "fsync = off",
    "synchronous_commit = off",
    "full_page_writes = off",
    "plan_cache_mode = force_generic_plan",  # few rows, many connections: planning takes far longer than execution
)
_SETTINGS: Final = ";".join(
    f"alter database {{name}} set {setting} = '{value}'" for setting, value in SESSION_SETTINGS.items()
)
_FAR_OFF: Final = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TestDatabase:
    """A database of its own, with the service's two roles."""

    __test__ = False
    server: PostgresServer
    name: str

    @property
    def dsn(self) -> str:
        """The DSN of the service."""
        return self.server.url(APP, PASSWORD, self.name)

    @property
    def owner_dsn(self) -> str:
        """The DSN for migrations, and for tests that look behind the service."""
        return self.server.url(OWNER, PASSWORD, self.name)


def _template_name() -> str:
    """A name for each state of the migrations, and of the preparation here."""
    folder = Path(migrations.__file__).parent
    files = [*sorted([*folder.rglob("*.py"), *folder.rglob("*.sql")]), Path(__file__)]
    return "template_" + hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _name() -> str:
    return f"test_{os.getpid()}_{uuid4().hex[:8]}"


@asynccontextmanager
async def copied(server: PostgresServer) -> AsyncIterator[TestDatabase]:
    """A new copy of the migrated template, dropped at the end."""
    name = _name()
    connection = await asyncpg.connect(server.superuser_url())
    try:
        with (server.cluster_folder / "templates.lock").open("w") as lock:
            await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
            template = await _template(server, connection)
            await connection.execute(f"create database {name} template {template} owner {OWNER} strategy file_copy")
            await connection.execute(_SETTINGS.format(name=name))  # settings are not copied
        try:
            yield TestDatabase(server, name)
        finally:
            await connection.execute(f"drop database {name} with (force)")
    finally:
        await connection.close()


@asynccontextmanager
async def unmigrated(server: PostgresServer) -> AsyncIterator[TestDatabase]:
    """An empty database without tables; dropped at the end."""
    name = _name()
    connection = await asyncpg.connect(server.superuser_url())
    try:
        await _prepare(server, connection)
        await connection.execute(f"create database {name} owner {OWNER}")
        try:
            yield TestDatabase(server, name)
        finally:
            await connection.execute(f"drop database {name} with (force)")
    finally:
        await connection.close()


async def _template(server: PostgresServer, connection: "asyncpg.Connection[asyncpg.Record]") -> str:
    template = _template_name()
    await _prepare(server, connection)
    await _drop_stale(connection, template)
    if not await connection.fetchval("select true from pg_database where datname = $1", template):
        unfinished = f"{template}_unfinished"
        await connection.execute(f"create database {unfinished} owner {OWNER}")
        await asyncio.to_thread(migrations.migrate, server.url(OWNER, PASSWORD, unfinished))
        await _without_nights(server.url(OWNER, PASSWORD, unfinished))
        await connection.execute(f"alter database {unfinished} rename to {template}")
    return template


async def _without_nights(owner_dsn: str) -> None:
    """Postpone the nightly self-check, which each service would otherwise start with."""
    owner = await asyncpg.connect(owner_dsn)
    try:
        await owner.execute("insert into schedule (name, last_run_at) values ($1, $2)", selfcheck.NIGHTLY, _FAR_OFF)
    finally:
        await owner.close()


async def _prepare(server: PostgresServer, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Create the roles, and configure the server for speed: no durability, statements planned once per connection."""
    await connection.execute("set scram_iterations = 1")  # each connection would pay for more iterations
    for role in (OWNER, APP):
        if not await connection.fetchval("select true from pg_roles where rolname = $1", role):
            await connection.execute(f"create role {role} login password '{PASSWORD}'")
    if await connection.fetchval("show plan_cache_mode") == "auto":
        await connection.execute(f"alter role {postgres.SUPERUSER} password '{server.password}'")
        for setting in _FAST:
            await connection.execute(f"alter system set {setting}")
        await connection.execute("select pg_reload_conf()")


async def _drop_stale(connection: "asyncpg.Connection[asyncpg.Record]", template: str) -> None:
    """Drop the databases of killed runs, and templates of other migrations that nobody is copying."""
    names = await connection.fetch("select datname from pg_database where datname ~ '^(test|template)_[0-9a-f]'")
    for (name,) in names:
        kind, owner = name.split("_")[:2]
        if (kind == "test" and not psutil.pid_exists(int(owner))) or (kind == "template" and name != template):
            await connection.execute(f"drop database {name} with (force)")

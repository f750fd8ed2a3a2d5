"""Detect a connection pooler in transaction mode that forgets prepared statements."""

import asyncio
from contextlib import suppress
from typing import Final

import asyncpg

_WAIT_SECONDS: Final = 2.0
_STATEMENT: Final = "select $1::integer"
_HELD: Final = 4


class PoolerNotSupported(Exception):
    """The connection pooler loses prepared statements between transactions. The message says what to do."""


async def ensure_pooler_supported(dsn: str) -> None:
    """Raise PoolerNotSupported; OSError or asyncpg.PostgresError if the database cannot be reached.

    Two open connections with one session mean that there is a pooler. While other connections hold the session in which
    a statement was prepared, the statement must still be known.
    """
    opened = [await asyncpg.connect(dsn), await asyncpg.connect(dsn)]
    try:
        if await _session(opened[0]) == await _session(opened[1]):
            await _ensure_prepared_elsewhere(dsn, opened)
    except (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError):
        raise PoolerNotSupported(
            "A pooler in front of the database forgets prepared statements between transactions: use its session mode, "
            "or PgBouncer 1.21 or newer with max_prepared_statements. See docs/guides/postgresql.md."
        ) from None
    finally:
        for one in opened:
            one.terminate()


async def _session(connection: "asyncpg.Connection[asyncpg.Record]") -> int:
    return int(await connection.fetchval("select pg_backend_pid()"))


async def _ensure_prepared_elsewhere(dsn: str, opened: "list[asyncpg.Connection[asyncpg.Record]]") -> None:
    first = opened[0]
    prepared = await first.prepare(_STATEMENT)
    for _ in range(_HELD):
        held = await asyncpg.connect(dsn)
        opened.append(held)
        await held.execute("begin")
        with suppress(TimeoutError):  # the pool is too small to tell
            await asyncio.wait_for(prepared.fetchval(1), _WAIT_SECONDS)

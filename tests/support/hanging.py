"""Report what a hanging test waits for, its tasks and database statements, before it is ended."""

import asyncio
import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

import asyncpg

from almoner.platform.database.postgres import PostgresServer

TOLD_AFTER_SECONDS: Final = 270.0
"""Somewhat before ``timeout`` in pyproject.toml ends the test."""
_ASKED: Final = """
    select pid, state, wait_event_type, wait_event, pg_blocking_pids(pid) as blocked_by, now() - query_start as since,
        left(regexp_replace(query, '\\s+', ' ', 'g'), 200) as query
    from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() order by query_start
"""

servers: Final[list[PostgresServer]] = []
"""The servers that tests have started."""


@contextmanager
def watched(name: str, out: TextIO | None = None) -> Iterator[None]:
    """Report on the test if it takes too long."""
    timer = threading.Timer(TOLD_AFTER_SECONDS, tell, (name, out or sys.__stderr__ or sys.stderr))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def tell(name: str, out: TextIO) -> None:
    """Write every unfinished task with its stack, then what each backend of each server is doing."""
    print(f"\n{name} takes more than {TOLD_AFTER_SECONDS:.0f} s", file=out)
    for found in gc.get_objects():
        if isinstance(found, asyncio.Task) and not found.done():
            found.print_stack(limit=12, file=out)
    for server in servers:
        for line in asyncio.run(_activity(server)):
            print(line, file=out)
    out.flush()


async def _activity(server: PostgresServer) -> list[str]:
    try:
        connection = await asyncpg.connect(server.superuser_url(), timeout=5)
        try:
            return [repr(dict(row)) for row in await connection.fetch(_ASKED, timeout=5)]
        finally:
            await connection.close(timeout=5)
    except (OSError, asyncpg.PostgresError, TimeoutError) as error:
        return [f"the database does not answer: {error!r}"]

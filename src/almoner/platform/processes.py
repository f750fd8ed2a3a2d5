"""The live processes of the deployment: each says every second that it lives, and to which clock it keeps."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Final, Literal
from uuid import UUID, uuid4

from almoner.platform.bell import rest
from almoner.platform.db import Database, Tx
from almoner.platform.failures import TROUBLE, failure
from almoner.platform.telemetry import Telemetry

Role = Literal["server", "worker", "server and worker"]

SILENCE: Final = timedelta(seconds=3)
"""Real time after which a process that says nothing counts as dead."""

_BEAT_SECONDS: Final = 1.0
_FORGET: Final = timedelta(minutes=10)


class Pulse:
    """One process's sign of life. ``on_live`` hears, each second, how many processes share the work of servers."""

    def __init__(self, db: Database, role: Role, telemetry: Telemetry, on_live: Callable[[int], None]) -> None:
        self.id: UUID = uuid4()
        self.clock_version = 0
        self._db = db
        self._role = role
        self._telemetry = telemetry
        self._on_live = on_live

    async def beat(self) -> None:
        """Say that this process lives."""
        async with self._db.write() as tx:
            await _upsert(tx, self.id, self._role, self.clock_version)
            servers = await live_servers(tx)
        self._on_live(servers)

    async def run(self, stop: asyncio.Event) -> None:
        """Beat until ``stop`` is set, then leave."""
        while not stop.is_set():
            try:
                await self.beat()
            except TROUBLE as error:
                self._telemetry.log("pulse_waits", self._db.deployment.clock.wall(), **failure(error))
            await rest(stop, _BEAT_SECONDS)
        try:
            await self.leave()
        except TROUBLE as error:
            self._telemetry.log("pulse_waits", self._db.deployment.clock.wall(), **failure(error))

    async def leave(self) -> None:
        """Say that this process has ended, and forget those that ended without a word."""
        async with self._db.write() as tx:
            await tx.execute("delete from process where id = $1 or seen_at < $2", self.id, tx.wall - _FORGET)


async def _upsert(tx: Tx, process: UUID, role: Role, clock_version: int) -> None:
    await tx.execute(
        """
        insert into process (id, role, started_at, seen_at, clock_version) values ($1, $2, $3, $3, $4)
        on conflict (id) do update set seen_at = excluded.seen_at, clock_version = excluded.clock_version
        """,
        process,
        role,
        tx.wall,
        clock_version,
    )


async def live_servers(tx: Tx) -> int:
    """How many live processes answer requests."""
    count = await tx.fetchval("select count(*) from process where seen_at > $1 and role <> 'worker'", tx.wall - SILENCE)
    return int(count)


async def behind(tx: Tx, clock_version: int) -> int:
    """How many live processes have not yet taken over a move of the business clock."""
    count = await tx.fetchval(
        "select count(*) from process where seen_at > $1 and clock_version < $2", tx.wall - SILENCE, clock_version
    )
    return int(count)

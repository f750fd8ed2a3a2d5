"""Runs sweeps when the business clock passes their moment, one runner at a time for each (house 5)."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from time import monotonic
from typing import Final

from almoner.platform.bell import rest
from almoner.platform.db import Database, Tx
from almoner.platform.failures import TROUBLE, UNAVAILABLE, failure
from almoner.platform.telemetry import Telemetry
from almoner.platform.work import Schedule

_LOOK_SECONDS: Final = 0.25
_REST_SECONDS: Final = 5.0


class Sweeper:
    """``sweep`` runs what is due once, ``run`` goes on until told to stop."""

    def __init__(self, db: Database, schedules: Sequence[Schedule], telemetry: Telemetry) -> None:
        self._db = db
        self._schedules = schedules
        self._telemetry = telemetry
        self._registered = False
        self._resting: dict[str, float] = {}

    async def sweep(self) -> int:
        """Run every due sweep to its end; how many records they dealt with."""
        await self._register()
        handled = 0
        for schedule in self._schedules:
            if self._resting.get(schedule.name, 0.0) > monotonic():
                continue
            try:
                handled += await self._to_the_end(schedule)
            except UNAVAILABLE:
                raise
            except Exception as error:  # noqa: BLE001 (a sweep may raise anything)
                wall = self._db.deployment.clock.wall()
                self._telemetry.log("sweep_failed", wall, sweep=schedule.name, **failure(error))
                self._resting[schedule.name] = monotonic() + _REST_SECONDS
        return handled

    async def _to_the_end(self, schedule: Schedule) -> int:
        async with self._db.read() as tx:
            due = await schedule.due(tx)
            if due is None or due > tx.now:
                return 0
        handled = 0
        while batch := await self._batch(schedule):
            handled += batch
        return handled

    async def _register(self) -> None:
        """Make the rows that runners hold."""
        if self._registered:
            return
        async with self._db.write() as tx:
            await tx.execute(
                """
                insert into schedule (name) select name from unnest($1::text[]) as given (name)
                where not exists (select from schedule known where known.name = given.name)
                order by name on conflict do nothing
                """,
                [schedule.name for schedule in self._schedules],
            )
        self._registered = True

    async def _batch(self, schedule: Schedule) -> int:
        async with self._db.write() as tx:
            if not await _take_turn(tx, schedule.name):
                return 0
            return await schedule.run(tx)

    async def run(self, stop: asyncio.Event) -> None:
        """Sweep until ``stop`` is set."""
        while not stop.is_set():
            try:
                await self.sweep()
            except TROUBLE as error:
                self._telemetry.log("sweeper_waits", self._db.deployment.clock.wall(), **failure(error))
            await rest(stop, _LOOK_SECONDS)

    async def moments(self, tx: Tx) -> list[datetime]:
        """When each sweep that has something in sight is due, in the past or to come."""
        due = [await schedule.due(tx) for schedule in self._schedules]
        return [moment for moment in due if moment is not None]


async def _take_turn(tx: Tx, name: str) -> bool:
    """Hold the schedule's row until the transaction ends; False while another runner holds it."""
    held = await tx.fetchval(
        """
        update schedule set ran_at = $2
        where name = (select name from schedule where name = $1 for update skip locked) returning true
        """,
        name,
        tx.now,
    )
    return bool(held)

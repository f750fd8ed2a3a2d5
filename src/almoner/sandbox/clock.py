"""Moves the sandbox clock from one due time to the next and runs due work (settled 9)."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from almoner.kit.errors import Conflict, IncorrectParams
from almoner.platform import business_clock
from almoner.platform.business_clock import MovableClock
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs import processes
from almoner.platform.jobs.background import BackgroundWorker

MAX_ADVANCE: Final = timedelta(days=60)
PATIENCE_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.02
_FOLLOW_SECONDS: Final = 5.0
_MOMENT: Final = timedelta(seconds=1)
_RETRY_TIME: Final = timedelta(hours=1)
"""How far past a date that was not worked off the clock goes for further tries, or to the first one beyond that."""


class ClockInUse(Conflict):
    message = "Another request is moving the clock; wait until it has finished"


@dataclass(frozen=True, slots=True)
class ClockReading:
    """The clock's state. ``outstanding_work_count``: how much due work is not done yet."""

    now: datetime
    offset: timedelta
    outstanding_work_count: int


class SandboxClock:
    """Reads and advances the deployment's business clock."""

    def __init__(
        self, background: BackgroundWorker, clock: MovableClock, *, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._background = background
        self._clock = clock
        self._patience_seconds = patience_seconds
        self._draining: asyncio.Task[None] | None = None

    async def read(self) -> ClockReading:
        """The clock's state."""
        async with self._background.db.read() as tx:
            remaining = await self._background.count_outstanding_work(tx)
        return ClockReading(self._clock.now(), self._clock.offset, remaining)

    async def advance_to(self, tx: Tx, target_time: datetime) -> ClockReading:
        """Move the clock to a future time."""
        return await self.advance(tx, target_time - self._clock.now())

    async def advance(self, tx: Tx, duration: timedelta) -> ClockReading:
        """Advance by a duration.

        Each expiry, periodic job, job and delivery that falls due on the way runs at its own time, for up to 30 s in
        total. The clock then moves straight to the end, and ``outstanding_work_count`` counts what is left. But it
        stops before the first date of a donation subscription that was not processed; the count is not 0 then.

        Raises ClockInUse, IncorrectParams, UnreleasedDatabaseCopy.
        """
        if not timedelta() <= duration <= MAX_ADVANCE:
            raise IncorrectParams(f"body must move the clock forwards, by at most {MAX_ADVANCE.days} days a call")
        self._background.db.deployment.identity.ensure_active()  # else what falls due on the way would wait
        if not await business_clock.try_lock_clock(tx):
            raise ClockInUse
        reading = await self._advance(self._clock.offset + duration)
        # The answer is kept, and its 21 days begin, in the time that it was given in.
        tx.now = max(tx.now, reading.now)
        return reading

    async def _advance(self, ahead: timedelta) -> ClockReading:
        loop = asyncio.get_running_loop()
        deadline, start = loop.time() + self._patience_seconds, self._clock.offset
        await self._wait_until_idle(deadline)
        while loop.time() < deadline:
            async with self._background.db.read() as tx:
                moment = await self._background.next_due_at(tx)
                waits_at = await self._background.sandbox_clock_limit(tx)
            if moment is None:
                break
            if waits_at is not None and moment >= waits_at + _RETRY_TIME and self._clock.offset > start:
                break
            step = self._clock.offset + max(moment - self._clock.now(), timedelta())
            if step > ahead:
                break
            await self._set(step)
            await self._wait_until_idle(deadline)
        reached = await self._reachable(ahead)
        await self._set(reached)
        await self._wait_until_idle(deadline)
        reading = await self.read()
        return (
            replace(reading, outstanding_work_count=max(reading.outstanding_work_count, 1))
            if reached < ahead
            else reading
        )

    async def _reachable(self, ahead: timedelta) -> timedelta:
        """As far as the clock may go now; the moment before what it has to wait for."""
        async with self._background.db.read() as tx:
            waits_at = await self._background.sandbox_clock_limit(tx)
        ticked = self._clock.now() - self._clock.offset
        if waits_at is None or waits_at > ticked + ahead:
            return ahead
        return max(waits_at - ticked - _MOMENT, self._clock.offset)

    async def _set(self, ahead: timedelta) -> None:
        """Set the offset, and wait until every live process lives in the new time."""
        if ahead <= self._clock.offset:
            return
        async with self._background.db.write() as tx:
            offset = await business_clock.store_offset(tx, ahead)
        self._clock.advance_to_offset(offset.ahead_by)
        patience = asyncio.get_running_loop().time() + _FOLLOW_SECONDS
        while await self._behind(offset.version):
            if asyncio.get_running_loop().time() > patience:
                return
            await asyncio.sleep(_LOOK_SECONDS)

    async def _behind(self, version: int) -> int:
        async with self._background.db.read() as tx:
            return await processes.count_processes_behind_clock_version(tx, version)

    async def _wait_until_idle(self, deadline: float) -> None:
        """Do what is due, and wait for what others have in hand."""
        loop = asyncio.get_running_loop()
        while loop.time() < deadline:
            if self._draining is None or self._draining.done():
                self._draining = asyncio.create_task(self._background.drain())
            done, _ = await asyncio.wait({self._draining}, timeout=max(0.0, deadline - loop.time()))
            if done:
                self._draining.result()
            async with self._background.db.read() as tx:
                if await self._background.count_outstanding_work(tx) == 0:
                    return
            await asyncio.sleep(_LOOK_SECONDS)

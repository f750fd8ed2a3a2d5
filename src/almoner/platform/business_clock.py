"""The deployment's business clock: real time and an offset that all processes share (settled 9, architecture 5).

Production never moves it. In the sandbox each process looks at the row a few times a second and says when it has taken
a move over, so that whoever moved it can wait until the whole deployment lives in the new time.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from almoner.kit.time import Clock
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs.processes import Heartbeat
from almoner.platform.jobs.wakeup import PollBackoff, Wakeup
from almoner.platform.observability.failures import DATABASE_ERRORS, failure_log_fields
from almoner.platform.observability.telemetry import Telemetry

WAKEUP: Final = Wakeup()
"""Rung after this process moved the clock."""


class MovableClock(Clock, Protocol):
    """A clock whose business time can be set ahead of its own course."""

    @property
    def offset(self) -> timedelta:
        """How far business time has been moved."""
        ...

    def set_offset(self, ahead: timedelta) -> None:
        """Move business time; never back."""
        ...


class BusinessClock:
    """Real time plus an offset."""

    def __init__(self, real: Clock) -> None:
        self._real = real
        self._ahead = timedelta()

    @property
    def offset(self) -> timedelta:
        """How far business time is ahead of real time."""
        return self._ahead

    def set_offset(self, ahead: timedelta) -> None:
        """Take over a move."""
        self._ahead = max(self._ahead, ahead)

    def now(self) -> datetime:
        """Business time."""
        return self._real.real_now() + self._ahead

    def real_now(self) -> datetime:
        """Real time."""
        return self._real.real_now()


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The row: how far ahead, and how often it was moved."""

    ahead: timedelta
    version: int


async def read_offset(tx: Tx) -> ClockOffset:
    """The deployment's offset."""
    row = await tx.fetchrow("select clock_offset, version from business_clock")
    assert row is not None
    return ClockOffset(row["clock_offset"], row["version"])


async def try_lock_clock(tx: Tx) -> bool:
    """Keep others from moving the clock until the transaction ends; False while somebody moves it."""
    return bool(await tx.fetchval("select pg_try_advisory_xact_lock(hashtext('business clock'))"))


async def set_offset(tx: Tx, ahead: timedelta) -> ClockOffset:
    """Set the offset; never back."""
    row = await tx.fetchrow(
        "update business_clock set clock_offset = greatest(clock_offset, $1), version = version + 1 returning "
        "clock_offset, version",
        ahead,
    )
    assert row is not None
    tx.after_commit(WAKEUP.notify)
    return ClockOffset(row["clock_offset"], row["version"])


class ClockSynchroniser:
    """Keeps one process's clock in step with the row, and says so with its pulse."""

    def __init__(self, db: Database, clock: MovableClock, pulse: Heartbeat, telemetry: Telemetry) -> None:
        self._db = db
        self._clock = clock
        self._pulse = pulse
        self._telemetry = telemetry

    async def synchronise(self) -> bool:
        """Take over a move, if there was one; whether there was."""
        async with self._db.read() as tx:
            offset = await read_offset(tx)
        return await self.apply_offset(offset)

    async def apply_offset(self, offset: ClockOffset) -> bool:
        """Live in the moved time from now on; whether it is another one."""
        self._clock.set_offset(offset.ahead)
        if offset.version <= self._pulse.clock_version:
            return False
        self._pulse.clock_version = offset.version
        await self._pulse.beat()
        return True

    async def run(self, stop: asyncio.Event) -> None:
        """Look until ``stop`` is set: at once after a move by this process, within half a second after others'."""
        pace = PollBackoff()
        with WAKEUP.listener() as ear:
            while not stop.is_set():
                try:
                    if await self.synchronise():
                        pace.reset()
                except DATABASE_ERRORS as error:
                    self._telemetry.log("clock_waits", self._clock.real_now(), **failure_log_fields(error))
                await pace.wait_for_work(ear)

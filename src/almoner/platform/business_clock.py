"""The business clock: real time plus an offset that all processes share (settled 9, architecture 5).

Production never moves it. In the sandbox each process polls the stored offset a few times a second and records when it
has applied it, so that the caller who moved the clock can wait for the whole deployment.
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

_WAKEUP: Final = Wakeup()
"""Notified after this process moved the clock."""


class MovableClock(Clock, Protocol):
    """A clock whose business time can be moved ahead."""

    @property
    def offset(self) -> timedelta:
        """How far business time is ahead of real time."""
        ...

    def advance_to_offset(self, offset: timedelta) -> None:
        """Move business time ahead; never back."""
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

    def advance_to_offset(self, offset: timedelta) -> None:
        """Apply an offset."""
        self._ahead = max(self._ahead, offset)

    def now(self) -> datetime:
        """Business time."""
        return self._real.real_now() + self._ahead

    def real_now(self) -> datetime:
        """Real time."""
        return self._real.real_now()


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The stored offset: how far ahead, and a version that rises with each move."""

    ahead_by: timedelta
    version: int


async def read_offset(tx: Tx) -> ClockOffset:
    """The deployment's stored offset."""
    row = await tx.fetchrow("select clock_offset, version from business_clock")
    assert row is not None
    return ClockOffset(row["clock_offset"], row["version"])


async def try_lock_clock(tx: Tx) -> bool:
    """Lock the clock until the transaction ends; False if it is locked."""
    return bool(await tx.fetchval("select pg_try_advisory_xact_lock(hashtext('business clock'))"))


async def store_offset(tx: Tx, offset: timedelta) -> ClockOffset:
    """Store a new offset; never back."""
    row = await tx.fetchrow(
        "update business_clock set clock_offset = greatest(clock_offset, $1), version = version + 1 returning "
        "clock_offset, version",
        offset,
    )
    assert row is not None
    tx.add_commit_callback(_WAKEUP.notify)
    return ClockOffset(row["clock_offset"], row["version"])


class ClockOffsetSynchroniser:
    """Keeps this process's clock equal to the stored offset."""

    def __init__(self, db: Database, clock: MovableClock, pulse: Heartbeat, telemetry: Telemetry) -> None:
        self._db = db
        self._clock = clock
        self._pulse = pulse
        self._telemetry = telemetry

    async def apply_stored_offset(self) -> bool:
        """Apply the stored offset; True if it changed."""
        async with self._db.read() as tx:
            offset = await read_offset(tx)
        return await self.apply_offset(offset)

    async def apply_offset(self, offset: ClockOffset) -> bool:
        """Apply an offset to this process's clock; True if it is a different one."""
        self._clock.advance_to_offset(offset.ahead_by)
        if offset.version <= self._pulse.clock_version:
            return False
        self._pulse.clock_version = offset.version
        await self._pulse.record_heartbeat()
        return True

    async def run(self, stop: asyncio.Event) -> None:
        """Synchronise until ``stop`` is set, within half a second of each move."""
        pace = PollBackoff()
        with _WAKEUP.listener() as ear:
            while not stop.is_set():
                try:
                    if await self.apply_stored_offset():
                        pace.reset()
                except DATABASE_ERRORS as error:
                    self._telemetry.log("clock_waits", self._clock.real_now(), **failure_log_fields(error))
                await pace.wait_for_work(ear)

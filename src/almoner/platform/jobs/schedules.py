"""Runs periodic jobs when they are due, one process at a time for each (architecture 5)."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Final

from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs.background_tasks import Schedule
from almoner.platform.jobs.due_times import DueTimes, read_due_times
from almoner.platform.jobs.wakeup import wait_until_set
from almoner.platform.observability.failures import (
    DATABASE_ERRORS,
    TIMEOUT_ERRORS,
    UNAVAILABLE_ERRORS,
    failure_log_fields,
)
from almoner.platform.observability.telemetry import Telemetry

_LOOK_SECONDS: Final = 1.0
_REST_SECONDS: Final = 5.0
_LONGEST_ERROR: Final = 500
_STATES: Final = "select name, last_run_at, failed_at, last_error, run_requested_at from schedule"


@dataclass(frozen=True, slots=True)
class PeriodicJob:
    """A periodic job and its last run. ``next_run_at``: None if nothing waits for it.

    ``failed_at``, ``last_error``: of the last run, if it failed: the class and place of the error, as its message may
    contain user data. ``requested``: an operator wants it run now.
    """

    name: str
    every: timedelta | None
    next_run_at: datetime | None
    last_run_at: datetime | None
    failed_at: datetime | None
    last_error: str | None
    requested: bool


class ScheduleRunner:
    """Runs the periodic jobs."""

    def __init__(self, db: Database, schedules: Sequence[Schedule], telemetry: Telemetry) -> None:
        self._db = db
        self._schedules = schedules
        self._telemetry = telemetry
        self._registered = False
        self._resting: dict[str, float] = {}
        self._looked: dict[str, int] = {}

    async def run_due_jobs(self) -> int:
        """Run every due periodic job to its end; returns how many records were processed."""
        return await self._sweep(self._schedules, await self._requested())

    async def _sweep(self, schedules: Sequence[Schedule], requested: Collection[str]) -> int:
        await self._register()
        handled, due = 0, await self._due_times(schedules)
        for schedule in schedules:
            if self._resting.get(schedule.name, 0.0) > monotonic():
                continue
            try:
                handled += await self._to_the_end(schedule, due, requested=schedule.name in requested)
                self._resting.pop(schedule.name, None)
            except Exception as error:
                if isinstance(error, TIMEOUT_ERRORS):  # other schedules still have their turn
                    self._telemetry.statement_timeouts.labels(schedule.name).inc()
                elif isinstance(error, UNAVAILABLE_ERRORS):
                    raise
                real_now, failure = self._db.deployment.clock.real_now(), failure_log_fields(error)
                self._telemetry.log("schedule_failed", real_now, schedule=schedule.name, **failure)
                await self._record_failure(schedule, f"{failure['error']} at {failure['where']}")
                self._resting[schedule.name] = monotonic() + _REST_SECONDS
        return handled

    async def _due_times(self, schedules: Sequence[Schedule]) -> DueTimes | None:
        """When periodic jobs are due, except those that failed last: one that cannot tell must not stop the others.

        None if that fails; each is asked by itself then.
        """
        try:
            async with self._db.read() as tx:
                return await read_due_times(tx, [one for one in schedules if one.name not in self._resting])
        except Exception as error:
            if isinstance(error, UNAVAILABLE_ERRORS) and not isinstance(error, TIMEOUT_ERRORS):
                raise
            real_now = self._db.deployment.clock.real_now()
            self._telemetry.log("schedule_failed", real_now, schedule="due times", **failure_log_fields(error))
            return None

    async def _record_failure(self, schedule: Schedule, reason: str) -> None:
        """Store why a run failed, for operators."""
        with suppress(*DATABASE_ERRORS):
            async with self._db.write() as tx:
                await tx.execute(
                    "update schedule set failed_at = $2, last_error = $3, run_requested_at = null where name = $1",
                    schedule.name,
                    tx.now,
                    reason[:_LONGEST_ERROR],
                )

    async def _requested(self) -> Collection[str]:
        """The periodic jobs that an operator wants run now."""
        async with self._db.read() as tx:
            rows = await tx.fetch("select name from schedule where run_requested_at is not null")
        return {row["name"] for row in rows}

    async def _to_the_end(self, schedule: Schedule, due: DueTimes | None, *, requested: bool) -> int:
        if due is None or schedule.name not in due.due_times_by_name:
            async with self._db.read() as tx:
                due = await read_due_times(tx, [schedule])
        handled = 0
        if due.is_due(schedule, requested=requested):
            while batch := await self._batch(schedule, requested=requested):
                handled += batch
                if self._db.disk.is_low:
                    return handled  # continues once there is disk space
        if requested:
            async with self._db.write() as tx:
                await tx.execute("update schedule set run_requested_at = null where name = $1", schedule.name)
        self._looked[schedule.name] = schedule.period_number_at(due.now)
        return handled

    def _schedules_to_check(self, requested: Collection[str]) -> list[Schedule]:
        """All schedules except housekeeping ones already checked in their current period: those are due at its end."""
        now = self._db.deployment.clock.now()
        return [
            schedule
            for schedule in self._schedules
            if schedule.period is None
            or schedule.name in requested
            or self._looked.get(schedule.name) != schedule.period_number_at(now)
        ]

    async def _register(self) -> None:
        """Create the rows that runners lock."""
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

    async def _batch(self, schedule: Schedule, *, requested: bool) -> int:
        async with self._db.write() as tx:
            if not await _acquire(tx, schedule.name):
                return 0
            due = await (
                schedule.find_next_due(tx) if requested else schedule.due_at(tx)
            )  # another runner may have run it since the check
            if due is None or due > tx.now:
                return 0
            await tx.execute(
                "update schedule set last_run_at = $2, failed_at = null, last_error = null where name = $1",
                schedule.name,
                tx.now,
            )
            return await schedule.process_batch(tx)

    async def run(self, stop: asyncio.Event) -> None:
        """Run due jobs until ``stop`` is set."""
        while not stop.is_set():
            try:
                if not self._db.disk.is_low:
                    requested = await self._requested()
                    await self._sweep(self._schedules_to_check(requested), requested)
            except DATABASE_ERRORS as error:
                self._telemetry.log(
                    "scheduler_waits", self._db.deployment.clock.real_now(), **failure_log_fields(error)
                )
            await wait_until_set(stop, _LOOK_SECONDS)

    async def list_periodic_jobs(self, tx: Tx) -> list[PeriodicJob]:
        """All periodic jobs, with their last and next runs, by name."""
        due = await read_due_times(tx, self._schedules)
        rows: dict[str, Mapping[str, Any]] = {row["name"]: dict(row) for row in await tx.fetch(_STATES)}
        found = []
        for one in sorted(self._schedules, key=lambda schedule: schedule.name):
            known = rows.get(one.name, {})
            found.append(
                PeriodicJob(
                    one.name,
                    one.period,
                    due.due_at(one),
                    known.get("last_run_at"),
                    known.get("failed_at"),
                    known.get("last_error"),
                    known.get("run_requested_at") is not None,
                )
            )
        return found

    async def next_due_times(self, tx: Tx) -> list[datetime]:
        """The next due time of each periodic job, past or future."""
        due = await read_due_times(tx, self._schedules)
        return [moment for one in self._schedules if (moment := due.due_at(one)) is not None]

    async def sandbox_clock_limit(self, tx: Tx) -> datetime | None:
        """The time that the sandbox clock may not pass until the work due by then is done."""
        limits = [await one.sandbox_clock_limit(tx) for one in self._schedules if one.sandbox_clock_limit is not None]
        return min((moment for moment in limits if moment is not None), default=None)


async def request_schedule_run(tx: Tx, schedule_name: str) -> None:
    """Have a worker run a periodic job without waiting for the end of its period, if anything is due."""
    await tx.execute("update schedule set run_requested_at = $2 where name = $1", schedule_name, tx.now)


async def find_last_run_at(tx: Tx, schedule_name: str) -> datetime | None:
    """When the schedule last ran; None before the first time."""
    moment: datetime | None = await tx.fetchval("select last_run_at from schedule where name = $1", schedule_name)
    return moment


async def _acquire(tx: Tx, name: str) -> bool:
    """Lock the schedule's row until the transaction ends; False while another runner holds it."""
    held = await tx.fetchval("select true from schedule where name = $1 for update skip locked", name)
    return bool(held)

"""Runs jobs: claims them, records results in batches, renews leases, stops gracefully."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import Final

from almoner.platform.database.deadlines import Deadlines
from almoner.platform.database.identity import UnreleasedDatabaseCopy
from almoner.platform.database.transactions import BACKGROUND_SECONDS, Tx, set_statement_timeout
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.outside import report_waiting
from almoner.platform.jobs.queue import (
    Answer,
    FinishedJob,
    Job,
    JobDone,
    JobDropped,
    JobFailed,
    JobResultRecorded,
    JobRetry,
)
from almoner.platform.jobs.wakeup import PollBackoff, wait_for_wakeup
from almoner.platform.observability.failures import DATABASE_ERRORS, TIMEOUT_ERRORS, failure_log_fields
from almoner.platform.observability.telemetry import Telemetry

CONCURRENT_JOBS: Final = 24
"""The maximum number of concurrent jobs without a lane in one process."""
_CONCURRENT_LANE_JOBS: Final = 256
"""The maximum number of concurrent lane jobs in one process: they mostly wait for receivers, and use separate slots."""
_CONCURRENT_OUTSIDE_JOBS: Final = 256
"""The maximum number of jobs without a lane that wait for a mail server, provider or storage, besides running ones."""
_STOP_SECONDS: Final = 20.0

_LONGEST_REASON: Final = 200
_MOST_TIME: Final = timedelta(minutes=10)
_NO_LIMITS: Final[Mapping[str, timedelta]] = {}
_CARE_SECONDS: Final = 5.0
_REST_SECONDS: Final = 1.0
_COPY_WAIT: Final = timedelta(minutes=1)


def _reason_field(result: "Answer | JobFailed") -> dict[str, object]:
    """The log field with the reason of a retried or dropped job."""
    told = result.result if isinstance(result, JobResultRecorded) else result
    reason = told.reason if isinstance(told, JobRetry | JobDropped | JobFailed) else None
    return {"reason": reason[:_LONGEST_REASON]} if reason else {}


class JobRunner:
    """Runs the jobs of one process.

    No job starts on an unreleased copy or while the disk is nearly full.

    A job runs for ten minutes at most, or as long as ``limits`` allows its kind; its lease is renewed meanwhile, so
    that a dead worker is noticed within a minute.
    """

    def __init__(
        self,
        context: JobContext,
        handlers: Mapping[str, Handler],
        telemetry: Telemetry,
        *,
        limits: Mapping[str, timedelta] = _NO_LIMITS,
        lane_places: int = _CONCURRENT_LANE_JOBS,
        stop_seconds: float = _STOP_SECONDS,
    ) -> None:
        self._context = replace(context, record_results=self._finish)
        self._limits = limits
        self._handlers = handlers
        self._telemetry = telemetry
        self._lane_places = lane_places
        self._stop_seconds = stop_seconds
        self._deadlines = Deadlines()
        self._running: dict[int, tuple[Job, asyncio.Task[None]]] = {}
        self._outside: set[int] = set()  # without a lane, waiting for an outside system
        self._finished: list[FinishedJob] = []
        self._after_lane = ""
        self._cared = monotonic()
        self._progress = asyncio.Event()
        self._claiming = False  # claims from lanes: one at a time
        self._told_to_stop = asyncio.Event()

    async def record_results_and_start_jobs(self) -> int:
        """Record finished jobs and start due ones; returns how many."""
        recorded = await self._record()
        active = self._context.db.deployment.identity.is_active
        if (active or self._running) and monotonic() - self._cared > _CARE_SECONDS:
            await self.maintain_leases()
        return recorded + (await self._start_due() if self._may_start else 0)

    async def wait_until_idle(self) -> None:
        """Wait until all started jobs have ended, and record them."""
        while self._running or self._finished:
            if self._running:
                await asyncio.wait([task for _, task in self._running.values()])
            await self._record()

    async def run(self, stop: asyncio.Event) -> None:
        """Run jobs until ``stop`` is set; then finish or release what is running."""
        pace, self._told_to_stop = PollBackoff(), stop
        with queue.WAKEUP.listener() as ear:
            self._progress = ear
            while not stop.is_set():
                try:
                    moved = await self.record_results_and_start_jobs()
                except DATABASE_ERRORS as error:
                    self._telemetry.log(
                        "runner_waits", self._context.db.deployment.clock.real_now(), **failure_log_fields(error)
                    )
                    await wait_for_wakeup(ear, _REST_SECONDS)
                    continue
                if moved:
                    pace.reset()
                else:
                    await pace.wait_for_work(ear)
        await self._stop()
        self._told_to_stop = asyncio.Event()

    @property
    def _may_start(self) -> bool:
        db = self._context.db
        return db.deployment.identity.is_active and not db.disk.is_low and not self._told_to_stop.is_set()

    async def _start_due(self) -> int:
        outside = min(len(self._outside), _CONCURRENT_OUTSIDE_JOBS)
        taken = await self._claim(CONCURRENT_JOBS - (len(self._running) - self._in_lanes() - outside))
        self._start(taken)
        return len(taken)

    def _in_lanes(self) -> int:
        return sum(1 for job, _ in self._running.values() if job.lane is not None)

    def _start(self, taken: Sequence[Job]) -> None:
        for job in taken:
            task = asyncio.create_task(self._perform(job), name=f"{job.kind} {job.id}")
            self._running[job.id] = (job, task)

    async def _claim(self, places: int) -> list[Job]:
        async with self._context.db.read() as tx:
            waiting = await queue.load_queue_availability(tx)
        plain = waiting.has_due_jobs_without_lane and places > 0
        laned = (waiting.has_lanes_with_room or waiting.has_due_lane_jobs) and self._in_lanes() < self._lane_places
        taken: list[Job] = []
        if not (plain or laned):
            return taken
        async with self._context.db.write() as tx:
            await tx.execute(queue.BY_INDEX)
            if plain:
                taken += await queue.claim_jobs(tx, places)
            if waiting.has_due_lane_jobs:
                await queue.mark_due_lane_jobs_ready(tx)
            if laned:
                taken += await self._claim_from_lanes(tx)
        return taken

    async def _claim_from_lanes(self, tx: Tx, leaving: int = 0) -> list[Job]:
        """Claim jobs for all free slots, including those of ``leaving``, which end with the transaction."""
        places = self._lane_places - (self._in_lanes() - leaving)
        if self._claiming or places <= 0:
            self._progress.set()  # poll again soon
            return []
        self._claiming, after = True, self._after_lane
        try:
            taken, self._after_lane = await queue.claim_lane_jobs(tx, after, places)
        finally:
            self._claiming = False
        if after and not taken:
            self._progress.set()  # start with the first lane again
        return taken

    async def _finish(self, tx: Tx, finished: Sequence[FinishedJob]) -> None:
        """Record results in the transaction of the jobs' effects, and claim lane jobs for their slots."""
        await tx.execute(queue.BY_INDEX)
        await queue.record_job_results(tx, finished)
        if self._may_start:
            tx.add_commit_callback(partial(self._start, await self._claim_from_lanes(tx, len(finished))))

    async def _perform(self, job: Job) -> None:
        result: Answer | JobFailed | None = None
        if job.lane is None:
            report_waiting.set(partial(self._note_waiting, job.id))
        try:
            result = await self._result(job)
        finally:
            self._outside.discard(job.id)
            if self._running.get(job.id, (None,))[0] is job:
                del self._running[job.id]
            if result is not None and not isinstance(result, JobResultRecorded):
                self._finished.append(FinishedJob(job, result))
                self._progress.set()

    def _note_waiting(self, job_id: int, waits: bool) -> None:
        if waits:
            self._outside.add(job_id)
            self._progress.set()
        else:
            self._outside.discard(job_id)

    async def _result(self, job: Job) -> Answer | JobFailed:
        handler = self._handlers.get(job.kind)
        if handler is None:
            return JobDropped(f"no handler of this version does {job.kind}")
        started = monotonic()
        own = self._limits.get(job.kind)
        seconds = (own or _MOST_TIME).total_seconds()
        result: Answer | JobFailed
        try:
            set_statement_timeout(seconds if own else BACKGROUND_SECONDS)  # of this task, which ends with the job
            result = await self._deadlines.run_with_timeout(handler(self._context, job), seconds)
        except UnreleasedDatabaseCopy as copy:  # detected while it ran
            result = JobRetry(_COPY_WAIT, str(copy))
        except Exception as error:  # noqa: BLE001 (a handler may raise anything)
            result = self._failed(job, error)
        outcome = type(result.result if isinstance(result, JobResultRecorded) else result).__name__.lower()
        self._telemetry.jobs.labels(job.kind, outcome).inc()
        self._telemetry.log(
            "job",
            self._context.db.deployment.clock.real_now(),
            kind=job.kind,
            job=job.id,
            attempt=job.attempt,
            result=outcome,
            ms=round((monotonic() - started) * 1000, 2),
            **_reason_field(result),
        )
        return result

    def _failed(self, job: Job, error: Exception) -> JobFailed:
        real_now = self._context.db.deployment.clock.real_now()
        self._telemetry.log(
            "job_failed", real_now, kind=job.kind, job=job.id, attempt=job.attempt, **failure_log_fields(error)
        )
        if isinstance(error, TIMEOUT_ERRORS):
            self._telemetry.statement_timeouts.labels(job.kind).inc()
        return JobFailed(f"{type(error).__name__} in attempt {job.attempt}")

    async def _record(self) -> int:
        """Record results in one transaction; they are kept while the database is unavailable."""
        finished, self._finished = self._finished, []
        if not finished:
            return 0
        try:
            all_done = all(isinstance(finish.result, JobDone) for finish in finished)
            async with self._context.db.open_transaction("single" if all_done else "write") as tx:
                await queue.record_job_results(tx, finished)
        except BaseException:
            self._finished = finished + self._finished
            raise
        return len(finished)

    async def maintain_leases(self) -> None:
        """Release jobs of dead workers, renew own leases, cancel jobs whose lease was lost."""
        self._cared = monotonic()
        async with self._context.db.write() as tx:
            await queue.release_expired_jobs(tx)
            ours = [job for job, _ in self._running.values()]
            stored = await queue.renew_leases_returning_held_job_ids(tx, ours) if ours else set()
        for job in ours:
            if job.id not in stored and job.id in self._running:
                self._running.pop(job.id)[1].cancel()

    async def _stop(self) -> None:
        tasks = [task for _, task in self._running.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=self._stop_seconds)
        left = list(self._running.values())
        for _, task in left:
            task.cancel()
        await asyncio.gather(*(task for _, task in left), return_exceptions=True)
        try:
            await self._record()
            if left:
                async with self._context.db.write() as tx:
                    await queue.release_jobs(tx, [job for job, _ in left])
        except DATABASE_ERRORS as error:
            # Without the database nothing can be released; the leases expire.
            self._telemetry.log(
                "runner_waits", self._context.db.deployment.clock.real_now(), **failure_log_fields(error)
            )

"""All background work of one process: dispatcher, audit chain, periodic jobs, queue."""

import asyncio
from datetime import datetime

from almoner.platform.audit.chain import AuditChainBuilder
from almoner.platform.database.disk_space import refuse_writes_when_disk_low
from almoner.platform.database.transactions import BACKGROUND_SECONDS, Database, Tx, statement_timeout
from almoner.platform.events import dispatcher, reaction_retries
from almoner.platform.events.dispatcher import EventDispatcher
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import BackgroundTasks, JobContext
from almoner.platform.jobs.runner import JobRunner
from almoner.platform.jobs.schedules import ScheduleRunner
from almoner.platform.observability.telemetry import Telemetry


class BackgroundWorker:
    """Runs all background work; ``drain`` runs what is due now and returns."""

    def __init__(self, db: Database, duties: BackgroundTasks, telemetry: Telemetry) -> None:
        self.db = db
        self.dispatcher = EventDispatcher(db, duties.reactions, telemetry)
        self.chainer = AuditChainBuilder(db, telemetry)
        self.sweeper = ScheduleRunner(db, duties.schedules, telemetry)
        self.runner = JobRunner(
            JobContext(db),
            {**duties.handlers, **reaction_retries.build_reaction_retry_handlers(duties.reactions)},
            telemetry,
            limits=duties.time_limits,
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Work until ``stop`` is set; running jobs are finished or released."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.dispatcher.run(stop))
            group.create_task(self.chainer.run(stop))
            group.create_task(self.sweeper.run(stop))
            group.create_task(self.runner.run(stop))

    async def drain(self) -> None:
        """Run events, periodic jobs and queued jobs until nothing is due."""
        # Not under the limits of the request that calls it.
        with statement_timeout(BACKGROUND_SECONDS), refuse_writes_when_disk_low(enabled=False):
            handled = 1
            while handled:
                handled = await self._pass_on_events() + await self.sweeper.run_due_jobs() + await self._drain_jobs()

    async def _pass_on_events(self) -> int:
        return await self.dispatcher.dispatch_next_events() + await self.chainer.chain_next_entries()

    async def _drain_jobs(self) -> int:
        """Run jobs and the events that follow until none is due: to ask each periodic job in between takes longer."""
        handled, moved = 0, 1
        while moved:
            moved = await self.runner.record_results_and_start_jobs()
            await self.runner.wait_until_idle()
            moved += await self._pass_on_events()
            handled += moved
        return handled

    async def count_outstanding_work(self, tx: Tx) -> int:
        """How much is due and not done: undispatched events, overdue periodic jobs, queued jobs."""
        overdue = sum(moment <= tx.now for moment in await self.sweeper.next_due_times(tx))
        return await dispatcher.count_undispatched_events(tx) + overdue + (await queue.queue_metrics(tx)).outstanding

    async def sandbox_clock_limit(self, tx: Tx) -> datetime | None:
        """The time that the sandbox clock may not pass until the work due by then is done."""
        return await self.sweeper.sandbox_clock_limit(tx)

    async def next_due_at(self, tx: Tx) -> datetime | None:
        """When the next work will be due."""
        job = await queue.next_job_due_at(tx)
        moments = [*await self.sweeper.next_due_times(tx), *([job] if job else [])]
        return min((moment for moment in moments if moment > tx.now), default=None)

"""The background loops of a server or worker process."""

import asyncio
from dataclasses import asdict
from itertools import count
from typing import Final

from almoner.giving.accounting.disputes import service as disputes
from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.checkout.card_testing import service as card_testing
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.verifications import service as verifications
from almoner.nonprofits.registers import service as registers
from almoner.platform.audit import chain as audit_chain
from almoner.platform.business_clock import ClockOffsetSynchroniser
from almoner.platform.events import dispatcher
from almoner.platform.jobs import queue
from almoner.platform.jobs.processes import Heartbeat, Role
from almoner.platform.jobs.rate_limit_sharing import CrossServerRateLimitSynchroniser
from almoner.platform.jobs.wakeup import wait_until_set
from almoner.platform.observability.failures import DATABASE_ERRORS, failure_log_fields
from almoner.screening.watchlists import service as watchlists
from almoner.validation.decisions.reviews import service as reviews
from almoner.wiring import Services, build_status_page_writer

_NOTE_SECONDS: Final = 5.0
_TURNS_OF_HISTORY: Final = 12
"""Metrics that read years of decisions are measured once in this many rounds."""


async def run_worker(services: Services, role: Role, stop: asyncio.Event) -> None:
    """Run the loops until ``stop`` is set, then finish or release what is in progress.

    Every server dispatches events too; only a worker (``role`` says) chains audit entries and runs jobs, sweeps and
    deliveries.
    """
    sharing = CrossServerRateLimitSynchroniser(services.db, services.rate_limiter, services.telemetry)
    pulse = Heartbeat(
        services.db, role, services.telemetry, sharing.set_server_count, lambda: services.dependency_monitor.results
    )
    watch = ClockOffsetSynchroniser(services.db, services.clock, pulse, services.telemetry)
    await watch.apply_stored_offset()
    await pulse.record_heartbeat()
    async with asyncio.TaskGroup() as group:
        background = services.background_worker
        group.create_task(background.dispatcher.run(stop) if role == "server" else background.run(stop))
        group.create_task(_record_uses_and_metrics(services, stop))
        group.create_task(services.api_requests.flush_until_stopped(stop))
        if services.settings.sandbox:
            group.create_task(watch.run(stop))
        group.create_task(pulse.run(stop))
        if role != "worker":
            group.create_task(sharing.run(stop))
        if role != "server":
            group.create_task(services.dependency_monitor.run(stop))
            group.create_task(build_status_page_writer(services).write_files_until_stopped(stop))
        group.create_task(services.event_waiters.run(stop))
        group.create_task(services.database_copy_monitor.run(stop))
        group.create_task(services.disk_space_monitor.run(stop))


async def run_due_work(services: Services) -> None:
    """Run everything that is due now, including work that follows from it."""
    await services.background_worker.drain()


async def _record_uses_and_metrics(services: Services, stop: asyncio.Event) -> None:
    """Store key uses and measure queues, every few seconds."""
    turns = count()
    while not stop.is_set():
        await wait_until_set(stop, _NOTE_SECONDS)
        try:
            await services.key_guard.flush_key_uses()
            async with services.db.read() as tx:
                services.telemetry.dispatch_lag.set(await dispatcher.dispatch_lag_seconds(tx))
                services.telemetry.audit_waiting.set(await audit_chain.measure_chain_lag_seconds(tx))
                figures = await queue.queue_metrics(tx)
                services.telemetry.tested_partners.set(
                    len(await card_testing.load_active_alert_expiries_by_partner(tx))
                )
                services.telemetry.disputes_open.set(await disputes.count_open(tx))
                services.telemetry.refunds_refused.set(await refunds.count_unresolved(tx))
                await bank_statements.collect_metrics(tx, services.telemetry)
                await registers.collect_metrics(tx, services.telemetry)
                await watchlists.collect_metrics(tx, services.telemetry)
                await reviews.collect_metrics(tx, services.telemetry)
                await verifications.collect_metrics(tx, services.telemetry)
                await payee_bank_accounts.collect_metrics(tx, services.telemetry)
                if next(turns) % _TURNS_OF_HISTORY == 0:
                    await reviews.collect_decision_metrics(tx, services.telemetry)
            for state, jobs in asdict(figures).items():
                services.telemetry.queue.labels(state).set(jobs)
        except DATABASE_ERRORS as error:
            services.telemetry.log("metrics_wait", services.clock.real_now(), **failure_log_fields(error))

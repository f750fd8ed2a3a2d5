"""Reports of providers that tell them by themselves are fetched; what could not be booked is looked at every night."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from almoner.giving.accounting.settlements import flows, service
from almoner.giving.accounting.settlements.domain import ImportInterrupted, Settlement, SettlementReportError
from almoner.giving.accounting.settlements.ports import PayoutReportSource
from almoner.giving.checkout.payments.domain import ProviderFailure
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDone, JobDropped, JobRetry, NewJob, Result

FETCH: Final = "settlements.fetch"
LIMITS: Final = {FETCH: timedelta(hours=2)}
"""A payout of 10,000 payments asks Stripe as many times which of them each is, each try from where the last ended."""
_AGAIN: Final = timedelta(minutes=5)
_TRIES: Final = 6
_REPORTED: Final = 500
_BY: Final = audit.Actor("system", FETCH)

schedules: Final = (Schedule("settlements.look_again", service.next_recheck_at, service.recheck_due_exceptions),)


async def fetch_reports(reports: PayoutReportSource, work: JobContext, job: Job) -> Result:
    """Book all that the provider has paid out and that is not booked yet; a report that fails holds up no other."""
    failures: list[str] = []
    async with work.db.read() as tx:
        since = tx.now - service.FETCH_LOOKBACK
    try:
        arrived = await reports.list_payouts(since)
        async with work.db.read() as tx:
            new = await service.missing_reports(tx, reports.name, arrived)
    except ProviderFailure as failure:
        return _retry_later(job, str(failure))
    for reference in new:
        try:
            await flows.import_parsed_report(work.db, await reports.fetch_report(reference), record=_audit_import)
        except (ProviderFailure, ImportInterrupted, SettlementReportError) as failure:
            failures.append(str(failure))
    return _retry_later(job, "; ".join(failures)) if failures else JobDone()


def _retry_later(job: Job, reason: str) -> Result:
    """Again in a moment, and then by the job of the next hour; this one stays for a person to look at."""
    return JobRetry(_AGAIN, reason[:_REPORTED]) if job.attempt < _TRIES else JobDropped(reason[:_REPORTED])


async def _audit_import(tx: Tx, settlement: Settlement) -> None:
    reported = {"reference": settlement.reference, "sha256": settlement.sha256}
    await audit.record_entry(tx, audit.DEPLOYMENT, _BY, "settlement.imported", settlement.provider, details=reported)


def handlers(reports: PayoutReportSource) -> Mapping[str, Handler]:
    """The job, with the provider that it asks."""
    return {FETCH: partial(fetch_reports, reports)}


def report_schedules(reports: PayoutReportSource) -> tuple[Schedule, ...]:
    """Every hour, once there are payments at the provider."""

    async def due(tx: Tx) -> datetime | None:
        return await service.next_fetch_at(tx, reports.name)

    async def check_due(tx: Tx) -> int:
        if not await service.claim_fetch(tx, reports.name):
            return 0
        await queue.enqueue_jobs(tx, [NewJob(FETCH, {})])
        return 1

    return (Schedule(FETCH, due, check_due),)

"""Fetches settlement reports from providers that publish them by API, and rechecks unmatched lines every night."""

from datetime import datetime, timedelta
from typing import Final

from almoner.giving.accounting.settlements import flows, service
from almoner.giving.accounting.settlements.domain import ImportInterrupted, Settlement, SettlementReportError
from almoner.giving.accounting.settlements.ports import PayoutReportSource
from almoner.giving.checkout.payments.domain import ProviderFailure
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, Job, JobDone, JobDropped, JobKind, JobRetry, NoDetails, Result

FETCH: Final = JobKind("settlements.fetch", NoDetails)
_LIMIT: Final = timedelta(hours=2)
"""A payout of 10,000 payments needs as many calls to Stripe to identify them; each attempt continues where the last
ended.
"""
_AGAIN: Final = timedelta(minutes=5)
_TRIES: Final = 6
_REPORTED: Final = 500
_BY: Final = audit.Actor("system", FETCH.name)

tasks: Final = TaskRegistry()
tasks.add_periodic_job(
    "settlements.recheck", service.next_unmatched_line_recheck_at, service.recheck_due_unmatched_lines
)

report_tasks: Final = DependentTaskRegistry[PayoutReportSource]()
"""Tasks for providers that publish their payouts by API."""


@report_tasks.job(FETCH, time_limit=_LIMIT)
async def fetch_payout_reports(reports: PayoutReportSource, context: JobContext, job: DecodedJob[NoDetails]) -> Result:
    """Book all provider payouts that are not yet booked; a report that fails does not stop the others."""
    failures: list[str] = []
    async with context.db.read() as tx:
        since = tx.now - service.FETCH_LOOKBACK
    try:
        arrived = await reports.list_payout_references(since)
        async with context.db.read() as tx:
            new = await service.list_missing_report_references(tx, reports.name, arrived)
    except ProviderFailure as failure:
        return _retry_later(job, str(failure))
    for reference in new:
        try:
            await flows.import_parsed_report(
                context.db, await reports.fetch_report(reference), on_finished=_audit_import
            )
        except (ProviderFailure, ImportInterrupted, SettlementReportError) as failure:
            failures.append(str(failure))
    return _retry_later(job, "; ".join(failures)) if failures else JobDone()


def _retry_later(job: Job, reason: str) -> Result:
    """Retry soon, and then with the next hourly job; this job stays for an operator."""
    return JobRetry(_AGAIN, reason[:_REPORTED]) if job.attempt < _TRIES else JobDropped(reason[:_REPORTED])


async def _audit_import(tx: Tx, settlement: Settlement) -> None:
    reported = {"reference": settlement.reference, "sha256": settlement.sha256.hex()}
    await audit.record_entry(tx, audit.DEPLOYMENT, _BY, "settlement.imported", settlement.provider, details=reported)


async def _fetch_due_at(reports: PayoutReportSource, tx: Tx) -> datetime | None:
    return await service.next_report_fetch_at(tx, reports.name)


async def _enqueue_fetch(reports: PayoutReportSource, tx: Tx) -> int:
    """Enqueue an hourly fetch, once there are payments at the provider; returns how many jobs."""
    if not await service.claim_report_fetch(tx, reports.name):
        return 0
    await FETCH.enqueue(tx, NoDetails())
    return 1


report_tasks.add_periodic_job(FETCH.name, _fetch_due_at, _enqueue_fetch)

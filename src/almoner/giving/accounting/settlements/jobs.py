"""Reports of providers that tell them by themselves are fetched; what could not be booked is looked at every night."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from almoner.giving.accounting.settlements import flows, service
from almoner.giving.accounting.settlements.domain import ImportInterrupted, ReportRefused, Settlement
from almoner.giving.accounting.settlements.ports import PayoutReports
from almoner.giving.checkout.payments.domain import ProviderFailure
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, Schedule, Work
from almoner.platform.jobs.queue import Done, Drop, Job, NewJob, Result, Retry

FETCH: Final = "settlements.fetch"
LIMITS: Final = {FETCH: timedelta(hours=2)}
"""A payout of 10,000 payments asks Stripe as many times which of them each is, each try from where the last ended."""
_AGAIN: Final = timedelta(minutes=5)
_TRIES: Final = 6
_TOLD: Final = 500
_BY: Final = audit.Actor("system", FETCH)

schedules: Final = (Schedule("settlements.look_again", service.next_check, service.look_nightly),)


async def fetch(reports: PayoutReports, work: Work, job: Job) -> Result:
    """Book all that the provider has paid out and that is not booked yet; a report that fails holds up no other."""
    failures: list[str] = []
    async with work.db.read() as tx:
        since = tx.now - service.FETCHED_BACK
    try:
        arrived = await reports.paid_out(since)
        async with work.db.read() as tx:
            new = await service.not_taken(tx, reports.name, arrived)
    except ProviderFailure as failure:
        return _failed(job, str(failure))
    for reference in new:
        try:
            await flows.take_report(work.db, await reports.report(reference), record=_record)
        except (ProviderFailure, ImportInterrupted, ReportRefused) as failure:
            failures.append(str(failure))
    return _failed(job, "; ".join(failures)) if failures else Done()


def _failed(job: Job, reason: str) -> Result:
    """Again in a moment, and then by the job of the next hour; this one stays for a person to look at."""
    return Retry(_AGAIN, reason[:_TOLD]) if job.attempt < _TRIES else Drop(reason[:_TOLD])


async def _record(tx: Tx, settlement: Settlement) -> None:
    told = {"reference": settlement.reference, "sha256": settlement.sha256}
    await audit.record(tx, audit.DEPLOYMENT, _BY, "settlement.imported", settlement.provider, details=told)


def handlers(reports: PayoutReports) -> Mapping[str, Handler]:
    """The job, with the provider that it asks."""
    return {FETCH: partial(fetch, reports)}


def fetching(reports: PayoutReports) -> tuple[Schedule, ...]:
    """Every hour, once there are payments at the provider."""

    async def due(tx: Tx) -> datetime | None:
        return await service.next_fetch(tx, reports.name)

    async def look(tx: Tx) -> int:
        if not await service.begin_fetch(tx, reports.name):
            return 0
        await queue.enqueue_all(tx, [NewJob(FETCH, {})])
        return 1

    return (Schedule(FETCH, due, look),)

"""Refresh lists on a schedule: fetch their files, and import them if they changed, one list at a time."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, JobRetry, Result
from almoner.platform.jobs.refresh_schedule import ScheduledRefresh, retry_delay
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound import fetching
from almoner.platform.outbound.client import OutboundClient
from almoner.platform.outbound.fetching import FetchRefused
from almoner.screening.watchlists import flows, store_refresh
from almoner.screening.watchlists.domain import WatchlistImport, WatchlistImportChecksFailed, WatchlistImportRefused
from almoner.screening.watchlists.ports import WatchlistSource
from almoner.screening.watchlists.store_refresh import Status


class RefreshWatchlistJob(msgspec.Struct, frozen=True):
    """The list to refresh."""

    list: str


REFRESH: Final = JobKind("watchlists.refresh", RefreshWatchlistJob)
_LANE: Final = "watchlists"
_SCHEDULE: Final = audit.Actor("system", REFRESH.name)
_FETCHING_SECONDS: Final = 1_800.0
"""The time limit of one job; what was fetched is kept, and the next job continues there."""
_LIMIT: Final = timedelta(hours=1)

PlannedRefresh = ScheduledRefresh[WatchlistSource]


@dataclass(frozen=True, slots=True)
class WatchlistRefreshContext:
    """What refreshing needs. ``download_folder``: has a folder of fetched files for each list."""

    schedule: Sequence[PlannedRefresh]
    outbound: OutboundClient
    download_folder: Path
    telemetry: Telemetry


refresh_tasks: Final = DependentTaskRegistry[WatchlistRefreshContext]()


@refresh_tasks.job(REFRESH, time_limit=_LIMIT)
async def refresh_watchlist(
    refresh_context: WatchlistRefreshContext, context: JobContext, job: DecodedJob[RefreshWatchlistJob]
) -> Result:
    """Fetch the files of a list and load them when one has changed."""
    planned = next((one for one in refresh_context.schedule if one.source == job.details.list), None)
    if planned is None:
        return JobDone()  # no longer in the schedule
    folder, real_now = refresh_context.download_folder / planned.source, context.db.deployment.clock.real_now
    try:
        async with asyncio.timeout(_FETCHING_SECONDS):
            files = [
                (await fetching.fetch_file(refresh_context.outbound, folder, url, real_now)).path
                for url in planned.urls
            ]
        status = await _load(context.db, planned, files)
    except TimeoutError:
        return JobRetry(timedelta(), "its files are still downloading")
    except WatchlistImportChecksFailed as error:
        await _record_attempt(refresh_context, context.db, planned, "refused", "; ".join(error.load.reasons))
    except (FetchRefused, WatchlistImportRefused) as error:
        await _record_attempt(refresh_context, context.db, planned, "failed", str(error))
    else:
        await _record_attempt(refresh_context, context.db, planned, status, None)
    return JobDone()


async def _load(db: Database, planned: PlannedRefresh, files: Sequence[Path]) -> Status:
    async def record(tx: Tx, load: WatchlistImport) -> None:
        action = "watchlist.refused" if load.status == "refused" else "watchlist.imported"
        reported: audit.Details = {"version": load.version_label, "entries": load.entries}
        if load.list != planned.source:
            action, reported = "watchlist.retired", {"entries": load.removed}
        await audit.record_entry(tx, audit.DEPLOYMENT, _SCHEDULE, action, load.list, details=reported)

    load = await flows.import_watchlist(
        db, planned.format, files, fetched_from=planned.urls, fail_if_already_refused=True, record_audit=record
    )
    return "unchanged" if load.status == "unchanged" else "loaded"


async def _record_attempt(
    refresh_context: WatchlistRefreshContext, db: Database, planned: PlannedRefresh, status: Status, reason: str | None
) -> None:
    async with db.write() as tx:
        failures = 0
        if status == "failed":
            failures = await store_refresh.count_consecutive_refresh_failures(tx, planned.source) + 1
        retry_after = retry_delay(failures, planned.interval) if failures else None
        await store_refresh.record_refresh_attempt(tx, planned.source, status, reason, failures, retry_after)
    refresh_context.telemetry.log(
        "watchlist_refresh",
        db.deployment.clock.real_now(),
        level="error" if status in ("failed", "refused") else "info",
        list=planned.source,
        status=status,
        reason=reason,
    )


async def is_refresh_scheduled(tx: Tx, watchlist_code: str) -> bool:
    """Whether the schedule names the list."""
    return await store_refresh.is_refresh_scheduled(tx, watchlist_code)


async def enqueue_refresh(tx: Tx, watchlist_code: str) -> None:
    """Enqueue a refresh of a list now; unchanged files change nothing."""
    await REFRESH.enqueue(tx, RefreshWatchlistJob(watchlist_code), lane=_LANE, unique_key=watchlist_code)


async def _next_due_at(refresh_context: WatchlistRefreshContext, tx: Tx) -> datetime | None:
    return await store_refresh.next_refresh_due_at(tx, refresh_context.schedule)


async def _enqueue(refresh_context: WatchlistRefreshContext, tx: Tx) -> int:
    """Enqueue a job for each list that is due; an empty plan clears the schedule. Processes no records."""
    due = await store_refresh.claim_due_watchlists(tx, refresh_context.schedule)
    await queue.enqueue_jobs(
        tx, [REFRESH.build_job(RefreshWatchlistJob(one), lane=_LANE, unique_key=one) for one in due]
    )
    return 0


refresh_tasks.add_periodic_job(REFRESH.name, _next_due_at, _enqueue)

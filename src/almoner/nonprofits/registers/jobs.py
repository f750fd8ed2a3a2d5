"""Refreshes registers on a schedule: fetched, and loaded one at a time if they changed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

import msgspec

from almoner.access.operators import service as operators
from almoner.access.security_emails import service as security_emails
from almoner.nonprofits.registers import flows, store, store_refresh, store_status
from almoner.nonprofits.registers.domain import (
    QUARANTINED,
    ImportRefused,
    RegisterImport,
    RegisterImportQuarantined,
    RegisterQuarantinedEvent,
)
from almoner.nonprofits.registers.schedule import Refresh as Refresh
from almoner.nonprofits.registers.schedule import RefreshStatus
from almoner.nonprofits.registers.uploading import RegisterUploadContext as RegisterUploadContext
from almoner.nonprofits.registers.uploading import enqueue_import as enqueue_import
from almoner.nonprofits.registers.uploading import upload_tasks as upload_tasks
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobDropped, JobKind, JobRetry, Result
from almoner.platform.jobs.refresh_schedule import retry_delay
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound import fetching
from almoner.platform.outbound.client import OutboundClient
from almoner.platform.outbound.fetching import FetchedFile, FetchRefused


class RefreshSourceJob(msgspec.Struct, frozen=True):
    """The source to refresh."""

    source: str


class ReleaseQuarantinedImportJob(msgspec.Struct, frozen=True):
    """A quarantined load that an operator has released; ``by``: their text ID."""

    load: UUID
    by: str


REFRESH: Final = JobKind("registers.refresh", RefreshSourceJob)
RELEASE: Final = JobKind("registers.release", ReleaseQuarantinedImportJob)
_LANE: Final = "registers"
_SCHEDULE: Final = audit.Actor("system", REFRESH.name)
_FETCHING_SECONDS: Final = 3_600.0
"""The share of a job's time for fetching; fetched files are kept, and the next run continues from there."""
LIMIT: Final = timedelta(hours=12)
"""Two million organisations take minutes to read and merge, longer on a small machine or under load.

If a job is killed earlier, what it read is kept and the next run continues.
"""


@dataclass(frozen=True, slots=True)
class RegisterRefreshContext:
    """The dependencies of refreshing. ``download_folder``: of fetched files, with a folder for each source."""

    schedule: Sequence[Refresh]
    outbound: OutboundClient
    download_folder: Path
    telemetry: Telemetry


tasks: Final = TaskRegistry()
refresh_tasks: Final = DependentTaskRegistry[RegisterRefreshContext]()


@refresh_tasks.job(REFRESH, time_limit=LIMIT)
async def refresh_source(
    refresh_context: RegisterRefreshContext, context: JobContext, job: DecodedJob[RefreshSourceJob]
) -> Result:
    """Fetch the files of a source and load them when one has changed."""
    source = job.details.source
    planned = next((one for one in refresh_context.schedule if one.source == source), None)
    if planned is None:
        return JobDone()  # no longer in the schedule
    async with context.db.read() as tx:
        before = await store_refresh.find_refresh_status(tx, source) or RefreshStatus(None)
        last = await store_refresh.list_fetched_file_hashes_and_dates(tx, before.import_id) if before.import_id else []
    try:
        async with asyncio.timeout(_FETCHING_SECONDS):
            fetched = await _fetch(refresh_context, context.db, planned)
    except TimeoutError:
        return JobRetry(timedelta(), "its files are still downloading")
    except FetchRefused as error:
        await _record_failure(refresh_context, context.db, planned, before, str(error))
        return JobDone()
    if before.status not in (None, "failed") and [(one.sha256, one.last_modified) for one in fetched] == last:
        # Quarantined files stay so until the publisher sends another file.
        left = before if before.status == "quarantined" else RefreshStatus("unchanged", import_id=before.import_id)
        await _record_attempt(refresh_context, context.db, source, left)
        return JobDone()
    await _load(refresh_context, context.db, planned, before, fetched)
    return JobDone()


@refresh_tasks.job(RELEASE, time_limit=LIMIT)
async def import_released_files(
    refresh_context: RegisterRefreshContext, context: JobContext, job: DecodedJob[ReleaseQuarantinedImportJob]
) -> Result:
    """Load a released load's files unchanged, if the publisher still provides the same ones."""
    async with context.db.read() as tx:
        load = await store.find_import(tx, job.details.load)
        wanted = (
            []
            if load is None
            else [sha256 for _, sha256 in await store_status.list_fetched_urls_and_hashes(tx, load.id)]
        )
    planned = next((one for one in refresh_context.schedule if load is not None and one.source == load.source), None)
    if load is None or planned is None:
        return JobDropped("the schedule no longer names the source of this import")
    async with context.db.read() as tx:
        before = await store_refresh.find_refresh_status(tx, load.source) or RefreshStatus(None)
    try:
        async with asyncio.timeout(_FETCHING_SECONDS):
            fetched = await _fetch(refresh_context, context.db, planned)
    except TimeoutError:
        return JobRetry(timedelta(), "its files are still downloading")
    except FetchRefused as error:
        return JobRetry(retry_delay(before.failures + 1, planned.interval), str(error))
    if [one.sha256 for one in fetched] != wanted:
        return JobDropped("the publisher has replaced the files that were released: see the newest import")

    async def record(tx: Tx, register_import: RegisterImport) -> None:
        await store_refresh.insert_fetched_files(tx, register_import.id, fetched)
        actor = audit.Actor("operator", job.details.by)
        details: audit.Details = {"data_of": f"{register_import.data_as_of:%Y-%m-%d}", "forced": True}
        await audit.record_entry(
            tx, audit.DEPLOYMENT, actor, "register.imported", register_import.registry_code, details=details
        )

    try:
        made = await flows.import_files(
            context.db,
            planned.format,
            [one.path for one in fetched],
            as_of=load.data_as_of,
            force=True,
            record_audit=record,
        )
    except ImportRefused as error:
        return JobDropped(str(error))
    await _record_attempt(refresh_context, context.db, load.source, RefreshStatus("loaded", import_id=made.id))
    return JobDone()


async def enqueue_quarantine_release(tx: Tx, import_id: UUID, released_by: str) -> None:
    """Enqueue the import of a quarantined load as it is."""
    await RELEASE.enqueue(
        tx, ReleaseQuarantinedImportJob(import_id, released_by), lane=_LANE, unique_key=str(import_id)
    )


async def enqueue_refresh(tx: Tx, source: str) -> None:
    """Enqueue a refresh of a source, which is imported if its files have changed."""
    await REFRESH.enqueue(tx, RefreshSourceJob(source), lane=_LANE, unique_key=source)


async def _fetch(refresh_context: RegisterRefreshContext, db: Database, planned: Refresh) -> list[FetchedFile]:
    folder, real_now = refresh_context.download_folder / planned.source, db.deployment.clock.real_now
    return [await fetching.fetch_file(refresh_context.outbound, folder, url, real_now) for url in planned.urls]


async def _load(
    refresh_context: RegisterRefreshContext,
    db: Database,
    planned: Refresh,
    before: RefreshStatus,
    fetched: Sequence[FetchedFile],
) -> None:
    async def record(tx: Tx, load: RegisterImport) -> None:
        await store_refresh.insert_fetched_files(tx, load.id, fetched)
        action = "register.quarantined" if load.status == "quarantined" else "register.imported"
        data_of = {"data_of": f"{load.data_as_of:%Y-%m-%d}"}
        await audit.record_entry(tx, audit.DEPLOYMENT, _SCHEDULE, action, load.source, details=data_of)

    try:
        async with db.write() as tx:
            if (entered := await flows.create_declared_registry(tx, planned.format)) is not None:
                named = {"name": entered.name, "country": entered.country_code, "by": planned.source}
                await audit.record_entry(tx, audit.DEPLOYMENT, _SCHEDULE, "registry.added", entered.code, details=named)
        load = await flows.import_files(db, planned.format, [one.path for one in fetched], record_audit=record)
    except RegisterImportQuarantined as reject_row:
        stored = reject_row.load
        await _record_attempt(
            refresh_context,
            db,
            planned.source,
            RefreshStatus("quarantined", import_id=stored.id),
            "; ".join(stored.reasons),
        )
    except ImportRefused as error:
        await _record_failure(refresh_context, db, planned, before, str(error))
    else:
        unchanged = load.status == "unchanged"
        refresh = (
            RefreshStatus("unchanged", import_id=before.import_id)
            if unchanged
            else RefreshStatus("loaded", import_id=load.id)
        )
        await _record_attempt(refresh_context, db, planned.source, refresh)


async def _record_failure(
    refresh_context: RegisterRefreshContext, db: Database, planned: Refresh, before: RefreshStatus, reason: str
) -> None:
    failures = before.failures + 1
    refresh = RefreshStatus("failed", failures, before.import_id)
    await _record_attempt(refresh_context, db, planned.source, refresh, reason, retry_delay(failures, planned.interval))


async def _record_attempt(
    refresh_context: RegisterRefreshContext,
    db: Database,
    source: str,
    refresh: RefreshStatus,
    reason: str | None = None,
    again: timedelta | None = None,
) -> None:
    async with db.write() as tx:
        await store_refresh.record_refresh_attempt(tx, source, refresh, reason, again)
    refresh_context.telemetry.log(
        "register_refresh",
        db.deployment.clock.real_now(),
        level="error" if refresh.status in ("failed", "quarantined") else "info",
        source=source,
        status=refresh.status,
        reason=reason,
    )


@tasks.on_internal_event(QUARANTINED)
async def on_register_quarantined(tx: Tx, quarantined: Sequence[RegisterQuarantinedEvent]) -> None:
    """Email every administrator that a register was not replaced, and why."""
    administrators = await operators.list_administrators(tx)
    for reported in quarantined:
        facts = {"Data of": f"{reported.data_as_of:%Y-%m-%d}", "Why": "; ".join(reported.reasons)}
        for person in administrators:
            await security_emails.enqueue_email(
                tx, person, "register_quarantined", placeholder_values={"source": reported.source}, detail_lines=facts
            )


async def _next_due_at(refresh_context: RegisterRefreshContext, tx: Tx) -> datetime | None:
    return await store_refresh.next_refresh_due_at(tx, refresh_context.schedule)


async def _enqueue(refresh_context: RegisterRefreshContext, tx: Tx) -> int:
    """Enqueue a refresh of due sources; an empty schedule removes an earlier one.

    Returns 0, as it processes no record.
    """
    await store_refresh.store_refresh_schedule(tx, refresh_context.schedule)
    due = await store_refresh.claim_sources_due_for_refresh(tx)
    await queue.enqueue_jobs(tx, [REFRESH.build_job(RefreshSourceJob(one), lane=_LANE, unique_key=one) for one in due])
    return 0


refresh_tasks.add_periodic_job(REFRESH.name, _next_due_at, _enqueue)

"""Rescreening: after a list update only subjects that it could affect, after an engine update all."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, Result
from almoner.platform.jobs.schedules import find_last_run_at
from almoner.platform.observability.failures import UNAVAILABLE_ERRORS
from almoner.screening.screenings import service as screenings
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists.domain import LOADED, WatchlistImportEvent
from almoner.validation.ongoing.matches import service

_MAX_SUBJECTS_PER_JOB: Final = 50_000
"""How many subjects one job screens: about ten seconds of work."""
_FIRST: Final = UUID(int=0)
_LANE: Final = "screening"
_RETRY_DELAY: Final = timedelta(minutes=10)


tasks: Final = TaskRegistry()
screening_tasks: Final = DependentTaskRegistry[Screener]()


@screening_tasks.job(service.RESCREEN)
async def rescreen_after_import_job(
    screener: Screener, context: JobContext, job: DecodedJob[service.RescreenAfterImportJob]
) -> Result:
    """See ``rescreen_after_import``."""
    return await rescreen_after_import(screener, context, job.details)


@screening_tasks.job(service.RESCREEN_OUTDATED)
async def rescreen_outdated_subjects_job(
    screener: Screener, context: JobContext, job: DecodedJob[service.RescreenOutdatedSubjectsJob]
) -> Result:
    """See ``rescreen_outdated_subjects``."""
    return await rescreen_outdated_subjects(screener, context, job.details.after)


@screening_tasks.job(service.RESCREEN_SUBJECT)
async def rescreen_subject(
    screener: Screener, context: JobContext, job: DecodedJob[service.RescreenSubjectJob]
) -> Result:
    """Rescreen one subject."""
    await screener.run_with_current_watchlists(context.db, partial(service.rescreen, screener, job.details.subject))
    return JobDone()


async def rescreen_after_import(
    screener: Screener,
    context: JobContext,
    job_details: service.RescreenAfterImportJob,
    *,
    max_subjects: int = _MAX_SUBJECTS_PER_JOB,
) -> Result:
    """Screen subjects again whose matches a load ended, then those that match its new entries.

    Each job screens a limited number and enqueues the next: a job that exceeds its time limit is killed and would
    restart forever.
    """
    follow = _rescreen_ended if job_details.stage == "ended" else _rescreen_added
    after = await follow(screener, context, job_details.load, job_details.after or _FIRST, max_subjects)
    async with context.db.write() as tx:
        if after is not None:
            await service.RESCREEN.enqueue(tx, msgspec.structs.replace(job_details, after=after))
        elif job_details.stage == "ended":
            await service.RESCREEN.enqueue(tx, service.RescreenAfterImportJob(job_details.load, "brought"))
        else:
            await screenings.emit_import_screening_completed(tx, job_details.load)
    return JobDone()


async def rescreen_outdated_subjects(
    screener: Screener, context: JobContext, after_subject_id: UUID, *, max_subjects: int = _MAX_SUBJECTS_PER_JOB
) -> Result:
    """Screen the next subjects of an older engine version again, and enqueue the rest."""
    limit = max(1, max_subjects // 10)
    async with context.db.read() as tx:
        found = await screenings.list_subject_ids_screened_by_older_engine(tx, after_subject_id, limit)
    await _rescreen_subjects(screener, context, found)
    if len(found) == limit:
        async with context.db.write() as tx:
            await _enqueue_renewal(tx, found[-1])
    return JobDone()


async def _enqueue_renewal(tx: Tx, after: UUID) -> None:
    await service.RESCREEN_OUTDATED.enqueue(
        tx, service.RescreenOutdatedSubjectsJob(after), lane=_LANE, unique_key=str(after)
    )


async def _renewal_due(tx: Tx) -> datetime | None:
    """Now if a subject was screened by an older engine; after a delay if a job ran already. None if all are current."""
    if not await screenings.has_subjects_screened_by_older_engine(tx):
        return None
    ran = await find_last_run_at(tx, service.RESCREEN_OUTDATED.name)
    return tx.now if ran is None else ran + _RETRY_DELAY


async def _begin_renewal(tx: Tx) -> int:
    """Enqueue the job. Returns 0, since this task itself handles no record."""
    await _enqueue_renewal(tx, _FIRST)
    return 0


async def _rescreen_ended(
    screener: Screener, context: JobContext, load: UUID, after: UUID, at_most: int
) -> UUID | None:
    """Rescreen the next subjects whose matches the load ended or changed; returns the last one, None at the end."""
    limit = max(1, at_most // 10)  # each of them is compared with all lists
    async with context.db.read() as tx:
        found = await screenings.list_subject_ids_affected_by_import(tx, load, after, limit)
    await _rescreen_subjects(screener, context, found)
    return found[-1] if len(found) == limit else None


async def _rescreen_added(
    screener: Screener, context: JobContext, load: UUID, after: UUID, at_most: int
) -> UUID | None:
    """Rescreen the next watched subjects that match the load's entries; returns the last one seen, None at the end."""
    async with context.db.read() as tx:
        fresh = await screenings.build_import_index(tx, load)
        covers = await screenings.has_category_coverage_changed(tx, load)
    looked = 0
    while looked < at_most:
        async with context.db.read() as tx:
            found, last = await screenings.find_next_subject_ids_with_hits(tx, fresh, after)
        await _rescreen_subjects(screener, context, found)
        if last is None:
            return None
        if covers:  # the list covers a new category, which changes every subject's result
            async with context.db.write() as tx:
                await screenings.emit_screening_changed(tx, after, last)
        looked, after = looked + screenings.BATCH_SIZE, last
    return after


async def _rescreen_subjects(screener: Screener, context: JobContext, subjects: Sequence[UUID]) -> None:
    """Rescreen each subject; one that fails gets a job of its own, so that it does not block the others."""
    for subject in subjects:
        try:
            await screener.run_with_current_watchlists(context.db, partial(service.rescreen, screener, subject))
        except Exception as error:
            if isinstance(error, UNAVAILABLE_ERRORS):
                raise
            async with context.db.write() as tx:
                await service.RESCREEN_SUBJECT.enqueue(
                    tx, service.RescreenSubjectJob(subject), lane=_LANE, unique_key=str(subject)
                )


@tasks.on_internal_event(LOADED)
async def on_watchlist_imported(tx: Tx, events: Sequence[WatchlistImportEvent]) -> None:
    """Enqueue rescreening for each loaded version."""
    for one in events:
        await service.RESCREEN.enqueue(tx, service.RescreenAfterImportJob(one.load), unique_key=str(one.load))


tasks.add_periodic_job(service.RESCREEN_OUTDATED.name, _renewal_due, _begin_renewal)

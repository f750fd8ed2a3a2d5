"""Comparing again: when a list has another version, only whom the update could change; all when the engine has one."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import JobContext, Tasks, TasksWith
from almoner.platform.jobs.queue import JobDone, JobOf, Result
from almoner.platform.jobs.schedules import last_run_at
from almoner.platform.observability.failures import UNAVAILABLE_ERRORS
from almoner.screening.screenings import service as screenings
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists.domain import LOADED, WatchlistImportEvent
from almoner.validation.ongoing.matches import service

_MAX_SUBJECTS_PER_JOB: Final = 50_000
"""Of those who are watched, how many one job looks at: some ten seconds of work."""
_FIRST: Final = UUID(int=0)
_LANE: Final = "screening"
_RETRY_DELAY: Final = timedelta(minutes=10)


tasks: Final = Tasks()
screening_tasks: Final = TasksWith[Screener]()


@screening_tasks.job(service.RESCREEN)
async def rescreen_load(screener: Screener, context: JobContext, job: JobOf[service.RescreeningProgress]) -> Result:
    """See ``rescreen_after_load``."""
    return await rescreen_after_load(screener, context, job.details)


@screening_tasks.job(service.RESCREEN_OUTDATED)
async def rescreen_outdated(screener: Screener, context: JobContext, job: JobOf[service.RescreenOutdated]) -> Result:
    """See ``rescreen_outdated_subjects``."""
    return await rescreen_outdated_subjects(screener, context, job.details.after)


@screening_tasks.job(service.RESCREEN_SUBJECT)
async def rescreen_subject(screener: Screener, context: JobContext, job: JobOf[service.RescreenSubject]) -> Result:
    """Compare one again."""
    await screener.run_with_watchlists(context.db, partial(service.rescreen, screener, job.details.subject))
    return JobDone()


async def rescreen_after_load(
    screener: Screener,
    context: JobContext,
    progress: service.RescreeningProgress,
    *,
    at_most: int = _MAX_SUBJECTS_PER_JOB,
) -> Result:
    """Screen subjects again whose matches a load ended, then those that match its new entries.

    However many are watched, a job looks at so many and leaves the others to the next: one that takes too long is
    ended, and would begin anew for ever.
    """
    follow = _rescreen_ended if progress.stage == "ended" else _rescreen_added
    after = await follow(screener, context, progress.load, progress.after or _FIRST, at_most)
    async with context.db.write() as tx:
        if after is not None:
            await service.RESCREEN.enqueue(tx, msgspec.structs.replace(progress, after=after))
        elif progress.stage == "ended":
            await service.RESCREEN.enqueue(tx, service.RescreeningProgress(progress.load, "brought"))
        else:
            await screenings.emit_screening_completed(tx, progress.load)
    return JobDone()


async def rescreen_outdated_subjects(
    screener: Screener, context: JobContext, after: UUID, *, at_most: int = _MAX_SUBJECTS_PER_JOB
) -> Result:
    """Screen the next subjects of an older engine version again, and enqueue the rest."""
    limit = max(1, at_most // 10)
    async with context.db.read() as tx:
        found = await screenings.list_outdated_subjects(tx, after, limit)
    await _rescreen_subjects(screener, context, found)
    if len(found) == limit:
        async with context.db.write() as tx:
            await _enqueue_renewal(tx, found[-1])
    return JobDone()


async def _enqueue_renewal(tx: Tx, after: UUID) -> None:
    await service.RESCREEN_OUTDATED.enqueue(tx, service.RescreenOutdated(after), lane=_LANE, unique=str(after))


async def _renewal_due(tx: Tx) -> datetime | None:
    """At once where the engine is newer than what somebody was compared by; later again, should a job have failed."""
    if not await screenings.has_outdated_subjects(tx):
        return None
    ran = await last_run_at(tx, service.RESCREEN_OUTDATED.name)
    return tx.now if ran is None else ran + _RETRY_DELAY


async def _begin_renewal(tx: Tx) -> int:
    """Enqueue a job to do it. The sweep itself deals with none."""
    await _enqueue_renewal(tx, _FIRST)
    return 0


async def _rescreen_ended(
    screener: Screener, context: JobContext, load: UUID, after: UUID, at_most: int
) -> UUID | None:
    """Those who match what the load ended or changed, after one; the last of them, None when there are no more."""
    limit = max(1, at_most // 10)  # each of them is compared with all lists
    async with context.db.read() as tx:
        found = await screenings.list_affected_subjects(tx, load, after, limit)
    await _rescreen_subjects(screener, context, found)
    return found[-1] if len(found) == limit else None


async def _rescreen_added(
    screener: Screener, context: JobContext, load: UUID, after: UUID, at_most: int
) -> UUID | None:
    """Those among the next who are watched who match what the load brought; the last who is, None at the end."""
    async with context.db.read() as tx:
        fresh = await screenings.index_of_load(tx, load)
        covers = await screenings.has_coverage_changed(tx, load)
    looked = 0
    while looked < at_most:
        async with context.db.read() as tx:
            found, last = await screenings.find_subjects_with_hits(tx, fresh, after)
        await _rescreen_subjects(screener, context, found)
        if last is None:
            return None
        if covers:  # what was unknown of everybody is known now
            async with context.db.write() as tx:
                await screenings.emit_screening_changed(tx, after, last)
        looked, after = looked + screenings.BATCH_SIZE, last
    return after


async def _rescreen_subjects(screener: Screener, context: JobContext, subjects: Sequence[UUID]) -> None:
    """Compare each again; one that fails is left to a job of its own, so that it keeps no other from it."""
    for subject in subjects:
        try:
            await screener.run_with_watchlists(context.db, partial(service.rescreen, screener, subject))
        except Exception as error:
            if isinstance(error, UNAVAILABLE_ERRORS):
                raise
            async with context.db.write() as tx:
                await service.RESCREEN_SUBJECT.enqueue(
                    tx, service.RescreenSubject(subject), lane=_LANE, unique=str(subject)
                )


@tasks.reacts_to(LOADED)
async def on_list_loaded(tx: Tx, loaded: Sequence[WatchlistImportEvent]) -> None:
    """A job for each version."""
    for one in loaded:
        await service.RESCREEN.enqueue(tx, service.RescreeningProgress(one.load), unique=str(one.load))


tasks.periodic(service.RESCREEN_OUTDATED.name, _renewal_due, _begin_renewal)

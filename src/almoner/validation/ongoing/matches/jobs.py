"""Comparing again: when a list has another version, only whom the update could change; all when the engine has one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Literal
from uuid import UUID

import msgspec

from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDone, Result
from almoner.platform.jobs.schedules import last_run_at
from almoner.screening.screenings import service as screenings
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists.domain import LOADED, WatchlistLoadEvent
from almoner.validation.ongoing.matches import service

MAX_SUBJECTS_PER_JOB: Final = 50_000
"""Of those who are watched, how many one job looks at: some ten seconds of work."""
_FIRST: Final = UUID(int=0)
_LANE: Final = "screening"
_RETRY_DELAY: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class RescreeningProgress:
    """How far comparing again for a load is: what it ended comes first, then what it brought. ``after``: a subject."""

    load: str
    stage: Literal["ended", "brought"] = "ended"
    after: str | None = None


async def rescreen_after_load(
    screener: Screener, work: JobContext, job: Job, *, at_most: int = MAX_SUBJECTS_PER_JOB
) -> Result:
    """Compare those again who match what a load ended, then those who would match what it brought.

    However many are watched, a job looks at so many and leaves the others to the next: one that takes too long is
    ended, and would begin anew for ever.
    """
    stated = RescreeningProgress(**job.payload)
    follow = _rescreen_ended if stated.stage == "ended" else _rescreen_added
    after = await follow(screener, work, UUID(stated.load), UUID(stated.after) if stated.after else _FIRST, at_most)
    async with work.db.write() as tx:
        if after is not None:
            await queue.enqueue_job(tx, service.RESCREEN, asdict(replace(stated, after=str(after))))
        elif stated.stage == "ended":
            await queue.enqueue_job(tx, service.RESCREEN, asdict(RescreeningProgress(stated.load, "brought")))
        else:
            await screenings.emit_screening_completed(tx, UUID(stated.load))
    return JobDone()


async def rescreen_outdated_subjects(
    screener: Screener, work: JobContext, job: Job, *, at_most: int = MAX_SUBJECTS_PER_JOB
) -> Result:
    """Compare the next ones again whom an older version of the engine compared, and leave the others to a job more."""
    limit = max(1, at_most // 10)
    async with work.db.read() as tx:
        found = await screenings.list_outdated_subjects(tx, UUID(job.payload["after"]), limit)
    await _rescreen_subjects(screener, work, found)
    if len(found) == limit:
        async with work.db.write() as tx:
            await _enqueue_renewal(tx, found[-1])
    return JobDone()


async def _enqueue_renewal(tx: Tx, after: UUID) -> None:
    await queue.enqueue_job(tx, service.RESCREEN_OUTDATED, {"after": str(after)}, lane=_LANE, unique=str(after))


async def _renewal_due(tx: Tx) -> datetime | None:
    """At once where the engine is newer than what somebody was compared by; later again, should a job have failed."""
    if not await screenings.has_outdated_subjects(tx):
        return None
    ran = await last_run_at(tx, service.RESCREEN_OUTDATED)
    return tx.now if ran is None else ran + _RETRY_DELAY


async def _begin_renewal(tx: Tx) -> int:
    """Have a worker do it. The sweep itself deals with none."""
    await _enqueue_renewal(tx, _FIRST)
    return 0


async def _rescreen_ended(screener: Screener, work: JobContext, load: UUID, after: UUID, at_most: int) -> UUID | None:
    """Those who match what the load ended or changed, after one; the last of them, None when there are no more."""
    limit = max(1, at_most // 10)  # each of them is compared with all lists
    async with work.db.read() as tx:
        found = await screenings.list_affected_subjects(tx, load, after, limit)
    await _rescreen_subjects(screener, work, found)
    return found[-1] if len(found) == limit else None


async def _rescreen_added(screener: Screener, work: JobContext, load: UUID, after: UUID, at_most: int) -> UUID | None:
    """Those among the next who are watched who match what the load brought; the last who is, None at the end."""
    async with work.db.read() as tx:
        fresh = await screenings.index_of_load(tx, load)
        covers = await screenings.has_coverage_changed(tx, load)
    looked = 0
    while looked < at_most:
        async with work.db.read() as tx:
            found, last = await screenings.find_subjects_with_hits(tx, fresh, after)
        await _rescreen_subjects(screener, work, found)
        if last is None:
            return None
        if covers:  # what was unknown of everybody is known now
            async with work.db.write() as tx:
                await screenings.emit_screening_changed(tx, after, last)
        looked, after = looked + screenings.BATCH_SIZE, last
    return after


async def _rescreen_subjects(screener: Screener, work: JobContext, subjects: Sequence[UUID]) -> None:
    for subject in subjects:
        await screener.run_with_watchlists(work.db, partial(service.rescreen, screener, subject))


async def on_list_loaded(tx: Tx, events: Sequence[Event]) -> None:
    """A job for each version."""
    for event in events:
        load = str(msgspec.convert(event.event_data(), WatchlistLoadEvent).load)
        await queue.enqueue_job(tx, service.RESCREEN, {"load": load}, unique=load)


reactions: Final = (Reaction(LOADED, on_list_loaded),)
schedules: Final = (Schedule(service.RESCREEN_OUTDATED, _renewal_due, _begin_renewal),)


def handlers(screener: Screener) -> Mapping[str, Handler]:
    """The jobs, with the lists of the process."""
    return {
        service.RESCREEN: partial(rescreen_after_load, screener),
        service.RESCREEN_OUTDATED: partial(rescreen_outdated_subjects, screener),
    }

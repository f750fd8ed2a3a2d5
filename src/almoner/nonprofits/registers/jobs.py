"""Registers that refresh themselves: fetched on a schedule, loaded when they changed, one at a time."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from almoner.access.operators import service as operators
from almoner.access.security_emails import service as letters
from almoner.nonprofits.registers import flows, store_refresh
from almoner.nonprofits.registers.domain import PUT_ASIDE, ImportRefused, Load, LoadQuarantined, PutAside
from almoner.nonprofits.registers.schedule import Refresh as Refresh
from almoner.nonprofits.registers.schedule import Standing
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import EVERYONE, Database, Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, Schedule, Work
from almoner.platform.jobs.queue import Done, Job, NewJob, Result, Retry
from almoner.platform.jobs.refreshing import pause
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound import fetching
from almoner.platform.outbound.client import Outbound
from almoner.platform.outbound.fetching import Fetched, FetchRefused

REFRESH: Final = "registers.refresh"
_LANE: Final = "registers"
_SCHEDULE: Final = audit.Actor("system", REFRESH)
_FETCHING_SECONDS: Final = 3_600.0
"""Of what a job may take; what has come is kept, and the next turn goes on from there."""
LIMITS: Final = {REFRESH: timedelta(hours=12)}
"""Two million bodies take minutes to read and to merge, on a small machine or at a busy hour many. Whoever is ended
before has what was read kept, and the next turn goes on there.
"""


@dataclass(frozen=True, slots=True)
class Refreshing:
    """What refreshing needs. ``folder``: where fetched files lie, a folder for each source."""

    plan: Sequence[Refresh]
    outbound: Outbound
    folder: Path
    telemetry: Telemetry


async def refresh(parts: Refreshing, work: Work, job: Job) -> Result:
    """Fetch the files of a source and load them when one has changed."""
    source = str(job.payload["source"])
    planned = next((one for one in parts.plan if one.source == source), None)
    if planned is None:
        return Done()  # the schedule no longer names it
    async with work.db.read() as tx:
        before = await store_refresh.standing(tx, EVERYONE, source) or Standing(None)
        last = await store_refresh.fetched_for(tx, EVERYONE, before.load_id) if before.load_id else []
    try:
        async with asyncio.timeout(_FETCHING_SECONDS):
            fetched = await _fetch(parts, work.db, planned)
    except TimeoutError:
        return Retry(timedelta(), "its files are still coming")
    except FetchRefused as error:
        await _failed(parts, work.db, planned, before, str(error))
        return Done()
    if before.status not in (None, "failed") and [(one.sha256, one.last_modified) for one in fetched] == last:
        # What was put aside stays aside until the publisher sends another file.
        left = before if before.status == "quarantined" else Standing("unchanged", load_id=before.load_id)
        await _note(parts, work.db, source, left)
        return Done()
    await _load(parts, work.db, planned, before, fetched)
    return Done()


async def _fetch(parts: Refreshing, db: Database, planned: Refresh) -> list[Fetched]:
    folder, wall = parts.folder / planned.source, db.deployment.clock.wall
    return [await fetching.fetch(parts.outbound, folder, url, wall) for url in planned.urls]


async def _load(
    parts: Refreshing, db: Database, planned: Refresh, before: Standing, fetched: Sequence[Fetched]
) -> None:
    async def record(tx: Tx, load: Load) -> None:
        await store_refresh.insert_fetched(tx, EVERYONE, load.id, fetched)
        action = "register.put_aside" if load.status == "quarantined" else "register.imported"
        data_of = {"data_of": f"{load.data_as_of:%Y-%m-%d}"}
        await audit.record(tx, audit.DEPLOYMENT, _SCHEDULE, action, load.source, details=data_of)

    try:
        async with db.write() as tx:
            if (entered := await flows.declare(tx, planned.format)) is not None:
                named = {"name": entered.name, "country": entered.country_code, "by": planned.source}
                await audit.record(tx, audit.DEPLOYMENT, _SCHEDULE, "registry.declared", entered.code, details=named)
        load = await flows.import_files(db, planned.format, [one.path for one in fetched], record=record)
    except LoadQuarantined as put_aside:
        kept = put_aside.load
        await _note(parts, db, planned.source, Standing("quarantined", load_id=kept.id), "; ".join(kept.reasons))
    except ImportRefused as error:
        await _failed(parts, db, planned, before, str(error))
    else:
        unchanged = load.status == "unchanged"
        standing = Standing("unchanged", load_id=before.load_id) if unchanged else Standing("loaded", load_id=load.id)
        await _note(parts, db, planned.source, standing)


async def _failed(parts: Refreshing, db: Database, planned: Refresh, before: Standing, reason: str) -> None:
    failures = before.failures + 1
    standing = Standing("failed", failures, before.load_id)
    await _note(parts, db, planned.source, standing, reason, pause(failures, planned.every))


async def _note(
    parts: Refreshing,
    db: Database,
    source: str,
    standing: Standing,
    reason: str | None = None,
    again: timedelta | None = None,
) -> None:
    async with db.write() as tx:
        await store_refresh.note(tx, EVERYONE, source, standing, reason, again)
    parts.telemetry.log(
        "register_refresh",
        db.deployment.clock.wall(),
        level="error" if standing.status in ("failed", "quarantined") else "info",
        source=source,
        status=standing.status,
        reason=reason,
    )


def handlers(parts: Refreshing) -> Mapping[str, Handler]:
    """The job."""
    return {REFRESH: partial(refresh, parts)}


async def on_put_aside(tx: Tx, events: Sequence[Event]) -> None:
    """Mail every administrator that a register was not replaced, and why."""
    administrators = await operators.administrators(tx)
    for event in events:
        told = msgspec.convert(event.record(), PutAside)
        facts = {"Data of": f"{told.data_as_of:%Y-%m-%d}", "Why": "; ".join(told.reasons)}
        for person in administrators:
            await letters.send(tx, person, "register_put_aside", values={"source": told.source}, facts=facts)


reactions: Final = (Reaction(PUT_ASIDE, on_put_aside),)


async def _enqueue(plan: Sequence[Refresh], tx: Tx) -> int:
    """Have a worker refresh what is due. The sweep itself deals with none."""
    await store_refresh.keep_plan(tx, EVERYONE, plan)
    due = await store_refresh.take_due(tx, EVERYONE)
    await queue.enqueue_all(tx, [NewJob(REFRESH, {"source": one}, lane=_LANE, unique=one) for one in due])
    return 0


def schedules(plan: Sequence[Refresh]) -> tuple[Schedule, ...]:
    """The sweep that keeps the schedule; without one it removes what an earlier one left."""
    return (
        Schedule(
            REFRESH,
            partial(store_refresh.next_due, _=EVERYONE, plan=plan),
            partial(_enqueue, plan),
        ),
    )

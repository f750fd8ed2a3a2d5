"""Comparing again when a list has another version: only whom the update could change."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from almoner.platform import queue
from almoner.platform.db import Tx
from almoner.platform.outbox import Event, Reaction
from almoner.platform.queue import Done, Job, Result
from almoner.platform.work import Handler, Work
from almoner.screening.screenings import service as screenings
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists.domain import LOADED, Told
from almoner.validation.matches import service

_FIRST: Final = UUID(int=0)


async def rescreen(screener: Screener, work: Work, job: Job) -> Result:
    """Compare those again who match what a load ended, or would match what it brought."""
    load_id = UUID(job.payload["load"])
    async with work.db.read() as tx:
        first = await screenings.affected(tx, load_id)
        fresh = await screenings.brought(tx, load_id)
        covers = await screenings.covers_anew(tx, load_id)
    await _again(screener, work, first)
    seen, after = set(first), _FIRST
    while True:
        async with work.db.read() as tx:
            found, last = await screenings.touched(tx, fresh, after)
        await _again(screener, work, [subject for subject in found if subject not in seen])
        if last is None:
            async with work.db.write() as tx:
                await screenings.tell_compared(tx, load_id)
            return Done()
        if covers:  # what was unknown of everybody is known now
            async with work.db.write() as tx:
                await screenings.tell(tx, after, last)
        after = last


async def _again(screener: Screener, work: Work, subjects: Sequence[UUID]) -> None:
    for subject in subjects:
        await screener.comparing(work.db, partial(service.look_again, screener, subject))


async def on_loaded(tx: Tx, events: Sequence[Event]) -> None:
    """A job for each version."""
    for event in events:
        load = str(msgspec.convert(event.record(), Told).load)
        await queue.enqueue(tx, service.RESCREEN, {"load": load}, unique=load)


reactions: Final = (Reaction(LOADED, on_loaded),)


def handlers(screener: Screener) -> Mapping[str, Handler]:
    """The jobs, with the lists of the process."""
    return {service.RESCREEN: partial(rescreen, screener)}

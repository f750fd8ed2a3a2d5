"""Background work of monitoring: looking at new subscriptions, and again when something else is known."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from almoner.nonprofits.organisations.service import UPDATED
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, Work
from almoner.platform.jobs.queue import Done, Job, Result
from almoner.screening.screenings.domain import CHANGED, COMPARED, ScreeningChanged
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists.domain import Told
from almoner.validation.applications.configurations.domain import CHANGED as CONFIGURATION_CHANGED
from almoner.validation.applications.configurations.domain import ConfigurationChanged
from almoner.validation.ongoing.monitoring import evaluating, service
from almoner.validation.requests.domain import DECIDED, RequestDecided


async def evaluate(screener: Screener, work: Work, job: Job) -> Result:
    """Look at one subscription. A second run finds nothing changed."""

    async def look(tx: Tx) -> None:
        await evaluating.evaluate(tx, screener, UUID(job.payload["subscription"]), job.payload["occasion"])

    await screener.comparing(work.db, look)
    return Done()


async def reconfigure(work: Work, job: Job) -> Result:
    """Have the next subscriptions of a configuration judged anew, and after them the others by a job of their own."""
    said = job.payload
    partner, configuration = Partner(UUID(said["partner"])), UUID(said["configuration"])
    async with work.db.write() as tx:
        after = await service.reconfigure_batch(
            tx, partner, configuration, UUID(said["after"]) if said["after"] else None
        )
        if after is not None:
            await queue.enqueue(tx, service.RECONFIGURE, {**said, "after": str(after)})
    return Done()


async def on_configurations(tx: Tx, events: Sequence[Event]) -> None:
    """Configurations were changed."""
    for changed in dict.fromkeys(msgspec.convert(event.record(), ConfigurationChanged) for event in events):
        await service.configuration_changed(tx, Partner(changed.partner), changed.configuration)


async def on_decision(tx: Tx, events: Sequence[Event]) -> None:
    """Validation requests were decided."""
    await service.follow_requests(tx, [msgspec.convert(event.record(), RequestDecided).request for event in events])


async def on_organisations(tx: Tx, events: Sequence[Event]) -> None:
    """Registers told something else of organisations that somebody follows."""
    told = [tx.ids.parse("organisation", msgspec.convert(event.record(), _Named).id) for event in events]
    await service.follow_organisations(tx, list(dict.fromkeys(one for one in told if one)), "register_changed")


async def on_screenings(tx: Tx, events: Sequence[Event]) -> None:
    """Matches with watch lists came, went, or were decided."""
    changed = [msgspec.convert(event.record(), ScreeningChanged) for event in events]
    organisations = dict.fromkeys(one.id for one in changed if one.type == "organisation")
    await service.follow_organisations(tx, list(organisations), "screening_changed")


async def on_compared(tx: Tx, events: Sequence[Event]) -> None:
    """All who are watched were compared with versions of lists."""
    for event in events:
        told = msgspec.convert(event.record(), Told)
        await service.set_compared(tx, told.list, told.load)


class _Named(msgspec.Struct):
    """What is needed of an organisation's record."""

    id: str


reactions: Final = (
    Reaction(DECIDED, on_decision),
    Reaction(UPDATED, on_organisations),
    Reaction(CHANGED, on_screenings),
    Reaction(COMPARED, on_compared),
    Reaction(CONFIGURATION_CHANGED, on_configurations),
)


def handlers(screener: Screener) -> Mapping[str, Handler]:
    """The jobs, with the lists of the process."""
    return {service.EVALUATE: partial(evaluate, screener), service.RECONFIGURE: reconfigure}

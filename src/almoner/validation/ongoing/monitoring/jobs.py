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
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, JobDone, Result
from almoner.screening.screenings.domain import CHANGED, COMPARED, ScreeningChanged
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists.domain import WatchlistLoadEvent
from almoner.validation.applications.configurations.domain import CHANGED as CONFIGURATION_CHANGED
from almoner.validation.applications.configurations.domain import ConfigurationChanged
from almoner.validation.ongoing.monitoring import monitoring_evaluation, service
from almoner.validation.requests.domain import DECIDED, RequestDecided


async def evaluate(screener: Screener, work: JobContext, job: Job) -> Result:
    """Look at one subscription. A second run finds nothing changed."""

    async def check_due(tx: Tx) -> None:
        await monitoring_evaluation.evaluate_subscription(
            tx, screener, UUID(job.payload["subscription"]), job.payload["occasion"]
        )

    await screener.run_with_watchlists(work.db, check_due)
    return JobDone()


async def reevaluate(work: JobContext, job: Job) -> Result:
    """Have the next subscriptions of a configuration judged anew, and after them the others by a job of their own."""
    stated = job.payload
    partner, configuration = Partner(UUID(stated["partner"])), UUID(stated["configuration"])
    async with work.db.write() as tx:
        after = await service.reevaluate_batch(
            tx, partner, configuration, UUID(stated["after"]) if stated["after"] else None
        )
        if after is not None:
            await queue.enqueue_job(tx, service.REEVALUATE, {**stated, "after": str(after)})
    return JobDone()


async def on_configuration_changed(tx: Tx, events: Sequence[Event]) -> None:
    """Configurations were changed."""
    for changed in dict.fromkeys(msgspec.convert(event.event_data(), ConfigurationChanged) for event in events):
        await service.evaluate_after_configuration_change(tx, Partner(changed.partner), changed.configuration)


async def on_request_decided(tx: Tx, events: Sequence[Event]) -> None:
    """Validation requests were decided."""
    await service.evaluate_after_request_decisions(
        tx, [msgspec.convert(event.event_data(), RequestDecided).request for event in events]
    )


async def on_organisation_updated(tx: Tx, events: Sequence[Event]) -> None:
    """Registers told something else of organisations that somebody follows."""
    reported = [
        tx.ids.parse("organisation", msgspec.convert(event.event_data(), _OrganisationId).id) for event in events
    ]
    await service.evaluate_after_organisation_changes(
        tx, list(dict.fromkeys(one for one in reported if one)), "register_changed"
    )


async def on_screening_changed(tx: Tx, events: Sequence[Event]) -> None:
    """Matches with watch lists came, went, or were decided."""
    changed = [msgspec.convert(event.event_data(), ScreeningChanged) for event in events]
    organisations = dict.fromkeys(one.id for one in changed if one.type == "organisation")
    await service.evaluate_after_organisation_changes(tx, list(organisations), "screening_changed")


async def on_list_compared(tx: Tx, events: Sequence[Event]) -> None:
    """All who are watched were compared with versions of lists."""
    for event in events:
        reported = msgspec.convert(event.event_data(), WatchlistLoadEvent)
        await service.set_compared_version(tx, reported.list, reported.load)


class _OrganisationId(msgspec.Struct):
    """What is needed of an organisation's record."""

    id: str


reactions: Final = (
    Reaction(DECIDED, on_request_decided),
    Reaction(UPDATED, on_organisation_updated),
    Reaction(CHANGED, on_screening_changed),
    Reaction(COMPARED, on_list_compared),
    Reaction(CONFIGURATION_CHANGED, on_configuration_changed),
)


def handlers(screener: Screener) -> Mapping[str, Handler]:
    """The jobs, with the lists of the process."""
    return {service.EVALUATE: partial(evaluate, screener), service.REEVALUATE: reevaluate}

"""Background work of monitoring: evaluate new subscriptions, and others again when their data change."""

from collections.abc import Sequence
from typing import Final

import msgspec

from almoner.nonprofits.organisations.service import UPDATED
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.outbox import Event, decode_event_data
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, Result
from almoner.screening.screenings.domain import CHANGED, COMPARED, ScreeningChangedEvent
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists.domain import WatchlistImportEvent
from almoner.validation.applications.configurations.domain import CHANGED as CONFIGURATION_CHANGED
from almoner.validation.applications.configurations.domain import SubmissionConfigurationChangedEvent
from almoner.validation.ongoing.monitoring import monitoring_evaluation, service
from almoner.validation.requests.domain import DECIDED, RequestDecidedEvent

tasks: Final = TaskRegistry()
screening_tasks: Final = DependentTaskRegistry[Screener]()


@screening_tasks.job(service.EVALUATE)
async def evaluate_subscription(
    screener: Screener, context: JobContext, job: DecodedJob[service.EvaluateSubscriptionJob]
) -> Result:
    """Evaluate one subscription; repeating it changes nothing."""

    async def check_due(tx: Tx) -> None:
        await monitoring_evaluation.evaluate_subscription(tx, screener, job.details.subscription, job.details.occasion)

    await screener.run_with_current_watchlists(context.db, check_due)
    return JobDone()


@tasks.job(service.REEVALUATE)
async def reevaluate_subscriptions(context: JobContext, job: DecodedJob[service.ReevaluateSubscriptionsJob]) -> Result:
    """Evaluate the next subscriptions of a configuration again, and enqueue the rest."""
    wanted = job.details
    async with context.db.write() as tx:
        after = await service.enqueue_evaluation_batch_and_get_last_id(
            tx, Partner(wanted.partner), wanted.configuration, wanted.after
        )
        if after is not None:
            await service.REEVALUATE.enqueue(tx, msgspec.structs.replace(wanted, after=after))
    return JobDone()


@tasks.on_internal_event(CONFIGURATION_CHANGED)
async def on_configuration_changed(tx: Tx, events: Sequence[SubmissionConfigurationChangedEvent]) -> None:
    """Evaluate the subscriptions of changed configurations."""
    for changed in dict.fromkeys(events):
        await service.evaluate_after_configuration_change(tx, Partner(changed.partner), changed.configuration)


@tasks.on_internal_event(DECIDED)
async def on_validation_request_decided(tx: Tx, events: Sequence[RequestDecidedEvent]) -> None:
    """Evaluate the subscriptions of decided validation requests."""
    await service.evaluate_after_request_decisions(tx, [one.request for one in events])


@tasks.on_public_event(UPDATED)
async def on_organisation_updated(tx: Tx, events: Sequence[Event]) -> None:
    """Evaluate the subscriptions of changed organisations again."""
    reported = [tx.ids.decode("organisation", decode_event_data(event, _OrganisationId).id) for event in events]
    await service.evaluate_after_organisation_changes(
        tx, list(dict.fromkeys(one for one in reported if one)), "register_changed"
    )


@tasks.on_internal_event(CHANGED)
async def on_screening_changed(tx: Tx, events: Sequence[ScreeningChangedEvent]) -> None:
    """Evaluate subscriptions again whose watchlist matches have changed."""
    organisations = dict.fromkeys(one.id for one in events if one.type == "organisation")
    await service.evaluate_after_organisation_changes(tx, list(organisations), "screening_changed")


@tasks.on_internal_event(COMPARED)
async def on_screening_completed(tx: Tx, events: Sequence[WatchlistImportEvent]) -> None:
    """Record that all monitored subjects were compared with these list versions."""
    for reported in events:
        await service.record_screened_watchlist_version(tx, reported.list, reported.load)


class _OrganisationId(msgspec.Struct):
    """The ID in an organisation's record."""

    id: str

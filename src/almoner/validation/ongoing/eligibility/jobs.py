"""Background work of eligibility: evaluate new subscriptions, and re-evaluate others when their basis changes."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import msgspec

from almoner.nonprofits.activities.domain import RETAGGING_COMPLETED, RetaggingCompletedEvent
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.outbox import Event
from almoner.platform.jobs.background_tasks import JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, Result
from almoner.validation.applications.configurations.domain import CHANGED as CONFIGURATION_CHANGED
from almoner.validation.applications.configurations.domain import SubmissionConfigurationChangedEvent
from almoner.validation.ongoing.eligibility import eligibility_evaluation, service
from almoner.validation.requests.domain import DECIDED, RequestDecidedEvent

tasks: Final = TaskRegistry()


@tasks.job(service.EVALUATE)
async def evaluate_subscription(context: JobContext, job: DecodedJob[service.EvaluateSubscriptionJob]) -> Result:
    """Evaluate one subscription. A second run finds no difference and adds nothing."""
    async with context.db.write() as tx:
        await eligibility_evaluation.evaluate_subscription(tx, job.details.subscription, job.details.occasion)
    return JobDone()


@tasks.job(service.REEVALUATE)
async def reevaluate_subscriptions(context: JobContext, job: DecodedJob[service.ReevaluateSubscriptionsJob]) -> Result:
    """Re-evaluate a batch of subscriptions of a configuration, or of all; another job continues with the rest."""
    wanted = job.details
    partner = None if wanted.partner is None else Partner(wanted.partner)
    async with context.db.write() as tx:
        after = await service.enqueue_evaluation_batch_and_get_last_id(tx, partner, wanted.configuration, wanted.after)
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


@tasks.on_public_event(organisations.UPDATED)
async def on_organisation_updated(tx: Tx, events: Sequence[Event]) -> None:
    """Evaluate the subscriptions of changed organisations again."""
    changed: dict[UUID, list[UUID]] = {}
    for event in events:
        record: Any = event.event_data()
        organisation = tx.ids.decode("organisation", record["id"])
        if event.partner_id is not None and organisation is not None:
            changed.setdefault(event.partner_id, []).append(organisation)
    for partner, ids in sorted(changed.items()):
        await service.evaluate_after_organisation_changes(tx, Partner(partner), ids)


@tasks.on_internal_event(RETAGGING_COMPLETED)
async def on_retagging_completed(tx: Tx, _events: Sequence[RetaggingCompletedEvent]) -> None:
    """Evaluate all subscriptions again after the activity rules were applied."""
    await service.reevaluate_all_subscriptions(tx)

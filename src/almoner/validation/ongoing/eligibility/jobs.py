"""Background work of eligibility: evaluating new subscriptions, and others anew when what they rest on changes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import msgspec

from almoner.nonprofits.activities.domain import RETAGGING_COMPLETED
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, JobDone, Result
from almoner.validation.applications.configurations.domain import CHANGED as CONFIGURATION_CHANGED
from almoner.validation.applications.configurations.domain import ConfigurationChanged
from almoner.validation.ongoing.eligibility import eligibility_evaluation, service
from almoner.validation.requests.domain import DECIDED, RequestDecided


async def evaluate(work: JobContext, job: Job) -> Result:
    """Evaluate one subscription. A second run finds nothing that differs, and adds nothing."""
    async with work.db.write() as tx:
        subscription = UUID(job.payload["subscription"])
        await eligibility_evaluation.evaluate_subscription(tx, subscription, job.payload["occasion"])
    return JobDone()


async def reevaluate(work: JobContext, job: Job) -> Result:
    """Have the next subscriptions of a configuration, or of all, evaluated anew, the others by a job of their own."""
    stated = job.payload
    partner = Partner(UUID(stated["partner"])) if stated["partner"] else None
    configuration, last = (UUID(stated[name]) if stated[name] else None for name in ("configuration", "after"))
    async with work.db.write() as tx:
        after = await service.reevaluate_batch(tx, partner, configuration, last)
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
    """Partners were told of changed organisations; who has a live subscription is always told (``followers``)."""
    changed: dict[UUID, list[UUID]] = {}
    for event in events:
        record: Any = event.event_data()
        organisation = tx.ids.parse("organisation", record["id"])
        if event.partner_id is not None and organisation is not None:
            changed.setdefault(event.partner_id, []).append(organisation)
    for partner, ids in sorted(changed.items()):
        await service.evaluate_after_organisation_changes(tx, Partner(partner), ids)


async def on_rules_applied(tx: Tx, _events: Sequence[Event]) -> None:
    """The rules of activities were applied to all bodies, of which followers are not told."""
    await service.reevaluate_all(tx)


reactions: Final = (
    Reaction(DECIDED, on_request_decided),
    Reaction(organisations.UPDATED, on_organisation_updated),
    Reaction(RETAGGING_COMPLETED, on_rules_applied),
    Reaction(CONFIGURATION_CHANGED, on_configuration_changed),
)
handlers: Final[Mapping[str, Handler]] = {service.EVALUATE: evaluate, service.REEVALUATE: reevaluate}

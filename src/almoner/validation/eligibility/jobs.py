"""Background work of eligibility: evaluating new subscriptions, and others anew when what they rest on changes."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

import msgspec

from almoner.nonprofits.activities.domain import APPLIED
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.db import Partner, Tx
from almoner.platform.outbox import Event, Reaction
from almoner.platform.queue import Done, Job, Result
from almoner.platform.work import Handler, Work
from almoner.validation.eligibility import evaluating, service
from almoner.validation.eligibility.ports import Allowances
from almoner.validation.requests.domain import DECIDED, RequestDecided

_FIRST: Final = UUID(int=0)


async def evaluate(allowances: Allowances, work: Work, job: Job) -> Result:
    """Evaluate one subscription. A second run finds nothing that differs, and adds nothing."""
    async with work.db.write() as tx:
        subscription = UUID(job.payload["subscription"])
        await evaluating.evaluate(tx, allowances, subscription, job.payload["occasion"])
    return Done()


async def reevaluate(work: Work, job: Job) -> Result:
    """Have the subscriptions of a configuration, or all, evaluated anew, a batch in each transaction."""
    said = job.payload
    partner = Partner(UUID(said["partner"])) if said["partner"] else None
    configuration = UUID(said["configuration"]) if said["configuration"] else None
    after: UUID | None = _FIRST
    while after is not None:
        async with work.db.write() as tx:
            after = await service.reevaluate_batch(tx, said["occasion"], partner, configuration, after)
    return Done()


async def on_request_decided(tx: Tx, events: Sequence[Event]) -> None:
    """Validation requests were decided."""
    await service.follow_requests(tx, [msgspec.convert(event.record(), RequestDecided).request for event in events])


async def on_organisation_updated(tx: Tx, events: Sequence[Event]) -> None:
    """Partners were told of changed organisations; who has a live subscription is always told (``followers``)."""
    changed: dict[UUID, list[UUID]] = {}
    for event in events:
        record: Any = event.record()
        organisation = tx.ids.parse("organisation", record["id"])
        if event.partner_id is not None and organisation is not None:
            changed.setdefault(event.partner_id, []).append(organisation)
    for partner, ids in sorted(changed.items()):
        await service.follow_organisations(tx, Partner(partner), ids)


async def on_rules_applied(tx: Tx, _events: Sequence[Event]) -> None:
    """The rules of activities were applied to all bodies, of which followers are not told."""
    await service.reevaluate_all(tx)


reactions: Final = (
    Reaction(DECIDED, on_request_decided),
    Reaction(organisations.UPDATED, on_organisation_updated),
    Reaction(APPLIED, on_rules_applied),
)


def handlers(allowances: Allowances) -> Mapping[str, Handler]:
    """The jobs, with who knows what configurations allow."""
    return {service.EVALUATE: partial(evaluate, allowances), service.REEVALUATE: reevaluate}

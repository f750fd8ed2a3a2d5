"""A gift was refunded or given to another organisation: a job looks whether something of a claim has to go back."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.checkout.donations.domain import REASSIGNED, REFUNDED
from almoner.giving.gift_aid.claims import service
from almoner.giving.gift_aid.declarations.domain import CURRENCY
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, JobDone, NewJob, Result

ADJUST_CLAIM: Final = "claims.adjust"


class _ChangedDonation(msgspec.Struct):
    """What is read of the event's donation."""

    id: str
    currency_code: str = msgspec.field(name="currencyCode")


async def on_donation_changed(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue a look at each gift in sterling."""
    jobs = []
    for event in events:
        changed = msgspec.convert(event.event_data(), _ChangedDonation)
        donation_id = tx.ids.parse("donation", changed.id)
        if donation_id is not None and changed.currency_code == CURRENCY:
            jobs.append(NewJob(ADJUST_CLAIM, {"donation": str(donation_id)}))
    if jobs:
        await queue.enqueue_jobs(tx, jobs)


reactions: Final = (Reaction(REFUNDED, on_donation_changed), Reaction(REASSIGNED, on_donation_changed))


async def adjust_claim(work: JobContext, job: Job) -> Result:
    """Note what has to go back to HMRC, once."""
    async with work.db.write() as tx:
        await service.adjust_donation(tx, UUID(job.payload["donation"]))
    return JobDone()


handlers: Final[Mapping[str, Handler]] = {ADJUST_CLAIM: adjust_claim}

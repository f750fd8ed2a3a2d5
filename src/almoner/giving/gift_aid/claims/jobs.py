"""Enqueues a check of claims after a donation was refunded or reassigned, and records what was overclaimed."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.checkout.donations.domain import REASSIGNED, REFUNDED
from almoner.giving.gift_aid.claims import service
from almoner.giving.gift_aid.declarations.domain import CURRENCY
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, decode_event_data
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, Result


class AdjustClaimJob(msgspec.Struct, frozen=True):
    """The donation whose claim may need an adjustment."""

    donation: UUID


_ADJUST_CLAIM: Final = JobKind("gift_aid_claims.adjust", AdjustClaimJob)
tasks: Final = TaskRegistry()


class _ChangedDonation(msgspec.Struct):
    """The event's fields that are used."""

    id: str
    currency_code: str = msgspec.field(name="currencyCode")


@tasks.on_public_event(REFUNDED, REASSIGNED)
async def on_donation_changed(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue a check of each changed donation in sterling."""
    jobs = []
    for event in events:
        changed = decode_event_data(event, _ChangedDonation)
        donation_id = tx.ids.decode("donation", changed.id)
        if donation_id is not None and changed.currency_code == CURRENCY:
            jobs.append(_ADJUST_CLAIM.build_job(AdjustClaimJob(donation_id)))
    await queue.enqueue_jobs(tx, jobs)


@tasks.job(_ADJUST_CLAIM)
async def adjust_claim(context: JobContext, job: DecodedJob[AdjustClaimJob]) -> Result:
    """Record what was overclaimed for a donation, once."""
    async with context.db.write() as tx:
        await service.adjust_gift_aid_claim_of_donation(tx, job.details.donation)
    return JobDone()

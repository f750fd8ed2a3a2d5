"""Background work of subscriptions: charge due dates, propose successors of merged nonprofits, and erase donors."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from almoner.giving.subscriptions.charging import service
from almoner.giving.subscriptions.donation_subscriptions import service as subscriptions
from almoner.nonprofits.registers.domain import CHANGED, RegisterChangedEvent
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, NoDetails, Result
from almoner.platform.observability.failures import UNAVAILABLE_ERRORS

_FOLLOW: Final = JobKind("donation_subscriptions.follow_merges", NoDetails)

tasks: Final = TaskRegistry()

tasks.add_periodic_job(
    "donation_subscriptions.process_due",
    service.next_subscription_due_at,
    service.process_due_subscriptions,
    sandbox_clock_limit=service.find_oldest_unfinished_charge_or_next_due_at,
)
tasks.add_periodic_job(
    "donation_subscriptions.erase_donors",
    subscriptions.next_donor_erasure_at,
    subscriptions.erase_donors_of_unstarted_subscriptions,
)


@tasks.on_internal_event(CHANGED)
async def on_register_changed(tx: Tx, _changed: Sequence[RegisterChangedEvent]) -> None:
    """Enqueue a check of subscriptions whose nonprofit merged into another."""
    await _FOLLOW.enqueue(tx, NoDetails(), unique_key=_FOLLOW.name)


@tasks.job(_FOLLOW)
async def propose_successor_organisations(context: JobContext, _job: DecodedJob[NoDetails]) -> Result:
    """Propose successors of merged nonprofits to donors, each in its own transaction."""
    after: UUID | None = None
    failed: Exception | None = None
    while True:
        async with context.db.read() as tx:
            found = await service.list_subscription_ids_with_outdated_successor_proposal(tx, after)
        for subscription_id in found:
            try:
                async with context.db.write() as tx:
                    await service.update_successor_proposal(tx, subscription_id)
            except Exception as error:
                if isinstance(error, UNAVAILABLE_ERRORS):
                    raise
                failed = failed or error
        if len(found) < service.BATCH:
            if failed is not None:
                raise failed
            return JobDone()
        after = found[-1]

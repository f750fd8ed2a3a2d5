"""Background work of disbursements: collect donations, run daily in the sandbox, and finish after crashes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.checkout.donations import domain as donations_domain
from almoner.giving.disbursing.disbursements import flows, service
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.disbursing.disbursements.service import COLLECT, HOLD, AddDonationsToDisbursementsJob, PlaceHoldJob
from almoner.giving.disbursing.verifications import domain as verifications_domain
from almoner.giving.disbursing.verifications.domain import VerificationFlaggedEvent
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.outbox import Event, decode_event_data
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.failing_rows import process_rows_returning_failures
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, JobRetry, NoDetails, Result
from almoner.platform.observability.telemetry import Telemetry

RUN: Final = JobKind("disbursements.run", NoDetails)
PROPAGATE: Final = "disbursements.propagate_status"
_TRIED: Final = 50
tasks: Final = TaskRegistry()
_AGAIN: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class JobDependencies:
    """The dependencies of disbursement jobs: the minimum amounts, and where ledger rejections are reported."""

    rules: DisbursementRules
    telemetry: Telemetry


payout_tasks: Final = DependentTaskRegistry[JobDependencies]()


class _OrganisationRecord(msgspec.Struct, rename="camel"):
    """The event record's fields that are used."""

    organisation_id: str


@tasks.on_internal_event(verifications_domain.FLAGGED)
async def on_verification_flagged(tx: Tx, flagged: Sequence[VerificationFlaggedEvent]) -> None:
    """Enqueue an update of the pending disbursements to these nonprofits."""
    await queue.enqueue_jobs(
        tx, [service.build_add_donations_to_disbursements_job(one.partner, one.organisation) for one in flagged]
    )


@tasks.on_public_event(
    donations_domain.SETTLED,
    donations_domain.PAYOUT_RETURNED,
    donations_domain.REASSIGNED,
    verifications_domain.PROGRESSED,
)
async def on_balance_changed(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue an update of the pending disbursements to the events' nonprofits."""
    concerned: dict[tuple[UUID, UUID], None] = {}
    for event in events:
        organisation_id = tx.ids.decode("organisation", decode_event_data(event, _OrganisationRecord).organisation_id)
        if event.partner_id is not None and organisation_id is not None:
            concerned[event.partner_id, organisation_id] = None
    await queue.enqueue_jobs(tx, [service.build_add_donations_to_disbursements_job(*one) for one in concerned])


@payout_tasks.job(COLLECT)
async def add_donations_to_disbursements(
    dependencies: JobDependencies, context: JobContext, job: DecodedJob[AddDonationsToDisbursementsJob]
) -> Result:
    """Add a nonprofit's settled donations to its open disbursements, one transaction for each of them.

    Runs again for donations that were locked by another transaction.
    """
    partner = Partner(job.details.partner)
    async with context.db.read() as tx:
        buckets = await service.list_disbursement_batches_of_nonprofit(tx, partner, job.details.organisation)
    for bucket in buckets:
        await flows.add_donations_to_disbursement(context.db, bucket, dependencies.rules)
    async with context.db.read() as tx:
        left = [bucket for bucket in buckets if await service.has_donations_for_open_disbursement(tx, bucket)]
    return JobRetry(_AGAIN, "somebody else held some of the gifts") if left else JobDone()


@payout_tasks.job(RUN)
async def run_disbursements(dependencies: JobDependencies, context: JobContext, _job: DecodedJob[NoDetails]) -> Result:
    """Send the disbursements that are due. One that the ledger refuses is logged and does not stop the others."""
    ran = await flows.run_disbursements(context.db, dependencies.rules)
    for disbursement_id, stated in ran.refused_disbursements:
        named = context.db.deployment.ids.encode("disbursement", disbursement_id)
        dependencies.telemetry.log(
            "disbursement_refused",
            context.db.deployment.clock.real_now(),
            level="error",
            disbursement=named,
            claimed=stated,
        )
    return JobDone()


@payout_tasks.job(HOLD)
async def hold_disbursements(
    dependencies: JobDependencies, context: JobContext, job: DecodedJob[PlaceHoldJob]
) -> Result:
    """Hold a partner's disbursements to a nonprofit automatically."""
    hold = job.details
    await flows.hold_disbursements_automatically(
        context.db,
        Partner(hold.partner),
        hold.organisation,
        cause_id=hold.cause,
        note=hold.note,
        rules=dependencies.rules,
    )
    return JobDone()


async def _propagation_due_at(tx: Tx) -> datetime | None:
    return tx.now if await service.list_disbursement_ids_with_unpropagated_status(tx, 1) else None


async def _propagate_next(tx: Tx) -> int:
    """Update a batch of donations of the first disbursement that waits for it."""

    async def propagate(ids: Sequence[UUID]) -> None:
        for disbursement_id in ids:
            await service.propagate_status_to_donations(tx, disbursement_id)

    for disbursement_id in await service.list_disbursement_ids_with_unpropagated_status(tx, _TRIED):
        if not await process_rows_returning_failures(tx, PROPAGATE, [disbursement_id], propagate, row_key=str):
            return 1
    return 0


async def _enqueue_run(tx: Tx) -> int:
    """Enqueue a job that runs the disbursements, one transaction for each of them."""
    await RUN.enqueue(tx, NoDetails(), unique_key=RUN.name)
    return 0


tasks.add_periodic_job(PROPAGATE, _propagation_due_at, _propagate_next)

sandbox_tasks: Final = TaskRegistry()
"""The sandbox runs disbursements every day (settled 9). In production, a person runs and confirms them."""
sandbox_tasks.add_periodic_job(
    RUN.name, partial(service.next_disbursement_run_at, schedule_name=RUN.name), _enqueue_run
)

"""Background work of disputes: refresh open disputes, and recover losses from returned disbursements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.accounting.disputes import flows, service
from almoner.giving.accounting.disputes.domain import ConcurrentChangeError
from almoner.giving.accounting.disputes.flows import RETRY_DELAY, DisputeContext
from almoner.giving.accounting.disputes.service import REFRESH, RefreshDisputesJob
from almoner.giving.checkout.donations.domain import PAYOUT_RETURNED
from almoner.giving.checkout.payments.domain import NoSuchPayment, ProviderFailure
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, decode_event_data
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobDropped, JobKind, JobRetry, Result


class RecoverLossJob(msgspec.Struct, frozen=True):
    """The donation whose loss is recovered."""

    donation: UUID


RECOVER: Final = JobKind("disputes.recover", RecoverLossJob)


@dataclass(frozen=True, slots=True)
class DisputeJobDependencies:
    """The provider and rules that dispute jobs need."""

    provider: PaymentProvider
    rules: DisbursementRules


tasks: Final = TaskRegistry()
tasks.add_periodic_job("disputes.refresh_open", service.next_refresh_at, service.enqueue_due_refreshes)
recovery_tasks: Final = DependentTaskRegistry[DisbursementRules]()
provider_tasks: Final = DependentTaskRegistry[DisputeJobDependencies]()


@provider_tasks.job(REFRESH)
async def refresh_disputes(
    dependencies: DisputeJobDependencies, context: JobContext, job: DecodedJob[RefreshDisputesJob]
) -> Result:
    """Refresh the disputes of one payment from the provider."""
    try:
        dispute_context = DisputeContext(context.db, dependencies.provider, dependencies.rules)
        await flows.refresh_disputes(dispute_context, job.details.payment)
    except NoSuchPayment:
        return JobDropped("the provider does not know the payment")
    except ProviderFailure as failure:
        return JobRetry(RETRY_DELAY, str(failure))
    except ConcurrentChangeError:
        return JobRetry(RETRY_DELAY, "something else is under way with the gift")
    return JobDone()


class _ReturnedDonation(msgspec.Struct):
    """The event's fields that are used."""

    id: str


@tasks.on_public_event(PAYOUT_RETURNED)
async def on_disbursement_returned(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue the recovery of losses for donations whose disbursement was returned."""
    donation_ids = [tx.ids.decode("donation", decode_event_data(event, _ReturnedDonation).id) for event in events]
    jobs = [RECOVER.build_job(RecoverLossJob(one), unique_key=str(one)) for one in donation_ids if one is not None]
    await queue.enqueue_jobs(tx, jobs)


@recovery_tasks.job(RECOVER)
async def recover_absorbed_loss(
    rules: DisbursementRules, context: JobContext, job: DecodedJob[RecoverLossJob]
) -> Result:
    """Recover the loss of a donation whose disbursement was returned."""
    try:
        async with context.db.write() as tx:
            await service.recover_absorbed_loss(tx, job.details.donation, rules)
    except ConcurrentChangeError:
        return JobRetry(RETRY_DELAY, "something else is under way with the gift")
    return JobDone()

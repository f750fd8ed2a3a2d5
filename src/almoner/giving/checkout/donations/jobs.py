"""Background work of donations: the 24-hour limit, cancelling attempts, and calls that a crash left unrecorded."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from almoner.giving.checkout.card_testing.domain import STRICT_LIMITS, CardTestingLimits
from almoner.giving.checkout.donations import flows, service
from almoner.giving.checkout.donations.flows import LEASE_KIND, PaymentContext
from almoner.giving.checkout.donations.service import (
    CANCEL_PAYMENT,
    FINISH_PAYMENT,
    CancelPaymentJob,
    ChargeOrResumeInterruptedPaymentJob,
)
from almoner.giving.checkout.payments.domain import NoSuchPayment, ProviderFailure, ProviderUnavailable
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.giving.subscriptions.donation_subscriptions.domain import (
    PAYMENT_METHOD_REPLACED,
    PaymentMethodReplacedEvent,
)
from almoner.kit.errors import AccountPaused
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.jobs import leases, queue
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobDropped, JobKind, JobRetry, Result

RETRY_DELAY: Final = timedelta(minutes=1)
_PAUSE_RETRY: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class JobDependencies:
    """The payment provider, and the limits against card testing."""

    provider: PaymentProvider
    limits: CardTestingLimits = STRICT_LIMITS


class DeletePaymentMethodJob(msgspec.Struct, frozen=True):
    """A saved payment method that no subscription uses any more."""

    provider: str
    customer: str
    payment_method: str


FORGET_PAYMENT_METHOD: Final = JobKind("donations.delete_payment_method", DeletePaymentMethodJob)
tasks: Final = TaskRegistry()
provider_tasks: Final = DependentTaskRegistry[JobDependencies]()


@tasks.on_internal_event(PAYMENT_METHOD_REPLACED)
async def on_payment_method_replaced(tx: Tx, replaced: Sequence[PaymentMethodReplacedEvent]) -> None:
    """Enqueue the deletion of replaced payment methods."""
    jobs = [
        FORGET_PAYMENT_METHOD.build_job(
            DeletePaymentMethodJob(one.provider, one.customer, one.payment_method), unique_key=one.payment_method
        )
        for one in replaced
    ]
    await queue.enqueue_jobs(tx, jobs)


@provider_tasks.job(FORGET_PAYMENT_METHOD)
async def delete_payment_method(
    dependencies: JobDependencies, _context: JobContext, job: DecodedJob[DeletePaymentMethodJob]
) -> Result:
    """Have the provider delete a saved payment method."""
    if job.details.provider != dependencies.provider.name:
        return JobDropped("it is at a provider that is not set up any more")
    try:
        await dependencies.provider.delete_payment_method(job.details.customer, job.details.payment_method)
    except ProviderFailure:
        return JobRetry(RETRY_DELAY, "the provider cannot be reached")
    return JobDone()


@provider_tasks.job(CANCEL_PAYMENT)
async def cancel_payment(
    dependencies: JobDependencies, context: JobContext, job: DecodedJob[CancelPaymentJob]
) -> Result:
    """Cancel a payment attempt that must not be paid."""
    try:
        payment_context = PaymentContext(context.db, dependencies.provider, dependencies.limits)
        ended = await flows.cancel_payment(payment_context, job.details.payment)
    except ProviderUnavailable as error:
        return _result_of_failure(error)
    return JobDone() if ended else JobRetry(RETRY_DELAY, "the provider is busy with the payment")


@provider_tasks.job(FINISH_PAYMENT)
async def charge_or_resume_interrupted_payment(
    dependencies: JobDependencies, context: JobContext, job: DecodedJob[ChargeOrResumeInterruptedPaymentJob]
) -> Result:
    """Charge a saved payment method, or finish a call that a crash left unrecorded (I5)."""
    try:
        payment_context = PaymentContext(context.db, dependencies.provider, dependencies.limits)
        await flows.charge_or_resume_interrupted_payment(payment_context, job.details.payment)
    except AccountPaused:
        return JobRetry(_PAUSE_RETRY, "the partner is paused")
    except ProviderUnavailable as error:
        return _result_of_failure(error)
    return JobDone()


def _result_of_failure(error: ProviderUnavailable) -> Result:
    if isinstance(error.__cause__, NoSuchPayment):
        return JobDropped("the provider does not know the payment")
    return JobRetry(RETRY_DELAY, "the provider cannot be reached")


async def _lost_calls_due_at(tx: Tx) -> datetime | None:
    """Now if a lease has expired (leases use real time), else None."""
    return tx.now if await leases.has_expired_leases(tx, ALL_PARTNERS, LEASE_KIND) else None


async def _recover_lost_calls(tx: Tx) -> int:
    lost = await leases.take_over_expired_leases(tx, ALL_PARTNERS, LEASE_KIND, service.BATCH)
    await queue.enqueue_jobs(
        tx, [FINISH_PAYMENT.build_job(ChargeOrResumeInterruptedPaymentJob(payment_id)) for payment_id in lost]
    )
    return len(lost)


tasks.add_periodic_job(
    "donations.cancel_abandoned", service.next_unpaid_donation_cancellation_at, service.cancel_abandoned_donations
)
tasks.add_periodic_job(
    "donations.erase_donors", service.next_donor_erasure_at, service.erase_donors_of_cancelled_donations
)
tasks.add_periodic_job("donations.recover_calls", _lost_calls_due_at, _recover_lost_calls)
# Not more often: lists are exact without it, but slow down as the totals become stale.
tasks.add_periodic_job(
    "donations.refresh_totals",
    service.next_donation_list_counts_refresh_at,
    service.refresh_donation_list_counts,
    period=timedelta(minutes=1),
)

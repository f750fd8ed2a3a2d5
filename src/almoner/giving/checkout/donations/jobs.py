"""Background work of donations: the 24 hours, attempts to end at the provider, calls that a crash left unrecorded."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from almoner.giving.checkout.card_testing.domain import STRICT_LIMITS, CardTestingLimits
from almoner.giving.checkout.donations import flows, service
from almoner.giving.checkout.donations.flows import LEASE_KIND, PaymentContext
from almoner.giving.checkout.donations.service import CANCEL_PAYMENT
from almoner.giving.checkout.payments.domain import NoSuchPayment, ProviderUnavailable
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.jobs import leases, queue
from almoner.platform.jobs.background_tasks import Handler, JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDone, JobDropped, JobRetry, NewJob, Result

RECOVER_PAYMENT: Final = "donations.finish_payment"
RETRY_DELAY: Final = timedelta(minutes=1)


async def cancel_payment(provider: PaymentProvider, figures: CardTestingLimits, work: JobContext, job: Job) -> Result:
    """End an attempt that must not be paid any more."""
    try:
        ended = await flows.cancel_payment(PaymentContext(work.db, provider, figures), UUID(job.payload["payment"]))
    except ProviderUnavailable as error:
        return _result_of_failure(error)
    return JobDone() if ended else JobRetry(RETRY_DELAY, "the provider is busy with the payment")


async def recover_payment(provider: PaymentProvider, figures: CardTestingLimits, work: JobContext, job: Job) -> Result:
    """Finish a call of a process that crashed between asking and recording (I5)."""
    try:
        await flows.recover_payment(PaymentContext(work.db, provider, figures), UUID(job.payload["payment"]))
    except ProviderUnavailable as error:
        return _result_of_failure(error)
    return JobDone()


def _result_of_failure(error: ProviderUnavailable) -> Result:
    if isinstance(error.__cause__, NoSuchPayment):
        return JobDropped("the provider does not know the payment")
    return JobRetry(RETRY_DELAY, "the provider cannot be reached")


def handlers(provider: PaymentProvider, figures: CardTestingLimits = STRICT_LIMITS) -> Mapping[str, Handler]:
    """The jobs, with the provider that they ask and the brakes that learn from its answers."""
    return {
        CANCEL_PAYMENT: partial(cancel_payment, provider, figures),
        RECOVER_PAYMENT: partial(recover_payment, provider, figures),
    }


async def _lost_calls_due_at(tx: Tx) -> datetime | None:
    """Leases run out by real time: one that has is due now."""
    return tx.now if await leases.has_expired_leases(tx, ALL_PARTNERS, LEASE_KIND) else None


async def _recover_lost_calls(tx: Tx) -> int:
    lost = await leases.take_over_expired_leases(tx, ALL_PARTNERS, LEASE_KIND, service.BATCH)
    await queue.enqueue_jobs(tx, [NewJob(RECOVER_PAYMENT, {"payment": str(payment_id)}) for payment_id in lost])
    return len(lost)


schedules: Final = (
    Schedule("donations.cancel_abandoned", service.next_due_at, service.cancel_abandoned_donations),
    Schedule("donations.forget_donors", service.next_erasure_at, service.erase_donors),
    Schedule("donations.finish_lost_calls", _lost_calls_due_at, _recover_lost_calls),
    # Not more often: lists are exact without it, and a little slower the more there is to add up.
    Schedule(
        "donations.gather", service.next_totals_refresh_at, service.refresh_list_totals, every=timedelta(minutes=1)
    ),
)

"""Background work of donations: the 24 hours, attempts to end at the provider, calls that a crash left unrecorded."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from almoner.giving.checkout.card_testing.domain import STRICT, CardTestingLimits
from almoner.giving.checkout.donations import flows, service
from almoner.giving.checkout.donations.flows import LEASED, PaymentWork
from almoner.giving.checkout.donations.service import CLOSE_PAYMENT
from almoner.giving.checkout.payments.domain import NoSuchPayment, ProviderUnavailable
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.platform.database.transactions import EVERYONE, Tx
from almoner.platform.jobs import leases, queue
from almoner.platform.jobs.background_tasks import Handler, Schedule, Work
from almoner.platform.jobs.queue import Done, Drop, Job, NewJob, Result, Retry

FINISH_PAYMENT: Final = "donations.finish_payment"
AGAIN: Final = timedelta(minutes=1)


async def close_payment(provider: PaymentProvider, figures: CardTestingLimits, work: Work, job: Job) -> Result:
    """End an attempt that must not be paid any more."""
    try:
        ended = await flows.end_payment(PaymentWork(work.db, provider, figures), UUID(job.payload["payment"]))
    except ProviderUnavailable as error:
        return _unavailable(error)
    return Done() if ended else Retry(AGAIN, "the provider is busy with the payment")


async def finish_payment(provider: PaymentProvider, figures: CardTestingLimits, work: Work, job: Job) -> Result:
    """Finish a call of a process that crashed between asking and recording (I5)."""
    try:
        await flows.finish_payment(PaymentWork(work.db, provider, figures), UUID(job.payload["payment"]))
    except ProviderUnavailable as error:
        return _unavailable(error)
    return Done()


def _unavailable(error: ProviderUnavailable) -> Result:
    if isinstance(error.__cause__, NoSuchPayment):
        return Drop("the provider does not know the payment")
    return Retry(AGAIN, "the provider cannot be reached")


def handlers(provider: PaymentProvider, figures: CardTestingLimits = STRICT) -> Mapping[str, Handler]:
    """The jobs, with the provider that they ask and the brakes that learn from its answers."""
    return {
        CLOSE_PAYMENT: partial(close_payment, provider, figures),
        FINISH_PAYMENT: partial(finish_payment, provider, figures),
    }


async def _calls_lost(tx: Tx) -> datetime | None:
    """Leases run out by real time: one that has is due now."""
    return tx.now if await leases.has_expired_leases(tx, EVERYONE, LEASED) else None


async def _finish_lost_calls(tx: Tx) -> int:
    lost = await leases.take_over_expired_leases(tx, EVERYONE, LEASED, service.BATCH)
    await queue.enqueue_all(tx, [NewJob(FINISH_PAYMENT, {"payment": str(payment_id)}) for payment_id in lost])
    return len(lost)


schedules: Final = (
    Schedule("donations.cancel_abandoned", service.next_due, service.cancel_abandoned),
    Schedule("donations.forget_donors", service.next_forgotten, service.forget),
    Schedule("donations.finish_lost_calls", _calls_lost, _finish_lost_calls),
    # Not more often: lists are exact without it, and a little slower the more there is to add up.
    Schedule("donations.gather", service.next_gathering, service.refresh_list_totals, every=timedelta(minutes=1)),
)

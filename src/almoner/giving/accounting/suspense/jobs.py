"""Background work of unallocated payments: apply rules when they are due, and send refunds."""

from datetime import timedelta
from typing import Final

from almoner.giving.accounting.suspense import flows, service
from almoner.giving.accounting.suspense.service import REFUND, RefundUnallocatedPaymentJob
from almoner.giving.checkout.payments.domain import NoSuchPayment, ProviderFailure, RefundRefused
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobDropped, JobRetry, Result

tasks: Final = TaskRegistry()
tasks.add_periodic_job("suspense.decide", service.next_automatic_action_at, service.run_due_automatic_actions)
provider_tasks: Final = DependentTaskRegistry[PaymentProvider]()

_FIRST_WAIT: Final = timedelta(minutes=1)
_LONGEST_WAIT: Final = timedelta(hours=1)


@provider_tasks.job(REFUND)
async def refund_unallocated_payment(
    provider: PaymentProvider, context: JobContext, job: DecodedJob[RefundUnallocatedPaymentJob]
) -> Result:
    """Refund one unallocated payment.

    If the provider rejects the refund for good, the job dies and waits for an operator.
    """
    try:
        await flows.refund_unallocated_payment(context.db, provider, job.details.held)
    except NoSuchPayment:
        return JobDropped("the provider does not know the payment")
    except RefundRefused as refused:
        return JobDropped(str(refused))
    except ProviderFailure as failure:
        return JobRetry(min(_FIRST_WAIT * 2 ** min(job.attempt - 1, 10), _LONGEST_WAIT), str(failure))
    return JobDone()

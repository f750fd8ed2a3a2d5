"""Background work of refunds: send them through providers, and refresh their status."""

from datetime import timedelta
from typing import Final

from almoner.giving.accounting.refunds import flows
from almoner.giving.accounting.refunds.domain import ConcurrentChangeError
from almoner.giving.accounting.refunds.flows import RETRY_DELAY, RefundContext
from almoner.giving.accounting.refunds.ports import RefundStatusReader
from almoner.giving.accounting.refunds.service import REFRESH, SEND, RefreshRefundJob, SendRefundJob
from almoner.giving.checkout.payments.domain import NoSuchPayment, ProviderFailure
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobDropped, JobRetry, Result

tasks: Final = DependentTaskRegistry[PaymentProvider]()
status_tasks: Final = DependentTaskRegistry[RefundStatusReader]()
"""Tasks for providers that report the outcome of refunds."""

_FIRST_WAIT: Final = timedelta(minutes=1)
_LONGEST_WAIT: Final = timedelta(hours=1)


@tasks.job(SEND)
async def send_refund(provider: PaymentProvider, context: JobContext, job: DecodedJob[SendRefundJob]) -> Result:
    """Send one refund. A payment that the provider does not know becomes a dead job for an operator."""
    try:
        await flows.send_refund(context.db, provider, job.details.refund)
    except NoSuchPayment:
        return JobDropped("the provider does not know the payment")
    except ProviderFailure as failure:
        return JobRetry(min(_FIRST_WAIT * 2 ** min(job.attempt - 1, 10), _LONGEST_WAIT), str(failure))
    return JobDone()


@status_tasks.job(REFRESH)
async def refresh_refund(reader: RefundStatusReader, context: JobContext, job: DecodedJob[RefreshRefundJob]) -> Result:
    """Refresh a refund that was pending when a webhook reported a change."""
    try:
        await flows.refresh_refund(RefundContext(context.db, reader), job.details.payment, job.details.refund)
    except NoSuchPayment:
        return JobDropped("the provider does not know the payment")
    except ProviderFailure as failure:
        return JobRetry(RETRY_DELAY, str(failure))
    except ConcurrentChangeError:
        return JobRetry(RETRY_DELAY, "a refund of the payment is being sent")
    return JobDone()

"""Background work of refunds: providers are asked for them."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

from almoner.giving.accounting.refunds import flows
from almoner.giving.accounting.refunds.domain import RetryLater
from almoner.giving.accounting.refunds.flows import RETRY_DELAY, RefundContext
from almoner.giving.accounting.refunds.ports import RefundStatusReader
from almoner.giving.accounting.refunds.service import REFRESH, SEND
from almoner.giving.checkout.payments.domain import NoSuchPayment, ProviderFailure
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, JobDone, JobDropped, JobRetry, Result

_FIRST_WAIT: Final = timedelta(minutes=1)
_LONGEST_WAIT: Final = timedelta(hours=1)


async def send_refund(provider: PaymentProvider, work: JobContext, job: Job) -> Result:
    """Have one refund sent. A payment that the provider does not know waits for a person, as a dead job."""
    try:
        await flows.send_refund(work.db, provider, UUID(job.payload["refund"]))
    except NoSuchPayment:
        return JobDropped("the provider does not know the payment")
    except ProviderFailure as failure:
        return JobRetry(min(_FIRST_WAIT * 2 ** min(job.attempt - 1, 10), _LONGEST_WAIT), str(failure))
    return JobDone()


async def refresh_refund(reader: RefundStatusReader, work: JobContext, job: Job) -> Result:
    """Look at a refund that was being sent when a notice told of it."""
    try:
        await flows.refresh_refund(RefundContext(work.db, reader), job.payload["payment"], job.payload["refund"])
    except NoSuchPayment:
        return JobDropped("the provider does not know the payment")
    except ProviderFailure as failure:
        return JobRetry(RETRY_DELAY, str(failure))
    except RetryLater:
        return JobRetry(RETRY_DELAY, "a refund of the payment is being sent")
    return JobDone()


def handlers(provider: PaymentProvider, reader: RefundStatusReader | None = None) -> Mapping[str, Handler]:
    """The jobs, with the provider that they ask."""
    checking = {REFRESH: partial(refresh_refund, reader)} if reader else {}
    return {SEND: partial(send_refund, provider), **checking}

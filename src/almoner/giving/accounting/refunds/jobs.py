"""Background work of refunds: providers are asked for them."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

from almoner.giving.accounting.refunds import flows
from almoner.giving.accounting.refunds.domain import NotNow
from almoner.giving.accounting.refunds.flows import AGAIN, RefundWork
from almoner.giving.accounting.refunds.ports import RefundStatusReader
from almoner.giving.accounting.refunds.service import LOOK, REFUND
from almoner.giving.checkout.payments.domain import NoSuchPayment, ProviderFailure
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.platform.jobs.background_tasks import Handler, Work
from almoner.platform.jobs.queue import Done, Drop, Job, Result, Retry

_FIRST_WAIT: Final = timedelta(minutes=1)
_LONGEST_WAIT: Final = timedelta(hours=1)


async def send(provider: PaymentProvider, work: Work, job: Job) -> Result:
    """Have one refund sent. A payment that the provider does not know waits for a person, as a dead job."""
    try:
        await flows.send(work.db, provider, UUID(job.payload["refund"]))
    except NoSuchPayment:
        return Drop("the provider does not know the payment")
    except ProviderFailure as failure:
        return Retry(min(_FIRST_WAIT * 2 ** min(job.attempt - 1, 10), _LONGEST_WAIT), str(failure))
    return Done()


async def refresh_status(reader: RefundStatusReader, work: Work, job: Job) -> Result:
    """Look at a refund that was being sent when a notice told of it."""
    try:
        await flows.look(RefundWork(work.db, reader), job.payload["payment"], job.payload["refund"])
    except NoSuchPayment:
        return Drop("the provider does not know the payment")
    except ProviderFailure as failure:
        return Retry(AGAIN, str(failure))
    except NotNow:
        return Retry(AGAIN, "a refund of the payment is being sent")
    return Done()


def handlers(provider: PaymentProvider, reader: RefundStatusReader | None = None) -> Mapping[str, Handler]:
    """The jobs, with the provider that they ask."""
    looking = {LOOK: partial(refresh_status, reader)} if reader else {}
    return {REFUND: partial(send, provider), **looking}

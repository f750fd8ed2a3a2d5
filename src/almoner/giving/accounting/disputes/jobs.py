"""Background work of disputes: providers are asked how open ones stand, and what came back to us is taken back."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.accounting.disputes import flows, service
from almoner.giving.accounting.disputes.domain import NotNow
from almoner.giving.accounting.disputes.flows import AGAIN, DisputeWork
from almoner.giving.accounting.disputes.service import LOOK
from almoner.giving.checkout.donations.domain import PAYOUT_RETURNED
from almoner.giving.checkout.payments.domain import NoSuchPayment, ProviderFailure
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.giving.disbursing.disbursements.domain import Rules
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, Schedule, Work
from almoner.platform.jobs.queue import Done, Drop, Job, NewJob, Result, Retry

RECOVER: Final = "disputes.recover"


async def look(provider: PaymentProvider, rules: Rules, work: Work, job: Job) -> Result:
    """Look at the disputes of one payment."""
    try:
        await flows.look(DisputeWork(work.db, provider, rules), job.payload["payment"])
    except NoSuchPayment:
        return Drop("the provider does not know the payment")
    except ProviderFailure as failure:
        return Retry(AGAIN, str(failure))
    except NotNow:
        return Retry(AGAIN, "something else is under way with the gift")
    return Done()


class _Returned(msgspec.Struct):
    """What is read of the event's donation."""

    id: str


async def on_return(tx: Tx, events: Sequence[Event]) -> None:
    """Have another look at gifts whose payout came back."""
    gifts = [tx.ids.parse("donation", msgspec.convert(event.record(), _Returned).id) for event in events]
    jobs = [NewJob(RECOVER, {"donation": str(gift)}, unique=str(gift)) for gift in gifts if gift is not None]
    await queue.enqueue_all(tx, jobs)


async def recover(rules: Rules, work: Work, job: Job) -> Result:
    """Take back what we bore of a gift whose payout came back."""
    try:
        async with work.db.write() as tx:
            await service.recover(tx, UUID(job.payload["donation"]), rules)
    except NotNow:
        return Retry(AGAIN, "something else is under way with the gift")
    return Done()


reactions: Final = (Reaction(PAYOUT_RETURNED, on_return),)


def handlers(provider: PaymentProvider, rules: Rules) -> Mapping[str, Handler]:
    """The job that asks the provider."""
    return {LOOK: partial(look, provider, rules)}


def recovering(rules: Rules) -> Mapping[str, Handler]:
    """The job that asks nobody."""
    return {RECOVER: partial(recover, rules)}


schedules: Final = (Schedule("disputes.look_again", service.next_check, service.look_again),)

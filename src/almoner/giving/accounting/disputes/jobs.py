"""Background work of disputes: providers are asked how open ones stand, and what came back to us is taken back."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.accounting.disputes import flows, service
from almoner.giving.accounting.disputes.domain import RetryLater
from almoner.giving.accounting.disputes.flows import RETRY_DELAY, DisputeContext
from almoner.giving.accounting.disputes.service import REFRESH
from almoner.giving.checkout.donations.domain import PAYOUT_RETURNED
from almoner.giving.checkout.payments.domain import NoSuchPayment, ProviderFailure
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDone, JobDropped, JobRetry, NewJob, Result

RECOVER: Final = "disputes.recover"


async def refresh_disputes(provider: PaymentProvider, rules: DisbursementRules, work: JobContext, job: Job) -> Result:
    """Look at the disputes of one payment."""
    try:
        await flows.refresh_disputes(DisputeContext(work.db, provider, rules), job.payload["payment"])
    except NoSuchPayment:
        return JobDropped("the provider does not know the payment")
    except ProviderFailure as failure:
        return JobRetry(RETRY_DELAY, str(failure))
    except RetryLater:
        return JobRetry(RETRY_DELAY, "something else is under way with the gift")
    return JobDone()


class _ReturnedDonation(msgspec.Struct):
    """What is read of the event's donation."""

    id: str


async def on_disbursement_returned(tx: Tx, events: Sequence[Event]) -> None:
    """Have another look at gifts whose payout came back."""
    gifts = [tx.ids.parse("donation", msgspec.convert(event.event_data(), _ReturnedDonation).id) for event in events]
    jobs = [NewJob(RECOVER, {"donation": str(gift)}, unique=str(gift)) for gift in gifts if gift is not None]
    await queue.enqueue_jobs(tx, jobs)


async def recover_loss(rules: DisbursementRules, work: JobContext, job: Job) -> Result:
    """Take back what we bore of a gift whose payout came back."""
    try:
        async with work.db.write() as tx:
            await service.recover_loss(tx, UUID(job.payload["donation"]), rules)
    except RetryLater:
        return JobRetry(RETRY_DELAY, "something else is under way with the gift")
    return JobDone()


reactions: Final = (Reaction(PAYOUT_RETURNED, on_disbursement_returned),)


def handlers(provider: PaymentProvider, rules: DisbursementRules) -> Mapping[str, Handler]:
    """The job that asks the provider."""
    return {REFRESH: partial(refresh_disputes, provider, rules)}


def recovery_handlers(rules: DisbursementRules) -> Mapping[str, Handler]:
    """The job that asks nobody."""
    return {RECOVER: partial(recover_loss, rules)}


schedules: Final = (Schedule("disputes.look_again", service.next_refresh_at, service.enqueue_due_refreshes),)

"""Background work of payouts: gifts into their buckets, the sandbox's daily run, what a crash left half done."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.checkout.donations import domain as donations_domain
from almoner.giving.disbursing.disbursements import flows, service
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.disbursing.disbursements.service import COLLECT, HOLD
from almoner.giving.disbursing.verifications import domain as verifications_domain
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDone, JobRetry, NewJob, Result
from almoner.platform.observability.telemetry import Telemetry

RUN: Final = "payouts.run"
_AGAIN: Final = timedelta(seconds=10)


class _OrganisationRecord(msgspec.Struct, rename="camel"):
    """What is read of an event's record."""

    organisation_id: str


async def on_balance_changed(tx: Tx, events: Sequence[Event]) -> None:
    """Have another look at the buckets of the nonprofits that the events are about."""
    jobs = {}
    for event in events:
        reported = msgspec.convert(event.event_data(), _OrganisationRecord)
        organisation_id = tx.ids.parse("organisation", reported.organisation_id)
        if event.partner_id is not None and organisation_id is not None:
            key = f"{event.partner_id}:{organisation_id}"
            payload = {"partner": str(event.partner_id), "organisation": str(organisation_id)}
            jobs[key] = NewJob(COLLECT, payload, unique=key)
    await queue.enqueue_jobs(tx, list(jobs.values()))


async def collect_batches(rules: DisbursementRules, work: JobContext, job: Job) -> Result:
    """Put settled gifts of a nonprofit into their buckets, a batch in each transaction.

    Gifts that somebody else held meanwhile were stepped around: they are looked for again.
    """
    partner = Partner(UUID(job.payload["partner"]))
    async with work.db.read() as tx:
        buckets = await service.batches_of(tx, partner, UUID(job.payload["organisation"]))
    for bucket in buckets:
        await flows.collect_batch(work.db, bucket, rules)
    async with work.db.read() as tx:
        left = [bucket for bucket in buckets if await service.has_unpaid_donations(tx, bucket)]
    return JobRetry(_AGAIN, "somebody else held some of the gifts") if left else JobDone()


async def run_disbursements(rules: DisbursementRules, telemetry: Telemetry, work: JobContext, _job: Job) -> Result:
    """Run the payouts; what the books refuse is logged, and keeps nothing else back."""
    ran = await flows.run_disbursements(work.db, rules)
    for disbursement_id, stated in ran.refused:
        payout = work.db.deployment.ids.text("disbursement", disbursement_id)
        telemetry.log(
            "payout_refused", work.db.deployment.clock.real_now(), level="error", payout=payout, claimed=stated
        )
    return JobDone()


async def place_hold(rules: DisbursementRules, work: JobContext, job: Job) -> Result:
    """Hold payouts to a nonprofit back by rule."""
    reported = job.payload
    partner, organisation_id = Partner(UUID(reported["partner"])), UUID(reported["organisation"])
    await flows.hold_disbursements_by_rule(
        work.db, partner, organisation_id, name=reported["name"], note=reported["note"], rules=rules
    )
    return JobDone()


_EVENTS: Final = (
    donations_domain.SETTLED,
    donations_domain.PAYOUT_RETURNED,
    donations_domain.REASSIGNED,
    verifications_domain.PROGRESSED,
    verifications_domain.FLAGGED,
)
reactions: Final = tuple(Reaction(event, on_balance_changed) for event in _EVENTS)


def handlers(rules: DisbursementRules, telemetry: Telemetry) -> Mapping[str, Handler]:
    """The jobs, with the least amounts that are paid out."""
    return {
        COLLECT: partial(collect_batches, rules),
        RUN: partial(run_disbursements, rules, telemetry),
        HOLD: partial(place_hold, rules),
    }


async def _propagation_due_at(tx: Tx) -> datetime | None:
    return tx.now if await service.disbursements_awaiting_propagation(tx, 1) else None


async def _propagate_next(tx: Tx) -> int:
    for disbursement_id in await service.disbursements_awaiting_propagation(tx, 1):
        await service.propagate_status(tx, disbursement_id)
        return 1
    return 0


async def _enqueue_run(tx: Tx) -> int:
    """Have a worker run the payouts, a bucket in each transaction. The sweep itself deals with none."""
    await queue.enqueue_job(tx, RUN, {}, unique=RUN)
    return 0


def schedules(*, sandbox: bool) -> tuple[Schedule, ...]:
    """In the sandbox payouts run every day by themselves (settled 9); in production a person runs and confirms them."""
    every = (Schedule("payouts.follow", _propagation_due_at, _propagate_next),)
    daily = (Schedule(RUN, partial(service.next_run_at, name=RUN), _enqueue_run),)
    return every + daily if sandbox else every

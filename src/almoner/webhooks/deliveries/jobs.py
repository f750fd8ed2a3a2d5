"""The background half of deliveries: fan-out of numbered events, and attempts at deliveries that are due."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import SystemRandom
from time import monotonic
from typing import Final
from uuid import UUID

from almoner.platform.database.batching import Together
from almoner.platform.database.transactions import EVERYONE, Database, Partner
from almoner.platform.events.outbox import EVERY_TYPE, Reaction
from almoner.platform.jobs.background_tasks import Handler, Schedule, Work
from almoner.platform.jobs.queue import Done, Job, Result, Retry
from almoner.platform.outbound.client import Answer, Outbound, OutboundFailure
from almoner.webhooks.deliveries import domain, service, signatures, store
from almoner.webhooks.deliveries.domain import Attempt
from almoner.webhooks.deliveries.store import Due, Outcome
from almoner.webhooks.subscriptions import service as subscriptions
from almoner.webhooks.subscriptions.domain import Subscription

reactions = (Reaction(EVERY_TYPE, service.fan_out),)

schedules: Final = (
    Schedule("webhooks.forget_attempts", service.attempts_due, service.forget_attempts, every=timedelta(days=1)),
    Schedule("webhooks.forget_deliveries", service.ended_due, service.forget_ended, every=timedelta(days=1)),
)

_chance: Final = SystemRandom()


def handlers(db: Database, outbound: Outbound) -> Mapping[str, Handler]:
    """The handler of delivery jobs, with the client that wiring makes and closes."""
    return {service.KIND: Courier(db, outbound).deliver}


@dataclass(frozen=True, slots=True)
class _Found:
    """A delivery and its receiver; None for one that takes nothing more."""

    due: Due
    receiver: Subscription | None


class Courier:
    """Makes attempts at deliveries: loads, POSTs, records. Loads and records of concurrent jobs share statements."""

    def __init__(self, db: Database, outbound: Outbound) -> None:
        self._db = db
        self._outbound = outbound
        self._load = Together(self._load_all)
        self._record = Together(self._record_all)
        self._cancel = Together(self._cancel_all)

    async def deliver(self, _work: Work, job: Job) -> Result:
        """Make one attempt, unless it is not due any more. Safe to run twice: an attempt's number is recorded once."""
        found = await self._load(UUID(hex=job.payload["delivery"]))
        now = self._db.deployment.clock.now()
        if found is None or found.due.next_attempt_at is None:
            return Done()
        if found.due.next_attempt_at > now:
            return Retry(found.due.next_attempt_at - now)
        if found.receiver is None or found.due.body is None:
            await self._cancel(found.due.id)
            return Done()
        outcome = await self._attempt(found.due, found.receiver, found.due.body)
        if not await self._record(outcome):
            return Retry(timedelta())  # another worker made this attempt: look again what came of it
        due = outcome.verdict.next_attempt_at
        return Done() if due is None else Retry(due - self._db.deployment.clock.now())

    async def _attempt(self, due: Due, receiver: Subscription, body: bytes) -> Outcome:
        clock = self._db.deployment.clock
        started_at, wall = clock.now(), clock.wall()
        event_id = self._db.deployment.ids.text("event", due.event_id)
        secrets = receiver.signing_secrets(started_at)
        headers = signatures.headers(secrets, event_id, due.sequence, wall, body)
        began = monotonic()
        answer: Answer | None = None
        error = None
        try:
            answer = await self._outbound.post(receiver.url, body, headers, owner=str(due.partner_id))
        except OutboundFailure as failure:
            error = str(failure)
        attempt = Attempt(
            number=due.attempts + 1,
            started_at=started_at,
            duration_ms=round((monotonic() - began) * 1000),
            status_code=answer.status if answer else None,
            error=error,
            answer=domain.kept_answer(answer.body) if answer else None,
        )
        retry_after = domain.read_retry_after(answer.headers.get("Retry-After"), wall) if answer else None
        first_at = due.first_attempt_at or started_at
        verdict = domain.judge(attempt, first_at, retry_after, _chance.random())
        return Outcome(due.id, Partner(due.partner_id), due.subscription_id, first_at, attempt, verdict)

    async def _load_all(self, delivery_ids: Sequence[UUID]) -> list[_Found | None]:
        async with self._db.read() as tx:
            found = await store.due(tx, EVERYONE, delivery_ids)
            receivers = await subscriptions.active(tx, {due.subscription_id for due in found.values()})
        return [
            _Found(due, receivers.get(due.subscription_id)) if (due := found.get(delivery_id)) else None
            for delivery_id in delivery_ids
        ]

    async def _record_all(self, outcomes: Sequence[Outcome]) -> list[bool]:
        async with self._db.write() as tx:
            recorded = await store.record(tx, EVERYONE, outcomes)
            # In one order, so that two workers never wait for each other's subscriptions.
            for outcome in sorted(outcomes, key=lambda outcome: outcome.subscription_id):
                if outcome.verdict.suspend and outcome.delivery_id in recorded:
                    await subscriptions.suspend(tx, outcome.partner, outcome.subscription_id)
        return [outcome.delivery_id in recorded for outcome in outcomes]

    async def _cancel_all(self, delivery_ids: Sequence[UUID]) -> list[None]:
        async with self._db.single() as tx:
            await store.cancel(tx, EVERYONE, delivery_ids)
        return [None] * len(delivery_ids)

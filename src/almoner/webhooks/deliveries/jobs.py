"""Background work of deliveries: fan-out of numbered events, and attempts at due deliveries."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import SystemRandom
from time import monotonic
from typing import Final
from uuid import UUID

from almoner.platform.database.batching import CallBatcher
from almoner.platform.database.transactions import Database, Partner
from almoner.platform.events.outbox import EVERY_TYPE
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import (
    Answer,
    DecodedJob,
    FinishedJob,
    Job,
    JobDone,
    JobResultRecorded,
    JobRetry,
    Result,
)
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.client import OutboundClient, OutboundFailure, OutboundResponse
from almoner.webhooks.deliveries import domain, service, signatures, store
from almoner.webhooks.deliveries.domain import AttemptEvaluation, DeliveryAttempt
from almoner.webhooks.deliveries.store import DueDelivery, EvaluatedAttempt
from almoner.webhooks.subscriptions import service as subscriptions
from almoner.webhooks.subscriptions.domain import LANES_KEPT, WebhookSubscription

tasks: Final = TaskRegistry()
tasks.on_public_event(EVERY_TYPE)(service.fan_out_events)
tasks.add_periodic_job(
    "webhooks.delete_attempts", service.next_attempt_deletion_at, service.delete_old_attempts, period=timedelta(days=1)
)
tasks.add_periodic_job(
    "webhooks.delete_deliveries",
    service.next_delivery_deletion_at,
    service.delete_old_deliveries,
    period=timedelta(days=1),
)

_random: Final = SystemRandom()


@tasks.job(service.EXPIRE)
async def expire_deliveries(context: JobContext, job: DecodedJob[service.ExpireDeliveriesJob]) -> Answer:
    """Expire deliveries that a paused receiver has held back for too long."""
    ended = 1
    while ended:
        async with context.db.write() as tx:
            ended = await service.expire_deliveries(tx, job.details.subscription)
    return JobDone()


@tasks.job(subscriptions.REMOVE_LANES)
async def remove_delivery_job_lanes(
    context: JobContext, job: DecodedJob[subscriptions.RemoveDeliveryLanesJob]
) -> Answer:
    """Remove the lanes of a deleted subscription."""
    async with context.db.write() as tx:
        removed = await subscriptions.remove_delivery_job_lanes(tx, job.details.subscription)
    return JobDone() if removed else JobRetry(LANES_KEPT, "deliveries of the subscription are still under way")


@dataclass(frozen=True, slots=True)
class _LoadedDelivery:
    """A delivery and its receiver; None if it no longer accepts deliveries."""

    due: DueDelivery
    receiver: WebhookSubscription | None


class DeliveryWorker:
    """Makes attempts at deliveries: loads, POSTs, records. Loads and records of concurrent jobs share statements."""

    def __init__(self, db: Database, outbound: OutboundClient, telemetry: Telemetry) -> None:
        self._db = db
        self._outbound = outbound
        counter = telemetry.deliveries
        self._attempts = {True: counter.labels("succeeded"), False: counter.labels("failed")}
        self._load = CallBatcher(self._load_all)
        self._record = CallBatcher(self._record_all)
        self._cancel = CallBatcher(self._cancel_all)

    async def attempt_delivery(self, context: JobContext, job: DecodedJob[service.DeliveryJob]) -> Answer:
        """Make one attempt if it is still due. Safe to run twice: each attempt's number is recorded once."""
        found = await self._load(job.details.delivery)
        now = self._db.deployment.clock.now()
        if found is None or found.due.next_attempt_at is None:
            return JobDone()
        if found.due.next_attempt_at > now:
            return JobRetry(found.due.next_attempt_at - now, "the next attempt is not due yet")
        if found.receiver is None or found.due.body is None:
            await self._cancel(found.due.id)
            return JobDone()
        outcome = await self._attempt(found.due, found.receiver, found.due.body)
        self._attempts[outcome.attempt.succeeded].inc()
        return JobResultRecorded(await self._record((context, job, outcome)))

    async def _attempt(self, due: DueDelivery, receiver: WebhookSubscription, body: bytes) -> EvaluatedAttempt:
        clock = self._db.deployment.clock
        started_at, real_now = clock.now(), clock.real_now()
        event_id = self._db.deployment.ids.encode("event", due.event_id)
        secrets = receiver.signing_secrets(started_at)
        headers = signatures.build_signed_headers(secrets, event_id, due.sequence, real_now, body)
        started = monotonic()
        answer: OutboundResponse | None = None
        error = None
        try:
            answer = await self._outbound.post(receiver.url, body, headers, connection_owner=str(due.partner_id))
        except OutboundFailure as failure:
            error = str(failure)
        else:
            error = domain.describe_redirect_error(answer.status, answer.headers.get("Location"))
        attempt = DeliveryAttempt(
            number=due.attempt_count + 1,
            started_at=started_at,
            duration_ms=round((monotonic() - started) * 1000),
            status_code=answer.status if answer else None,
            error=error,
            response_body=domain.truncate_response_body(answer.body) if answer else None,
        )
        retry_after = domain.parse_retry_after(answer.headers.get("Retry-After"), real_now) if answer else None
        first_at = due.first_attempt_at or started_at
        verdict = domain.evaluate_attempt(attempt, due.created_at, first_at, retry_after, _random.random())
        partner = Partner(due.partner_id)
        return EvaluatedAttempt(due.id, partner, due.subscription_id, receiver.url, first_at, attempt, verdict)

    async def _load_all(self, delivery_ids: Sequence[UUID]) -> list[_LoadedDelivery | None]:
        async with self._db.read() as tx:
            found = await store.load_due_deliveries_by_id(tx, delivery_ids)
            receivers = await subscriptions.load_active_subscriptions_by_id(
                tx, {due.subscription_id for due in found.values()}
            )
        return [
            _LoadedDelivery(due, receivers.get(due.subscription_id)) if (due := found.get(delivery_id)) else None
            for delivery_id in delivery_ids
        ]

    async def _record_all(self, attempts: Sequence[tuple[JobContext, Job, EvaluatedAttempt]]) -> list[Result]:
        """Record attempts and the results of their jobs, all at once, for one runner."""
        async with self._db.write() as tx:
            outcomes = [outcome for _, _, outcome in attempts]
            evaluations = await service.record_attempts_and_find_final_evaluations(tx, outcomes)
            results = [_result(outcome.attempt, evaluations.get(outcome.delivery_id), tx.now) for outcome in outcomes]
            finished = [FinishedJob(job, result) for (_, job, _), result in zip(attempts, results, strict=True)]
            await attempts[0][0].record_results(tx, finished)
        return results

    async def _cancel_all(self, delivery_ids: Sequence[UUID]) -> list[None]:
        async with self._db.single_statement() as tx:
            await store.end_deliveries(tx, delivery_ids, "cancelled")
        return [None] * len(delivery_ids)


def _result(attempt: DeliveryAttempt, evaluation: AttemptEvaluation | None, now: datetime) -> Result:
    if evaluation is None:
        return JobRetry(timedelta(), "another worker made this attempt")  # check its result
    due = evaluation.next_attempt_at
    reason = attempt.error or f"the receiver answered {attempt.status_code}"
    return JobDone() if due is None else JobRetry(due - now, reason)


delivery_tasks: Final = DependentTaskRegistry[DeliveryWorker]()


@delivery_tasks.job(service.DELIVER)
async def attempt_delivery(worker: DeliveryWorker, context: JobContext, job: DecodedJob[service.DeliveryJob]) -> Answer:
    """Make one attempt."""
    return await worker.attempt_delivery(context, job)

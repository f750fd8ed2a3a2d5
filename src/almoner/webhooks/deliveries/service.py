"""Creates, repeats and lists webhook deliveries."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from almoner.kit.errors import IncorrectParams
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.outbox import Event
from almoner.platform.http.paging import RequestedPage
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import JobKind, LaneLimits
from almoner.webhooks.deliveries import store
from almoner.webhooks.deliveries.domain import (
    ATTEMPT_RETENTION,
    DELIVERY_LIFETIME,
    DELIVERY_RETENTION,
    EXPIRES_AFTER,
    REPLAY_BURST,
    REPLAY_INTERVAL,
    AttemptEvaluation,
    Delivery,
    Status,
)
from almoner.webhooks.deliveries.store import EvaluatedAttempt, NewDelivery
from almoner.webhooks.events import service as events
from almoner.webhooks.events.domain import EventFilter, WebhookSubscriptionNotFound
from almoner.webhooks.subscriptions import service as subscriptions
from almoner.webhooks.subscriptions.domain import (
    EVERY_EVENT,
    REPLAY_CAP,
    AttemptOutcome,
    EventSubscription,
    Reason,
    ReceiverHealth,
    delivery_job_lane,
)


class DeliveryJob(msgspec.Struct, frozen=True):
    """The delivery."""

    delivery: UUID


DELIVER: Final = JobKind("webhooks.deliver", DeliveryJob)


class ExpireDeliveriesJob(msgspec.Struct, frozen=True):
    """The subscription."""

    subscription: UUID


EXPIRE: Final = JobKind("webhooks.expire", ExpireDeliveriesJob)
_TEST_EVENT: Final = "webhook_subscription.test"
_MAX_REPLAYED: Final = 10_000
_MAX_REPLAY_AGE: Final = timedelta(days=30)
_BATCH: Final = 1000


async def fan_out_events(tx: Tx, new_events: Sequence[Event]) -> None:
    """Create deliveries of numbered events to every subscription for them."""
    listening: dict[UUID, list[EventSubscription]] = {
        event.partner_id: [] for event in new_events if event.partner_id is not None
    }
    for subscription in await subscriptions.list_event_subscriptions(tx, listening):
        listening[subscription.partner_id].append(subscription)
    await _enqueue_deliveries(
        tx,
        [
            NewDelivery(tx.new_id(), listener.partner_id, listener.id, event.id, event.type, event.sequence, "event")
            for event in new_events
            if event.partner_id is not None
            for listener in listening[event.partner_id]
            if listener.listens_to(event.type)
        ],
    )


async def resend_event(
    tx: Tx, partner: Partner, event_id: UUID, subscription_id_text: str | None, *, may_see_personal_data: bool = True
) -> int:
    """Deliver an event again: to one subscription, or to all subscribed to its type; returns how many.

    ``may_see_personal_data``: as for a new subscription; without it, an event that names donors goes only to receivers
    of its type. Raises NotFound for the event, WebhookSubscriptionNotFound for a subscription that takes no deliveries,
    Forbidden.
    """
    event = await events.get(tx, partner, event_id)
    if subscription_id_text is None:
        listening = await subscriptions.list_event_subscriptions(tx, [partner.id])
        receivers = [listener.id for listener in listening if listener.listens_to(event.type)]
    else:
        receiver = await _find_receiver(tx, partner, subscription_id_text)
        if not (may_see_personal_data or receiver.listens_to(event.type)):
            subscriptions.ensure_events_without_donor_data([event.type])
        receivers = [receiver.id]
    again = [(event.id, event.sequence, event.type)]
    return sum([await _redeliver(tx, partner, receiver, again, "resend") for receiver in receivers])


async def replay_events(
    tx: Tx,
    partner: Partner,
    subscription_id: UUID,
    starts_at: datetime | None,
    ends_at: datetime | None,
    *,
    failed_only: bool,
) -> int:
    """Redeliver the events of a period that a subscription is subscribed to, in order; returns how many.

    ``failed_only`` skips delivered and pending ones. Without ``starts_at``: events that were missed, among those
    pending when the receiver last accepted one. Raises NotFound, Suspended, IncorrectParams.
    """
    subscription = await subscriptions.get_active_subscription(tx, partner, subscription_id)
    if starts_at is None:
        working = subscription.health.last_success_at or subscription.created_at
        starts_at = max(working - DELIVERY_LIFETIME, subscription.created_at, tx.now - _MAX_REPLAY_AGE)
        failed_only = True
    if tx.now - starts_at > _MAX_REPLAY_AGE:
        raise IncorrectParams("body.startDate must be at most 30 days ago")
    types = None if EVERY_EVENT in subscription.events else subscription.events
    found = await events.list_event_summaries_in_window(
        tx, partner, EventFilter(None, starts_at, ends_at), types, _MAX_REPLAYED + 1
    )
    if len(found) > _MAX_REPLAYED:
        raise IncorrectParams(
            f"body.endDate ends a window of more than {_MAX_REPLAYED:,} events; ask for a shorter one"
        )
    if failed_only:
        fine = await store.find_delivered_or_pending_event_ids(
            tx, partner, subscription_id, [event_id for event_id, *_ in found]
        )
        found = [event for event in found if event[0] not in fine]
    lane = delivery_job_lane(subscription_id, "replay")
    await queue.set_lane_limits(tx, [LaneLimits(lane, REPLAY_CAP, REPLAY_CAP, subscription.health.paused_until)])
    return await _redeliver(tx, partner, subscription_id, found, "replay")


async def send_test_event(tx: Tx, partner: Partner, subscription_id: UUID) -> Delivery:
    """Deliver a test event, which is in no list. Raises NotFound, Suspended."""
    await subscriptions.get_active_subscription(tx, partner, subscription_id)
    event_id, delivery_id = tx.new_id(), tx.new_id()
    data = {
        "id": tx.ids.encode("event", event_id),
        "createdAt": iso_timestamp(tx.now),
        "eventType": _TEST_EVENT,
        "eventData": {"webhookSubscriptionId": tx.ids.encode("webhooksubscription", subscription_id)},
    }
    payload = msgspec.json.encode({"object": "event", "data": data})
    await _enqueue_deliveries(
        tx, [NewDelivery(delivery_id, partner.id, subscription_id, event_id, _TEST_EVENT, None, "test", payload)]
    )
    return Delivery(
        delivery_id, subscription_id, event_id, _TEST_EVENT, None, "test", "pending", (), tx.now, tx.now, None
    )


async def list_page(
    tx: Tx, partner: Partner, subscription_id: UUID, page_: RequestedPage, status: Status | None
) -> tuple[list[Delivery], int]:
    """One page of a subscription's deliveries, and their total. Raises NotFound."""
    await subscriptions.get(tx, partner, subscription_id)
    return await store.list_page(tx, partner, subscription_id, page_, status)


async def next_attempt_deletion_at(tx: Tx) -> datetime | None:
    """When the first attempt has been kept for 30 days."""
    started = await store.find_oldest_attempt_at(tx)
    return None if started is None else started + ATTEMPT_RETENTION


async def delete_old_attempts(tx: Tx) -> int:
    """Remove attempts after 30 days; returns how many were removed."""
    return await store.delete_old_attempts(tx, tx.now - ATTEMPT_RETENTION, _BATCH)


async def next_delivery_deletion_at(tx: Tx) -> datetime | None:
    """When the first delivery that has ended has been kept for 90 days."""
    created = await store.find_oldest_ended_delivery_created_at(tx)
    return None if created is None else created + DELIVERY_RETENTION


async def delete_old_deliveries(tx: Tx) -> int:
    """Remove deliveries after 90 days, as long as their events are kept; returns how many were removed."""
    return await store.delete_old_deliveries(tx, tx.now - DELIVERY_RETENTION, _BATCH)


async def record_attempts_and_find_final_evaluations(
    tx: Tx, evaluated_attempts: Sequence[EvaluatedAttempt]
) -> dict[UUID, AttemptEvaluation]:
    """Store attempts and their results; returns the results by delivery, without those whose next attempt it was not.

    A delivery that is answered 410 ends only if the subscription still has the called URL.
    """
    recorded = await store.record_attempts_and_list_delivery_ids(tx, evaluated_attempts)
    ours = [outcome for outcome in evaluated_attempts if outcome.delivery_id in recorded]
    answers: dict[UUID, subscriptions.PartnerAttemptOutcomes] = {}
    for outcome in ours:
        mine = answers.setdefault(outcome.subscription_id, subscriptions.PartnerAttemptOutcomes(outcome.partner, []))
        mine.outcomes.append(_answer(outcome))
    if answers:
        await _expire_held_back(tx, await subscriptions.record_attempt_outcomes(tx, answers))
    ended = await _suspend_gone_receivers(tx, [one for one in ours if one.evaluation.suspends_subscription])
    return {one.delivery_id: one.evaluation for one in ours} | dict.fromkeys(ended, AttemptEvaluation("failed"))


async def _suspend_gone_receivers(tx: Tx, gone: Sequence[EvaluatedAttempt]) -> list[UUID]:
    """Suspend the subscriptions of receivers that answered 410, and end these deliveries; returns the ended ones."""
    ended = [
        one.delivery_id
        # In a fixed order, so that two workers never wait for each other's subscriptions.
        for one in sorted(gone, key=lambda outcome: outcome.subscription_id)
        if await subscriptions.suspend_unless_url_replaced(tx, one.partner, one.subscription_id, one.url)
    ]
    if ended:
        await store.end_deliveries(tx, ended, "failed")
    return ended


def _answer(outcome: EvaluatedAttempt) -> AttemptOutcome:
    attempt = outcome.attempt
    return AttemptOutcome(attempt.started_at, timedelta(milliseconds=attempt.duration_ms), attempt.succeeded)


async def _expire_held_back(tx: Tx, changed: Mapping[UUID, ReceiverHealth]) -> None:
    await queue.enqueue_jobs(
        tx,
        [
            EXPIRE.build_job(ExpireDeliveriesJob(subscription_id), unique_key=subscription_id.hex)
            for subscription_id, health in changed.items()
            if health.failing_since is not None and tx.now - health.failing_since >= EXPIRES_AFTER
        ],
    )


async def expire_deliveries(tx: Tx, subscription_id: UUID) -> int:
    """End deliveries that a paused receiver has held back for three days, one batch; returns how many."""
    old = [
        payload
        for reason in ("event", "replay")
        for payload in await queue.delete_old_lane_jobs_returning_payloads(
            tx, delivery_job_lane(subscription_id, reason), tx.now - EXPIRES_AFTER, _BATCH
        )
    ]
    await store.end_deliveries(tx, [UUID(hex=payload["delivery"]) for payload in old], "failed")
    return len(old)


async def _find_receiver(tx: Tx, partner: Partner, subscription_text: str) -> EventSubscription:
    subscription_id = tx.ids.decode("webhooksubscription", subscription_text)
    for listener in await subscriptions.list_event_subscriptions(tx, [partner.id]):
        if listener.id == subscription_id:
            return listener
    raise WebhookSubscriptionNotFound(f"body.webhookSubscriptionId '{subscription_text[:100]}' takes no deliveries")


async def _redeliver(
    tx: Tx, partner: Partner, subscription_id: UUID, found: Iterable[tuple[UUID, int, str]], reason: Reason
) -> int:
    interval = REPLAY_INTERVAL if reason == "replay" else timedelta()
    return await _enqueue_deliveries(
        tx,
        [
            NewDelivery(
                tx.new_id(),
                partner.id,
                subscription_id,
                event_id,
                event_type,
                sequence,
                reason,
                due_at=tx.now + max(place - REPLAY_BURST, 0) * interval,
            )
            for place, (event_id, sequence, event_type) in enumerate(found)
        ],
    )


async def _enqueue_deliveries(tx: Tx, deliveries: Sequence[NewDelivery]) -> int:
    """Store deliveries and enqueue their first attempts, each in the lane of its receiver."""
    if not deliveries:
        return 0
    stored = set(await store.insert(tx, deliveries))
    await queue.enqueue_jobs(
        tx,
        [
            DELIVER.build_job(
                DeliveryJob(delivery.id),
                due_at=delivery.due_at,
                lane=delivery_job_lane(delivery.subscription_id, delivery.reason),
            )
            for delivery in deliveries
            if delivery.id in stored
        ],
    )
    return len(stored)

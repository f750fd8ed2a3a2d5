"""Creates, changes and suspends webhook subscriptions, and records their health."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

import msgspec

from almoner.access.people import service as people
from almoner.access.people.domain import member_realm
from almoner.access.security_emails import service as security_emails
from almoner.access.security_emails.domain import Kind
from almoner.kit.errors import Forbidden, IncorrectParams, NotFound
from almoner.kit.patch import UnsetType, value_or_current
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.events.event_types import EVENT_TYPES
from almoner.platform.http.caller import PERSONAL
from almoner.platform.http.wire import personal_fields
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import JobKind, LaneLimits
from almoner.platform.outbound import addresses
from almoner.platform.outbound.addresses import AddressRefused
from almoner.webhooks.subscriptions import domain, schemas, store
from almoner.webhooks.subscriptions.domain import (
    FAILING_EVENT,
    REPLAY_CAP,
    SUSPENDED_EVENT,
    AttemptOutcome,
    ReceiverHealth,
    Status,
    SubscriptionSuspended,
    WebhookSubscription,
)
from almoner.webhooks.subscriptions.store import count_unhealthy_receivers as count_unhealthy_receivers
from almoner.webhooks.subscriptions.store import find_unhealthy_receiver as find_unhealthy_receiver
from almoner.webhooks.subscriptions.store import list_event_subscriptions as list_event_subscriptions
from almoner.webhooks.subscriptions.store import list_page as list_page
from almoner.webhooks.subscriptions.store import list_unhealthy_receivers as list_unhealthy_receivers
from almoner.webhooks.subscriptions.store import load_active_subscriptions_by_id as load_active_subscriptions_by_id
from almoner.webhooks.subscriptions.store import summarise_receivers as summarise_receivers


class RemoveDeliveryLanesJob(msgspec.Struct, frozen=True):
    """The subscription."""

    subscription: UUID


REMOVE_LANES: Final = JobKind("webhooks.remove_lanes", RemoveDeliveryLanesJob)


async def create(
    tx: Tx, partner: Partner, url: str, events: Sequence[str], *, may_see_personal_data: bool = True
) -> WebhookSubscription:
    """A new subscription with a fresh secret. Raises IncorrectParams.

    ``may_see_personal_data``: the caller may see donors' data; else Forbidden for events that contain it, which are not
    masked.
    """
    if not may_see_personal_data:
        ensure_events_without_donor_data(events)
    _validate(tx, url, events)
    subscription = WebhookSubscription(
        id=tx.new_id(),
        url=url,
        events=_unique(events),
        secret=domain.encode_secret(os.urandom(domain.SECRET_BYTES)),
        previous_secrets=(),
        status="active",
        created_at=tx.now,
        updated_at=None,
        deleted_at=None,
    )
    await store.insert(tx, partner, subscription)
    return subscription


def ensure_events_without_donor_data(event_types: Collection[str]) -> None:
    """Raises Forbidden if one of these event types contains donors' personal data, as ``*`` does."""
    if named := sorted(filter(_names_donors, event_types)):
        raise Forbidden(f"{', '.join(named)} name donors: this needs a key with the scope {PERSONAL}")


def _names_donors(event_type: str) -> bool:
    if event_type == domain.EVERY_EVENT:
        return True
    return event_type in EVENT_TYPES and bool(personal_fields(EVENT_TYPES[event_type].record_type))


async def get(tx: Tx, partner: Partner, subscription_id: UUID) -> WebhookSubscription:
    """One subscription that is not deleted. Raises NotFound."""
    if (subscription := await store.find(tx, partner, subscription_id)) is None:
        raise NotFound
    return subscription


def serialise_for_api(tx: Tx, subscription: WebhookSubscription) -> schemas.WebhookSubscriptionResponse:
    """The subscription as an API record, without its secret."""
    return schemas.subscription_response(tx, subscription, include_secret=False)


async def get_active_subscription(tx: Tx, partner: Partner, subscription_id: UUID) -> WebhookSubscription:
    """One subscription that takes deliveries. Raises NotFound, Suspended."""
    subscription = await get(tx, partner, subscription_id)
    if subscription.status != "active":
        raise SubscriptionSuspended
    return subscription


async def update(
    tx: Tx,
    partner: Partner,
    subscription_id: UUID,
    url: str | UnsetType,
    events: Sequence[str] | UnsetType,
    status: Status | UnsetType,
    *,
    may_see_personal_data: bool = True,
) -> WebhookSubscription:
    """Change a subscription. Raises NotFound, IncorrectParams; Forbidden as ``create`` does.

    A new URL or a resumption resets the receiver's health.
    """
    await store.lock_receiver_health(tx, [subscription_id])
    before = await _lock(tx, partner, subscription_id)
    changed = replace(
        before,
        url=value_or_current(url, before.url),
        events=_unique(value_or_current(events, before.events)),
        status=value_or_current(status, before.status),
    )
    if changed == replace(before, events=_unique(before.events)):
        return before
    if not may_see_personal_data:
        ensure_events_without_donor_data(
            changed.events if changed.url != before.url else set(changed.events) - set(before.events)
        )
    changed = replace(changed, updated_at=tx.now)
    _validate(tx, changed.url, changed.events)
    if changed.url != before.url or changed.status == "active" != before.status:
        changed = replace(changed, health=ReceiverHealth(last_success_at=before.health.last_success_at))
        await store.update_receiver_health(tx, {changed.id: changed.health})
        await _limit_attempts(tx, {changed.id: changed.health})
    await store.update(tx, partner, changed)
    return changed


async def delete(tx: Tx, partner: Partner, subscription_id: UUID) -> None:
    """Stop a subscription permanently. Raises NotFound."""
    subscription = await _lock(tx, partner, subscription_id)
    await store.update(tx, partner, replace(subscription, deleted_at=tx.now))
    await REMOVE_LANES.enqueue(tx, RemoveDeliveryLanesJob(subscription_id), due_at=tx.now + domain.LANES_KEPT)


async def remove_delivery_job_lanes(tx: Tx, subscription_id: UUID) -> bool:
    """Remove a deleted subscription's lanes from the job queue; False while they have jobs."""
    return await queue.remove_lanes_without_jobs(tx, domain.list_delivery_job_lanes(subscription_id))


async def rotate_secret(
    tx: Tx, partner: Partner, subscription_id: UUID, *, revoke_previous: bool
) -> WebhookSubscription:
    """Create a new secret; the old one also signs for 24 hours unless ``revoke_previous`` ends this now.

    Raises NotFound.
    """
    before = await _lock(tx, partner, subscription_id)
    if revoke_previous:
        changed = replace(before, previous_secrets=(), updated_at=tx.now)
    else:
        secret = domain.encode_secret(os.urandom(domain.SECRET_BYTES))
        changed = replace(
            before,
            secret=secret,
            previous_secrets=domain.previous_secrets_after_rotation(before, tx.now),
            updated_at=tx.now,
        )
    await store.update(tx, partner, changed)
    return changed


async def suspend(tx: Tx, partner: Partner, subscription_id: UUID) -> None:
    """Suspend deliveries until the partner resumes them (settled 7 and 11); idempotent."""
    if (subscription := await store.find_for_update(tx, partner, subscription_id)) is not None:
        await _suspend_locked(tx, partner, subscription)


async def suspend_unless_url_replaced(tx: Tx, partner: Partner, subscription_id: UUID, called_url: str) -> bool:
    """Suspend deliveries as ``suspend`` does; False if ``called_url`` is no longer the subscription's URL."""
    subscription = await store.find_for_update(tx, partner, subscription_id)
    if subscription is None:
        return True  # deleted: it gets no deliveries any more
    if subscription.url != called_url:
        return False
    await _suspend_locked(tx, partner, subscription)
    return True


async def _suspend_locked(tx: Tx, partner: Partner, subscription: WebhookSubscription) -> None:
    if not domain.SUBSCRIPTION.allows_transition(subscription.status, "suspended"):
        return
    suspended = replace(subscription, status="suspended", updated_at=tx.now)
    await store.update(tx, partner, suspended)
    await _limit_attempts(tx, {subscription.id: ReceiverHealth()})  # waiting deliveries are cancelled, not held back
    await outbox.emit_event(
        tx, partner.id, SUSPENDED_EVENT, schemas.subscription_response(tx, suspended, include_secret=False)
    )
    await _notify(tx, partner, suspended, "webhook_suspended")


class PartnerAttemptOutcomes(NamedTuple):
    """The results of attempts for one subscription, and its partner."""

    partner: Partner
    outcomes: list[AttemptOutcome]


async def record_attempt_outcomes(
    tx: Tx, outcomes_by_subscription: Mapping[UUID, PartnerAttemptOutcomes]
) -> dict[UUID, ReceiverHealth]:
    """Record the results of attempts by subscription; returns the changed health of receivers.

    Warns the partner after a day of failures alone and suspends the subscription after five (settled 11).
    """
    fast = {
        key: domain.is_last_attempt_fast_if_all_succeeded(ended) for key, (_, ended) in outcomes_by_subscription.items()
    }
    before = await store.record_successes_and_lock_other_receivers(tx, fast)
    if not before:
        return {}
    changed: dict[UUID, ReceiverHealth] = {}
    concerned = []
    for subscription_id, health in before.items():
        partner, ended = outcomes_by_subscription[subscription_id]
        after = reduce(lambda one, answer: one.after_attempt(answer, tx.now, tx.real_now), ended, health)
        if concern := after.required_action(tx.real_now):
            after = replace(after, warned_at=tx.real_now)
            concerned.append((partner, subscription_id, concern))
        changed[subscription_id] = after
    await store.update_receiver_health(tx, changed)
    moved = {key: health for key, health in changed.items() if health.attempt_limits != before[key].attempt_limits}
    await _limit_attempts(tx, moved)
    for partner, subscription_id, concern in concerned:
        if concern == "suspend":
            await suspend(tx, partner, subscription_id)
        else:
            await notify_partner_of_failures(tx, partner, subscription_id)
    return moved


async def _limit_attempts(tx: Tx, receivers: Mapping[UUID, ReceiverHealth]) -> None:
    """Apply the call limits that follow from receivers' health."""
    limits = []
    for subscription_id, health in receivers.items():
        lane, replay_lane = (
            domain.delivery_job_lane(subscription_id, "event"),
            domain.delivery_job_lane(subscription_id, "replay"),
        )
        allowed = health.attempt_limits
        limits.append(
            LaneLimits(
                lane, allowed.max_concurrent_attempts, allowed.max_concurrent_attempts_in_burst, allowed.paused_until
            )
        )
        limits.append(LaneLimits(replay_lane, REPLAY_CAP, REPLAY_CAP, allowed.paused_until))
    if limits:
        await queue.set_lane_limits(tx, limits)


async def notify_partner_of_failures(tx: Tx, partner: Partner, subscription_id: UUID) -> None:
    """Notify the partner that all deliveries to an active subscription have failed for a day."""
    subscription = await store.find(tx, partner, subscription_id)
    if subscription is None or subscription.status != "active":
        return
    await outbox.emit_event(
        tx, partner.id, FAILING_EVENT, schemas.subscription_response(tx, subscription, include_secret=False)
    )
    await _notify(tx, partner, subscription, "webhook_failing")


async def simulate_day_of_failures(tx: Tx, partner: Partner, subscription_id: UUID) -> None:
    """Let every delivery to a subscription have failed for a day (the sandbox)."""
    health = (await store.lock_receiver_health(tx, [subscription_id]))[subscription_id]
    await store.update_receiver_health(tx, {subscription_id: health.after_day_of_failures(tx.now, tx.real_now)})
    await notify_partner_of_failures(tx, partner, subscription_id)


async def _notify(tx: Tx, partner: Partner, subscription: WebhookSubscription, kind: Kind) -> None:
    """Email the partner's owners and developers."""
    facts = {
        "Receiver": urlsplit(subscription.url).netloc,
        "Subscription": tx.ids.encode("webhooksubscription", subscription.id),
    }
    if subscription.health.failing_since is not None:
        facts["Failing since"] = f"{subscription.health.failing_since:%d %B %Y, %H:%M} UTC"
    for person in await people.list_with_any_role(tx, member_realm(partner), "owner", "developer"):
        await security_emails.enqueue_email(tx, person, kind, detail_lines=facts)


async def _lock(tx: Tx, partner: Partner, subscription_id: UUID) -> WebhookSubscription:
    if (subscription := await store.find_for_update(tx, partner, subscription_id)) is None:
        raise NotFound
    return subscription


def _validate(tx: Tx, url: str, events: Sequence[str]) -> None:
    found = domain.find_event_type_problems(events, outbox.EVENT_TYPES)
    try:
        addresses.parse_target(url, tx.deployment.outbound_address_policy)
    except AddressRefused as error:
        found.append(f"body.url {error.reason}")
    if found:
        raise IncorrectParams(*found)


def _unique(events: Sequence[str]) -> Sequence[str]:
    return tuple(dict.fromkeys(events))

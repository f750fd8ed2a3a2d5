"""What can be done with webhook subscriptions."""

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from almoner.kit.errors import IncorrectParams, NotFound
from almoner.kit.patch import UnsetType, value_or_current
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.http.paging import Page
from almoner.platform.outbound import addresses
from almoner.platform.outbound.addresses import AddressRefused
from almoner.webhooks.subscriptions import domain, schemas, store
from almoner.webhooks.subscriptions.domain import SUSPENDED_EVENT, EventListener, Status, Suspended, WebhookSubscription


async def create(tx: Tx, partner: Partner, url: str, events: Sequence[str]) -> WebhookSubscription:
    """A new subscription with a fresh secret. Raises IncorrectParams."""
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


async def get(tx: Tx, partner: Partner, subscription_id: UUID) -> WebhookSubscription:
    """One subscription that is not deleted. Raises NotFound."""
    if (subscription := await store.find(tx, partner, subscription_id)) is None:
        raise NotFound
    return subscription


async def get_active(tx: Tx, partner: Partner, subscription_id: UUID) -> WebhookSubscription:
    """One subscription that takes deliveries. Raises NotFound, Suspended."""
    subscription = await get(tx, partner, subscription_id)
    if subscription.status != "active":
        raise Suspended
    return subscription


async def list_listeners(tx: Tx, partners: Collection[UUID]) -> list[EventListener]:
    """The subscriptions of partners that take deliveries, with what they listen to."""
    return await store.list_listeners(tx, ALL_PARTNERS, partners)


async def find_active(tx: Tx, subscription_ids: Collection[UUID]) -> dict[UUID, WebhookSubscription]:
    """Those of the subscriptions that take deliveries now, for the worker."""
    return await store.find_active(tx, ALL_PARTNERS, subscription_ids)


async def list_page(
    tx: Tx, partner: Partner, page_: Page, event: str | None, *, deleted: bool
) -> tuple[list[WebhookSubscription], int]:
    """One page of the subscriptions in use or of the deleted ones, and their total."""
    return await store.list_page(tx, partner, page_, event, deleted=deleted)


async def change(
    tx: Tx,
    partner: Partner,
    subscription_id: UUID,
    url: str | UnsetType,
    events: Sequence[str] | UnsetType,
    status: Status | UnsetType,
) -> WebhookSubscription:
    """Change what is given and differs. Raises NotFound, IncorrectParams."""
    before = await _lock(tx, partner, subscription_id)
    changed = replace(
        before,
        url=value_or_current(url, before.url),
        events=_unique(value_or_current(events, before.events)),
        status=value_or_current(status, before.status),
    )
    if changed == replace(before, events=_unique(before.events)):
        return before
    changed = replace(changed, updated_at=tx.now)
    _validate(tx, changed.url, changed.events)
    await store.update(tx, partner, changed)
    return changed


async def delete(tx: Tx, partner: Partner, subscription_id: UUID) -> None:
    """Stop a subscription for good; it stays in the list of deleted ones. Raises NotFound."""
    subscription = await _lock(tx, partner, subscription_id)
    await store.update(tx, partner, replace(subscription, deleted_at=tx.now))


async def rotate_secret(tx: Tx, partner: Partner, subscription_id: UUID, *, confirm: bool) -> WebhookSubscription:
    """Give a new secret, the old one signing beside it for 24 h; ``confirm`` ends that at once. Raises NotFound."""
    before = await _lock(tx, partner, subscription_id)
    if confirm:
        changed = replace(before, previous_secrets=(), updated_at=tx.now)
    else:
        secret = domain.encode_secret(os.urandom(domain.SECRET_BYTES))
        changed = replace(
            before, secret=secret, previous_secrets=domain.rotated_secrets(before, tx.now), updated_at=tx.now
        )
    await store.update(tx, partner, changed)
    return changed


async def suspend(tx: Tx, partner: Partner, subscription_id: UUID) -> None:
    """Deliver nothing more until the partner resumes it (settled 7: a receiver answered 410); twice is once."""
    subscription = await store.get_for_update(tx, partner, subscription_id)
    if subscription is None or not domain.SUBSCRIPTION.allows(subscription.status, "suspended"):
        return
    suspended = replace(subscription, status="suspended", updated_at=tx.now)
    await store.update(tx, partner, suspended)
    await outbox.emit(tx, partner.id, SUSPENDED_EVENT, schemas.subscription_out(tx, suspended, secret=False))


async def _lock(tx: Tx, partner: Partner, subscription_id: UUID) -> WebhookSubscription:
    if (subscription := await store.get_for_update(tx, partner, subscription_id)) is None:
        raise NotFound
    return subscription


def _validate(tx: Tx, url: str, events: Sequence[str]) -> None:
    found = domain.event_problems(events, outbox.EVENT_TYPES)
    try:
        addresses.parse_target(url, tx.deployment.receivers)
    except AddressRefused as error:
        found.append(f"body.url {error.reason}")
    if found:
        raise IncorrectParams(*found)


def _unique(events: Sequence[str]) -> Sequence[str]:
    return tuple(dict.fromkeys(events))

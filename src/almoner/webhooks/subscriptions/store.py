"""SQL for webhook subscriptions. Secrets are encrypted on writing and decrypted on reading."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.paging import RequestedPage
from almoner.webhooks.subscriptions.domain import (
    EVERY_EVENT,
    EventSubscription,
    PreviousSecret,
    ReceiverHealth,
    Status,
    UnhealthyReceiver,
    WebhookSubscription,
)

_HEALTH: Final = (
    "failures",
    "pauses",
    "paused_until",
    "failing_since",
    "failing_since_real",
    "failing_days",
    "last_failing_day",
    "warned_at",
    "last_success_at",
    "fast",
)
_HEALTH_COLUMNS: Final = ", ".join(_HEALTH)
_GIVEN_HEALTH: Final = ", ".join(f"given.{name}" for name in _HEALTH)
_COLUMNS: Final = (
    f"id, url, events, secrets, secrets_until, status, created_at, updated_at, deleted_at, {_HEALTH_COLUMNS}"
)
_FROM: Final = (
    "webhook_subscription s join webhook_health h on h.subscription_id = s.id and h.partner_id = s.partner_id"
)
_CONTEXT: Final = "webhook_subscription.secrets"
_MOMENT: Final = timedelta(seconds=1)


def _health(row: Record) -> ReceiverHealth:
    return ReceiverHealth(*(row[name] for name in _HEALTH))


def _subscription(tx: Tx, row: Record) -> WebhookSubscription:
    secret, *older = (
        tx.vault.decrypt(sealed, context=_CONTEXT, associated_data=row["id"].bytes).decode()
        for sealed in row["secrets"]
    )
    return WebhookSubscription(
        id=row["id"],
        url=row["url"],
        events=row["events"],
        secret=secret,
        previous_secrets=[PreviousSecret(old, until) for old, until in zip(older, row["secrets_until"], strict=True)],
        status=row["status"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        deleted_at=row["deleted_at"],
        health=_health(row),
    )


def _encrypted_secrets(tx: Tx, subscription: WebhookSubscription) -> list[bytes]:
    secrets = [subscription.secret, *(old.secret for old in subscription.previous_secrets)]
    return [
        tx.vault.encrypt(secret.encode(), context=_CONTEXT, associated_data=subscription.id.bytes) for secret in secrets
    ]


async def insert(tx: Tx, partner: Partner, subscription: WebhookSubscription) -> None:
    """Store a new subscription."""
    await tx.execute(
        """
        with subscription as (
            insert into webhook_subscription
                (id, partner_id, url, events, secrets, secrets_until, status, status_changed_at, created_at)
            values ($1, $2, $3, $4, $5, '{}', $6, $7, $7)
        )
        insert into webhook_health (subscription_id, partner_id) values ($1, $2)
        """,
        subscription.id,
        partner.id,
        subscription.url,
        list(subscription.events),
        _encrypted_secrets(tx, subscription),
        subscription.status,
        subscription.created_at,
    )


async def find(tx: Tx, partner: Partner, subscription_id: UUID) -> WebhookSubscription | None:
    """One subscription that is not deleted."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from {_FROM} where s.partner_id = $1 and s.id = $2 and s.deleted_at is null",
        partner.id,
        subscription_id,
    )
    return _subscription(tx, row) if row else None


async def find_for_update(tx: Tx, partner: Partner, subscription_id: UUID) -> WebhookSubscription | None:
    """One subscription that is not deleted, locked until the transaction ends."""
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS} from {_FROM}
        where s.partner_id = $1 and s.id = $2 and s.deleted_at is null for no key update of s
        """,
        partner.id,
        subscription_id,
    )
    return _subscription(tx, row) if row else None


async def update(tx: Tx, partner: Partner, subscription: WebhookSubscription) -> None:
    """Store the changed members of a locked subscription."""
    await tx.execute(
        """
        update webhook_subscription
        set url = $3, events = $4, secrets = $5, secrets_until = $6, updated_at = $7, deleted_at = $8, status = $9,
            status_changed_at = case when status = $9 then status_changed_at else $10 end
        where partner_id = $1 and id = $2
        """,
        partner.id,
        subscription.id,
        subscription.url,
        list(subscription.events),
        _encrypted_secrets(tx, subscription),
        [old.expires_at for old in subscription.previous_secrets],
        subscription.updated_at,
        subscription.deleted_at,
        subscription.status,
        tx.now,
    )


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, event_type: str | None, *, deleted_only: bool
) -> tuple[list[WebhookSubscription], int]:
    """One page of the partner's subscriptions in reading order, and the total, from one snapshot (P7)."""
    comparison, order = ("<", "desc") if page_.fetches_descending else (">", "asc")
    rows = await tx.fetch(
        f"""
        with matching as (
            select {_COLUMNS} from {_FROM}
            where s.partner_id = $1 and (deleted_at is not null) = $2 and ($3::text[] is null or events && $3)
        )
        select {_COLUMNS}, total from (select count(*) as total from matching) counted
        left join lateral (
            select {_COLUMNS} from matching where $4::uuid is null or id {comparison} $4 order by id {order} limit $5
        ) listed on true
        order by id {order}
        """,
        partner.id,
        deleted_only,
        None if event_type is None else [event_type, EVERY_EVENT],
        page_.after_id,
        page_.fetch_limit,
    )
    return [_subscription(tx, row) for row in rows if row["id"] is not None], rows[0]["total"]


async def list_event_subscriptions(tx: Tx, partner_ids: Collection[UUID]) -> list[EventSubscription]:
    """The active subscriptions of partners, without their secrets."""
    rows = await tx.fetch(
        """
        select id, partner_id, events from webhook_subscription
        where partner_id = any($1::uuid[]) and status = 'active' and deleted_at is null order by id
        """,
        list(partner_ids),
    )
    return [EventSubscription(row["id"], row["partner_id"], row["events"]) for row in rows]


async def load_active_subscriptions_by_id(
    tx: Tx, subscription_ids: Collection[UUID]
) -> dict[UUID, WebhookSubscription]:
    """The subscriptions that currently accept deliveries."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from {_FROM}
        where s.id = any($1::uuid[]) and status = 'active' and deleted_at is null
        """,
        list(subscription_ids),
    )
    return {row["id"]: _subscription(tx, row) for row in rows}


_UNWELL: Final = "s.deleted_at is null and (s.status = 'suspended' or h.failing_since is not null)"


async def list_unhealthy_receivers(
    tx: Tx, status: Status | None, after_id: UUID | None, limit: int
) -> list[UnhealthyReceiver]:
    """Failing or suspended receivers, oldest subscription first; ``status``: only those."""
    rows = await tx.fetch(
        f"""
        select s.id, s.partner_id, p.name, s.url, s.status, {_HEALTH_COLUMNS} from {_FROM}
        join partner p on p.id = s.partner_id
        where {_UNWELL} and ($1::text is null or s.status = $1) and ($2::uuid is null or s.id > $2)
        order by s.id limit $3
        """,
        status,
        after_id,
        limit,
    )
    return [_unwell(row) for row in rows]


@across_partners("operators")
async def find_unhealthy_receiver(tx: Tx, subscription_id: UUID) -> UnhealthyReceiver | None:
    """One receiver that fails or is suspended."""
    row = await tx.fetchrow(
        f"""
        select s.id, s.partner_id, p.name, s.url, s.status, {_HEALTH_COLUMNS} from {_FROM}
        join partner p on p.id = s.partner_id
        where {_UNWELL} and s.id = $1
        """,
        subscription_id,
    )
    return None if row is None else _unwell(row)


def _unwell(row: Record) -> UnhealthyReceiver:
    return UnhealthyReceiver(row["id"], row["partner_id"], row["name"], row["url"], row["status"], _health(row))


class UnhealthyReceiverCounts(NamedTuple):
    """How many receivers fail, and how many are suspended."""

    failing_count: int
    suspended_count: int


@across_partners("operators")
async def count_unhealthy_receivers(tx: Tx) -> UnhealthyReceiverCounts:
    """How many receivers fail, and how many are suspended."""
    row = await tx.fetchrow(
        f"""
        select count(*) filter (where s.status = 'active') as failing,
               count(*) filter (where s.status = 'suspended') as suspended
        from {_FROM} where {_UNWELL}
        """
    )
    assert row is not None
    return UnhealthyReceiverCounts(row["failing"], row["suspended"])


class ReceiverSummary(NamedTuple):
    """How many of a partner's receivers fail or are suspended, and whether one has ever accepted an event."""

    unhealthy_count: int
    has_successful_delivery: bool


async def summarise_receivers(tx: Tx, partner: Partner) -> ReceiverSummary:
    """How a partner's receivers do."""
    row = await tx.fetchrow(
        f"""
        select count(*) filter (where {_UNWELL}) as unhealthy,
               count(h.last_success_at) > 0 as has_succeeded
        from {_FROM} where s.partner_id = $1 and s.deleted_at is null
        """,
        partner.id,
    )
    assert row is not None
    return ReceiverSummary(row["unhealthy"], row["has_succeeded"])


async def lock_receiver_health(tx: Tx, subscription_ids: Collection[UUID]) -> dict[UUID, ReceiverHealth]:
    """Lock the health of receivers in a fixed order until the transaction ends."""
    rows = await tx.fetch(
        f"""
        select subscription_id, {_HEALTH_COLUMNS} from webhook_health
        where subscription_id = any($1::uuid[]) order by subscription_id for no key update
        """,
        list(subscription_ids),
    )
    return {row["subscription_id"]: _health(row) for row in rows}


@across_partners("held")
async def record_successes_and_lock_other_receivers(
    tx: Tx, is_fast_by_subscription: Mapping[UUID, bool | None]
) -> dict[UUID, ReceiverHealth]:
    """Record successful answers; returns the health of the other receivers, locked.

    ``is_fast_by_subscription``: whether a receiver that accepted everything was fast, None if it did not accept
    everything. Receivers as fast as before and without failures, nearly all, need no further step; those whose last
    success was a moment ago are not even locked, so that workers do not wait for each other.
    """
    rows = await tx.fetch(
        f"""
        with told as materialized (
            select h.subscription_id, given.fast
            from unnest($1::uuid[], $2::boolean[]) as given (id, fast)
            join webhook_health h on h.subscription_id = given.id
            where (h.failures = 0 and h.fast is not distinct from given.fast and h.last_success_at > $4) is not true
        ), held as materialized (
            select h.*, h.failures = 0 and h.fast is not distinct from told.fast as well
            from told join webhook_health h using (subscription_id)
            order by subscription_id for no key update of h
        ), written as (
            update webhook_health h set last_success_at = $3
            from held where well and h.subscription_id = held.subscription_id
        )
        select subscription_id, {_HEALTH_COLUMNS} from held where not well
        """,
        list(is_fast_by_subscription),
        list(is_fast_by_subscription.values()),
        tx.now,
        tx.now - _MOMENT,
    )
    return {row["subscription_id"]: _health(row) for row in rows}


async def update_receiver_health(tx: Tx, health_by_subscription: Mapping[UUID, ReceiverHealth]) -> None:
    """Store the changed health of locked receivers."""
    columns = [[getattr(health, name) for health in health_by_subscription.values()] for name in _HEALTH]
    await tx.execute(
        f"""
        update webhook_health h set ({_HEALTH_COLUMNS}) = ({_GIVEN_HEALTH})
        from unnest(
            $1::uuid[], $2::int[], $3::int[], $4::timestamptz[], $5::timestamptz[], $6::timestamptz[], $7::int[],
            $8::date[], $9::timestamptz[], $10::timestamptz[], $11::boolean[]
        ) as given (subscription_id, {_HEALTH_COLUMNS})
        where h.subscription_id = given.subscription_id
        """,
        list(health_by_subscription),
        *columns,
    )

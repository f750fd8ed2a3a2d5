"""SQL for deliveries and their attempts."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.paging import RequestedPage
from almoner.webhooks.deliveries.domain import OPEN_STATUSES, AttemptEvaluation, Delivery, DeliveryAttempt, Status
from almoner.webhooks.subscriptions.domain import Reason

_COLUMNS = (
    "id, subscription_id, event_id, event_type, sequence, reason, status, next_attempt_at, created_at, finished_at"
)


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """A delivery to be stored. ``test_payload``: the body of a test. ``due_at``: None for now."""

    id: UUID
    partner_id: UUID
    subscription_id: UUID
    event_id: UUID
    event_type: str
    sequence: int | None
    reason: Reason
    test_payload: bytes | None = None
    due_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A delivery to attempt. ``body``: the bytes to send; None if the event's payload was deleted."""

    id: UUID
    partner_id: UUID
    subscription_id: UUID
    event_id: UUID
    sequence: int | None
    status: Status
    attempt_count: int
    first_attempt_at: datetime | None
    next_attempt_at: datetime | None
    created_at: datetime
    body: bytes | None


@dataclass(frozen=True, slots=True)
class EvaluatedAttempt:
    """The result of an attempt at a delivery. ``url``: of the receiver that was called."""

    delivery_id: UUID
    partner: Partner
    subscription_id: UUID
    url: str
    first_attempt_at: datetime
    attempt: DeliveryAttempt
    evaluation: AttemptEvaluation


async def insert(tx: Tx, deliveries: Sequence[NewDelivery]) -> list[UUID]:
    """Store new deliveries, once for each event and receiver; returns the stored IDs."""
    rows = await tx.fetch(
        """
        insert into webhook_delivery (id, partner_id, subscription_id, event_id, event_type, sequence, reason, payload,
            status, attempts, next_attempt_at, created_at)
        select id, partner_id, subscription_id, event_id, event_type, sequence, reason, payload, 'pending', 0, due, $9
        from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::bigint[], $7::text[], $8::bytea[],
                $10::timestamptz[])
            as given (id, partner_id, subscription_id, event_id, event_type, sequence, reason, payload, due)
        on conflict (event_id, subscription_id) where reason = 'event' do nothing returning id
        """,
        [delivery.id for delivery in deliveries],
        [delivery.partner_id for delivery in deliveries],
        [delivery.subscription_id for delivery in deliveries],
        [delivery.event_id for delivery in deliveries],
        [delivery.event_type for delivery in deliveries],
        [delivery.sequence for delivery in deliveries],
        [delivery.reason for delivery in deliveries],
        [delivery.test_payload for delivery in deliveries],
        tx.now,
        [delivery.due_at or tx.now for delivery in deliveries],
    )
    return [row["id"] for row in rows]


@across_partners("sweep")
async def load_due_deliveries_by_id(tx: Tx, delivery_ids: Sequence[UUID]) -> dict[UUID, DueDelivery]:
    """The given deliveries, with the bytes to send: the event's frozen payload (W7)."""
    rows = await tx.fetch(
        """
        select d.id, d.partner_id, d.subscription_id, d.event_id, d.sequence, d.status, d.attempts, d.first_attempt_at,
               d.next_attempt_at, d.created_at, coalesce(d.payload, e.payload) as body
        from unnest($1::uuid[]) as given (id) join webhook_delivery d on d.id = given.id
        left join event e on e.partner_id = d.partner_id and e.id = d.event_id
        """,
        delivery_ids,
    )
    return {row["id"]: DueDelivery(*row) for row in rows}


async def record_attempts_and_list_delivery_ids(tx: Tx, evaluated_attempts: Sequence[EvaluatedAttempt]) -> set[UUID]:
    """Store attempts and their results in one statement; returns the deliveries whose next attempt this was.

    An attempt that another worker has already recorded changes nothing.
    """
    rows = await tx.fetch(
        """
        with given as (
            select * from unnest($1::uuid[], $2::smallint[], $3::timestamptz[], $4::int[], $5::smallint[], $6::text[],
                $7::text[], $8::text[], $9::timestamptz[], $10::timestamptz[])
            as given (id, number, started_at, duration_ms, status_code, error, response_body, status, next_at, first_at)
        ), moved as (
            update webhook_delivery d
            set attempts = given.number, status = given.status, next_attempt_at = given.next_at,
                first_attempt_at = given.first_at,
                finished_at = case when given.status = 'pending' then null else $11::timestamptz end
            from given where d.id = given.id and d.status = any($12) and d.attempts = given.number - 1
            returning d.id
        ), kept as (
            insert into webhook_attempt
                (delivery_id, number, started_at, duration_ms, status_code, error, response_body)
            select id, number, started_at, duration_ms, status_code, error, response_body
            from given join moved using (id)
        )
        select id from moved
        """,
        [outcome.delivery_id for outcome in evaluated_attempts],
        [outcome.attempt.number for outcome in evaluated_attempts],
        [outcome.attempt.started_at for outcome in evaluated_attempts],
        [outcome.attempt.duration_ms for outcome in evaluated_attempts],
        [outcome.attempt.status_code for outcome in evaluated_attempts],
        [outcome.attempt.error for outcome in evaluated_attempts],
        [outcome.attempt.response_body for outcome in evaluated_attempts],
        [outcome.evaluation.status for outcome in evaluated_attempts],
        [outcome.evaluation.next_attempt_at for outcome in evaluated_attempts],
        [outcome.first_attempt_at for outcome in evaluated_attempts],
        tx.now,
        OPEN_STATUSES,
    )
    return {row["id"] for row in rows}


@across_partners("held")
async def end_deliveries(tx: Tx, delivery_ids: Sequence[UUID], status: Literal["cancelled", "failed"]) -> None:
    """End pending deliveries.

    Cancelled if their subscription no longer accepts any, failed if they are too old or their receiver is gone.
    """
    await tx.execute(
        """
        update webhook_delivery set status = $4, next_attempt_at = null, finished_at = $2
        where id = any($1::uuid[]) and status = any($3)
        """,
        delivery_ids,
        tx.now,
        OPEN_STATUSES,
        status,
    )


async def find_delivered_or_pending_event_ids(
    tx: Tx, partner: Partner, subscription_id: UUID, event_ids: Collection[UUID]
) -> set[UUID]:
    """The events that were delivered to the subscription or are still pending."""
    rows = await tx.fetch(
        """
        select distinct event_id from webhook_delivery
        where partner_id = $1 and subscription_id = $2 and event_id = any($3::uuid[])
          and status in ('succeeded', 'pending')
        """,
        partner.id,
        subscription_id,
        list(event_ids),
    )
    return {row["event_id"] for row in rows}


# A subscription's deliveries are counted from their index alone; the subscription determines the partner.
_OF: Final = "subscription_id = (select id from webhook_subscription where partner_id = $1 and id = $2)"
_OF_STATUS: Final = f"{_OF} and status = $5"


async def list_page(
    tx: Tx, partner: Partner, subscription_id: UUID, page_: RequestedPage, status: Status | None
) -> tuple[list[Delivery], int]:
    """One page of a subscription's deliveries in reading order, with their attempts, and the total (P7)."""
    comparison, order = ("<", "desc") if page_.fetches_descending else (">", "asc")
    matching = _OF_STATUS if status else _OF
    rows = await tx.fetch(
        f"""
        select {_COLUMNS}, total from (select count(*) as total from webhook_delivery where {matching}) counted
        left join lateral (
            select {_COLUMNS} from webhook_delivery
            where {matching} and ($3::uuid is null or id {comparison} $3)
            order by id {order} limit $4
        ) listed on true
        order by id {order}
        """,
        partner.id,
        subscription_id,
        page_.after_id,
        page_.fetch_limit,
        *([status] if status else []),
    )
    found = [row for row in rows if row["id"] is not None]
    attempts = await _attempts(tx, [row["id"] for row in found])
    return [_delivery(row, attempts.get(row["id"], [])) for row in found], rows[0]["total"]


# Both tables are read from their oldest end: IDs of deliveries sort by creation, and so, except for retries, do
# attempts.


async def find_oldest_attempt_at(tx: Tx) -> datetime | None:
    """When the oldest stored attempt started."""
    started: datetime | None = await tx.fetchval(
        "select started_at from webhook_attempt order by delivery_id, number limit 1"
    )
    return started


async def delete_old_attempts(tx: Tx, before: datetime, limit: int) -> int:
    """Delete attempts that started by ``before``; returns how many."""
    removed = await tx.fetchval(
        """
        with oldest as materialized (
            select delivery_id, number, started_at from webhook_attempt order by delivery_id, number limit $2
        ), gone as (
            delete from webhook_attempt a using oldest
            where a.delivery_id = oldest.delivery_id and a.number = oldest.number and oldest.started_at <= $1
            returning 1
        ) select count(*) from gone
        """,
        before,
        limit,
    )
    return int(removed)


@across_partners("sweep")
async def find_oldest_ended_delivery_created_at(tx: Tx) -> datetime | None:
    """When the first delivery that has ended was created."""
    created: datetime | None = await tx.fetchval(
        "select created_at from webhook_delivery where status <> all($1) order by id limit 1", OPEN_STATUSES
    )
    return created


@across_partners("sweep")
async def delete_old_deliveries(tx: Tx, before: datetime, limit: int) -> int:
    """Delete ended deliveries created by ``before``; returns how many."""
    removed = await tx.fetchval(
        """
        with oldest as materialized (
            select id, created_at from webhook_delivery where status <> all($3) order by id limit $2
        ), gone as (
            delete from webhook_delivery d using oldest
            where d.id = oldest.id and d.status <> all($3) and oldest.created_at <= $1 returning 1
        ) select count(*) from gone
        """,
        before,
        limit,
        OPEN_STATUSES,
    )
    return int(removed)


async def _attempts(tx: Tx, delivery_ids: Iterable[UUID]) -> dict[UUID, list[DeliveryAttempt]]:
    rows = await tx.fetch(
        """
        select delivery_id, number, started_at, duration_ms, status_code, error, response_body from webhook_attempt
        where delivery_id = any($1::uuid[]) order by delivery_id, number
        """,
        list(delivery_ids),
    )
    found: dict[UUID, list[DeliveryAttempt]] = {}
    for delivery_id, *members in rows:
        found.setdefault(delivery_id, []).append(DeliveryAttempt(*members))
    return found


def _delivery(row: Record, attempts: Sequence[DeliveryAttempt]) -> Delivery:
    return Delivery(
        id=row["id"],
        subscription_id=row["subscription_id"],
        event_id=row["event_id"],
        event_type=row["event_type"],
        sequence=row["sequence"],
        reason=row["reason"],
        status=row["status"],
        attempts=attempts,
        next_attempt_at=row["next_attempt_at"],
        created_at=row["created_at"],
        finished_at=row["finished_at"],
    )

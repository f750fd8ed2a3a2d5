"""SQL for the due dates of subscriptions."""

from collections.abc import Sequence
from datetime import date
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.subscriptions.donation_subscriptions.domain import SkipReason, SubscriptionCharge
from almoner.platform.database.transactions import Tx

_COLUMNS: Final = "subscription_id, due_on, status, donation_id, attempts, next_attempt_at, skip_reason, decline_code"


def _charge(row: Record) -> SubscriptionCharge:
    return SubscriptionCharge(*row)


async def find_open_charge(tx: Tx, subscription_id: UUID) -> SubscriptionCharge | None:
    """The open due date of a locked subscription; None if there is none."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from donation_subscription_charge where subscription_id = $1 and status = 'open'",
        subscription_id,
    )
    return _charge(row) if row else None


async def load_open_charges_by_subscription(tx: Tx, subscription_ids: Sequence[UUID]) -> dict[UUID, SubscriptionCharge]:
    """The open due dates of locked subscriptions that have one, by subscription."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from donation_subscription_charge where subscription_id = any($1) and status = 'open'",
        subscription_ids,
    )
    return {row["subscription_id"]: _charge(row) for row in rows}


async def find_charge_by_donation(tx: Tx, donation_id: UUID) -> SubscriptionCharge | None:
    """The charge of a donation."""
    row = await tx.fetchrow(f"select {_COLUMNS} from donation_subscription_charge where donation_id = $1", donation_id)
    return _charge(row) if row else None


async def list_newest_charges(tx: Tx, subscription_id: UUID, limit: int) -> list[SubscriptionCharge]:
    """The newest due dates of a subscription, newest first."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from donation_subscription_charge where subscription_id = $1 order by due_on desc limit $2
        """,
        subscription_id,
        limit,
    )
    return [_charge(row) for row in rows]


async def insert_open_charge(tx: Tx, charge: SubscriptionCharge) -> None:
    """Open a due date. Raises UniqueViolationError if it exists, or if another one is open."""
    await tx.execute(
        """
        insert into donation_subscription_charge (subscription_id, due_on, status, donation_id, attempts,
                                                  next_attempt_at, created_at, status_changed_at)
        values ($1, $2, 'open', $3, $4, $5, $6, $6)
        """,
        charge.subscription_id,
        charge.due_on,
        charge.donation_id,
        charge.attempt_count,
        charge.next_attempt_at,
        tx.now,
    )


async def skip_due_dates(tx: Tx, subscription_id: UUID, dates: Sequence[date], reason: SkipReason) -> None:
    """Record dates that are not charged."""
    if not dates:
        return
    await tx.execute(
        """
        insert into donation_subscription_charge (subscription_id, due_on, status, attempts, skip_reason, created_at,
                                                  status_changed_at)
        select $1, due_on, 'skipped', 0, $3, $4, $4 from unnest($2::date[]) as t (due_on)
        """,
        subscription_id,
        list(dates),
        reason,
        tx.now,
    )


async def update_charge(tx: Tx, charge: SubscriptionCharge) -> None:
    """Store the progress of an open due date."""
    await tx.execute(
        """
        update donation_subscription_charge set donation_id = $3, attempts = $4, next_attempt_at = $5, decline_code = $6
        where subscription_id = $1 and due_on = $2 and status = 'open'
        """,
        charge.subscription_id,
        charge.due_on,
        charge.donation_id,
        charge.attempt_count,
        charge.next_attempt_at,
        charge.decline_code,
    )


async def mark_charge_paid(tx: Tx, charge: SubscriptionCharge, charged_on: date) -> None:
    """Mark an open date as paid, by a payment that started on this day."""
    await tx.execute(
        """
        update donation_subscription_charge set status = 'paid', charged_on = $3, next_attempt_at = null,
            status_changed_at = $4
        where subscription_id = $1 and due_on = $2 and status = 'open'
        """,
        charge.subscription_id,
        charge.due_on,
        charged_on,
        tx.now,
    )


async def close_charge(tx: Tx, charge: SubscriptionCharge, reason: SkipReason | None) -> None:
    """Close an open date unpaid: skipped for a reason, or failed."""
    await tx.execute(
        """
        update donation_subscription_charge set status = $3, skip_reason = $4, next_attempt_at = null,
            status_changed_at = $5
        where subscription_id = $1 and due_on = $2 and status = 'open'
        """,
        charge.subscription_id,
        charge.due_on,
        "skipped" if reason else "failed",
        reason,
        tx.now,
    )


async def has_charge(tx: Tx, subscription_id: UUID, due_on: date) -> bool:
    """Whether a date is already recorded as due or skipped."""
    return bool(
        await tx.fetchval(
            "select exists (select from donation_subscription_charge where subscription_id = $1 and due_on = $2)",
            subscription_id,
            due_on,
        )
    )

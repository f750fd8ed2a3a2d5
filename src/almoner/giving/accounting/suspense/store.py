"""SQL for unallocated payments, which belong to no partner: partners see only donations."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.accounting.suspense.domain import (
    UNALLOCATED_PAYMENT,
    UnallocatedPayment,
    UnallocatedPaymentDecision,
    UnallocatedPaymentResolution,
)
from almoner.giving.checkout.payments.domain import UnallocatedReason
from almoner.kit.money import Money
from almoner.platform.database import keyset
from almoner.platform.database.transactions import Tx

_COLUMNS: Final = (
    "id, provider, provider_payment, payment_id, donation_id, reason, amount_minor, currency, reference, status, "
    "received_at, auto_decide_at, decided_by, note, provider_refund"
)


def _unallocated_payment(row: Record) -> UnallocatedPayment:
    return UnallocatedPayment(
        row["id"],
        row["provider"],
        row["provider_payment"],
        row["payment_id"],
        row["donation_id"],
        UnallocatedReason(row["reason"]),
        Money(row["amount_minor"], row["currency"]),
        row["reference"],
        row["status"],
        row["received_at"],
        row["auto_decide_at"],
        row["decided_by"],
        row["note"],
        row["provider_refund"],
    )


async def insert(tx: Tx, unallocated_payment: UnallocatedPayment) -> bool:
    """Store an unallocated payment with its reason; False if it is already stored."""
    return bool(
        await tx.fetchval(
            """
            insert into unallocated_payment (id, provider, provider_payment, payment_id, donation_id, reason,
                                      amount_minor,
                                      currency, reference, status, received_at, status_changed_at, auto_decide_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12)
            on conflict on constraint unallocated_payment_once do nothing returning true
            """,
            unallocated_payment.id,
            unallocated_payment.provider,
            unallocated_payment.provider_payment_id,
            unallocated_payment.payment_id,
            unallocated_payment.donation_id,
            unallocated_payment.reason.value,
            unallocated_payment.money.minor,
            unallocated_payment.money.currency,
            unallocated_payment.reference,
            unallocated_payment.status,
            unallocated_payment.received_at,
            unallocated_payment.auto_decide_at,
        )
    )


async def find(tx: Tx, unallocated_payment_id: UUID) -> UnallocatedPayment | None:
    """Find one unallocated payment."""
    row = await tx.fetchrow(f"select {_COLUMNS} from unallocated_payment where id = $1", unallocated_payment_id)
    return _unallocated_payment(row) if row else None


async def find_for_update(tx: Tx, unallocated_payment_id: UUID) -> UnallocatedPayment | None:
    """Get one unallocated payment, locked until the transaction ends."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from unallocated_payment where id = $1 for no key update", unallocated_payment_id
    )
    return _unallocated_payment(row) if row else None


async def lock_by_provider_payment_ids(
    tx: Tx, provider: str, provider_payment_ids: Sequence[str]
) -> list[UnallocatedPayment]:
    """Lock the unallocated payments for these provider payments, in a fixed order."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from unallocated_payment where provider = $1 and provider_payment = any($2)
        order by id for no key update
        """,
        provider,
        provider_payment_ids,
    )
    return [_unallocated_payment(row) for row in rows]


async def lock_due_for_automatic_action(tx: Tx, limit: int, excluded_ids: Sequence[UUID]) -> list[UnallocatedPayment]:
    """Unallocated payments due for an automatic decision, locked until the transaction ends."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from unallocated_payment
        where status = 'held' and auto_decide_at <= $1 and id <> all($3::uuid[])
        order by auto_decide_at, id limit $2 for no key update skip locked
        """,
        tx.now,
        limit,
        excluded_ids,
    )
    return [_unallocated_payment(row) for row in rows]


async def next_automatic_action_at(tx: Tx) -> datetime | None:
    """When the next automatic decision is due; None if nothing waits for one."""
    due: datetime | None = await tx.fetchval(
        "select min(auto_decide_at) from unallocated_payment where status = 'held'"
    )
    return due


async def list_newest(tx: Tx, statuses: Sequence[str], limit: int) -> list[UnallocatedPayment]:
    """Unallocated payments with one of these statuses, newest first."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from unallocated_payment where status = any($1) "
        f"order by received_at desc, id desc limit $2",
        statuses,
        limit,
    )
    return [_unallocated_payment(row) for row in rows]


async def list_for_operators(
    tx: Tx, status: str | None, reason: UnallocatedReason | None, after: UUID | None, limit: int
) -> list[UnallocatedPayment]:
    """A page of unallocated payments for operators, newest first; undecided ones oldest first."""
    where = keyset.equality_conditions({"status": status, "reason": reason})
    rows = await keyset.list_rows_after_id(
        tx, "unallocated_payment", _COLUMNS, where, after, limit, oldest_first=status == "held"
    )
    return [_unallocated_payment(row) for row in rows]


async def count_for_operators(tx: Tx, status: str | None, reason: UnallocatedReason | None, max_count: int) -> int:
    """Count matching unallocated payments, up to one more than ``max_count``."""
    where = keyset.equality_conditions({"status": status, "reason": reason})
    return await keyset.count_rows_up_to(tx, "unallocated_payment", where, max_count)


async def mark_decided(
    tx: Tx, unallocated_payment_ids: Sequence[UUID], target_status: str, decided_by: str, note: str | None
) -> int:
    """Record a decision on the undecided ones of these payments; returns how many."""
    status = await tx.execute(
        """
        update unallocated_payment set status = $2, status_changed_at = $4, decided_at = $4, decided_by = $5, note = $6
        where id = any($1) and status = any($3)
        """,
        unallocated_payment_ids,
        target_status,
        UNALLOCATED_PAYMENT.source_states_of(target_status),
        tx.now,
        decided_by,
        note,
    )
    return int(status.rpartition(" ")[2])


async def mark_applied(tx: Tx, unallocated_payment_id: UUID, payment_id: UUID, decided_by: str, note: str) -> None:
    """Record that an operator applied it to a donation, with this payment."""
    await tx.execute(
        """
        update unallocated_payment
        set status = 'applied', status_changed_at = $5, decided_at = $5, decided_by = $3, note = $4,
            applied_payment_id = $2
        where id = $1 and status = 'held'
        """,
        unallocated_payment_id,
        payment_id,
        decided_by,
        note,
        tx.now,
    )


_APPLIED_PAYMENTS: Final = """
select applied_payment_id from unallocated_payment
where provider = 'bank_transfer' and split_part(provider_payment, '/', 1) = $1 and applied_payment_id is not null
"""


async def list_applied_payment_ids_by_reference(tx: Tx, reference: str) -> list[UUID]:
    """The payments of donations that operators created from transfers with a reference."""
    return [row["applied_payment_id"] for row in await tx.fetch(_APPLIED_PAYMENTS, reference)]


async def lock_by_reference(tx: Tx, reference: str) -> list[UnallocatedPayment]:
    """Lock the unallocated bank transfers with a reference.

    Later transfers with the same reference also have the name of their line in ``provider_payment_id``.
    """
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from unallocated_payment
        where provider = 'bank_transfer' and split_part(provider_payment, '/', 1) = $1 order by id for no key update
        """,
        reference,
    )
    return [_unallocated_payment(row) for row in rows]


async def mark_refunded(tx: Tx, unallocated_payment_id: UUID, provider_refund_id: str) -> bool:
    """Record that the provider sent the refund; False if its status does not allow this."""
    return bool(
        await tx.fetchval(
            """
            update unallocated_payment set status = 'refunded', status_changed_at = $4, provider_refund = $2
            where id = $1 and status = any($3) returning true
            """,
            unallocated_payment_id,
            provider_refund_id,
            UNALLOCATED_PAYMENT.source_states_of("refunded"),
            tx.now,
        )
    )


async def insert_decision(tx: Tx, decision: UnallocatedPaymentDecision) -> None:
    """Store an operator's decision with its note."""
    await tx.execute(
        """
        insert into unallocated_payment_decision (id, unallocated_payment_id, decision, note, decided_by, decided_at,
            provider_refund)
        values ($1, $2, $3, $4, $5, $6, $7)
        """,
        tx.new_id(),
        decision.unallocated_payment_id,
        decision.resolution.value,
        decision.note,
        decision.decided_by,
        decision.decided_at,
        decision.provider_refund_id,
    )


async def list_decisions(tx: Tx, unallocated_payment_ids: Sequence[UUID]) -> list[UnallocatedPaymentDecision]:
    """List operators' decisions on these payments, oldest first."""
    rows = await tx.fetch(
        """
        select unallocated_payment_id, decision, note, decided_by, decided_at, provider_refund
        from unallocated_payment_decision
        where unallocated_payment_id = any($1) order by id
        """,
        unallocated_payment_ids,
    )
    return [UnallocatedPaymentDecision(row[0], UnallocatedPaymentResolution(row[1]), *row[2:]) for row in rows]

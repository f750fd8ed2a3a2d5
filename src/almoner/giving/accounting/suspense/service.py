"""Records unallocated payments and applies decisions by rules and operators."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import msgspec
from asyncpg import CheckViolationError, UniqueViolationError

from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.ledger.domain import LedgerTransfer
from almoner.giving.accounting.suspense import domain, store
from almoner.giving.accounting.suspense.domain import (
    BY_RULE,
    AutomaticAction,
    NoSuchUnallocatedPayment,
    UnallocatedPayment,
    UnallocatedPaymentDecision,
    UnallocatedPaymentError,
    UnallocatedPaymentRefundedEvent,
    UnallocatedPaymentResolution,
)
from almoner.giving.accounting.suspense.store import count_for_operators as count_for_operators
from almoner.giving.accounting.suspense.store import (
    list_applied_payment_ids_by_reference as list_applied_payment_ids_by_reference,
)
from almoner.giving.accounting.suspense.store import list_decisions as list_decisions
from almoner.giving.accounting.suspense.store import list_for_operators as list_for_operators
from almoner.giving.accounting.suspense.store import lock_by_reference as lock_by_reference
from almoner.giving.accounting.suspense.store import next_automatic_action_at as next_automatic_action_at
from almoner.giving.checkout.payments.domain import Payment, ProviderPayment, UnallocatedReason
from almoner.kit.ids import encode_uuid
from almoner.platform.database.transactions import Tx
from almoner.platform.events import outbox
from almoner.platform.jobs import queue
from almoner.platform.jobs.failing_rows import process_due_rows
from almoner.platform.jobs.queue import JobKind, NewJob
from almoner.platform.observability.loggers import get_logger


class RefundUnallocatedPaymentJob(msgspec.Struct, frozen=True):
    """The unallocated payment to refund."""

    held: UUID


REFUND: Final = JobKind("suspense.refund", RefundUnallocatedPaymentJob)
BATCH: Final = 100
_SETTLED_CONSTRAINT: Final = "unallocated_payment_settled"
"""The constraint that a payment which has reached our bank account cannot be written off."""
UNIQUE_PROVIDER_REFUND: Final = "unallocated_payment_refund_once"
"""The constraint that one provider refund belongs to only one unallocated payment."""
_log: Final = get_logger("almoner.giving")


def build_refund_idempotency_key(tx: Tx, unallocated_payment_id: UUID) -> str:
    """The provider's idempotency key of a refund, made from our own row (I6)."""
    return f"{tx.deployment.environment}:refund:{encode_uuid(unallocated_payment_id)}"


async def record_unallocated_payment(
    tx: Tx, provider: str, provider_payment: ProviderPayment, payment: Payment | None, reason: UnallocatedReason
) -> None:
    """Record and post a payment that pays no donation, with the reason; idempotent."""
    held = UnallocatedPayment(
        tx.new_id(),
        provider,
        provider_payment.id,
        payment.id if payment else None,
        payment.donation_id if payment else None,
        reason,
        provider_payment.money,
        provider_payment.reference,
        "held",
        tx.now,
        domain.compute_scheduled_automatic_action(reason, tx.now, provider).due_at,
        None,
        None,
        None,
    )
    if not await store.insert(tx, held):
        return
    reported = {"provider": provider, "payment": provider_payment.id, "reason": reason.value}
    tx.add_commit_callback(lambda: _log.error("payment_unallocated", **reported))
    if held.is_posted_to_ledger:
        ledger.post_at_commit(tx, ledger_domain.build_unallocated_payment_transfers(held.id, provider, held.money))


async def get(tx: Tx, unallocated_payment_id: UUID) -> UnallocatedPayment:
    """Get one unallocated payment. Raises NoSuchUnallocatedPayment."""
    if (held := await store.find(tx, unallocated_payment_id)) is None:
        raise NoSuchUnallocatedPayment
    return held


async def get_for_update(tx: Tx, unallocated_payment_id: UUID) -> UnallocatedPayment:
    """Get one unallocated payment, locked until the transaction ends. Raises NoSuchUnallocatedPayment."""
    if (locked := await store.find_for_update(tx, unallocated_payment_id)) is None:
        raise NoSuchUnallocatedPayment
    return locked


async def list_newest(tx: Tx, statuses: Sequence[str], limit: int) -> list[UnallocatedPayment]:
    """Unallocated payments with one of these statuses, newest first."""
    return await store.list_newest(tx, statuses, limit)


async def run_due_automatic_actions(tx: Tx, limit: int = BATCH) -> int:
    """Apply the automatic action to payments whose grace period is over; returns how many."""

    async def decide(payments: Sequence[UnallocatedPayment]) -> None:
        to_refund = [held for held in payments if domain.RULES[held.reason].action is AutomaticAction.REFUND]
        to_dismiss = [held for held in payments if held not in to_refund]
        transfers = await _begin_refunds(tx, to_refund, BY_RULE, None)
        transfers += await _write_off(tx, to_dismiss, BY_RULE, None)
        ledger.post_at_commit(tx, transfers)

    return await process_due_rows(tx, "suspense.decide", store.lock_due_for_automatic_action, decide, limit)


async def begin_refund(tx: Tx, unallocated_payment_id: UUID, note: str, decided_by: str) -> UnallocatedPayment:
    """Start the refund of an unallocated payment on an operator's decision, or retry a refused one.

    Raises NoSuchUnallocatedPayment, UnallocatedPaymentError.
    """
    locked = await get_for_update(tx, unallocated_payment_id)
    if locked.status == "refunding" and locked.is_bank_transfer:
        raise UnallocatedPaymentError(
            "This refund goes by bank transfer. Send it, then record it with --provider-refund or import the statement."
        )
    if locked.status == "refunding":
        await store.insert_decision(
            tx,
            UnallocatedPaymentDecision(
                unallocated_payment_id, UnallocatedPaymentResolution.RETRY_REFUND, note, decided_by, tx.now
            ),
        )
        await queue.enqueue_jobs(tx, [_refund_job(locked)])
        return locked
    _ensure_undecided(locked)
    _ensure_posted(locked)
    await store.insert_decision(
        tx,
        UnallocatedPaymentDecision(
            unallocated_payment_id, UnallocatedPaymentResolution.REFUND, note, decided_by, tx.now
        ),
    )
    ledger.post_at_commit(tx, await _begin_refunds(tx, [locked], decided_by, note))
    return await get(tx, unallocated_payment_id)


async def record_manual_refund(
    tx: Tx, unallocated_payment_id: UUID, provider_refund_id: str, note: str, recorded_by: str
) -> UnallocatedPayment:
    """Record that an operator refunded it in the provider's dashboard.

    Raises NoSuchUnallocatedPayment, UnallocatedPaymentError.
    """
    locked = await get_for_update(tx, unallocated_payment_id)
    transfers: list[LedgerTransfer] = []
    if locked.status != "refunding":
        _ensure_undecided(locked)
        _ensure_posted(locked)
        await store.mark_decided(tx, [unallocated_payment_id], "refunding", recorded_by, note)
        transfers += ledger_domain.build_unallocated_payment_refund_started_transfers(
            locked.id, locked.provider, locked.money
        )
    decided = UnallocatedPaymentDecision(
        unallocated_payment_id,
        UnallocatedPaymentResolution.RECORD_MANUAL_REFUND,
        note,
        recorded_by,
        tx.now,
        provider_refund_id,
    )
    await store.insert_decision(tx, decided)
    try:
        await _finish_refund(tx, locked, provider_refund_id, transfers)
    except UniqueViolationError as refused:
        if refused.constraint_name != UNIQUE_PROVIDER_REFUND:
            raise
        raise UnallocatedPaymentError(
            f"{provider_refund_id} is already recorded for another unallocated payment. Check the reference."
        ) from refused
    return await get(tx, unallocated_payment_id)


async def write_off(tx: Tx, unallocated_payment_id: UUID, note: str, decided_by: str) -> UnallocatedPayment:
    """Write off an unallocated payment that is not ours. Raises UnallocatedPaymentError."""
    locked = await get_for_update(tx, unallocated_payment_id)
    _ensure_undecided(locked)
    await store.insert_decision(
        tx,
        UnallocatedPaymentDecision(
            unallocated_payment_id, UnallocatedPaymentResolution.WRITE_OFF, note, decided_by, tx.now
        ),
    )
    try:
        transfers = await _write_off(tx, [locked], decided_by, note)
    except CheckViolationError as refused:
        if refused.constraint_name != _SETTLED_CONSTRAINT:
            raise
        raise UnallocatedPaymentError(
            "The provider has already paid this money out to our bank account, so you can only refund it."
        ) from refused
    ledger.post_at_commit(tx, transfers)
    return await get(tx, unallocated_payment_id)


async def record_decision_to_apply_to_donation(
    tx: Tx, unallocated_payment_id: UUID, note: str, decided_by: str
) -> UnallocatedPayment:
    """Record an operator's decision to apply an unallocated payment to a donation.

    Raises NoSuchUnallocatedPayment, UnallocatedPaymentError.
    """
    locked = await get_for_update(tx, unallocated_payment_id)
    _ensure_undecided(locked)
    if not locked.is_bank_transfer or locked.payment_id is None:
        raise UnallocatedPaymentError(
            "Only the first bank transfer with the reference of a donation can be applied to that donation."
        )
    if locked.reason is UnallocatedReason.OTHER_CURRENCY:
        raise UnallocatedPaymentError(domain.OTHER_CURRENCY)
    await store.insert_decision(
        tx,
        UnallocatedPaymentDecision(
            unallocated_payment_id, UnallocatedPaymentResolution.APPLY, note, decided_by, tx.now
        ),
    )
    return locked


async def apply_to_donation(
    tx: Tx, unallocated_payment: UnallocatedPayment, payment: Payment, organisation_id: UUID, note: str, decided_by: str
) -> None:
    """Apply a locked unallocated payment to a donation with this payment, and post it."""
    await store.mark_applied(tx, unallocated_payment.id, payment.id, decided_by, note)
    received = ledger_domain.build_payment_transfers(payment.id, payment.provider, organisation_id, payment.money)
    ledger.post_at_commit(
        tx,
        [
            *ledger_domain.build_unallocated_payment_applied_transfers(
                unallocated_payment.id, unallocated_payment.provider, unallocated_payment.money
            ),
            *received,
        ],
    )


async def mark_refunded(tx: Tx, unallocated_payment_id: UUID, provider_refund_id: str) -> None:
    """Record that the provider refunded the payment; idempotent."""
    locked = await get_for_update(tx, unallocated_payment_id)
    if locked.status == "refunding":
        await _finish_refund(tx, locked, provider_refund_id, [])


async def record_chargeback_of_unallocated_payment(
    tx: Tx, unallocated_payment: UnallocatedPayment, provider_dispute_id: str
) -> list[LedgerTransfer]:
    """Record that a dispute returned the money; returns the transfers to post.

    No email is sent, because the donor knows.
    """
    transfers: list[LedgerTransfer] = []
    if unallocated_payment.status == "held":
        await store.mark_decided(tx, [unallocated_payment.id], "refunding", BY_RULE, None)
        transfers += ledger_domain.build_unallocated_payment_refund_started_transfers(
            unallocated_payment.id, unallocated_payment.provider, unallocated_payment.money
        )
    await store.mark_refunded(tx, unallocated_payment.id, provider_dispute_id)
    await queue.delete_dead_jobs(tx, REFUND.name, str(unallocated_payment.id))
    return [
        *transfers,
        *ledger_domain.build_unallocated_payment_refund_sent_transfers(
            unallocated_payment.id, unallocated_payment.provider, unallocated_payment.money
        ),
    ]


async def _finish_refund(
    tx: Tx, unallocated_payment: UnallocatedPayment, provider_refund: str, before: list[LedgerTransfer]
) -> None:
    await store.mark_refunded(tx, unallocated_payment.id, provider_refund)
    await queue.delete_dead_jobs(tx, REFUND.name, str(unallocated_payment.id))
    await outbox.emit_internal_event(tx, domain.REFUNDED, UnallocatedPaymentRefundedEvent(unallocated_payment.id))
    ledger.post_at_commit(
        tx,
        [
            *before,
            *ledger_domain.build_unallocated_payment_refund_sent_transfers(
                unallocated_payment.id, unallocated_payment.provider, unallocated_payment.money
            ),
        ],
    )


async def _begin_refunds(tx: Tx, due: list[UnallocatedPayment], by: str, note: str | None) -> list[LedgerTransfer]:
    """Start refunds; returns the transfers, which the caller posts with all others of its transaction."""
    await store.mark_decided(tx, [held.id for held in due], "refunding", by, note)
    await queue.enqueue_jobs(tx, [_refund_job(held) for held in due if not held.is_bank_transfer])
    return [
        transfer
        for held in due
        for transfer in ledger_domain.build_unallocated_payment_refund_started_transfers(
            held.id, held.provider, held.money
        )
    ]


async def _write_off(tx: Tx, due: list[UnallocatedPayment], by: str, note: str | None) -> list[LedgerTransfer]:
    await store.mark_decided(tx, [held.id for held in due], "written_off", by, note)
    ours = [held for held in due if held.is_posted_to_ledger]
    return [
        transfer
        for held in ours
        for transfer in ledger_domain.build_unallocated_payment_write_off_transfers(held.id, held.provider, held.money)
    ]


def _refund_job(unallocated_payment: UnallocatedPayment) -> NewJob:
    return REFUND.build_job(RefundUnallocatedPaymentJob(unallocated_payment.id), unique_key=str(unallocated_payment.id))


def _ensure_undecided(unallocated_payment: UnallocatedPayment) -> None:
    if unallocated_payment.status != "held":
        raise UnallocatedPaymentError(
            f"{unallocated_payment.decided_by} has already decided on this payment: it is {unallocated_payment.status}."
        )


def _ensure_posted(unallocated_payment: UnallocatedPayment) -> None:
    if not unallocated_payment.is_posted_to_ledger:
        raise UnallocatedPaymentError(
            "The payment belongs to another mode or account and is not in our ledger, so it can only be written off."
        )


async def lock_unallocated_payments_by_provider_payment_id(
    tx: Tx, provider: str, provider_payment_ids: Sequence[str]
) -> dict[str, UnallocatedPayment]:
    """The unallocated payments among these provider payments, locked until the transaction ends."""
    found = await store.lock_by_provider_payment_ids(tx, provider, provider_payment_ids)
    return {held.provider_payment_id: held for held in found}

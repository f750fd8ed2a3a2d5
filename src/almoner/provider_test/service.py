"""The lifecycle of a payment: created, attempted with a card, authenticated, cancelled. No HTTP here."""

from dataclasses import replace
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Final

import msgspec

from almoner.kit.time import end_of_month
from almoner.platform.database.transactions import Tx
from almoner.provider_test import store
from almoner.provider_test.domain import (
    ATTEMPT_FAILED,
    DISPUTE_OPENED,
    DISPUTED_AFTER,
    LOSING_EVIDENCE,
    METHOD_UPDATED,
    RENEWED_FOR_YEARS,
    WINNING_EVIDENCE,
    Card,
    CardOutcome,
    ChargeRefusal,
    DeclineReason,
    Dispute,
    EvidenceRefusal,
    Payment,
    PaymentMethod,
    Refund,
    RefundRefusal,
)
from almoner.provider_test.store import find_payment as find_payment
from almoner.provider_test.store import find_usable_payment_method as find_usable_payment_method

_NOW: Final = timedelta()


def new_payment_id() -> str:
    """Unguessable: the address of the payment page is all that a donor needs."""
    return f"tp_{token_hex(16)}"


async def pay_with_card(tx: Tx, payment_id: str, card: Card) -> Payment | None:
    """Pay an open payment with a card; returns the payment, or None if there is none.

    An ended payment does not change.
    """
    payment = await store.lock_payment(tx, payment_id)
    if payment is None or payment.status != "open":
        return payment
    tried = replace(
        payment, attempts=payment.attempts + 1, last_decline=None, brand=card.brand, last_four=card.last_four
    )
    match card.outcome:
        case CardOutcome.SUCCEEDS | CardOutcome.DECLINED_LATER:
            return await _succeed(tx, await _save_card(tx, tried, card))
        case CardOutcome.DISPUTED_LATER:
            return await _succeed(tx, replace(await _save_card(tx, tried, card), disputes_later=True))
        case CardOutcome.CHALLENGED | CardOutcome.ALWAYS_CHALLENGED:
            return await store.update_payment_status(tx, await _save_card(tx, tried, card), "processing")
        case CardOutcome.INSUFFICIENT_FUNDS:
            return await _decline(tx, tried, DeclineReason.INSUFFICIENT_FUNDS)
        case CardOutcome.DECLINED:
            return await _decline(tx, tried, DeclineReason.DECLINED)
        case None:
            return await _decline(tx, replace(tried, brand=None, last_four=None), DeclineReason.NOT_A_TEST_CARD)


async def _save_card(tx: Tx, payment: Payment, card: Card) -> Payment:
    """Keep the card of a payment whose donor agreed to it; it counts once the payment has succeeded."""
    if payment.agreement is None or card.outcome is None:
        return payment
    assert payment.agreement_version is not None, "an agreement has a version"
    assert payment.email is not None, "an agreement is somebody's"
    method = PaymentMethod(
        id=f"tpm_{token_hex(16)}",
        customer=f"tpc_{token_hex(16)}",
        brand=card.brand,
        last_four=card.last_four,
        expires_at=card.expires_at,
        behaviour=card.outcome,
        fails_with=None,
        agreement=payment.agreement,
        agreement_version=payment.agreement_version,
        email=payment.email,
        callback_url=payment.callback_url,
        changes=0,
        created_at=tx.now,
    )
    await store.insert_payment_method(tx, method)
    return replace(payment, payment_method_id=method.id)


async def charge_off_session(
    tx: Tx, charge: Payment, customer_id: str, idempotency_key: str, fingerprint: bytes
) -> Payment | ChargeRefusal:
    """Charge a saved card once for each key; a decline is a payment that failed."""
    assert charge.payment_method_id is not None, "a charge names its card"
    assert charge.first_payment_id is not None, "a charge names the payment in which the donor agreed"
    method = await store.lock_payment_method(tx, charge.payment_method_id)
    first = await store.find_payment(tx, charge.first_payment_id)
    if method is None or method.customer != customer_id:
        return ChargeRefusal.NO_SUCH_METHOD
    if first is None or first.status != "succeeded" or first.kind != "payment":
        return ChargeRefusal.NO_SUCH_AGREEMENT
    created = await store.create_payment(tx, charge, idempotency_key, fingerprint)
    if created is None:
        return ChargeRefusal.KEY_REUSED
    if created.id != charge.id:
        return created
    tried = replace(created, attempts=1, brand=method.brand, last_four=method.last_four)
    reason = method.charge_decline_reason(tx.now)
    if method.fails_with is not None:
        await store.update_payment_method(tx, replace(method, fails_with=None))
    later = replace(tried, disputes_later=method.behaviour == CardOutcome.DISPUTED_LATER)
    ended = await (_succeed(tx, later) if reason is None else _decline(tx, tried, reason))
    assert ended is not None, "it was open"
    return ended


async def fail_next_charge(tx: Tx, customer_id: str, payment_method_id: str, decline_reason: DeclineReason) -> bool:
    """Make the next charge of a saved card fail; False if there is no such card."""
    return await _change_method(tx, customer_id, payment_method_id, fails_with=decline_reason.value)


async def expire_card(tx: Tx, customer_id: str, payment_method_id: str) -> bool:
    """Expire a saved card; False if there is no such card."""
    last_month = tx.now.replace(day=1) - timedelta(days=1)
    return await _change_method(
        tx, customer_id, payment_method_id, expires_at=end_of_month(last_month.year, last_month.month)
    )


async def renew_card(tx: Tx, customer_id: str, payment_method_id: str) -> bool:
    """Simulate a bank that renews a saved card, and notify the merchant; False if there is no such card."""
    later = end_of_month(tx.now.year + RENEWED_FOR_YEARS, tx.now.month)
    if not await _change_method(tx, customer_id, payment_method_id, expires_at=later, renewed=True):
        return False
    method = await store.lock_payment_method(tx, payment_method_id)
    assert method is not None, "it is locked"
    await _notify_method(tx, method)
    return True


async def _change_method(tx: Tx, customer: str, method_id: str, *, renewed: bool = False, **changes: object) -> bool:
    method = await store.lock_payment_method(tx, method_id)
    if method is None or method.customer != customer:
        return False
    # A renewed card is a good one, whatever the old one did.
    good = {"behaviour": CardOutcome.SUCCEEDS.value, "fails_with": None} if renewed else {}
    await store.update_payment_method(
        tx,
        replace(method, changes=method.changes + renewed, **good, **changes),  # type: ignore[arg-type]
    )
    return True


async def delete_payment_method(tx: Tx, customer_id: str, payment_method_id: str) -> None:
    """Delete a saved card; does nothing if it does not exist."""
    await store.delete_payment_method(tx, customer_id, payment_method_id)


async def answer_challenge(tx: Tx, payment_id: str, *, confirmed: bool) -> Payment | None:
    """Answer the bank's challenge; a payment without a challenge does not change."""
    payment = await store.lock_payment(tx, payment_id)
    if payment is None or payment.status != "processing":
        return payment
    return await _succeed(tx, payment) if confirmed else await _decline(tx, payment, DeclineReason.NOT_CONFIRMED)


async def cancel_payment(tx: Tx, payment_id: str) -> Payment | None:
    """Cancel a payment that has not been paid; one that has ended stays as it is, and the answer shows how."""
    payment = await store.lock_payment(tx, payment_id)
    if payment is None or payment.status not in ("open", "processing"):
        return payment
    return await _end_payment(tx, payment, "cancelled")


def new_refund_id() -> str:
    """A new refund ID, like those of payments."""
    return f"tpr_{token_hex(16)}"


async def refund_payment(
    tx: Tx, payment_id: str, amount: int, currency: str, idempotency_key: str, refund_id: str
) -> Refund | RefundRefusal:
    """Refund a payment, once for each key and up to the paid amount, which is tracked in the payment's row."""
    payment = await store.lock_payment(tx, payment_id)
    if payment is None:
        return RefundRefusal.NO_SUCH_PAYMENT
    asked = Refund(refund_id, payment_id, amount, currency)
    earlier = await store.find_refund(tx, idempotency_key)
    if earlier is not None:
        return earlier if replace(earlier, id=refund_id) == asked else RefundRefusal.KEY_REUSED
    if payment.status != "succeeded" or payment.currency != currency or payment.kind == "setup":
        return RefundRefusal.TOO_MUCH
    if amount > payment.amount - await store.sum_refunded_amount(tx, payment_id) - await store.sum_disputed_amount(
        tx, payment_id
    ):
        return RefundRefusal.TOO_MUCH
    await store.insert_refund(tx, asked, idempotency_key)
    await store.reduce_disputed_amount(tx, payment_id, amount)
    return asked


async def open_dispute(tx: Tx, payment_id: str) -> Dispute | None:
    """Open a dispute for the rest of a paid payment; None if nothing is left.

    A payment is disputed once: asking again shows how that one stands.
    """
    payment = await store.lock_payment(tx, payment_id)
    if payment is None or payment.status != "succeeded" or payment.kind == "setup":
        return None
    return await _open_dispute(tx, payment, _NOW)


async def decide_dispute(tx: Tx, payment_id: str, *, won: bool) -> Dispute | None:
    """Decide a dispute for the merchant or the donor; a decided dispute does not change."""
    payment = await store.lock_payment(tx, payment_id)
    found = await store.list_disputes(tx, payment_id) if payment else []
    if payment is None or not found or found[0].status != "open":
        return found[0] if found else None
    outcome = "won" if won else "lost"
    decided = await store.decide_dispute(tx, payment_id, outcome)
    await _notify(tx, payment, f"dispute.{outcome}", after=_NOW)
    return decided


async def submit_evidence(
    tx: Tx, dispute_id: str, evidence: dict[str, object], idempotency_key: str
) -> Dispute | EvidenceRefusal:
    """Take the merchant's evidence once; an explanation that says how decides the dispute at once."""
    found = await store.lock_dispute_and_evidence_key(tx, dispute_id)
    if found is None:
        return EvidenceRefusal.NO_SUCH_DISPUTE
    dispute, earlier = found
    if earlier is not None:
        return dispute if earlier == idempotency_key else EvidenceRefusal.SUBMITTED_BEFORE
    if dispute.evidence_due_at is None or dispute.evidence_due_at <= tx.now:
        return EvidenceRefusal.CLOSED
    files = evidence["files"]
    assert isinstance(files, dict), "it was parsed"
    if await store.count_files(tx, list(files.values())) != len(set(files.values())):
        return EvidenceRefusal.NO_SUCH_FILE
    await store.store_evidence(tx, dispute_id, evidence, idempotency_key)
    explanation = str(evidence["explanation"] or "")
    for word, won in ((WINNING_EVIDENCE, True), (LOSING_EVIDENCE, False)):
        if word in explanation:
            return await decide_dispute(tx, dispute.payment_id, won=won) or dispute
    return replace(dispute, evidence_submitted_at=tx.now)


async def _succeed(tx: Tx, payment: Payment) -> Payment | None:
    ended = await _end_payment(tx, payment, "succeeded")
    if ended is not None and ended.disputes_later:
        await _open_dispute(tx, ended, DISPUTED_AFTER)
    return ended


async def _open_dispute(tx: Tx, payment: Payment, after: timedelta) -> Dispute | None:
    left = payment.amount - await store.sum_refunded_amount(tx, payment.id)
    opened_at = tx.now + after
    asked = Dispute(f"tpd_{token_hex(16)}", payment.id, left, payment.currency, "open", "fraudulent", opened_at)
    stored = await store.upsert_dispute(tx, asked) if left else None
    if stored is not None and stored.opened_at == opened_at:
        await _notify(tx, payment, DISPUTE_OPENED, after=after)
    return stored


async def _decline(tx: Tx, payment: Payment, reason: DeclineReason) -> Payment | None:
    declined = replace(payment, last_decline=reason.value)
    if declined.attempts >= payment.max_attempts:
        return await _end_payment(tx, declined, "failed")
    again = await store.update_payment_status(tx, declined, "open")
    if again is not None:
        await _notify(tx, again, f"{_prefix(again)}.{ATTEMPT_FAILED}", after=_NOW)
    return again


async def _end_payment(tx: Tx, payment: Payment, status: str) -> Payment | None:
    ended = await store.update_payment_status(tx, payment, status)
    if ended is not None:
        await _notify(tx, ended, f"{_prefix(ended)}.{status}", after=_NOW)
    return ended


async def _notify(tx: Tx, payment: Payment, kind: str, *, after: timedelta) -> None:
    attempt = payment.attempts if kind.endswith(ATTEMPT_FAILED) else 0
    await _enqueue(tx, payment.id, payment.callback_url, kind, attempt, tx.now + after)


async def _notify_method(tx: Tx, method: PaymentMethod) -> None:
    await _enqueue(tx, method.id, method.callback_url, METHOD_UPDATED, method.changes, tx.now)


async def _enqueue(tx: Tx, subject: str, url: str, kind: str, attempt: int, due_at: datetime) -> None:
    callback_id = f"tpe_{token_hex(16)}"
    body = msgspec.json.encode({"id": callback_id, "type": kind, "payment": subject, "livemode": False})
    await store.enqueue_callback(tx, callback_id, subject, url, kind, attempt, body, due_at)


def _prefix(payment: Payment) -> str:
    return "setup" if payment.kind == "setup" else "payment"

"""What happens to a payment: created, tried with a card, confirmed at the bank, cancelled. No HTTP here."""

from dataclasses import replace
from datetime import timedelta
from secrets import token_hex
from typing import Final

import msgspec

from almoner.platform.database.transactions import Tx
from almoner.provider_test import store
from almoner.provider_test.domain import (
    ATTEMPT_FAILED,
    DISPUTE_OPENED,
    DISPUTED_AFTER,
    Card,
    CardOutcome,
    DeclineReason,
    Dispute,
    Payment,
    Refund,
    RefundRefusal,
)
from almoner.provider_test.store import find_payment as find_payment

_NOW: Final = timedelta()


def new_payment_id() -> str:
    """Unguessable: the address of the payment page is all that a donor needs."""
    return f"tp_{token_hex(16)}"


async def pay_with_card(tx: Tx, payment_id: str, card: Card) -> Payment | None:
    """Try a card on an open payment; the payment afterwards, None when there is none. An ended one stays as it is."""
    payment = await store.lock_payment(tx, payment_id)
    if payment is None or payment.status != "open":
        return payment
    tried = replace(
        payment, attempts=payment.attempts + 1, last_decline=None, brand=card.brand, last_four=card.last_four
    )
    match card.outcome:
        case CardOutcome.SUCCEEDS:
            return await _succeed(tx, tried)
        case CardOutcome.DISPUTED_LATER:
            return await _succeed(tx, replace(tried, disputes_later=True))
        case CardOutcome.CHALLENGED:
            return await store.update_payment_status(tx, tried, "processing")
        case CardOutcome.INSUFFICIENT_FUNDS:
            return await _decline(tx, tried, DeclineReason.INSUFFICIENT_FUNDS)
        case CardOutcome.DECLINED:
            return await _decline(tx, tried, DeclineReason.DECLINED)
        case None:
            return await _decline(tx, replace(tried, brand=None, last_four=None), DeclineReason.NOT_A_TEST_CARD)


async def answer_challenge(tx: Tx, payment_id: str, *, confirmed: bool) -> Payment | None:
    """The donor's answer on the bank's page; a payment that waits for none stays as it is."""
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
    """As the payment's."""
    return f"tpr_{token_hex(16)}"


async def refund_payment(
    tx: Tx, payment_id: str, amount: int, currency: str, key: str, new_id: str
) -> Refund | RefundRefusal:
    """Send money back, once for each key; no more than was paid, which the payment's row keeps count of."""
    payment = await store.lock_payment(tx, payment_id)
    if payment is None:
        return RefundRefusal.NO_SUCH_PAYMENT
    asked = Refund(new_id, payment_id, amount, currency)
    earlier = await store.find_refund(tx, key)
    if earlier is not None:
        return earlier if replace(earlier, id=new_id) == asked else RefundRefusal.KEY_REUSED
    if payment.status != "succeeded" or payment.currency != currency:
        return RefundRefusal.TOO_MUCH
    if amount > payment.amount - await store.refunded_amount(tx, payment_id) - await store.disputed_amount(
        tx, payment_id
    ):
        return RefundRefusal.TOO_MUCH
    await store.insert_refund(tx, asked, key)
    await store.reduce_disputed_amount(tx, payment_id, amount)
    return asked


async def open_dispute(tx: Tx, payment_id: str) -> Dispute | None:
    """The card's bank wants back what is left of a paid payment, now; its dispute, None when nothing is left of it.

    A payment is disputed once: asking again shows how that one stands.
    """
    payment = await store.lock_payment(tx, payment_id)
    if payment is None or payment.status != "succeeded":
        return None
    return await _open_dispute(tx, payment, _NOW)


async def decide_dispute(tx: Tx, payment_id: str, *, won: bool) -> Dispute | None:
    """The card's bank decides for the merchant or for the donor; a dispute that was decided stays as it is."""
    payment = await store.lock_payment(tx, payment_id)
    found = await store.list_disputes(tx, payment_id) if payment else []
    if payment is None or not found or found[0].status != "open":
        return found[0] if found else None
    outcome = "won" if won else "lost"
    decided = await store.decide_dispute(tx, payment_id, outcome)
    await _notify(tx, payment, f"dispute.{outcome}", after=_NOW)
    return decided


async def _succeed(tx: Tx, payment: Payment) -> Payment | None:
    ended = await _end_payment(tx, payment, "succeeded")
    if ended is not None and ended.disputes_later:
        await _open_dispute(tx, ended, DISPUTED_AFTER)
    return ended


async def _open_dispute(tx: Tx, payment: Payment, after: timedelta) -> Dispute | None:
    left = payment.amount - await store.refunded_amount(tx, payment.id)
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
        await _notify(tx, again, ATTEMPT_FAILED, after=_NOW)
    return again


async def _end_payment(tx: Tx, payment: Payment, status: str) -> Payment | None:
    ended = await store.update_payment_status(tx, payment, status)
    if ended is not None:
        await _notify(tx, ended, f"payment.{status}", after=_NOW)
    return ended


async def _notify(tx: Tx, payment: Payment, kind: str, *, after: timedelta) -> None:
    callback_id = f"tpe_{token_hex(16)}"
    body = msgspec.json.encode({"id": callback_id, "type": kind, "payment": payment.id, "livemode": False})
    await store.enqueue_callback(tx, callback_id, payment, kind, body, tx.now + after)

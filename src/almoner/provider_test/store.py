"""SQL for the provider's own schema. It has no partners: its only scope is the payment's unguessable id."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from asyncpg import Record

from almoner.platform.database.transactions import Tx
from almoner.provider_test.domain import DISPUTE, PAYMENT, Callback, Dispute, Payment, PaymentMethod, Refund

_FIELDS: Final = tuple(field.name for field in fields(Payment))
_METHOD: Final = ", ".join(field.name for field in fields(PaymentMethod))
_DISPUTE: Final = ", ".join(field.name for field in fields(Dispute))


def _payment(row: Record) -> Payment:
    return Payment(**{name: row[name] for name in _FIELDS})


async def create_payment(tx: Tx, payment: Payment, idempotency_key: str, fingerprint: bytes) -> Payment | None:
    """The new payment, or the one that this key made before; None when that one was asked for with other data."""
    await tx.execute(
        """insert into provider_test.payment
             (id, amount, currency, description, reference, return_url, cancel_url, callback_url, language, status,
              attempts, max_attempts, disputes_later, created_at, updated_at, idempotency_key, fingerprint,
              kind, agreement, agreement_version, email, payment_method_id, first_payment_id)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $14, false, $11, $11, $12, $13,
                   $15, $16, $17, $18, $19, $20)
           on conflict do nothing""",
        payment.id,
        payment.amount,
        payment.currency,
        payment.description,
        payment.reference,
        payment.return_url,
        payment.cancel_url,
        payment.callback_url,
        payment.language,
        payment.status,
        payment.created_at,
        idempotency_key,
        fingerprint,
        payment.max_attempts,
        payment.kind,
        payment.agreement,
        payment.agreement_version,
        payment.email,
        payment.payment_method_id,
        payment.first_payment_id,
    )
    row = await tx.fetchrow(
        "select * from provider_test.payment where idempotency_key = $1 and fingerprint = $2",
        idempotency_key,
        fingerprint,
    )
    return None if row is None else _payment(row)


async def find_payment(tx: Tx, payment_id: str) -> Payment | None:
    """The payment, or None."""
    row = await tx.fetchrow("select * from provider_test.payment where id = $1", payment_id)
    return None if row is None else _payment(row)


async def find_charge(tx: Tx, reference: str) -> Payment | None:
    """The charge of a saved card with this reference, or None."""
    row = await tx.fetchrow("select * from provider_test.payment where reference = $1 and kind = 'charge'", reference)
    return None if row is None else _payment(row)


async def lock_payment(tx: Tx, payment_id: str) -> Payment | None:
    """The payment, locked until the transaction ends: two posts of one donor take turns."""
    row = await tx.fetchrow("select * from provider_test.payment where id = $1 for update", payment_id)
    return None if row is None else _payment(row)


async def update_payment_status(tx: Tx, payment: Payment, status: str) -> Payment | None:
    """Update a payment's status and data; None if the transition is not allowed."""
    row = await tx.fetchrow(
        """update provider_test.payment
           set status = $2, attempts = $3, last_decline = $4, brand = $5, last_four = $6, disputes_later = $7,
             updated_at = $8, payment_method_id = $10
           where id = $1 and status = any($9) returning *""",
        payment.id,
        status,
        payment.attempts,
        payment.last_decline,
        payment.brand,
        payment.last_four,
        payment.disputes_later,
        tx.now,
        [*PAYMENT.source_states_of(status), *([status] if status == "open" else [])],
        payment.payment_method_id,
    )
    return None if row is None else _payment(row)


async def insert_payment_method(tx: Tx, payment_method: PaymentMethod) -> None:
    """Store a card that is saved once its payment succeeds."""
    await tx.execute(
        f"""insert into provider_test.payment_method ({_METHOD})
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)""",
        *(getattr(payment_method, field.name) for field in fields(PaymentMethod)),
    )


async def find_usable_payment_method(tx: Tx, customer_id: str, payment_method_id: str) -> PaymentMethod | None:
    """A customer's saved card whose payment succeeded."""
    row = await tx.fetchrow(
        f"""select {_METHOD} from provider_test.payment_method m
            where customer = $1 and id = $2 and exists (
                select from provider_test.payment where payment_method_id = m.id and status = 'succeeded')""",
        customer_id,
        payment_method_id,
    )
    return None if row is None else PaymentMethod(**row)


async def find_payment_method(tx: Tx, payment_method_id: str) -> PaymentMethod | None:
    """A saved card."""
    row = await tx.fetchrow(f"select {_METHOD} from provider_test.payment_method where id = $1", payment_method_id)
    return None if row is None else PaymentMethod(**row)


async def lock_payment_method(tx: Tx, payment_method_id: str) -> PaymentMethod | None:
    """A saved card, locked until the transaction ends: two charges of it take turns."""
    row = await tx.fetchrow(
        f"select {_METHOD} from provider_test.payment_method where id = $1 for update", payment_method_id
    )
    return None if row is None else PaymentMethod(**row)


async def update_payment_method(tx: Tx, payment_method: PaymentMethod) -> None:
    """Update a saved card."""
    await tx.execute(
        """update provider_test.payment_method set expires_at = $2, behaviour = $3, fails_with = $4, changes = $5
           where id = $1""",
        payment_method.id,
        payment_method.expires_at,
        payment_method.behaviour,
        payment_method.fails_with,
        payment_method.changes,
    )


async def delete_payment_method(tx: Tx, customer_id: str, payment_method_id: str) -> None:
    """Delete a customer's saved card."""
    await tx.execute(
        "delete from provider_test.payment_method where customer = $1 and id = $2", customer_id, payment_method_id
    )


async def find_refund(tx: Tx, idempotency_key: str) -> Refund | None:
    """The refund that this key made."""
    row = await tx.fetchrow(
        "select id, payment_id, amount, currency from provider_test.refund where idempotency_key = $1", idempotency_key
    )
    return None if row is None else Refund(**row)


async def sum_refunded_amount(tx: Tx, payment_id: str) -> int:
    """The refunded amount of a payment."""
    return int(await tx.fetchval("select refunded from provider_test.payment where id = $1", payment_id))


async def insert_refund(tx: Tx, refund: Refund, idempotency_key: str) -> None:
    """Store a refund. Raises CheckViolationError if more would be refunded than was paid."""
    await tx.execute(
        """insert into provider_test.refund (id, payment_id, idempotency_key, amount, currency, created_at)
           values ($1, $2, $3, $4, $5, $6)""",
        refund.id,
        refund.payment_id,
        idempotency_key,
        refund.amount,
        refund.currency,
        tx.now,
    )


async def upsert_dispute(tx: Tx, dispute: Dispute) -> Dispute:
    """Store the one dispute of a payment; one that is still to open opens when the earlier of the two does."""
    rows = await tx.fetch(
        f"""insert into provider_test.dispute as d ({_DISPUTE}) values ($1, $2, $3, $4, $5, $6, $7, $8)
            on conflict (payment_id) do update set opened_at = least(d.opened_at, excluded.opened_at)
            returning {_DISPUTE}""",
        dispute.id,
        dispute.payment_id,
        dispute.amount,
        dispute.currency,
        dispute.status,
        dispute.reason,
        dispute.opened_at,
        dispute.evidence_submitted_at,
    )
    return Dispute(**rows[0])


async def lock_dispute_and_evidence_key(tx: Tx, dispute_id: str) -> tuple[Dispute, str | None] | None:
    """A dispute that has opened, locked, and the key of its evidence."""
    row = await tx.fetchrow(
        f"""select {_DISPUTE}, evidence_key from provider_test.dispute
            where id = $1 and opened_at <= $2 and amount > 0 for update""",
        dispute_id,
        tx.now,
    )
    if row is None:
        return None
    values = dict(row)
    key = values.pop("evidence_key")
    return Dispute(**values), key


async def store_evidence(tx: Tx, dispute_id: str, evidence: dict[str, object], idempotency_key: str) -> None:
    """Store the evidence for a locked dispute."""
    await tx.execute(
        """update provider_test.dispute set evidence = $2, evidence_key = $3, evidence_submitted_at = $4
           where id = $1""",
        dispute_id,
        evidence,
        idempotency_key,
        tx.now,
    )


async def create_file(tx: Tx, file_id: str, idempotency_key: str, media_type: str, content: bytes) -> str:
    """Store what is known of an uploaded file, once for each key; its id."""
    made = await tx.fetchval(
        """insert into provider_test.file (id, idempotency_key, media_type, size, sha256, created_at)
           values ($1, $2, $3, $4, $5, $6)
           on conflict (idempotency_key) do update set idempotency_key = excluded.idempotency_key returning id""",
        file_id,
        idempotency_key,
        media_type,
        len(content),
        sha256(content).digest(),
        tx.now,
    )
    return str(made)


async def count_files(tx: Tx, file_ids: Sequence[str]) -> int:
    """How many of these files there are."""
    return int(await tx.fetchval("select count(*) from provider_test.file where id = any($1)", list(file_ids)))


async def list_disputes(tx: Tx, payment_id: str) -> list[Dispute]:
    """The dispute of a payment, if it has opened."""
    rows = await tx.fetch(
        f"select {_DISPUTE} from provider_test.dispute where payment_id = $1 and opened_at <= $2 and amount > 0",
        payment_id,
        tx.now,
    )
    return [Dispute(**row) for row in rows]


async def sum_disputed_amount(tx: Tx, payment_id: str) -> int:
    """The amount of a payment that its bank has debited and not returned."""
    found = await list_disputes(tx, payment_id)
    return sum(one.amount for one in found if one.status != "won")


async def reduce_disputed_amount(tx: Tx, payment_id: str, amount: int) -> None:
    """Reduce the amount of a dispute that is not open yet, after a refund."""
    await tx.execute(
        "update provider_test.dispute set amount = amount - $2 where payment_id = $1 and opened_at > $3",
        payment_id,
        amount,
        tx.now,
    )


async def decide_dispute(tx: Tx, payment_id: str, outcome: str) -> Dispute | None:
    """End a dispute; None when it has ended."""
    row = await tx.fetchrow(
        f"""update provider_test.dispute set status = $2, decided_at = $4
            where payment_id = $1 and status = any($3) returning {_DISPUTE}""",
        payment_id,
        outcome,
        DISPUTE.source_states_of(outcome),
        tx.now,
    )
    return None if row is None else Dispute(**row)


async def enqueue_callback(
    tx: Tx, callback_id: str, subject: str, url: str, kind: str, attempt: int, body: bytes, due_at: datetime
) -> None:
    """Enqueue a callback, once for each kind and attempt; the earlier due time counts."""
    await tx.execute(
        """insert into provider_test.callback (id, subject, url, type, attempt, body, due_at, attempts, created_at)
           values ($1, $2, $8, $3, $7, $4, $5, 0, $6) on conflict on constraint callback_once
           do update set due_at = excluded.due_at
           where callback.due_at > excluded.due_at and callback.attempts = 0""",
        callback_id,
        subject,
        kind,
        body,
        due_at,
        tx.now,
        attempt,
        url,
    )


async def lease_callbacks(tx: Tx, *, limit: int, lease: timedelta) -> list[Callback]:
    """Lease due callbacks for this process. They are due by business time and leased by real time."""
    rows = await tx.fetch(
        """with due as (
             select id from provider_test.callback
             where delivered_at is null and given_up_at is null and due_at <= $1
               and (leased_until is null or leased_until < $2)
             order by due_at limit $3 for update skip locked)
           update provider_test.callback c set leased_until = $4, attempts = c.attempts + 1
           from due where c.id = due.id returning c.id, c.url, c.body, c.attempts, c.created_at""",
        tx.now,
        tx.real_now,
        limit,
        tx.real_now + lease,
    )
    return [Callback(**row) for row in rows]


async def mark_callback_delivered(tx: Tx, callback: Callback) -> None:
    """Record that the merchant responded with 2xx."""
    await tx.execute(
        """update provider_test.callback set delivered_at = $2, leased_until = null
           where id = $1 and delivered_at is null""",
        callback.id,
        tx.now,
    )


async def mark_callback_failed(tx: Tx, callback: Callback, due_at: datetime | None) -> None:
    """Try again at ``due_at``, or never when it is None. A stale finish of an older attempt touches nothing."""
    await tx.execute(
        """update provider_test.callback
           set leased_until = null, due_at = coalesce($3, due_at),
             given_up_at = case when $3::timestamptz is null then $4::timestamptz end
           where id = $1 and attempts = $2 and delivered_at is null""",
        callback.id,
        callback.attempts,
        due_at,
        tx.now,
    )

"""Operations on payment attempts and webhooks. ``giving.checkout.donations`` applies them to donations."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from almoner.giving.checkout.payments import domain, store
from almoner.giving.checkout.payments.domain import (
    BANK_TRANSFER,
    Payment,
    ProviderEvent,
    ProviderPayment,
    ProviderStatus,
)
from almoner.giving.checkout.payments.store import cancel_unsent_payment as cancel_unsent_payment
from almoner.giving.checkout.payments.store import count_card_attempts as count_card_attempts
from almoner.giving.checkout.payments.store import find as find
from almoner.giving.checkout.payments.store import find_current_payment as find_current_payment
from almoner.giving.checkout.payments.store import list_open_payments_by_amount as list_open_payments_by_amount
from almoner.giving.checkout.payments.store import list_payable_payment_ids as list_payable_payment_ids
from almoner.giving.checkout.payments.store import mark_sent_to_provider as mark_sent_to_provider
from almoner.kit import iso11649
from almoner.kit.ids import decode_uuid, encode_uuid
from almoner.kit.money import Money
from almoner.platform.database.transactions import Tx

_DESCRIPTION_LENGTH: Final = 500


def payment_reference(payment_id: UUID) -> str:
    """Our reference of an attempt, which the provider stores with its payment."""
    return encode_uuid(payment_id)


def build_payment_idempotency_key(tx: Tx, payment_id: UUID) -> str:
    """The provider's idempotency key of an attempt, made from our own row, never from a caller's key (I6)."""
    return f"{tx.deployment.environment}:payment:{encode_uuid(payment_id)}"


async def create_payment_attempt(
    tx: Tx,
    provider: str,
    donation_id: UUID,
    money: Money,
    description: str,
    language: str,
    max_card_attempts: int,
    *,
    off_session: bool = False,
) -> Payment:
    """Create a payment attempt; the provider is called after the commit."""
    described = description[:_DESCRIPTION_LENGTH]
    payment = Payment(
        id=tx.new_id(),
        donation_id=donation_id,
        provider=provider,
        provider_payment_id=None,
        payment_page_url=None,
        status="starting",
        money=money,
        description=described,
        language=language,
        card_attempt_count=0,
        created_at=tx.now,
        max_card_attempts=max_card_attempts,
        pages_url=tx.base_urls.pages,
        api_url=tx.base_urls.api,
        off_session=off_session,
    )
    await store.insert(tx, payment)
    return payment


async def start_bank_transfer(tx: Tx, payment: Payment, instructions_url: str) -> Payment:
    """Turn a new attempt into a bank transfer with its own reference."""
    called = iso11649.build_creditor_reference(encode_uuid(payment.id)[-iso11649.LENGTH :].upper())
    await store.update_status(tx, payment.id, "open", _transfer_state(tx, payment, called, instructions_url))
    return await get_for_update(tx, payment.id)


async def cancel_bank_transfer(tx: Tx, payment: Payment) -> None:
    """Cancel an awaited bank transfer."""
    assert payment.provider_payment_id is not None, "a transfer has its reference from the start"
    await store.update_status(
        tx, payment.id, "cancelled", _transfer_state(tx, payment, payment.provider_payment_id, None)
    )


async def mark_paid_by_earlier_transfer(tx: Tx, payment: Payment) -> None:
    """Record that a new attempt is paid by money that arrived earlier."""
    called = f"{BANK_TRANSFER}/{encode_uuid(payment.id)}"
    await store.update_status(tx, payment.id, "succeeded", _transfer_state(tx, payment, called, None))


def _transfer_state(tx: Tx, payment: Payment, called: str, url: str | None) -> ProviderPayment:
    live = not tx.deployment.sandbox
    return ProviderPayment(
        called, url, ProviderStatus.OPEN, payment.money, payment_reference(payment.id), payment.card_attempt_count, live
    )


async def get_for_update(tx: Tx, payment_id: UUID) -> Payment:
    """The attempt, locked until the transaction ends. Raises LookupError if there is none."""
    if (payment := await store.find_for_update(tx, payment_id)) is None:
        raise LookupError(f"payment {payment_id}")
    return payment


async def find_by_provider_payment(tx: Tx, provider: str, provider_payment: ProviderPayment) -> Payment | None:
    """Find the attempt of a provider's payment: by its ID there or, if the response got lost, by our reference."""
    reference = decode_uuid(provider_payment.reference)
    return await store.find_by_provider_payment_id(tx, provider, provider_payment.id, reference)


async def load_payments_by_provider_payment_id(
    tx: Tx, provider: str, provider_payment_ids: Sequence[str]
) -> dict[str, Payment]:
    """The attempts with these provider IDs, by provider ID."""
    found = await store.list_payments_with_provider_payment_ids(tx, provider, provider_payment_ids)
    return {payment.provider_payment_id: payment for payment in found if payment.provider_payment_id}


async def record_card_attempts(tx: Tx, payment: Payment, attempt_count: int) -> None:
    """Record the number of card attempts that the provider reports."""
    await store.record_card_attempts(tx, payment.id, attempt_count)


async def update_payment_status(
    tx: Tx, payment: Payment, target_status: str, provider_payment: ProviderPayment
) -> bool:
    """Move an attempt to a new status; False if its state does not allow it."""
    stated_at = provider_payment.succeeded_at if target_status == "succeeded" else None
    succeeded_at = domain.plausible_success_time(payment, stated_at, tx.now)
    return await store.update_status(tx, payment.id, target_status, provider_payment, succeeded_at)


async def record_provider_event(tx: Tx, provider: str, event: ProviderEvent) -> bool:
    """Store a provider webhook with its effect; False if it is already stored."""
    return await store.insert_provider_event(tx, provider, event)


async def is_provider_event_recorded(tx: Tx, provider: str, event: ProviderEvent) -> bool:
    """Whether a provider webhook was processed before."""
    return await store.has_provider_event(tx, provider, event.id)

"""Attempts to be paid, and notices. What they mean for a donation is decided by ``giving.donations``."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from almoner.giving.checkout.payments import store
from almoner.giving.checkout.payments.domain import BANK, Payment, ProviderEvent, ProviderPayment, ProviderStatus
from almoner.kit import rf
from almoner.kit.ids import decode, encode
from almoner.kit.money import Money
from almoner.platform.database.transactions import EVERYONE, Tx

DESCRIPTION_LENGTH: Final = 500


def reference(payment_id: UUID) -> str:
    """What the provider shows beside the amount and gives back to us: 26 characters that name the attempt."""
    return encode(payment_id)


def key(tx: Tx, payment_id: UUID) -> str:
    """The provider's idempotency key of an attempt: made from our own row, never from a caller's key (I6)."""
    return f"{tx.deployment.environment}:payment:{encode(payment_id)}"


async def begin(
    tx: Tx, provider: str, donation_id: UUID, money: Money, description: str, language: str, allowed: int
) -> Payment:
    """A new attempt, of ``max_attempts`` cards at most; the provider is asked after this is committed."""
    described = description[:DESCRIPTION_LENGTH]
    payment = Payment(
        id=tx.new_id(),
        donation_id=donation_id,
        provider=provider,
        provider_payment=None,
        url=None,
        status="starting",
        money=money,
        description=described,
        language=language,
        tries=0,
        created_at=tx.now,
        max_attempts=allowed,
        pages_url=tx.links.pages,
        api_url=tx.links.api,
    )
    await store.insert(tx, EVERYONE, payment)
    return payment


async def await_transfer(tx: Tx, payment: Payment, url: str) -> Payment:
    """A new attempt is a bank transfer under a reference of its own; ``url``: where the donor reads the details."""
    called = rf.reference(encode(payment.id)[-rf.LENGTH :].upper())
    await store.advance(tx, EVERYONE, payment.id, "open", _transfer(tx, payment, called, url))
    return await lock(tx, payment.id)


async def end_transfer(tx: Tx, payment: Payment) -> None:
    """A bank transfer is not waited for any more; should it come, it is held, or pays what still waits."""
    assert payment.provider_payment is not None, "a transfer has its reference from the start"
    await store.advance(tx, EVERYONE, payment.id, "cancelled", _transfer(tx, payment, payment.provider_payment, None))


async def receive_accepted(tx: Tx, payment: Payment) -> None:
    """Note that a new attempt was paid by money that had come before."""
    called = f"{BANK}/{encode(payment.id)}"
    await store.advance(tx, EVERYONE, payment.id, "succeeded", _transfer(tx, payment, called, None))


def _transfer(tx: Tx, payment: Payment, called: str, url: str | None) -> ProviderPayment:
    live = not tx.deployment.sandbox
    return ProviderPayment(called, url, ProviderStatus.OPEN, payment.money, reference(payment.id), payment.tries, live)


async def lock(tx: Tx, payment_id: UUID) -> Payment:
    """The attempt, held until the transaction ends. Raises LookupError when there is none."""
    if (payment := await store.lock(tx, EVERYONE, payment_id)) is None:
        raise LookupError(f"payment {payment_id}")
    return payment


async def find(tx: Tx, payment_id: UUID) -> Payment | None:
    """One attempt."""
    return await store.find(tx, EVERYONE, payment_id)


async def find_for(tx: Tx, provider: str, found: ProviderPayment) -> Payment | None:
    """The attempt that a provider's payment belongs to: by its id there, or (the answer got lost) by our reference."""
    known = await store.find_at_provider(tx, EVERYONE, provider, found.id)
    if known is not None:
        return known
    ours = decode(found.reference)
    named = await store.find(tx, EVERYONE, ours) if ours else None
    return named if named and named.provider == provider and named.provider_payment is None else None


async def at_provider(tx: Tx, provider: str, provider_payments: Sequence[str]) -> dict[str, Payment]:
    """The attempts that a provider knows by these ids, by its ids."""
    found = await store.at_provider(tx, EVERYONE, provider, provider_payments)
    return {payment.provider_payment: payment for payment in found if payment.provider_payment}


async def newest(tx: Tx, donation_id: UUID) -> Payment | None:
    """The attempt of a donation that decides where it stands."""
    return await store.newest(tx, EVERYONE, donation_id)


async def tries(tx: Tx, donation_id: UUID) -> int:
    """How many times a card was tried for a donation."""
    return await store.tries(tx, EVERYONE, donation_id)


async def note_tries(tx: Tx, payment: Payment, tries_: int) -> None:
    """Note how many cards were tried on an attempt, as its provider shows it."""
    await store.note_tries(tx, EVERYONE, payment.id, tries_)


async def move(tx: Tx, payment: Payment, target: str, found: ProviderPayment) -> bool:
    """Move an attempt, with what the provider shows of it; False when its state does not allow the move."""
    return await store.advance(tx, EVERYONE, payment.id, target, found)


async def live_of(tx: Tx, donation_ids: list[UUID]) -> list[UUID]:
    """The attempts of these donations that the donor may still pay."""
    return await store.live_of(tx, EVERYONE, donation_ids)


async def note(tx: Tx, provider: str, event: ProviderEvent) -> bool:
    """Keep a notice with its effect; False when it was kept before."""
    return await store.note_event(tx, EVERYONE, provider, event)


async def known(tx: Tx, provider: str, event: ProviderEvent) -> bool:
    """Whether a notice was kept before, and so has nothing more to tell."""
    return await store.event_known(tx, EVERYONE, provider, event.id)

"""Every payment provider, with its donors' side: the base of the contract tests."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count

from almoner.adapters.payments_stripe import StripeProvider
from almoner.adapters.stripe_client import StripeConnection
from almoner.giving.checkout.payments.domain import (
    Decline,
    DeclineAction,
    DisputeStatus,
    FeeSchedule,
    ProviderEvent,
    ProviderPayment,
    SavedPaymentMethod,
)
from almoner.giving.checkout.payments.ports import PaymentProvider, PaymentRequest
from almoner.kit.money import MAX_MINOR, Money
from almoner.kit.time import end_of_month
from almoner.provider_test.callbacks import callback_signature
from tests.support import fake_provider, stripe_account, stripe_cards
from tests.support.built_in_provider import serving_provider
from tests.support.fake_provider import FakeProvider
from tests.support.service import Service
from tests.support.stripe_account import MARK
from tests.support.stripe_stub import KEY, serving_stripe

SECRET = fake_provider.SECRET
AMOUNTS = (Money(1, "JPY"), Money(1500, "KWD"), Money(MAX_MINOR, "USD"))
NOWHERE = ("tp_nowhere", "../../healthz", "a b", "%00", "tp_\u0661")
ACTIONS = {
    "card_declined": DeclineAction.RETRY,
    "insufficient_funds": DeclineAction.RETRY,
    "lost_card": DeclineAction.NEVER,
    "authentication_required": DeclineAction.AUTHENTICATE,
    "expired_card": DeclineAction.ASK_DONOR,
    "revocation_of_authorization": DeclineAction.REVOKED,
}
"""Decline codes of a saved card, and the expected action."""
OWN_CODES = ("authentication_required", "expired_card")
_keys = count(1)


@dataclass(frozen=True, slots=True)
class SavedCards:
    """The actions of donors and banks on saved cards.

    ``save``: on a setup page. ``decline_next``: the next charge fails with this code. ``renew``: the bank renews the
    card. ``notices``: webhooks about a setup and a saved card.
    """

    save: Callable[[str], Awaitable[None]]
    decline_next: Callable[[SavedPaymentMethod, str], Awaitable[None]]
    renew: Callable[[SavedPaymentMethod], Awaitable[None]]
    notices: tuple[dict[str, object], dict[str, object]] = (
        {"id": "tpe_1", "type": "setup.succeeded", "payment": "tp_1", "livemode": False},
        {"id": "tpe_1", "type": "payment_method.updated", "payment": "tpm_1", "livemode": False},
    )


@dataclass(frozen=True, slots=True)
class Contract:
    """A provider, and its donors' side."""

    provider: PaymentProvider
    pay: Callable[[str], Awaitable[None]]
    dispute: Callable[[str], Awaitable[None]]
    decide_dispute: Callable[[str, DisputeStatus], Awaitable[None]]
    sign: Callable[[datetime, bytes], tuple[bytes, str]]
    cards: "SavedCards"
    header: str = "provider-signature"
    notices: tuple[dict[str, object], dict[str, object]] = (
        {"id": "tpe_1", "type": "payment.succeeded", "payment": "tp_1", "livemode": False},
        {"id": "tpe_1", "type": "dispute.opened", "payment": "tp_1", "livemode": False},
    )
    named: str = "tp_1"
    amounts: tuple[Money, ...] = AMOUNTS
    nowhere: tuple[str, ...] = NOWHERE
    keeps_url: bool = True

    def read(self, signed_at: datetime, *, at: datetime, dispute: bool = False) -> ProviderEvent | None:
        """Parse a webhook that was signed at another time."""
        body, header = self.signed(signed_at, dispute=dispute)
        return self.provider.parse_webhook({self.header: header}, body, at)

    def signed(self, at: datetime, *, dispute: bool = False) -> tuple[bytes, str]:
        """(body, signature header) of a webhook, signed by the provider."""
        return self.sign(at, json.dumps(self.notices[dispute]).encode())

    def ended(self, payment: ProviderPayment) -> ProviderPayment:
        """A payment that can no longer be paid."""
        return payment if self.keeps_url else replace(payment, payment_page_url=None)


def order(**changed: object) -> PaymentRequest:
    """A payment order, with another key each time."""
    number = next(_keys)
    asked = PaymentRequest(
        idempotency_key=f"sandbox:payment:{number}",
        money=Money(2500, "USD"),
        description="Förderverein für Löwen 🦁",
        reference=f"reference{number}",
        return_url="http://localhost:8080/give/x/return",
        cancel_url="http://localhost:8080/give/x",
        callback_url="http://localhost:8080/callbacks/test",
        language="ar",
        max_card_attempts=3,
    )
    return replace(asked, **changed)  # type: ignore[arg-type]


@asynccontextmanager
async def built_in(service: Service) -> AsyncIterator[Contract]:
    """The built-in provider with its adapter."""
    async with serving_provider(service) as simulator:
        yield Contract(
            simulator.provider,
            simulator.pay_with_card,
            simulator.open_dispute,
            simulator.decide_dispute,
            signed_by_us,
            SavedCards(simulator.pay_with_card, simulator.decline_next, simulator.renew_card),
        )


@asynccontextmanager
async def in_memory(service: Service) -> AsyncIterator[Contract]:
    """The provider in memory."""
    fake = FakeProvider()

    async def pay(payment: str) -> None:
        fake.pay_with_card(payment, succeeded_at=service.clock.now())

    async def dispute(payment: str) -> None:
        left = fake.payments[payment].money.minor
        left -= sum(made.money.minor for of, made in fake.refunds.values() if of == payment)
        fake.open_dispute(payment, service.clock.now(), left)

    async def decide(payment: str, outcome: DisputeStatus) -> None:
        fake.decide_dispute(payment, outcome)

    async def save(setup: str) -> None:
        fake.save_with_card(setup)

    async def decline_next(method: SavedPaymentMethod, code: str) -> None:
        fake.declines.setdefault(method.id, []).append(Decline(ACTIONS[code], code))

    async def renew(method: SavedPaymentMethod) -> None:
        fake.methods[method.id] = replace(method, expires_at=end_of_month(2105, 12))

    yield Contract(fake, pay, dispute, decide, signed_by_us, SavedCards(save, decline_next, renew))


def signed_by_us(at: datetime, body: bytes) -> tuple[bytes, str]:
    """The signature of the built-in provider and the one in memory."""
    return body, callback_signature(SECRET, int(at.timestamp()), body)


@asynccontextmanager
async def at_stripe(service: Service) -> AsyncIterator[Contract]:
    """Stripe's adapter with the strict stub."""
    async with serving_stripe(service.clock.now) as (stub, url):
        provider = StripeProvider(
            StripeConnection(KEY, url),
            webhook_secret=stripe_account.SECRET,
            tariff=FeeSchedule(290, {"USD": 30}),
            mark=MARK,
            pages_url=url,
        )

        async def pay(payment: str) -> None:
            stub.account.pay_with_card(payment)

        async def dispute(payment: str) -> None:
            stub.account.open_dispute(payment)

        async def decide(payment: str, outcome: DisputeStatus) -> None:
            stub.account.decide_dispute(payment, won=outcome is DisputeStatus.WON)

        async def decline_next(method: SavedPaymentMethod, code: str) -> None:
            error = {"code": code if code in OWN_CODES else "card_declined", "decline_code": code}
            stripe_cards.decline_next(stub.account, method.id, error)

        async def renew(method: SavedPaymentMethod) -> None:
            stripe_cards.renew_card(stub.account, method.id)

        def sign(at: datetime, body: bytes) -> tuple[bytes, str]:
            return stripe_account.signed(body, at)

        try:
            yield Contract(
                provider,
                pay,
                dispute,
                decide,
                sign,
                SavedCards(
                    pay,
                    decline_next,
                    renew,
                    (
                        stripe_notice("checkout.session.completed", {"id": "cs_test_1", "mode": "setup"}),
                        stripe_notice("payment_method.automatically_updated", {"id": "pm_1"}),
                    ),
                ),
                header="stripe-signature",
                notices=(
                    stripe_notice("checkout.session.completed", {"id": "cs_test_1"}),
                    stripe_notice("charge.dispute.created", {"id": "du_1", "payment_intent": "cs_test_1"}),
                ),
                named="cs_test_1",
                amounts=(Money(50, "JPY"), Money(1500, "ISK"), Money(99_999_999, "USD"), Money(999, "UGX")),
                nowhere=(*NOWHERE, "cs_test_nowhere", "pi_nowhere", "cs_test_\u0661", "cs_../charges"),
                keeps_url=False,
            )
        finally:
            await provider.close()


def stripe_notice(kind: str, thing: dict[str, object]) -> dict[str, object]:
    """A webhook as Stripe writes it."""
    return {"id": "evt_1", "object": "event", "type": kind, "livemode": False, "data": {"object": thing}}


PROVIDERS = (in_memory, built_in, at_stripe)

"""Stripe's adapter before ``localstripe``, a stand-in made by others: what it can do, and what it cannot (0057)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from almoner.adapters.payments_stripe import StripeProvider
from almoner.adapters.stripe_client import StripeConnection
from almoner.giving.checkout.payments.domain import (
    FeeSchedule,
    NoSuchPayment,
    ProviderFailure,
    ProviderStatus,
    RefundRefused,
    WebhookRefused,
)
from almoner.kit.money import Money
from tests.support.localstripe import KEY, LocalStripe, intent_of, serving_localstripe
from tests.support.stripe_account import MARK, SECRET

DECLINED = "4000000000000341"
DOLLARS = Money(2500, "USD")
EARLY = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
async def local() -> AsyncIterator[LocalStripe]:
    async with serving_localstripe() as made:
        yield made


@asynccontextmanager
async def speaking_to(url: str, key: str = KEY) -> AsyncIterator[StripeProvider]:
    """The adapter, which asks once."""
    provider = StripeProvider(
        StripeConnection(key, url, retries=0), webhook_secret=SECRET, tariff=FeeSchedule(0), mark=MARK, pages_url=url
    )
    try:
        yield provider
    finally:
        await provider.close()


@pytest.fixture
async def provider(local: LocalStripe) -> AsyncIterator[StripeProvider]:
    async with speaking_to(local.url) as made:
        yield made


async def test_m5_an_intent_is_fetched_back_with_amount_currency_and_mode(
    local: LocalStripe, provider: StripeProvider
) -> None:
    for money in (DOLLARS, Money(1, "JPY"), Money(99, "EUR")):
        paid = await local.pay(money.minor, money.currency.lower())
        found = await provider.fetch_payment(paid)
        assert (found.status, found.money, found.is_live_mode, found.attempts) == (
            ProviderStatus.SUCCEEDED,
            money,
            False,
            1,
        )


async def test_m5_a_declined_card_is_a_try_and_no_money(local: LocalStripe, provider: StripeProvider) -> None:
    tried = await local.pay(2500, "usd", DECLINED)
    found = await provider.fetch_payment(tried)
    assert (found.status, found.attempts) == (ProviderStatus.OPEN, 1)
    with pytest.raises(RefundRefused):
        await provider.refund_payment(tried, "sandbox:refund:1", DOLLARS)
    assert (await local.shown(f"payment_intents/{intent_of(tried)}"))["status"] == "requires_payment_method"


async def test_refunds_of_parts_are_sent_back_there(local: LocalStripe, provider: StripeProvider) -> None:
    paid = await local.pay(2500, "usd")
    made = [await provider.refund_payment(paid, f"sandbox:refund:{part}", Money(part, "USD")) for part in (1000, 1500)]
    assert [one.money.minor for one in made] == [1000, 1500]
    assert {one["id"] for one in await local.refunds(paid)} == {one.id for one in made}
    charge = (await local.shown(f"payment_intents/{intent_of(paid)}"))["latest_charge"]
    assert (charge["amount_refunded"], charge["refunded"]) == (2500, True)


async def test_what_it_does_not_know_is_a_failure_and_sends_nothing_back(
    local: LocalStripe, provider: StripeProvider
) -> None:
    for ask in (
        provider.fetch_payment("cs_test_pi_nowhere"),
        provider.refund_payment("cs_test_pi_nowhere", "sandbox:refund:2", DOLLARS),
        provider.payout_report_source().fetch_report("po_nowhere"),
    ):
        with pytest.raises(ProviderFailure):
            await ask
    async with speaking_to(local.url, "rk_test_restricted") as restricted:  # it knows no restricted keys
        with pytest.raises(ProviderFailure) as failure:
            await restricted.payout_report_source().fetch_report("po_nowhere")
        assert "rk_test" not in str(failure.value)


async def test_m5_its_notice_is_signed_as_stripe_signs(local: LocalStripe, provider: StripeProvider) -> None:
    await local.listen()
    tried = await local.pay(2500, "usd", DECLINED)
    async with asyncio.timeout(30):
        headers, body = await local.notices.get()
        while intent_of(tried).encode() not in body:  # of those before it is told a second later, too
            headers, body = await local.notices.get()
    now = datetime.now(UTC)
    event = provider.parse_webhook(headers, body, now)
    assert event is not None
    assert (event.type, event.payment_id, event.is_live_mode) == (
        "payment_intent.payment_failed",
        intent_of(tried),
        False,
    )
    for touched, at in ((body.replace(b"2500", b"2501"), now), (body, now + timedelta(seconds=302))):
        with pytest.raises(WebhookRefused):
            provider.parse_webhook(headers, touched, at)


CANNOT: dict[str, Callable[[StripeProvider], Awaitable[object]]] = {
    "Checkout Sessions": lambda provider: provider.fetch_payment("cs_test_1"),
    "sessions of an intent": lambda provider: provider.fetch_payment("pi_1"),
    "payouts since": lambda provider: provider.payout_report_source().list_payout_references(EARLY),
}


@pytest.mark.parametrize("what", CANNOT)
async def test_what_it_cannot_do_is_a_failure_and_nothing_else(local: LocalStripe, what: str) -> None:
    async with speaking_to(local.direct) as provider:
        with pytest.raises(ProviderFailure) as failure:
            await CANNOT[what](provider)
        assert not isinstance(failure.value, NoSuchPayment)


async def test_i6_even_where_keys_are_ignored_a_refund_is_made_once(
    local: LocalStripe, provider: StripeProvider
) -> None:
    paid = await local.pay(2500, "usd")
    first, second = [await provider.refund_payment(paid, "sandbox:refund:same", DOLLARS) for _ in range(2)]
    assert first == second
    assert len(await local.refunds(paid)) == 1


async def test_it_ignores_keys_and_sends_back_more_than_was_paid(local: LocalStripe) -> None:
    """Why only the strict stub shows that: once this fails, localstripe can show it, too."""
    paid = await local.pay(2500, "usd")
    line = StripeConnection(KEY, local.direct)
    for _ in range(2):
        await line.client.v1.refunds.create_async({"payment_intent": intent_of(paid)}, {"idempotency_key": "same"})
    await line.close()
    assert [one["amount"] for one in await local.refunds(paid)] == [2500, 2500]

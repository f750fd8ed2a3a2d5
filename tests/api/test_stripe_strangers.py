"""Notices about what another product of the Stripe account does: answered, told in the log, and nothing else."""

from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from almoner.adapters.stripe_webhooks import DISPUTE_EVENTS, EVENTS, METHOD_EVENTS, PAYMENT_EVENTS
from tests.support.client import Client
from tests.support.service import Service
from tests.support.stripe_account import Thing, new_id
from tests.support.stripe_giving import AtStripe, Stripe, serving_at_stripe


@pytest.fixture
async def giving(service: Service, api: Client) -> AsyncIterator[AtStripe]:
    async with serving_at_stripe(service) as stripe:
        yield await stripe.open_session(api)


def stranger(stripe: Stripe) -> Thing:
    """A Checkout Session that the shop of the same account has made and was paid for."""
    made = stripe.account.new_session(
        {
            "mode": "payment",
            "line_items": [{"quantity": 1, "price_data": {"currency": "usd", "unit_amount": 900}}],
            "success_url": "https://shop.example/thanks",
            "cancel_url": "https://shop.example",
            "metadata": {"shop": "1"},
        }
    )
    stripe.account.pay_with_card(made["id"])
    stripe.account.notices.clear()
    return made


async def test_a_payment_of_another_installation_at_the_same_account_is_none_of_ours(giving: AtStripe) -> None:
    session = stranger(giving.stripe)
    session |= {"metadata": {"almoner": "01kzrfnq00efzbjgt05w46nw25", "almoner_deployment": "another"}}
    await ignored(giving, "checkout.session.completed", session)


def about(stripe: Stripe, kind: str) -> Thing:
    """What a notice of this type of the shop is about."""
    session = stranger(stripe)
    intent = session["payment_intent"]
    saved = {"id": new_id("pm"), "object": "payment_method", "customer": new_id("cus")}
    things = {"checkout": session, "payment_intent": stripe.account.intents[intent], "payment_method": saved}
    return things.get(kind.partition(".")[0]) or {"id": new_id("re"), "payment_intent": intent, "status": "failed"}


async def ignored(giving: AtStripe, kind: str, thing: Thing) -> None:
    """It is answered as heard, each time, and has no effect."""
    giving.stripe.account.tell(kind, thing)
    with capture_logs() as reported:
        assert await giving.deliver(times=2) == [204, 204]
    assert await giving.held() == []
    assert await giving.posted() == 0
    assert [(one["event"], one["log_level"], one["type"]) for one in reported] == [
        ("webhook_ignored", "info", kind)
    ] * 2


@pytest.mark.parametrize("kind", EVENTS)
async def test_a_notice_of_any_type_about_another_products_payment_is_heard_and_means_nothing(
    giving: AtStripe, kind: str
) -> None:
    await ignored(giving, kind, about(giving.stripe, kind))


@pytest.mark.parametrize("kind", [kind for kind in EVENTS if kind not in (*PAYMENT_EVENTS, *METHOD_EVENTS)])
async def test_a_notice_about_a_charge_without_a_payment_intent_is_heard_and_means_nothing(
    giving: AtStripe, kind: str
) -> None:
    await ignored(giving, kind, {"id": new_id("du" if kind in DISPUTE_EVENTS else "re"), "payment_intent": None})
    assert not giving.stripe.stub.calls


@pytest.mark.parametrize("kind", [kind for kind in PAYMENT_EVENTS if kind.startswith("checkout")])
async def test_a_session_of_another_form_than_ours_is_no_failure(giving: AtStripe, kind: str) -> None:
    session = stranger(giving.stripe)
    session |= {"mode": "setup", "amount_total": None, "currency": None, "payment_intent": None, "metadata": None}
    session |= {"payment_status": "no_payment_required"}
    await ignored(giving, kind, session)


async def test_an_intent_without_a_session_is_heard_and_means_nothing(giving: AtStripe) -> None:
    intent = giving.stripe.account.new_intent(900, "usd", {})
    await ignored(giving, "payment_intent.payment_failed", intent)

"""What giving relies on in a payment provider for regular gifts: saved payment methods, charged without the donor."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count

import pytest

from almoner.giving.checkout.payments.domain import (
    Decline,
    DisputeStatus,
    NoSuchPayment,
    PaymentMethodGone,
    ProviderFailure,
    ProviderPayment,
    ProviderStatus,
    RefundRefused,
    SavedPaymentMethod,
)
from almoner.giving.checkout.payments.ports import FutureUseConsent, OffSessionCharge, PaymentMethodSetupRequest
from almoner.kit.money import Money
from tests.support.provider_contract import ACTIONS, PROVIDERS, Contract, order
from tests.support.service import Service
from tests.support.stripe_giving import serving_at_stripe

_keys = count(1)
AGREED = FutureUseConsent(
    "Your card is charged $25.00 each month on the 27th until you end it.", "2026-11-27", "amina@example.org"
)


@pytest.fixture(params=PROVIDERS, ids=[one.__name__ for one in PROVIDERS])
async def contract(request: pytest.FixtureRequest, service: Service) -> AsyncIterator[Contract]:
    """Each implementation in turn."""
    async with request.param(service) as made:
        yield made


async def saved(contract: Contract) -> tuple[ProviderPayment, SavedPaymentMethod]:
    """A first payment in which the donor has agreed to later ones, and the card that it saved."""
    made = await contract.provider.create_payment(order(future_use_consent=AGREED))
    await contract.pay(made.id)
    paid = await contract.provider.fetch_payment(made.id)
    assert paid.payment_method is not None
    return paid, paid.payment_method


def charge(first: ProviderPayment, method: SavedPaymentMethod, **changed: object) -> OffSessionCharge:
    """What we ask for on the day of a later gift; another key and reference each time."""
    number = next(_keys)
    asked = OffSessionCharge(
        idempotency_key=f"sandbox:payment:later{number}",
        money=Money(2500, "USD"),
        description="Capital Area Food Bank",
        reference=f"later{number}",
        customer_id=method.customer_id,
        payment_method_id=method.id,
        first_payment_id=first.id,
        callback_url="http://localhost:8080/callbacks/test",
        language="en",
    )
    return replace(asked, **changed)  # type: ignore[arg-type]


def setup(**changed: object) -> PaymentMethodSetupRequest:
    """A page to save another card on."""
    number = next(_keys)
    asked = PaymentMethodSetupRequest(
        idempotency_key=f"sandbox:setup:{number}",
        reference=f"setup{number}",
        currency="USD",
        description="Capital Area Food Bank",
        future_use_consent=AGREED,
        return_url="http://localhost:8080/regular/return",
        cancel_url="http://localhost:8080/regular",
        callback_url="http://localhost:8080/callbacks/test",
        language="fr",
    )
    return replace(asked, **changed)  # type: ignore[arg-type]


async def test_a_payment_saves_its_card_when_the_donor_agreed_and_only_then(
    contract: Contract, service: Service
) -> None:
    paid, method = await saved(contract)
    assert paid.status is ProviderStatus.SUCCEEDED
    assert (method.type, method.brand, method.last4) == ("card", "visa", "4242")
    assert method.expires_at > service.clock.now()
    assert (method.expires_at.hour, method.expires_at.minute, method.expires_at.second) == (23, 59, 59)
    assert await contract.provider.fetch_payment_method(method.customer_id, method.id) == method
    single = await contract.provider.create_payment(order())
    await contract.pay(single.id)
    assert (await contract.provider.fetch_payment(single.id)).payment_method is None


async def test_two_payments_save_cards_that_know_nothing_of_each_other(contract: Contract) -> None:
    (_, one), (_, other) = await saved(contract), await saved(contract)
    assert one.customer_id != other.customer_id
    assert await contract.provider.fetch_payment_method(one.customer_id, other.id) is None


async def test_a_saved_card_is_charged_without_the_donor(contract: Contract) -> None:
    first, method = await saved(contract)
    asked = charge(first, method, money=Money(1700, "USD"))
    made = await contract.provider.charge_off_session(asked)
    assert (made.status, made.money, made.reference) == (ProviderStatus.SUCCEEDED, asked.money, asked.reference)
    assert (made.payment_page_url, made.is_live_mode, made.goes_to_our_account, made.decline, made.attempts) == (
        None,
        False,
        True,
        None,
        1,
    )
    assert made.id != first.id
    assert await contract.provider.fetch_payment(made.id) == made
    assert await contract.provider.cancel_payment(made.id) == made


async def test_i6_a_charge_is_made_once_however_often_it_is_asked_for(contract: Contract) -> None:
    first, method = await saved(contract)
    asked = charge(first, method)
    assert await contract.provider.find_charge(asked.reference, asked.customer_id) is None
    made = [await contract.provider.charge_off_session(asked) for _ in range(3)]
    assert made == [made[0]] * 3
    assert await contract.provider.find_charge(asked.reference, asked.customer_id) == made[0]
    at_once = charge(first, method)
    many = await asyncio.gather(*(contract.provider.charge_off_session(at_once) for _ in range(8)))
    assert len({one.id for one in many}) == 1
    assert many[0].id != made[0].id
    with pytest.raises(ProviderFailure):
        await contract.provider.charge_off_session(replace(asked, money=Money(2501, "USD")))


@pytest.mark.parametrize("code", ACTIONS)
async def test_a_decline_is_an_answer_that_says_what_to_do(contract: Contract, code: str) -> None:
    first, method = await saved(contract)
    await contract.cards.decline_next(method, code)
    asked = charge(first, method)
    declined = await contract.provider.charge_off_session(asked)
    assert (declined.status, declined.decline) == (ProviderStatus.FAILED, Decline(ACTIONS[code], code))
    assert declined.money == asked.money
    assert await contract.provider.charge_off_session(asked) == declined  # the same key charges nothing more
    assert await contract.provider.fetch_payment(declined.id) == declined
    assert await contract.provider.find_charge(asked.reference, asked.customer_id) == declined
    later = await contract.provider.charge_off_session(charge(first, method))
    assert later.status is ProviderStatus.SUCCEEDED


async def test_a_charge_is_refunded_and_disputed_as_any_payment(contract: Contract) -> None:
    first, method = await saved(contract)
    made = await contract.provider.charge_off_session(charge(first, method))
    sent = await contract.provider.refund_payment(made.id, f"{made.id}:part", Money(500, "USD"))
    assert sent.money == Money(500, "USD")
    await contract.dispute(made.id)
    (opened,) = await contract.provider.list_disputes(made.id)
    assert (opened.status, opened.money) == (DisputeStatus.OPEN, Money(2000, "USD"))
    with pytest.raises(RefundRefused):
        await contract.provider.refund_payment(made.id, f"{made.id}:more", Money(2001, "USD"))
    assert await contract.provider.list_disputes(first.id) == []


async def test_a_forgotten_card_is_charged_no_more_and_what_was_paid_stays(contract: Contract) -> None:
    first, method = await saved(contract)
    made = await contract.provider.charge_off_session(charge(first, method))
    for _ in range(2):
        await contract.provider.delete_payment_method(method.customer_id, method.id)
    assert await contract.provider.fetch_payment_method(method.customer_id, method.id) is None
    with pytest.raises(PaymentMethodGone):
        await contract.provider.charge_off_session(charge(first, method))
    assert (await contract.provider.fetch_payment(made.id)).status is ProviderStatus.SUCCEEDED
    assert (await contract.provider.refund_payment(made.id, f"{made.id}:all", made.money)).money == made.money


async def test_a_card_of_somebody_else_is_not_charged(contract: Contract) -> None:
    (first, one), (_, other) = await saved(contract), await saved(contract)
    with pytest.raises(PaymentMethodGone):
        await contract.provider.charge_off_session(charge(first, replace(one, id=other.id)))
    with pytest.raises(PaymentMethodGone):
        await contract.provider.charge_off_session(charge(first, replace(one, customer_id="tpc_nobody")))


async def test_a_renewed_card_is_read_again(contract: Contract) -> None:
    first, method = await saved(contract)
    await contract.cards.renew(method)
    again = await contract.provider.fetch_payment_method(method.customer_id, method.id)
    assert again is not None
    assert again.expires_at != method.expires_at
    assert replace(again, expires_at=method.expires_at) == method
    assert (await contract.provider.charge_off_session(charge(first, method))).status is ProviderStatus.SUCCEEDED


async def test_another_card_is_saved_on_a_page_without_a_payment(contract: Contract) -> None:
    first, old = await saved(contract)
    asked = setup()
    opened = await contract.provider.create_payment_method_setup(asked)
    assert (opened.status, opened.reference, opened.is_live_mode) == (ProviderStatus.OPEN, asked.reference, False)
    assert (opened.setup_page_url or "").startswith(contract.provider.hosted_page_origin + "/")
    assert opened.payment_method is None
    assert await contract.provider.create_payment_method_setup(asked) == opened
    with pytest.raises(ProviderFailure):
        await contract.provider.create_payment_method_setup(replace(asked, currency="EUR"))
    assert await contract.provider.fetch_payment_method_setup(opened.id) == opened
    await contract.cards.save(opened.id)
    done = await contract.provider.fetch_payment_method_setup(opened.id)
    assert (done.status, done.reference) == (ProviderStatus.SUCCEEDED, asked.reference)
    new = done.payment_method
    assert new is not None
    assert new.customer_id != old.customer_id
    await contract.provider.delete_payment_method(old.customer_id, old.id)
    assert (await contract.provider.charge_off_session(charge(first, new))).status is ProviderStatus.SUCCEEDED


async def test_an_unknown_setup_is_told_as_such_and_a_setup_is_no_payment(contract: Contract) -> None:
    with pytest.raises(NoSuchPayment):
        await contract.provider.fetch_payment_method_setup("tp_nowhere")
    opened = await contract.provider.create_payment_method_setup(setup())
    await contract.cards.save(opened.id)
    with pytest.raises(ProviderFailure):
        await contract.provider.refund_payment(opened.id, f"{opened.id}:1", Money(1, "USD"))


async def test_notices_about_saved_cards_name_them(contract: Contract, service: Service) -> None:
    at = service.clock.real_now()
    for notice, subject in zip(contract.cards.notices, ("setup", "payment_method"), strict=True):
        body, header = contract.sign(at, json.dumps(notice).encode())
        event = contract.provider.parse_webhook({contract.header: header}, body, at)
        assert event is not None
        assert event.subject == subject
        assert f'"{event.payment_id}"' in json.dumps(notice)


async def test_i6_a_charge_is_made_once_at_stripe_however_late_it_is_asked_for_again(service: Service) -> None:
    async with serving_at_stripe(service) as stripe:
        made = await stripe.provider.create_payment(order(future_use_consent=AGREED))
        stripe.account.pay_with_card(made.id)
        first = await stripe.provider.fetch_payment(made.id)
        assert first.payment_method is not None
        asked = charge(first, first.payment_method)
        paid = await stripe.provider.charge_off_session(asked)
        stripe.stub.forget_keys()  # as Stripe does after a day; our answer may have been lost
        assert await stripe.provider.charge_off_session(asked) == paid
        assert stripe.stub.calls["POST /v1/payment_intents"] == 1

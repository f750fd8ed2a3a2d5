"""Money that must not be counted, and notices that must not be believed (settled 5; M5, M6, W1)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from almoner.giving.checkout.donations.domain import CheckoutState
from almoner.giving.checkout.payments.domain import ProviderStatus
from almoner.kit.money import Money
from tests.support import giving as support
from tests.support.client import Client
from tests.support.fake_provider import notice
from tests.support.giving import DAY, PAID, Giving, gift
from tests.support.service import Service


@pytest.fixture
async def giving(service: Service, api: Client) -> Giving:
    """A session whose donor is about to give."""
    return await support.open_session(service, api)


async def test_m6_money_after_the_cancellation_is_held(giving: Giving) -> None:
    await giving.begin()
    giving.service.clock.advance(DAY)
    await giving.sweep()
    giving.provider.pay_with_card(giving.provider.only())
    for _ in range(2):
        assert (await giving.notify(giving.provider.only())).status_code == 204
    assert await giving.held() == [("donation_cancelled", 2500, "USD")]
    assert (await giving.come_back()).state is CheckoutState.HELD
    assert (await giving.donations())[0]["status"] == "CANCELLED"


async def test_m6_the_browsers_return_alone_finds_money_that_came_after_the_cancellation(giving: Giving) -> None:
    await giving.begin()
    giving.service.clock.advance(DAY)
    await giving.sweep()
    giving.provider.pay_with_card(giving.provider.only())
    assert (await giving.come_back()).state is CheckoutState.HELD
    assert await giving.held() == [("donation_cancelled", 2500, "USD")]


async def test_m6_money_that_comes_twice_is_held(giving: Giving) -> None:
    await giving.begin()
    first = giving.provider.only()
    await giving.begin(gift(4000))
    second = next(payment for payment in giving.provider.payments if payment != first)
    giving.provider.pay_with_card(second)
    await giving.come_back()
    giving.provider.pay_with_card(first)
    assert (await giving.notify(first)).status_code == 204
    assert await giving.held() == [("paid_twice", 2500, "USD")]
    assert await giving.events() == PAID


async def test_m6_money_of_a_payment_whose_donation_has_changed_is_held(giving: Giving) -> None:
    await giving.begin()
    first = giving.provider.only()
    await giving.begin(gift(4000))
    giving.provider.pay_with_card(first)
    assert (await giving.notify(first)).status_code == 204
    assert await giving.held() == [("short", 2500, "USD")]
    assert (await giving.donations())[0]["status"] == "REQUESTED_PAYMENT"
    assert (await giving.come_back()).state is CheckoutState.HELD
    assert (await giving.begin(gift(4000))).state is CheckoutState.HELD


@pytest.mark.parametrize(
    ("tampered", "reason"),
    [
        ({"money": Money(2499, "USD")}, "short"),
        ({"money": Money(2501, "USD")}, "over"),
        ({"money": Money(2500, "EUR")}, "other_currency"),
        ({"reference": "7zzzzzzzzzzzzzzzzzzzzzzzzz"}, "other_reference"),
        ({"is_live_mode": True}, "other_mode"),
        ({"goes_to_our_account": False}, "other_account"),
    ],
)
@pytest.mark.parametrize("by_notice", [True, False])
async def test_m5_what_differs_from_what_was_asked_for_is_held_and_never_posted(
    giving: Giving, tampered: dict[str, object], reason: str, by_notice: bool
) -> None:
    await giving.begin()
    paid = giving.provider.pay_with_card(giving.provider.only(), **tampered)
    if by_notice:
        assert (await giving.notify(paid.id)).status_code == 204
    else:
        assert (await giving.come_back()).state is CheckoutState.HELD
    assert await giving.held() == [(reason, paid.money.minor, paid.money.currency)]
    assert (await giving.donations())[0]["status"] == "REQUESTED_PAYMENT"
    assert await giving.status() == "open"
    assert await giving.events() == ["donation.created"]


async def test_m5_money_of_a_payment_that_is_not_ours_is_held(giving: Giving) -> None:
    await giving.begin()
    ours = giving.provider.payments[giving.provider.only()]
    giving.provider.payments["tp_stranger"] = replace(ours, id="tp_stranger", status=ProviderStatus.SUCCEEDED)
    assert (await giving.notify("tp_stranger")).status_code == 204
    assert await giving.held() == [("unknown_payment", 2500, "USD")]
    assert await giving.events() == ["donation.created"]


async def test_m5_a_notice_that_claims_success_is_only_a_hint(giving: Giving) -> None:
    await giving.begin()
    assert (await giving.notify(giving.provider.only())).status_code == 204
    assert (await giving.donations())[0]["status"] == "REQUESTED_PAYMENT"
    giving.provider.pay_with_card(giving.provider.only())
    assert (await giving.notify(giving.provider.only())).status_code == 204
    assert await giving.events() == PAID


@pytest.mark.parametrize("spoilt", ["signature", "body", "age", "future", "header", "json", "fields"])
async def test_m5_a_notice_that_is_not_the_providers_is_refused(giving: Giving, spoilt: str) -> None:
    await giving.begin()
    payment = giving.provider.only()
    giving.provider.pay_with_card(payment)
    real_now = giving.service.clock.real_now()
    aged = {"age": -timedelta(seconds=302), "future": timedelta(seconds=302)}.get(spoilt, timedelta())
    body, headers = notice(payment, at=real_now + aged)
    match spoilt:
        case "signature":
            headers["Provider-Signature"] = headers["Provider-Signature"][:-1] + "x"
        case "body":
            body = body.replace(b"succeeded", b"succeedee")
        case "header":
            del headers["Provider-Signature"]
        case "json" | "fields":
            headers = dict(headers)
            body = b"{}" if spoilt == "fields" else b"\xff"
    answer = await giving.post(body, headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "payment/notice_refused")
    assert (await giving.donations())[0]["status"] == "REQUESTED_PAYMENT"


async def test_a_notice_about_a_payment_that_the_provider_does_not_know_is_refused(giving: Giving) -> None:
    answer = await giving.notify("tp_nowhere")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "payment/notice_refused")


async def test_a_notice_of_another_provider_is_not_found_and_a_huge_one_too_large(giving: Giving) -> None:
    body, headers = notice("tp_1", at=giving.service.clock.real_now())
    assert (await giving.post(body + b" " * 65_536, headers)).status_code == 413
    assert (await giving.post(body, headers, to="other")).status_code == 404


async def test_w1_a_notice_is_answered_2xx_only_when_its_effect_is_committed(giving: Giving) -> None:
    await giving.begin()
    payment = giving.provider.only()
    giving.provider.pay_with_card(payment)
    giving.provider.refuse = 1
    answer = await giving.notify(payment, event="tpe_away")
    assert answer.status_code == 503
    assert (await giving.donations())[0]["status"] == "REQUESTED_PAYMENT"
    assert (await giving.notify(payment, event="tpe_away")).status_code == 204
    assert await giving.events() == PAID

"""Gifts that are paid at Stripe: what its notices do, and what differs from what was asked for (M4 to M6, H6)."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from stripe import InvalidRequestError

from almoner.giving.checkout.donations.domain import CheckoutState, WrongTargetCurrency
from almoner.giving.checkout.payments.domain import DisputeStatus, ProviderStatus, ProviderUnavailable
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.giving import PAID, gift
from tests.support.production import PRODUCTION
from tests.support.service import Service, serving
from tests.support.stripe_account import CHALLENGED, DELAYED, SECRET, signed
from tests.support.stripe_giving import AtStripe, Stripe, serving_at_stripe
from tests.support.stripe_stub import KEY

DECLINED = "4000000000000002"


@pytest.fixture
async def stripe(service: Service) -> AsyncIterator[Stripe]:
    async with serving_at_stripe(service) as made:
        yield made


@pytest.fixture
async def giving(stripe: Stripe, api: Client) -> AtStripe:
    return await stripe.open_session(api)


async def test_a_gift_is_paid_at_stripe_and_its_notice_posts_it(giving: AtStripe) -> None:
    started = await giving.giving.begin()
    assert started.payment_url == giving.session["url"]
    giving.stripe.account.pay_with_card(giving.session["id"])
    assert await giving.deliver() == [204]
    assert await giving.giving.status() == "completed"
    assert await giving.giving.events() == PAID
    assert await giving.posted() == 1


async def test_the_way_back_is_enough(giving: AtStripe) -> None:
    await giving.giving.begin()
    giving.stripe.account.pay_with_card(giving.session["id"])
    assert (await giving.giving.come_back()).state is CheckoutState.PAID
    assert await giving.posted() == 1


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_m4_notices_in_any_order_and_any_number_have_one_effect(giving: AtStripe, order: tuple[int, ...]) -> None:
    account = giving.stripe.account
    await giving.giving.begin()
    number = giving.session["id"]
    account.pay_with_card(number, DECLINED)
    account.pay_with_card(number)
    account.tell("checkout.session.async_payment_succeeded", account.sessions[number])
    notices = list(account.notices)
    account.notices.clear()
    for place in (*order, *order):
        for _ in range(2):
            assert (await giving.send(notices[place])).status_code == 204
    assert await giving.posted() == 1
    assert await giving.giving.events() == PAID


@pytest.mark.parametrize(
    ("tampered", "reason"),
    [
        ({"amount_received": 2499}, ("short", 2499, "USD")),
        ({"amount_received": 2501}, ("over", 2501, "USD")),
        ({"currency": "eur"}, ("other_currency", 2500, "EUR")),
        ({"client_reference_id": "7zzzzzzzzzzzzzzzzzzzzzzzzz"}, ("other_reference", 2500, "USD")),
        ({"livemode": True}, ("other_mode", 2500, "USD")),
        ({"on_behalf_of": "acct_other"}, ("other_account", 2500, "USD")),
        ({"transfer_data": {"destination": "acct_other"}}, ("other_account", 2500, "USD")),
        ({"application": "ca_other"}, ("other_account", 2500, "USD")),
    ],
)
@pytest.mark.parametrize("by_notice", [True, False])
async def test_m5_what_differs_from_what_was_asked_for_is_held_and_never_posted(
    giving: AtStripe, tampered: dict[str, Any], reason: tuple[str, int, str], by_notice: bool
) -> None:
    account = giving.stripe.account
    await giving.giving.begin()
    number = giving.session["id"]
    intent = account.pay_with_card(number, **tampered)
    if "currency" in tampered:
        intent["currency"] = tampered["currency"]
    if by_notice:
        assert await giving.deliver() == [204]
    else:
        assert (await giving.giving.come_back()).state is CheckoutState.HELD
    assert await giving.held() == [reason]
    assert await giving.posted() == 0
    assert (await giving.giving.donations())[0]["status"] == "REQUESTED_PAYMENT"
    assert await giving.giving.events() == ["donation.created"]


@pytest.mark.parametrize("member", ["id", "type", "livemode", "data"])
async def test_m5_a_notice_that_was_touched_is_refused(giving: AtStripe, member: str) -> None:
    await giving.giving.begin()
    giving.stripe.account.pay_with_card(giving.session["id"])
    (notice,) = giving.stripe.account.notices
    answer = await giving.send(notice)  # as it was signed, so that its header can be used for another body
    assert answer.status_code == 204
    _, header = signed(notice, giving.giving.service.clock.real_now())
    touched = {**notice, member: "other"}
    refused = await giving.send(touched, header=header)
    assert refused.json()["error"]["code"] == "payment/notice_refused"


@pytest.mark.parametrize("header", ["", "t=1", "t=1,v1=" + "0" * 64, "v1=" + "0" * 64, "t=1,v0=" + "0" * 64])
async def test_m5_a_notice_without_stripes_signature_is_refused(giving: AtStripe, header: str) -> None:
    await giving.giving.begin()
    giving.stripe.account.pay_with_card(giving.session["id"])
    (notice,) = giving.stripe.account.notices
    assert (await giving.send(notice, header=header)).status_code == 400
    assert await giving.posted() == 0


@pytest.mark.parametrize("seconds", [-301, 301, 86_400])
async def test_m5_an_old_notice_is_refused(giving: AtStripe, seconds: int) -> None:
    await giving.giving.begin()
    giving.stripe.account.pay_with_card(giving.session["id"])
    (notice,) = giving.stripe.account.notices
    then = giving.giving.service.clock.real_now() - timedelta(seconds=seconds)
    assert (await giving.send(notice, at=then)).status_code == 400
    assert await giving.posted() == 0


async def test_m5_a_notice_of_another_account_is_refused(giving: AtStripe) -> None:
    await giving.giving.begin()
    giving.stripe.account.pay_with_card(giving.session["id"])
    (notice,) = giving.stripe.account.notices
    assert (await giving.send({**notice, "account": "acct_other"})).status_code == 400
    assert await giving.posted() == 0


async def test_notices_about_other_things_are_heard_and_mean_nothing(giving: AtStripe) -> None:
    account = giving.stripe.account
    account.tell("customer.created", {"id": "cus_1", "object": "customer"})
    assert await giving.deliver() == [204]
    assert not giving.stripe.stub.calls


async def test_a_payment_that_we_did_not_ask_for_is_not_touched(giving: AtStripe) -> None:
    account = giving.stripe.account
    await giving.giving.begin()
    number = giving.session["id"]
    account.sessions[number]["metadata"] = {}
    account.pay_with_card(number)
    assert await giving.deliver() == [204]
    assert await giving.held() == []


async def test_h6_as_many_cards_are_taken_as_may_be_and_then_no_other(giving: AtStripe) -> None:
    account, allowed = giving.stripe.account, 5
    await giving.giving.begin()
    number = giving.session["id"]
    for tried in range(1, allowed + 1):
        account.pay_with_card(number, DECLINED)
        assert set(await giving.deliver()) == {204}
        assert (account.sessions[number]["status"] == "expired") is (tried == allowed)
    shown = await giving.stripe.provider.fetch_payment(number)
    assert (shown.status, shown.attempts, shown.payment_page_url) == (ProviderStatus.FAILED, allowed, None)
    assert (await giving.giving.come_back()).state is CheckoutState.DECLINED


async def test_a_challenge_and_a_bank_that_takes_days_are_waited_for(giving: AtStripe) -> None:
    account = giving.stripe.account
    await giving.giving.begin()
    number = giving.session["id"]
    account.pay_with_card(number, CHALLENGED)
    assert (await giving.stripe.provider.fetch_payment(number)).status is ProviderStatus.OPEN
    account.pay_with_card(number, DELAYED)
    assert (await giving.stripe.provider.fetch_payment(number)).status is ProviderStatus.PROCESSING
    assert await giving.deliver() == [204]
    assert await giving.posted() == 0
    account.bank_answers(number, paid=True)
    assert await giving.deliver(times=2) == [204, 204]
    assert await giving.posted() == 1


async def received_at(giving: AtStripe) -> datetime:
    """When the receipt says that the session's donation was received."""
    await giving.giving.service.drain()
    async with giving.giving.service.db.read() as tx:
        found: datetime = await tx.fetchval(
            "select r.received_at from receipt r join payment p on p.id = r.payment_id where p.provider_payment = $1",
            giving.session["id"],
        )
    return found


async def test_a_receipt_has_the_time_of_the_charge_that_succeeded_and_of_no_other(giving: AtStripe) -> None:
    await giving.giving.begin()
    number, clock = giving.session["id"], giving.giving.service.clock
    giving.stripe.account.pay_with_card(number, DECLINED)
    paid_at = clock.advance(minutes=20)
    giving.stripe.account.pay_with_card(number)
    clock.advance(hours=20)
    assert set(await giving.deliver()) == {204}
    assert abs(await received_at(giving) - paid_at) < timedelta(seconds=1)


async def test_a_direct_debit_is_received_when_its_bank_has_paid(giving: AtStripe) -> None:
    await giving.giving.begin()
    number, clock = giving.session["id"], giving.giving.service.clock
    giving.stripe.account.pay_with_card(number, DELAYED)
    assert await giving.deliver() == [204]
    clock.advance(hours=9)
    giving.stripe.account.bank_answers(number, paid=True)
    told_at = clock.advance(hours=1)
    assert await giving.deliver() == [204]
    assert await received_at(giving) == told_at, "its charge is as old as the order to the bank"


async def test_a_bank_that_says_no_after_days_fails_the_payment(giving: AtStripe) -> None:
    account = giving.stripe.account
    await giving.giving.begin()
    number = giving.session["id"]
    account.pay_with_card(number, DELAYED)
    account.bank_answers(number, paid=False)
    assert set(await giving.deliver()) == {204}
    assert (await giving.stripe.provider.fetch_payment(number)).status is ProviderStatus.FAILED
    assert await giving.posted() == 0


async def test_a_disputed_payment_is_found_by_the_name_of_its_notice(giving: AtStripe) -> None:
    account = giving.stripe.account
    await giving.giving.begin()
    number = giving.session["id"]
    account.pay_with_card(number)
    account.open_dispute(number)
    assert set(await giving.deliver()) == {204}
    (found,) = await giving.stripe.provider.list_disputes(account.sessions[number]["payment_intent"])
    assert (found.status, found.payment_id) == (DisputeStatus.OPEN, number)
    async with giving.giving.service.db.read() as tx:
        stored = await tx.fetchval("select provider_payment from dispute where provider_dispute = $1", found.id)
    assert stored == number


async def test_currencies_that_stripe_takes_in_steps_only_are_not_offered(stripe: Stripe, api: Client) -> None:
    assert {"KWD", "MGA", "IQD", "BHD"}.isdisjoint(stripe.provider.currencies)
    giving = await stripe.open_session(api)
    with pytest.raises(WrongTargetCurrency):
        await giving.giving.begin(gift(1500, "KWD"))
    assert not stripe.stub.calls


async def test_i6_a_lost_answer_and_a_key_in_use_are_asked_again_with_the_key(giving: AtStripe) -> None:
    giving.stripe.stub.faults.lose = 2
    started = await giving.giving.begin()
    assert started.payment_url == giving.session["url"]
    assert len(giving.stripe.account.sessions) == 1
    assert giving.stripe.stub.calls["POST /v1/checkout/sessions"] == 3


async def test_i6_a_key_that_is_in_use_is_waited_for(giving: AtStripe) -> None:
    giving.stripe.stub.faults.in_use = 2
    started = await giving.giving.begin()
    assert started.payment_url == giving.session["url"]
    assert len(giving.stripe.account.sessions) == 1


async def test_stripe_that_fails_is_no_loss(giving: AtStripe) -> None:
    giving.stripe.stub.faults.fail = 9
    with pytest.raises(ProviderUnavailable):
        await giving.giving.begin()
    giving.stripe.stub.faults.fail = 0
    assert (await giving.giving.begin()).payment_url == giving.session["url"]


async def test_v7_a_key_that_stripe_refuses_is_in_no_answer_and_no_log(giving: AtStripe) -> None:
    service = giving.giving.service
    await giving.giving.begin()
    giving.stripe.account.pay_with_card(giving.session["id"])
    start = len(service.lines)
    giving.stripe.stub.rolled = True
    (notice,) = giving.stripe.account.notices
    answer = await giving.send(notice)
    assert answer.status_code == 503
    await service.drain()
    written = b"".join(service.lines[start:]) + answer.content
    assert b"503" in written
    assert KEY.encode() not in written
    assert SECRET.encode() not in written


async def test_a_call_that_the_librarys_types_do_not_allow_is_refused(stripe: Stripe) -> None:
    client = stripe.provider._line.client
    for wrong in ({"sucess_url": "x"}, {"line_items": [{"quantity": "one"}]}, {"locale": "ar"}):
        with pytest.raises(InvalidRequestError, match="unknown or wrong"):
            await client.v1.checkout.sessions.create_async(wrong)  # type: ignore[arg-type]


async def test_production_takes_gifts_where_a_live_key_is_set_and_simulates_nothing(
    empty_database: TestDatabase,
) -> None:
    live = {**PRODUCTION, "stripe_secret_key": "rk_live_stub", "stripe_webhook_secret": "whsec_stub"}
    async with serving(empty_database, **live) as service:
        assert service.services.provider_app is None
        nobody = service.client(None)
        answer = await nobody.request("POST", "/callbacks/stripe", content=b"{}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "payment/notice_refused")
        assert (await nobody.request("POST", "/callbacks/test", content=b"{}")).status_code == 404
        assert (await nobody.post("/v1/sandbox/simulate", {})).status_code == 404
        await nobody.close()

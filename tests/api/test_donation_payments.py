"""A hosted donation from gift to money (spec 3.1, 3.2; settled 5 and 6; M4-M6, S5)."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from uuid import UUID

import pytest

from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import CheckoutState, TooManyCardAttempts, WrongTargetCurrency
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.payments.domain import RETURN_PURPOSE, ProviderStatus, ProviderUnavailable
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import SessionAlreadyCompleted, SessionExpired
from almoner.kit.errors import NotFound
from almoner.kit.ids import decode_uuid
from almoner.platform.database.transactions import Database, open_pool
from almoner.platform.deployment import BaseUrls
from tests.support import giving as support
from tests.support.client import Client, data
from tests.support.giving import DAY, MOMENT, PAID, Giving, gift
from tests.support.service import Service


@pytest.fixture
async def giving(service: Service, api: Client) -> Giving:
    """A session whose donor is about to give."""
    return await support.open_session(service, api, metadata={"campaign": "winter"})


async def test_a_gift_becomes_a_donation_that_waits_for_its_money(giving: Giving) -> None:
    started = await giving.begin()
    assert started.state is CheckoutState.UNDER_WAY
    assert started.payment_url == giving.provider.payments[giving.provider.only()].payment_page_url
    (donation,) = await giving.donations()
    assert donation == {
        "id": donation["id"],
        "userId": None,
        "organisationId": giving.session["organisationId"],
        "type": "hosted",
        "hosted": {"sessionId": giving.session["id"]},
        "amount": 2500,
        "currencyCode": "USD",
        "status": "REQUESTED_PAYMENT",
        "firstName": "Ada",
        "lastName": "Byron",
        "email": "ada@example.org",
        "consentedToBeContactedByOrg": "yes",
        "anonymous": "no",
        "giftAidId": None,
        "donationRequestId": None,
        "givingLinkId": None,
        "designation": None,
        "dedication": None,
        "subscription": {"initial": True, "id": None},
        "metadata": {"campaign": "winter"},
        "createdAt": donation["createdAt"],
        "cancelledAt": None,
        "settledAt": None,
        "settledAmount": None,
        "disbursedAt": None,
        "reassignedAt": None,
        "reassignedFromOrganisationId": None,
        "refundedAt": None,
        "refundedAmount": None,
        "disputedAt": None,
        "disputeStatus": None,
        "receiptDelivery": "none",
    }
    assert await giving.status() == "open"
    assert await giving.events() == ["donation.created"]


async def test_m4_the_browsers_return_alone_completes_the_donation(giving: Giving) -> None:
    await giving.begin()
    giving.provider.pay_with_card(giving.provider.only())
    assert (await giving.come_back()).state is CheckoutState.PAID
    assert (await giving.donations())[0]["status"] == "RECEIVED_PAYMENT"
    assert await giving.status() == "completed"
    assert await giving.events() == PAID


async def test_m4_the_events_hold_the_record_as_it_was_then(giving: Giving) -> None:
    await giving.begin()
    giving.provider.pay_with_card(giving.provider.only())
    await giving.come_back()
    async with giving.service.db.read() as tx:
        rows = await tx.fetch(
            "select payload from event join donation_session s using (partner_id) "
            "where s.id = $1 and event.type like 'donation.%' order by position",
            giving.session_id,
        )
    reported = [json.loads(row["payload"])["data"]["eventData"] for row in rows]
    assert [record["status"] for record in reported] == ["REQUESTED_PAYMENT", "RECEIVED_PAYMENT", "RECEIVED_PAYMENT"]
    assert reported[-1] == (await giving.donations())[0]


async def one_notice(giving: Giving, payment: str) -> None:
    answer = await giving.notify(payment, event=f"tpe_same_{payment}")
    assert answer.status_code == 204


async def other_notice(giving: Giving, payment: str) -> None:
    assert (await giving.notify(payment)).status_code == 204


async def wrong_notice(giving: Giving, payment: str) -> None:
    assert (await giving.notify(payment, "payment.failed")).status_code == 204


async def browser(giving: Giving, payment: str) -> None:
    assert (await giving.come_back()).state is CheckoutState.PAID


@pytest.mark.parametrize(
    "order", sorted(set(permutations([one_notice, one_notice, other_notice, wrong_notice, browser])), key=repr)
)
async def test_m4_notices_and_return_in_any_order_make_one_donation_and_one_event_of_each_kind(
    giving: Giving, order: tuple[Callable[[Giving, str], Awaitable[None]], ...]
) -> None:
    await giving.begin()
    payment = giving.provider.only()
    giving.provider.pay_with_card(payment)
    for step in order:
        await step(giving, payment)
    assert [row["status"] for row in await giving.donations()] == ["RECEIVED_PAYMENT"]
    assert await giving.events() == PAID
    assert await giving.held() == []
    assert await giving.status() == "completed"


async def test_m4_a_notice_before_our_own_record_of_the_payment_finds_it_by_its_reference(giving: Giving) -> None:
    giving.provider.lose_answers = 1
    with pytest.raises(ProviderUnavailable):
        await giving.begin()
    payment = giving.provider.only()
    giving.provider.pay_with_card(payment)
    assert (await giving.notify(payment)).status_code == 204
    assert await giving.events() == PAID
    assert await giving.held() == []


async def test_i6_asking_again_after_a_lost_answer_uses_the_same_key(giving: Giving) -> None:
    for _ in range(3):
        giving.provider.lose_answers = 1
        with pytest.raises(ProviderUnavailable):
            await giving.begin()
    assert (await giving.begin()).payment_url is not None
    assert len(giving.provider.payments) == 1
    assert giving.provider.calls == ["create"] * 4
    assert await giving.events() == ["donation.created"]


async def test_the_same_gift_again_leads_to_the_same_page(giving: Giving) -> None:
    first = await giving.begin()
    again = await giving.begin(gift(first_name="Augusta"))
    assert again.payment_url == first.payment_url
    assert giving.provider.calls == ["create"]
    assert [(row["firstName"], row["status"]) for row in await giving.donations()] == [("Augusta", "REQUESTED_PAYMENT")]


async def test_another_amount_ends_the_first_payment_and_edits_the_donation(giving: Giving) -> None:
    await giving.begin()
    first = giving.provider.only()
    started = await giving.begin(gift(4000))
    assert giving.provider.payments[first].status is ProviderStatus.CANCELLED
    assert started.payment_url != giving.provider.payments[first].payment_page_url
    assert [row["amount"] for row in await giving.donations()] == [4000]
    assert await giving.events() == ["donation.created"]
    second = next(payment for payment in giving.provider.payments if payment != first)
    giving.provider.pay_with_card(second)
    assert (await giving.come_back()).state is CheckoutState.PAID
    assert (await giving.donations())[0]["amount"] == 4000


async def test_m4_a_payment_made_while_its_amount_is_being_changed_counts_as_it_was_made(giving: Giving) -> None:
    await giving.begin()
    giving.provider.pay_with_card(giving.provider.only())
    assert (await giving.begin(gift(4000))).state is CheckoutState.PAID
    assert [(row["amount"], row["status"]) for row in await giving.donations()] == [(2500, "RECEIVED_PAYMENT")]
    assert await giving.events() == PAID


async def test_a_payment_that_the_bank_is_busy_with_keeps_its_amount(giving: Giving) -> None:
    await giving.begin()
    giving.provider.become(giving.provider.only(), ProviderStatus.PROCESSING)
    assert (await giving.begin(gift(4000))).state is CheckoutState.UNDER_WAY
    assert [row["amount"] for row in await giving.donations()] == [2500]


async def test_a_declined_payment_may_be_tried_again_but_not_for_ever(giving: Giving) -> None:
    for _ in range(5):
        await giving.begin()
        payment = list(giving.provider.payments)[-1]
        giving.provider.become(payment, ProviderStatus.FAILED)
        assert (await giving.come_back()).state is CheckoutState.DECLINED
    with pytest.raises(TooManyCardAttempts):
        await giving.begin()
    assert len(giving.provider.payments) == 5
    assert [row["status"] for row in await giving.donations()] == ["REQUESTED_PAYMENT"]


async def test_h6_cards_tried_on_the_providers_own_page_count(giving: Giving) -> None:
    await giving.begin()
    giving.provider.become(giving.provider.only(), ProviderStatus.CANCELLED, attempts=2)
    await giving.come_back()
    await giving.begin()
    giving.provider.become(list(giving.provider.payments)[-1], ProviderStatus.FAILED, attempts=3)
    await giving.come_back()
    with pytest.raises(TooManyCardAttempts):
        await giving.begin()


async def test_a_completed_session_takes_nothing_more(giving: Giving) -> None:
    await giving.begin()
    giving.provider.pay_with_card(giving.provider.only())
    await giving.come_back()
    assert (await giving.begin(gift(100))).state is CheckoutState.PAID
    assert len(giving.provider.payments) == 1
    assert len(await giving.donations()) == 1


async def test_a_session_that_does_not_exist_is_not_found(giving: Giving) -> None:
    giving.session_id = UUID(int=1)
    with pytest.raises(NotFound):
        await giving.begin()


@pytest.mark.parametrize("currency", ["EUR", "JPY"])
async def test_the_currency_is_the_sessions_and_one_that_the_organisation_receives(
    service: Service, api: Client, currency: str
) -> None:
    giving = await support.open_session(service, api, currency="USD" if currency == "EUR" else None)
    with pytest.raises(WrongTargetCurrency):
        await giving.begin(gift(1000, currency))
    assert await giving.donations() == []
    assert await giving.events() == []


async def test_s3_nothing_new_begins_once_the_session_has_expired(giving: Giving) -> None:
    giving.service.clock.advance(DAY - MOMENT)
    await giving.begin()
    giving.provider.become(giving.provider.only(), ProviderStatus.FAILED)
    await giving.come_back()
    giving.service.clock.advance(MOMENT)
    with pytest.raises(SessionExpired):
        await giving.begin()
    assert len(giving.provider.payments) == 1


async def test_s3_an_expired_session_takes_no_first_gift(giving: Giving) -> None:
    giving.service.clock.advance(DAY)
    with pytest.raises(SessionExpired):
        await giving.begin()
    assert await giving.donations() == []


@pytest.mark.parametrize("swept", [False, True])
async def test_s5_an_attempt_under_way_at_expiry_may_finish_for_60_minutes_and_counts(
    giving: Giving, swept: bool
) -> None:
    giving.service.clock.advance(DAY - MOMENT)
    started = await giving.begin()
    giving.service.clock.advance(timedelta(minutes=60))
    if swept:
        await sweep_sessions(giving.service)
    assert await giving.status() == "expired"
    assert (await giving.begin()).payment_url == started.payment_url
    with pytest.raises(SessionExpired):
        await giving.begin(gift(9999))
    giving.provider.pay_with_card(giving.provider.only())
    assert (await giving.notify(giving.provider.only())).status_code == 204
    assert await giving.status() == "completed"
    assert await giving.events() == PAID


async def test_m6_money_after_the_grace_is_held(giving: Giving) -> None:
    giving.service.clock.advance(DAY - MOMENT)
    await giving.begin()
    giving.service.clock.advance(timedelta(minutes=60) + MOMENT)
    with pytest.raises(SessionExpired):
        await giving.begin()
    giving.provider.pay_with_card(giving.provider.only())
    assert (await giving.notify(giving.provider.only())).status_code == 204
    assert await giving.held() == [("session_over", 2500, "USD")]
    assert await giving.status() == "expired"
    assert await giving.events() == ["donation.created"]


async def test_an_abandoned_donation_is_cancelled_24_hours_after_its_own_creation(giving: Giving) -> None:
    giving.service.clock.advance(hours=5)
    await giving.begin()
    giving.service.clock.advance(DAY - MOMENT)
    await giving.sweep()
    assert (await giving.donations())[0]["status"] == "REQUESTED_PAYMENT"
    giving.service.clock.advance(MOMENT)
    await giving.sweep()
    (donation,) = await giving.donations()
    assert donation["status"] == "CANCELLED"
    assert donation["cancelledAt"] > donation["createdAt"]
    assert await giving.events() == ["donation.created", "donation.cancelled"]
    assert await giving.sweep() == 0
    assert await giving.events() == ["donation.created", "donation.cancelled"]


@pytest.mark.parametrize("end", ["pay", "close"])
async def test_i6_an_attempt_that_began_under_an_old_address_comes_to_its_end(
    end: str, giving: Giving, service: Service
) -> None:
    giving.provider.lose_answers = 1
    with pytest.raises(ProviderUnavailable):
        await giving.begin()
    moved = replace(service.db.deployment, base_urls=BaseUrls("https://api.example.net", "https://give.example.net"))
    db = Database(await open_pool(service.database.dsn, 2), moved)
    work = PaymentContext(db, giving.provider)
    if end == "pay":
        standing = await donations_flows.start_payment(work, giving.session_id, gift())
        assert standing.payment_url is not None
    else:
        (order, _) = next(iter(giving.provider.orders.values()))
        payment = decode_uuid(order.reference)
        assert payment is not None
        await donations_flows.cancel_payment(work, payment)
        assert giving.provider.payments[giving.provider.only()].status is ProviderStatus.CANCELLED
    assert len(giving.provider.orders) == 1
    await db.close()


async def test_the_order_to_the_provider_names_our_pages_and_nothing_personal(giving: Giving) -> None:
    await giving.begin()
    ((key, (order, _)),) = giving.provider.orders.items()
    links = giving.service.db.deployment.base_urls
    page, token = order.cancel_url.split("?token=")
    assert page == f"{links.pages}/give/{giving.session['id']}"
    assert order.return_url == f"{page}/return?token={token}"
    assert giving.service.db.deployment.vault.read_page_token(RETURN_PURPOSE, token) == decode_uuid(order.reference)
    assert order.callback_url == f"{links.api}/callbacks/fake"
    assert key.startswith("sandbox:payment:")
    assert key.endswith(order.reference)
    stated = repr(order).replace(giving.session["id"], "").replace(order.reference, "").lower()
    assert "ada" not in stated  # who gives


async def test_a_return_asks_about_the_payment_it_comes_from_though_another_has_replaced_it(giving: Giving) -> None:
    await giving.begin()
    first = giving.provider.only()
    await giving.begin(gift(5000))
    asked = decode_uuid(giving.provider.payments[first].reference)
    back = await donations_flows.handle_donor_return(giving.work, giving.session_id, asked)
    assert (back.state, back.is_reported_unpaid) == (
        CheckoutState.UNDER_WAY,
        True,
    )  # of the newest, which was asked about last
    assert giving.provider.calls[-2:] == ["fetch", "fetch"]
    giving.provider.pay_with_card(first)
    back = await donations_flows.handle_donor_return(giving.work, giving.session_id, asked)
    assert (back.state, back.is_reported_unpaid) == (CheckoutState.HELD, False)


async def sweep_sessions(service: Service) -> None:
    """Record the expiry of every session that has expired."""
    async with service.db.write() as tx:
        await sessions.expire_due_sessions(tx)


async def test_the_record_of_a_donation_is_read_by_its_own_partner_alone(giving: Giving, other: Client) -> None:
    await giving.begin()
    (donation,) = await giving.donations()
    assert data(await giving.api.get(f"/v1/donations/{donation['id']}")) == donation
    assert (await other.get(f"/v1/donations/{donation['id']}")).status_code == 404
    assert (await other.patch(f"/v1/donations/{donation['id']}", {"metadata": {"a": "b"}})).status_code == 404
    assert data(await other.get("/v1/donations")) == []


async def test_a_completed_session_refuses_a_donation_that_comes_too_late_to_know(giving: Giving) -> None:
    await giving.begin()
    giving.provider.pay_with_card(giving.provider.only())
    await giving.come_back()
    with pytest.raises(SessionAlreadyCompleted):
        async with giving.service.db.write() as tx:
            await donations.create_donation(tx, await sessions.get_for_update(tx, giving.session_id), gift())

"""The built-in payment provider, over HTTP alone: its API, its pages and its notices."""

import asyncio
import hmac
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.addresses import AddressPolicy
from almoner.platform.outbound.client import OutboundClient
from almoner.provider_test.app import SimulatedPaymentProvider
from almoner.provider_test.domain import MAX_ATTEMPTS
from tests.support.receivers import Receiver, receiver, reply
from tests.support.service import Service

URL = "http://localhost:8081"
SECRET = "provider-secret-for-tests"
AUTH = {"Authorization": f"Bearer {SECRET}"}
OWN = {"Sec-Fetch-Site": "same-origin"}


@dataclass
class Till:
    """The provider with a merchant that receives its notices."""

    app: SimulatedPaymentProvider
    http: httpx.AsyncClient
    merchant: Receiver
    lines: list[bytes]
    order: int = 0
    name: str = field(default_factory=lambda: uuid4().hex)

    async def open(self, **changes: Any) -> dict[str, Any]:
        """A new payment of 25.00 USD."""
        self.order += 1
        body = {
            "amount": 2500,
            "currency": "USD",
            "description": "Capital Area Food Bank",
            "reference": f"ref{self.order}",
            "returnUrl": "http://localhost:8080/give/x/return",
            "cancelUrl": "http://localhost:8080/give/x",
            "callbackUrl": self.merchant.url,
            "language": "en",
            "email": "amina@example.org",
        }
        answer = await self.http.post(
            "/v1/payments", json=body | changes, headers=AUTH | {"Idempotency-Key": f"{self.name}-{self.order}"}
        )
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def read(self, payment: str) -> dict[str, Any]:
        """The payment as the API shows it."""
        return dict((await self.http.get(f"/v1/payments/{payment}", headers=AUTH)).json())

    async def pay(self, payment: str, number: str, **changes: str) -> httpx.Response:
        """Type a card into the form and send it."""
        return await self.send(payment, await self.http.get(f"/pay/{payment}"), number, **changes)

    async def send(self, payment: str, form: httpx.Response, number: str, **changes: str) -> httpx.Response:
        """Send the form with a card."""
        card = {"number": number, "expiry": "12/30", "cvc": "123", "name": "Amina K", "csrf": csrf(form)}
        return await self.http.post(f"/pay/{payment}", data=card | changes, headers=OWN)


def csrf(page: httpx.Response) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page.text)
    assert found, page.text
    return found[1]


@pytest.fixture
async def simulator(service: Service) -> AsyncIterator[Till]:
    lines: list[bytes] = []
    outbound = OutboundClient(AddressPolicy(allows_loopback=True))
    async with receiver() as merchant:
        app = SimulatedPaymentProvider(service.db, outbound, Telemetry(lines.append), url=URL, secret=SECRET)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=URL) as http:
            yield Till(app, http, merchant, lines)
        await outbound.close()


async def test_an_order_becomes_an_open_payment(simulator: Till) -> None:
    payment = await simulator.open()
    assert re.fullmatch("tp_[0-9a-f]{32}", payment["id"])
    assert payment["url"] == f"{URL}/pay/{payment['id']}"
    assert (payment["status"], payment["amount"], payment["currency"]) == ("open", 2500, "USD")
    assert (payment["reference"], payment["attempts"], payment["lastDecline"]) == ("ref1", 0, None)
    assert payment["livemode"] is False


async def test_i6_the_same_key_gives_the_same_payment_and_other_data_are_refused(simulator: Till) -> None:
    first = await simulator.open()
    simulator.order -= 1
    assert (await simulator.open(reference="ref1"))["id"] == first["id"]
    headers = AUTH | {"Idempotency-Key": f"{simulator.name}-1"}
    body = {
        "amount": 2600,
        "currency": "USD",
        "description": "x",
        "reference": "ref1",
        "returnUrl": "http://localhost/r",
        "cancelUrl": "http://localhost/c",
        "callbackUrl": "http://localhost/n",
    }
    other = await simulator.http.post("/v1/payments", json=body, headers=headers)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_key_reused")


async def test_i6_sixteen_orders_at_once_with_one_key_make_one_payment(simulator: Till) -> None:
    async def order() -> str:
        body = {
            "amount": 900,
            "currency": "EUR",
            "description": "x",
            "reference": "at once",
            "returnUrl": "http://localhost/r",
            "cancelUrl": "http://localhost/c",
            "callbackUrl": "http://localhost/n",
        }
        headers = AUTH | {"Idempotency-Key": f"{simulator.name}-at-once"}
        return str((await simulator.http.post("/v1/payments", json=body, headers=headers)).json()["id"])

    assert len(set(await asyncio.gather(*(order() for _ in range(16))))) == 1


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": SECRET}])
async def test_the_api_needs_the_secret(simulator: Till, header: dict[str, str]) -> None:
    payment = (await simulator.open())["id"]
    for method, path in (("POST", "/v1/payments"), ("GET", f"/v1/payments/{payment}")):
        assert (await simulator.http.request(method, path, headers=header)).status_code == 401
    assert (await simulator.http.post(f"/v1/payments/{payment}/cancel", headers=header)).status_code == 401
    assert (await simulator.read(payment))["status"] == "open"


@pytest.mark.parametrize(
    "broken", [{"amount": 0}, {"amount": 12.5}, {"amount": "12"}, {"currency": "usd"}, {"returnUrl": "javascript:x"}]
)
async def test_a_wrong_order_is_refused(simulator: Till, broken: dict[str, Any]) -> None:
    body = {
        "amount": 900,
        "currency": "EUR",
        "description": "x",
        "reference": "r",
        "returnUrl": "http://localhost/r",
        "cancelUrl": "http://localhost/c",
        "callbackUrl": "http://localhost/n",
    }
    headers = AUTH | {"Idempotency-Key": f"{simulator.name}-{broken}"}
    answer = await simulator.http.post("/v1/payments", json=body | broken, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")


async def test_a_good_card_pays_once_and_leads_back(simulator: Till) -> None:
    payment = (await simulator.open())["id"]
    paid = await simulator.pay(payment, "4242 4242 4242 4242")
    assert (paid.status_code, paid.headers["location"]) == (303, "http://localhost:8080/give/x/return")
    found = await simulator.read(payment)
    assert (found["status"], found["attempts"], found["card"]) == (
        "succeeded",
        1,
        {"brand": "visa", "lastFour": "4242"},
    )
    ended = await simulator.http.get(f"/pay/{payment}")
    assert "This payment is complete" in ended.text


@pytest.mark.parametrize(
    ("number", "decline"),
    [
        ("4000000000000002", "card_declined"),
        ("4000000000009995", "insufficient_funds"),
        ("5555555555554444", "not_a_test_card"),
    ],
)
async def test_h6_every_decline_is_told_alike_and_can_be_retried(simulator: Till, number: str, decline: str) -> None:
    payment = (await simulator.open())["id"]
    declined = await simulator.pay(payment, number)
    assert declined.status_code == 402
    assert "The bank declined this card." in declined.text
    assert 'value="12/30"' in declined.text
    assert 'value="Amina K"' in declined.text
    assert (await simulator.read(payment))["lastDecline"] == decline
    assert (await simulator.pay(payment, "4242424242424242")).status_code == 303
    assert (await simulator.read(payment))["status"] == "succeeded"


async def test_h6_no_word_of_the_page_tells_one_decline_from_another(simulator: Till) -> None:
    shown = set()
    for number in ("4000000000000002", "4000000000009995", "5555555555554444", "4000000000003220"):
        payment = (await simulator.open())["id"]
        answer = await simulator.pay(payment, number)
        if answer.status_code == 303:
            bank = await simulator.http.get(f"/pay/{payment}/challenge")
            form = {"csrf": csrf(bank), "answer": "refuse"}
            answer = await simulator.http.post(f"/pay/{payment}/challenge", data=form, headers=OWN)
        typed = re.sub('value="(12/30|Amina K)"', 'value=""', answer.text)
        own = re.sub(f'{payment}|nonce="[^"]*"|name="csrf" value="[^"]*"', "", typed)
        shown.add((answer.status_code, own, tuple(sorted(answer.headers.keys()))))
    assert len(shown) == 1


@pytest.mark.parametrize("most", [1, 3])
async def test_h6_a_payment_takes_no_more_cards_than_it_was_made_for(simulator: Till, most: int) -> None:
    payment = (await simulator.open(maxAttempts=most))["id"]
    answers = [(await simulator.pay(payment, "4000000000000002")).status_code for _ in range(most)]
    assert answers == [402] * (most - 1) + [303]
    assert (await simulator.read(payment))["status"] == "failed"


async def test_h6_the_merchant_is_told_of_each_declined_card(simulator: Till) -> None:
    await drain(simulator)
    simulator.merchant.received.clear()
    payment = (await simulator.open())["id"]
    for number in ("4000000000000002", "4000000000009995", "4000000000000002", "5555555555554444", "4000000000000002"):
        await simulator.pay(payment, number)
    await drain(simulator)
    reported = [httpx.Response(200, content=notice.body).json() for notice in simulator.merchant.received]
    assert sorted(one["type"] for one in reported) == ["payment.attempt_failed"] * 4 + ["payment.failed"]
    assert len({one["id"] for one in reported}) == 5
    assert b"4000" not in b"".join(notice.body for notice in simulator.merchant.received)  # H5


async def test_h6_a_payment_takes_five_tries(simulator: Till) -> None:
    payment = (await simulator.open())["id"]
    for _ in range(MAX_ATTEMPTS - 1):
        assert (await simulator.pay(payment, "4000000000000002")).status_code == 402
    last = await simulator.pay(payment, "4000000000000002")
    assert (last.status_code, last.headers["location"]) == (303, "http://localhost:8080/give/x/return")
    assert (await simulator.read(payment))["status"] == "failed"


async def test_a_challenge_is_asked_first(simulator: Till) -> None:
    payment = (await simulator.open())["id"]
    asked = await simulator.pay(payment, "4000000000003220")
    assert asked.headers["location"] == f"/pay/{payment}/challenge"
    assert (await simulator.read(payment))["status"] == "processing"
    bank = await simulator.http.get(f"/pay/{payment}/challenge")
    assert "3220" in bank.text
    answer = {"csrf": csrf(bank), "answer": "confirm"}
    confirmed = await simulator.http.post(f"/pay/{payment}/challenge", data=answer, headers=OWN)
    assert confirmed.headers["location"] == "http://localhost:8080/give/x/return"
    assert (await simulator.read(payment))["status"] == "succeeded"


async def test_a_refused_challenge_is_a_decline(simulator: Till) -> None:
    payment = (await simulator.open())["id"]
    await simulator.pay(payment, "4000000000003220")
    bank = await simulator.http.get(f"/pay/{payment}/challenge")
    refused = await simulator.http.post(
        f"/pay/{payment}/challenge", data={"csrf": csrf(bank), "answer": "refuse"}, headers=OWN
    )
    assert refused.status_code == 402
    assert "The bank declined this card." in refused.text
    assert (await simulator.read(payment))["status"] == "open"


async def test_all_wrong_fields_are_named_at_once_and_the_number_is_not_given_back(simulator: Till) -> None:
    payment = (await simulator.open())["id"]
    wrong = await simulator.pay(payment, "4242424242424241", expiry="01/20", cvc="1", name="")
    assert wrong.status_code == 422
    for words in ("Check the card number", "This card has expired", "Enter the security code", "Enter the name"):
        assert wrong.text.count(words) == 2, words  # in the summary and at the field
    assert "4242424242424241" not in wrong.text
    assert (await simulator.read(payment))["attempts"] == 0


async def test_h2_a_post_from_elsewhere_is_refused(simulator: Till) -> None:
    payment = (await simulator.open())["id"]
    form = await simulator.http.get(f"/pay/{payment}")
    card = {"number": "4242424242424242", "expiry": "12/30", "cvc": "123", "name": "A", "csrf": csrf(form)}
    foreign: list[dict[str, str]] = [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://localhost:8080"},
        {},
    ]
    for headers in foreign:
        assert (await simulator.http.post(f"/pay/{payment}", data=card, headers=headers)).status_code == 403
    assert (await simulator.http.post(f"/pay/{payment}", data=card | {"csrf": "x"}, headers=OWN)).status_code == 403
    assert (await simulator.read(payment))["status"] == "open"
    assert (await simulator.http.post(f"/pay/{payment}", data=card, headers={"Origin": URL})).status_code == 303


async def test_two_posts_at_once_pay_once(simulator: Till) -> None:
    payment = (await simulator.open())["id"]
    form = await simulator.http.get(f"/pay/{payment}")
    answers = await asyncio.gather(*(simulator.send(payment, form, "4242424242424242") for _ in range(4)))
    assert {answer.status_code for answer in answers} == {303}
    found = await simulator.read(payment)
    assert (found["status"], found["attempts"]) == ("succeeded", 1)


async def test_cancel_ends_an_open_payment_and_leaves_a_paid_one(simulator: Till) -> None:
    opened, paid = (await simulator.open())["id"], (await simulator.open())["id"]
    await simulator.pay(paid, "4242424242424242")
    for payment, status in ((opened, "cancelled"), (paid, "succeeded")):
        answer = await simulator.http.post(f"/v1/payments/{payment}/cancel", headers=AUTH)
        assert (answer.status_code, answer.json()["status"]) == (200, status)
    late = await simulator.http.get(f"/pay/{opened}")
    assert "This payment was cancelled" in late.text


async def test_going_back_leaves_the_payment_open(simulator: Till) -> None:
    payment = (await simulator.open())["id"]
    back = await simulator.http.get(f"/pay/{payment}/back")
    assert (back.status_code, back.headers["location"]) == (303, "http://localhost:8080/give/x")
    assert (await simulator.read(payment))["status"] == "open"


async def drain(simulator: Till) -> None:
    while await simulator.app.deliver_due_callbacks():
        continue


async def test_a_notice_is_signed_and_repeated_until_it_is_taken(simulator: Till, service: Service) -> None:
    await drain(simulator)
    simulator.merchant.received.clear()
    payment = (await simulator.open())["id"]
    simulator.merchant.script[:] = [reply(500), reply(302, location="http://localhost/"), reply(204)]
    await simulator.pay(payment, "4242424242424242")
    await drain(simulator)
    assert len(simulator.merchant.received) == 1
    for wait, attempts in ((2, 2), (10, 3), (3600, 3)):
        service.clock.advance(seconds=wait)
        await drain(simulator)
        assert len(simulator.merchant.received) == attempts
    organisations = {notice.body for notice in simulator.merchant.received}
    assert len(organisations) == 1
    for notice in simulator.merchant.received:
        stamp, signed = re.fullmatch(r"t=(\d+),v1=([0-9a-f]{64})", notice.headers["provider-signature"]).groups()  # type: ignore[union-attr]
        expected = hmac.new(SECRET.encode(), f"{stamp}.".encode() + notice.body, "sha256").hexdigest()
        assert signed == expected
        assert abs(int(stamp) - service.clock.real_now().timestamp()) < 60
    body = httpx.Response(200, content=organisations.pop()).json()
    assert re.fullmatch("tpe_[0-9a-f]{32}", body["id"])
    assert body | {"id": ""} == {"id": "", "type": "payment.succeeded", "payment": payment, "livemode": False}


async def test_many_servers_send_each_notice_once(simulator: Till) -> None:
    await drain(simulator)
    simulator.merchant.received.clear()
    payments = [(await simulator.open())["id"] for _ in range(12)]
    for payment in payments:
        await simulator.pay(payment, "4242424242424242")
    await asyncio.gather(*(simulator.app.deliver_due_callbacks() for _ in range(6)))
    await drain(simulator)
    reported = [httpx.Response(200, content=notice.body).json()["payment"] for notice in simulator.merchant.received]
    assert sorted(reported) == sorted(payments)


async def test_a_card_that_disputes_does_so_a_day_later(simulator: Till, service: Service) -> None:
    await drain(simulator)
    simulator.merchant.received.clear()
    await simulator.pay((await simulator.open())["id"], "4000000000000259")
    await drain(simulator)
    assert [b"payment.succeeded" in notice.body for notice in simulator.merchant.received] == [True]
    service.clock.advance(timedelta(days=1, milliseconds=-1))
    await drain(simulator)
    assert len(simulator.merchant.received) == 1
    service.clock.advance(milliseconds=1)
    await drain(simulator)
    assert b"dispute.opened" in simulator.merchant.received[1].body


async def test_h5_no_card_number_is_stored_or_logged(simulator: Till, service: Service) -> None:
    numbers = ["4242424242424242", "4000000000000002", "5555555555554444", "4242424242424241"]
    for number in numbers:
        await simulator.pay((await simulator.open())["id"], number)
    async with service.db.read() as tx:
        rows = await tx.fetch("select to_jsonb(p)::text as row from provider_test.payment p")
        rows += await tx.fetch("select to_jsonb(c)::text as row from provider_test.callback c")
    stored = "".join(row["row"] for row in rows) + b"".join(simulator.lines + service.lines).decode()
    assert not [number for number in numbers if number in stored]


AGREED = {"text": "$25.00 every month until I cancel.", "version": "1", "email": "amina@example.org"}


async def test_a_page_saves_a_card_and_takes_no_money(simulator: Till) -> None:
    body = {
        "currency": "USD",
        "description": "Capital Area Food Bank",
        "reference": "plan",
        "returnUrl": "http://localhost:8080/back",
        "cancelUrl": "http://localhost:8080/cancelled",
        "callbackUrl": simulator.merchant.url,
        "agreement": AGREED,
    }
    headers = AUTH | {"Idempotency-Key": f"{simulator.name}-setup"}
    setup = (await simulator.http.post("/v1/setups", json=body, headers=headers)).json()
    page = await simulator.http.get(f"/pay/{setup['id']}")
    assert "Save a card" in page.text
    assert "You are not paying anything now" in page.text
    assert AGREED["text"] in page.text
    assert "$0" not in page.text
    asked = await simulator.send(setup["id"], page, "4000002760003184", expiry="02/31")
    assert asked.headers["location"] == f"/pay/{setup['id']}/challenge"
    bank = await simulator.http.get(f"/pay/{setup['id']}/challenge")
    assert "confirm the card ending in <bdi>3184</bdi>" in bank.text
    answer = {"csrf": csrf(bank), "answer": "confirm"}
    done = await simulator.http.post(f"/pay/{setup['id']}/challenge", data=answer, headers=OWN)
    assert done.headers["location"] == "http://localhost:8080/back"
    found = await simulator.read(setup["id"])
    assert (found["status"], found["amount"]) == ("succeeded", 0)
    saved = found["paymentMethod"]
    assert (saved["brand"], saved["lastFour"], saved["expiresAt"]) == ("visa", "3184", "2031-02-28T23:59:59Z")
    assert "Your card is saved" in (await simulator.http.get(f"/pay/{setup['id']}")).text


async def test_h5_a_payment_that_saves_its_card_shows_what_for_and_a_charge_has_no_page(simulator: Till) -> None:
    payment = (await simulator.open(agreement=AGREED))["id"]
    form = await simulator.http.get(f"/pay/{payment}")
    assert AGREED["text"] in form.text
    await simulator.send(payment, form, "4000000000000341")
    saved = (await simulator.read(payment))["paymentMethod"]
    body = {
        "amount": 2500,
        "currency": "USD",
        "description": "Capital Area Food Bank",
        "reference": f"{simulator.name}-later",
        "customer": saved["customer"],
        "paymentMethod": saved["id"],
        "firstPayment": payment,
        "callbackUrl": simulator.merchant.url,
    }
    await drain(simulator)
    simulator.merchant.received.clear()
    headers = AUTH | {"Idempotency-Key": f"{simulator.name}-later"}
    made = (await simulator.http.post("/v1/charges", json=body, headers=headers)).json()
    assert (made["status"], made["lastDecline"], made["url"]) == ("failed", "card_declined", None)
    assert (await simulator.http.get(f"/pay/{made['id']}")).status_code == 404
    await drain(simulator)
    assert [notice.body.count(b"payment.failed") for notice in simulator.merchant.received] == [1]
    headers = AUTH | {"Idempotency-Key": f"{simulator.name}-unpaid"}
    unpaid = (await simulator.open(agreement=AGREED))["id"]
    body |= {"firstPayment": unpaid, "reference": f"{simulator.name}-unpaid"}
    refused = await simulator.http.post("/v1/charges", json=body, headers=headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "no_such_agreement")


async def test_h3_every_page_has_its_headers(simulator: Till) -> None:
    payment = (await simulator.open())["id"]
    for answer in (
        await simulator.http.get(f"/pay/{payment}"),
        await simulator.pay(payment, "4000000000000002"),
        await simulator.http.get("/pay/tp_unknown"),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["referrer-policy"] == "same-origin"

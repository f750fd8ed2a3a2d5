"""The first whole journey, through the command that a newcomer types: find, ask, give, be told, over HTTP alone.

A real nonprofit of the shipped register, Chromium for the donor, and a receiver that trusts nothing it cannot verify.
"""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page, expect
from standardwebhooks import Webhook

from almoner.kit.time import parse_timestamp
from tests.pages.site import CHROMIUM, DECLINED, TO_PAYMENT, fill, pay
from tests.support.eventually import eventually
from tests.support.receivers import Received, Receiver, receiver, reply
from tests.support.running import Running

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (make test fetches it)")]

GIFT_EVENTS = ["donation.created", "donation.hosted.payment_received", "donation.payment_successful"]


@dataclass
class Product:
    """The partner's product: its calls, its receiver and what it knows of its subscription."""

    http: httpx.AsyncClient
    hooks: Receiver
    subscription: dict[str, Any]

    async def get(self, path: str, **query: Any) -> Any:
        """The data of an answer."""
        answer = await self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    async def post(self, path: str, body: object) -> Any:
        """The data of an answer."""
        answer = await self.http.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    async def session_for(self, name: str, **body: Any) -> dict[str, Any]:
        """A donation session for a nonprofit found by its name."""
        found = await self.get("/v1/organisations", query=name, countryCode="USA")
        organisation = next(one for one in found if one["name"] == name.upper())
        made: dict[str, Any] = await self.post("/v1/donation-sessions", {"organisationId": organisation["id"], **body})
        return made

    async def told(self, donation: dict[str, Any], types: list[str]) -> list[Received]:
        """The requests about a donation, once all of the types have come; every one of them verified."""

        def arrived() -> list[Received]:
            mine = [
                one
                for one in self.hooks.received
                if json.loads(one.body)["data"]["eventData"].get("id") == donation["id"]
            ]
            assert sorted({json.loads(one.body)["data"]["eventType"] for one in mine}) == sorted(types)
            return mine

        requests = await eventually(arrived)
        for request in requests:
            verify(request, self.subscription["secret"])
        return requests


def verify(request: Received, secret: str) -> dict[str, Any]:
    """Both signatures and the envelope, as a careful receiver checks them (spec 2.11, 5.7; settled 2)."""
    expected = hmac.new(secret.encode(), request.body, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(request.headers["service-signature"], expected)
    Webhook(secret).verify(request.body, request.headers)
    envelope: dict[str, Any] = json.loads(request.body)
    assert envelope["object"] == "event"
    assert set(envelope["data"]) == {"id", "createdAt", "eventType", "eventData"}
    assert request.headers["webhook-id"] == envelope["data"]["id"]
    assert request.headers["content-type"].startswith("application/json")
    assert int(request.headers["service-sequence"]) > 0
    return envelope


@pytest.fixture
async def product(sandbox: Running) -> AsyncIterator[Product]:
    """The first demo partner with a subscription to everything."""
    headers = {"Authorization": sandbox.secret_key}
    async with (
        receiver() as hooks,
        httpx.AsyncClient(base_url=sandbox.base_url, headers=headers, timeout=60, trust_env=False) as http,
    ):
        product = Product(http, hooks, {})
        product.subscription = await product.post("/v1/webhook-subscriptions", {"events": ["*"], "url": hooks.url})
        yield product
        await http.delete(f"/v1/webhook-subscriptions/{product.subscription['id']}")


async def give(page: Page, session: dict[str, Any], *cards: str, typed: str = "12.34") -> None:
    """Give by the session's page; the last card is the one that works."""
    await page.goto(session["url"])
    await fill(page, typed=typed)
    await page.get_by_role("button", name=TO_PAYMENT).click()
    await page.wait_for_url("**/pay/tp_*")
    for card in cards:
        await pay(page, card)
        await expect(page.get_by_role("alert")).to_contain_text("You have not been charged.")
    await pay(page)
    await page.wait_for_url("**/thanks")


async def the_donation(product: Product, session: dict[str, Any]) -> dict[str, Any]:
    """The donation of a session, once it is paid."""

    async def paid() -> dict[str, Any]:
        found = [
            one
            for one in await product.get("/v1/donations")
            if one["hosted"] and one["hosted"]["sessionId"] == session["id"]
        ]
        assert [one["status"] for one in found] == ["RECEIVED_PAYMENT"]
        return dict(found[0])

    return await eventually(paid)


async def test_a_real_nonprofit_is_found_given_to_and_the_product_is_told(product: Product, browser: Browser) -> None:
    session = await product.session_for("Capital Area Food Bank", metadata={"campaign": "winter"})
    assert (session["status"], session["metadata"]) == ("open", {"campaign": "winter"})
    page = await browser.new_page()
    await give(page, session, DECLINED)
    await page.close()

    donation = await the_donation(product, session)
    assert (donation["amount"], donation["currencyCode"], donation["type"]) == (1234, "USD", "hosted")
    assert donation["metadata"] == {"campaign": "winter"}
    assert donation["subscription"] == {"initial": True, "id": None}
    assert (await product.get(f"/v1/donation-sessions/{session['id']}"))["status"] == "completed"

    requests = await product.told(donation, GIFT_EVENTS)
    ids = [request.headers["webhook-id"] for request in requests]
    assert len(ids) == len(set(ids)) == 3
    listed = {one["id"]: one for one in await product.get("/v1/events", direction="DESC", pageSize=100)}
    for request in requests:
        assert listed[request.headers["webhook-id"]]["eventType"] == json.loads(request.body)["data"]["eventType"]

    async def receipt() -> dict[str, Any]:
        mails = await product.get("/v1/sandbox/mailbox", to="amina@example.org")
        mine = [mail for mail in mails if donation["id"] in mail["text"]]
        assert len(mine) == 1
        return dict(mine[0])

    mail = await eventually(receipt)
    assert "$12.34" in mail["text"]
    assert "$12.34" in mail["html"]
    assert [file["mediaType"] for file in mail["attachments"]] == ["application/pdf"]


async def test_two_tabs_for_two_nonprofits_never_mix(product: Product, browser: Browser) -> None:
    first = await product.session_for("Capital Area Food Bank")
    second = await product.session_for("Tax Foundation")
    context = await browser.new_context()
    tabs = [await context.new_page(), await context.new_page()]
    for tab, session in zip(tabs, (first, second), strict=True):
        await tab.goto(session["url"])
    for tab, typed in zip(tabs, ("10", "20"), strict=True):
        await fill(tab, typed=typed)
    for tab in reversed(tabs):
        await tab.get_by_role("button", name=TO_PAYMENT).click()
        await tab.wait_for_url("**/pay/tp_*")
    for tab, session in zip(tabs, (first, second), strict=True):
        await pay(tab)
        await tab.wait_for_url(f"**/give/{session['id']}/thanks")
    await context.close()
    for session, amount in ((first, 1000), (second, 2000)):
        donation = await the_donation(product, session)
        assert (donation["organisationId"], donation["amount"]) == (session["organisationId"], amount)
        await product.told(donation, GIFT_EVENTS)


async def test_signatures_hold_after_the_clock_moved_two_days(product: Product, browser: Browser) -> None:
    """Settled 9: business time moves, the signatures' real time does not; what was due meanwhile has happened."""
    abandoned = await product.session_for("Capital Area Food Bank")
    before = parse_timestamp((await product.get("/v1/sandbox/clock"))["now"])
    after = await product.post("/v1/sandbox/clock", {"advanceSeconds": int(timedelta(days=2).total_seconds())})
    assert parse_timestamp(after["now"]) - before >= timedelta(days=2)
    assert (await product.get(f"/v1/donation-sessions/{abandoned['id']}"))["status"] == "expired"

    session = await product.session_for("Capital Area Food Bank")
    page = await browser.new_page()
    await give(page, session, typed="50")
    await page.close()
    donation = await the_donation(product, session)
    for request in await product.told(donation, GIFT_EVENTS):
        assert parse_timestamp(json.loads(request.body)["data"]["createdAt"]) - before >= timedelta(days=2)

    page = await browser.new_page()
    answer = await page.goto(abandoned["url"])
    assert answer is not None
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert await page.get_by_role("button", name=TO_PAYMENT).count() == 0
    await page.close()


async def test_w7_a_receiver_that_fails_gets_the_same_bytes_again(product: Product, browser: Browser) -> None:
    session = await product.session_for("Capital Area Food Bank")
    failures = iter((500, 503, 500, 503))

    async def fail_once(request: Received, writer: asyncio.StreamWriter) -> None:
        mine = session["id"].encode() in request.body  # events of earlier tests may still come
        writer.write(reply(next(failures, 200) if mine else 200))
        await writer.drain()

    product.hooks.otherwise = fail_once
    page = await browser.new_page()
    await give(page, session)
    await page.close()
    donation = await the_donation(product, session)
    await product.told(donation, GIFT_EVENTS)
    await product.post("/v1/sandbox/clock", {"advanceSeconds": 120})

    def all_twice() -> list[Received]:
        mine = [
            one
            for one in product.hooks.received
            if json.loads(one.body)["data"]["eventData"].get("id") in (donation["id"], donation["hosted"]["sessionId"])
        ]
        assert len(mine) == 8
        return mine

    bodies: dict[str, set[bytes]] = {}
    for request in await eventually(all_twice):
        verify(request, product.subscription["secret"])
        bodies.setdefault(request.headers["webhook-id"], set()).add(request.body)
    assert [len(same) for same in bodies.values()] == [1, 1, 1, 1]

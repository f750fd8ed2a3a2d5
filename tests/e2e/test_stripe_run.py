"""The command that a newcomer types, with the keys of a Stripe account: payments are made there, here at the stub."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, expect

from tests.pages.site import CHROMIUM, TO_PAYMENT, fill
from tests.support import stripe_account
from tests.support.eventually import eventually
from tests.support.furnished import furnish
from tests.support.running import Running, folder, running
from tests.support.stripe_stub import KEY, StripeStub, serving_stripe

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (make test fetches it)")]
DECLINED = "4000 0000 0000 0002"


@dataclass(frozen=True, slots=True)
class Here:
    """The running sandbox, the stub that it pays at, and the partner's calls."""

    sandbox: Running
    stub: StripeStub
    http: httpx.AsyncClient

    async def ask(self, method: str, path: str, body: object = None, **query: Any) -> Any:
        """The data of an answer."""
        answer = await self.http.request(method, path, json=body, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    async def deliver(self) -> list[int]:
        """Stripe tells what has happened."""
        answers: list[int] = []
        while self.stub.account.notices:
            body, header = stripe_account.signed(self.stub.account.notices.popleft(), datetime.now(UTC))
            answer = await self.http.post("/callbacks/stripe", content=body, headers={"Stripe-Signature": header})
            answers.append(answer.status_code)
        return answers


@pytest.fixture
async def here() -> AsyncIterator[Here]:
    with folder("stripe") as made:
        await asyncio.to_thread(furnish, made / "var", "Food Bank of Nowhere")
        async with serving_stripe(lambda: datetime.now(UTC)) as (stub, url):
            keys = {"stripe_secret_key": KEY, "stripe_webhook_secret": stripe_account.SECRET}
            started = running(made / "var", **keys, stripe_api_url=url, stripe_pages_url=url)
            sandbox = await asyncio.to_thread(started.__enter__)
            headers = {"Authorization": sandbox.secret_key}
            try:
                async with httpx.AsyncClient(
                    base_url=sandbox.base_url, headers=headers, timeout=60, trust_env=False
                ) as http:
                    yield Here(sandbox, stub, http)
            finally:
                await asyncio.to_thread(started.__exit__, None, None, None)


async def test_a_gift_is_paid_on_stripes_page_and_arrives_by_its_notice(here: Here, browser: Browser) -> None:
    found = await here.ask("GET", "/v1/organisations", query="Food Bank of Nowhere", countryCode="USA")
    session = await here.ask("POST", "/v1/donation-sessions", {"organisationId": found[0]["id"], "currency": "USD"})
    page = await browser.new_page()
    await page.goto(session["url"])
    await fill(page, typed="12.34")
    await page.get_by_role("button", name=TO_PAYMENT).click()
    await page.wait_for_url("**/c/pay/cs_test_*")
    for card, reported in ((DECLINED, "declined"), ("4242 4242 4242 4242", "")):
        await page.get_by_label("Card").fill(card)
        await page.get_by_role("button", name="Pay").click()
        if reported:
            await expect(page.get_by_role("status")).to_contain_text(reported)
    await page.wait_for_url("**/thanks")
    await page.close()
    assert await here.deliver() == [204, 204]

    async def paid() -> dict[str, Any]:
        donations = await here.ask("GET", "/v1/donations")
        assert [donation["status"] for donation in donations] == ["RECEIVED_PAYMENT"]
        return dict(donations[0])

    donation = await eventually(paid)
    assert (donation["amount"], donation["currencyCode"]) == (1234, "USD")
    assert here.stub.calls["POST /v1/checkout/sessions"] == 1

    another = await here.ask("POST", "/v1/donation-sessions", {"organisationId": found[0]["id"], "currency": "USD"})
    donor = {"action": "donate", "amount": 500, "firstName": "Ada", "lastName": "Byron", "email": "ada@example.org"}
    refused = await here.http.post("/v1/sandbox/simulate", json={"id": another["id"], **donor})
    assert refused.status_code == 400, refused.text
    assert "its test cards" in refused.text

"""Giving regularly in a telephone's browser: from the link to the receipt of the second gift (settled 11, H8, H9)."""

import re
from collections.abc import AsyncIterator
from typing import Any, Literal
from uuid import uuid4

import pytest
from playwright.async_api import Browser, Page, expect

from tests.pages.site import GOOD, Site, findings, open_site
from tests.support import factories
from tests.support.client import data
from tests.support.database import TestDatabase

TELEPHONE = {"width": 320, "height": 640}


@pytest.fixture
async def own_site(empty_database: TestDatabase, browser: Browser) -> AsyncIterator[Site]:
    """A site of the test's own: a month of what other tests left would be done with it."""
    async with open_site(empty_database, browser) as site:
        yield site


async def is_fine(page: Page) -> None:
    """axe finds nothing and nothing is wider than the window."""
    assert await findings(page) == []
    wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert not wide, f"{page.url} scrolls sideways"


async def give_monthly(page: Page, session: dict[str, Any], email: str) -> None:
    """From the link to the thanks, by the addresses of fields alone: in any language."""
    await fill_monthly(page, session, email)
    await pay_card(page)


async def fill_monthly(page: Page, session: dict[str, Any], email: str) -> None:
    """Fill the form and send it."""
    await page.goto(session["url"])
    await page.locator("#frequency-monthly").check()
    await page.locator("#amount-2500").check()
    await page.locator("#first_name").fill("Amina")
    await page.locator("#last_name").fill("El-Sayed")
    await page.locator("#email").fill(email)
    await page.locator("form button[type=submit]").first.click()


async def pay_card(page: Page) -> None:
    """Fill the provider's form and send it."""
    await page.locator("#number").fill(GOOD)
    await page.locator("#expiry").fill("12/40")
    await page.locator("#cvc").fill("123")
    await page.locator("#name").fill("Amina El-Sayed")
    await page.locator("form button[type=submit]").first.click()
    await page.wait_for_url("**/thanks")


async def plan_of(site: Site, email: str) -> dict[str, Any]:
    """The one plan of a donor."""
    (plan,) = data(await site.api.get("/v1/donation-subscriptions", email=email))
    return dict(plan)


async def test_a_donor_gives_monthly_on_a_telephone_and_a_month_later_the_second_receipt_comes(own_site: Site) -> None:
    email = f"{uuid4().hex}@example.org"
    session = await own_site.session(
        name="Capital Area Food Bank", frequencies=["one_time", "monthly"], currency="USD", language="en"
    )
    async with own_site.donor(viewport=TELEPHONE, java_script_enabled=False) as page:
        await page.goto(session["url"])
        terms = page.get_by_text("You’ll donate today and then every month")
        await expect(terms).to_be_hidden()
        await page.get_by_label("Monthly", exact=True).check()
        await expect(terms).to_be_visible()
        await give_monthly(page, session, email)
        await expect(page.get_by_text("Your next donation will be on")).to_be_visible()
    assert (await plan_of(own_site, email))["status"] == "active"
    moved = data(await own_site.api.post("/v1/sandbox/clock", {"advanceSeconds": 31 * 86_400}))
    for _ in range(100):  # a call does what it can in its time
        if not moved["remaining"] and (await plan_of(own_site, email))["donationsCount"] == 2:
            break
        moved = data(await own_site.api.post("/v1/sandbox/clock", {"advanceSeconds": 3600}))
    plan = await plan_of(own_site, email)
    assert (plan["donationsCount"], plan["totalAmount"], plan["status"]) == (2, 5000, "active")
    gifts = [one for one in await own_site.donations() if one["subscription"]["id"] == plan["id"]]
    assert [one["subscription"]["initial"] for one in gifts] == [False, True]
    await own_site.service.drain()
    receipts = [
        one
        for one in data(await own_site.api.get("/v1/sandbox/mailbox", to=email))
        if one["subject"].startswith("Your receipt for $25.00 to Capital Area Food Bank")
    ]
    assert len(receipts) == 2


async def test_h8_axe_finds_nothing_on_the_way_of_a_regular_gift(site: Site, axe: None, spoken_language: str) -> None:
    scheme: Literal["light", "dark"] = "dark" if spoken_language == "ar" else "light"
    session = await site.session(
        frequencies=["one_time", "weekly", "monthly", "quarterly", "yearly"], currency="USD", language=spoken_language
    )
    async with site.donor(viewport=TELEPHONE, color_scheme=scheme) as page:
        await page.goto(session["url"])
        await page.locator("#frequency-quarterly").check()
        await is_fine(page)
        await page.locator("form button[type=submit]").first.click()
        await is_fine(page)
        await give_monthly(page, session, f"{uuid4().hex}@example.org")
        await is_fine(page)
    assert not site.complaints


async def test_h8_axe_finds_nothing_where_a_second_plan_is_asked_about(site: Site, axe: None) -> None:
    email = f"{uuid4().hex}@example.org"
    first = await site.session(frequencies=["one_time", "monthly"], currency="USD", language="en")
    async with site.donor(viewport=TELEPHONE) as page:
        await give_monthly(page, first, email)
    await site.service.drain()
    site.service.clock.advance(seconds=1)
    second = await factories.session(
        site.service,
        site.api,
        organisation=first["organisationId"],
        frequencies=["monthly", "one_time"],
        currency="USD",
        language="en",
    )
    async with site.donor(viewport=TELEPHONE) as page:
        await fill_monthly(page, second, email)
        await page.wait_for_url("**/code")
        await site.service.drain()
        (mail, *_) = data(await site.api.get("/v1/sandbox/mailbox", to=email))
        code = re.search(r"^\d{6}$", mail["text"], re.MULTILINE)
        assert code, "the newest mail has the code"
        await page.locator("#code").fill(code[0])
        await page.locator("form button[type=submit]").first.click()
        await expect(page.get_by_text("You already have a regular donation")).to_be_visible()
        await is_fine(page)
        await page.get_by_label("Yes, start another regular donation").check()
        await page.locator("form button[type=submit]").first.click()
        await pay_card(page)
    assert len(data(await site.api.get("/v1/donation-subscriptions", email=email))) == 2

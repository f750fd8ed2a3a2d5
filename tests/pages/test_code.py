"""The page of the code (H6, H11) for everybody: axe, keyboard, 320 px, right-to-left, no script (H8)."""

import re
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, Page, expect

from tests.pages.site import TO_PAYMENT, Site, fill, findings, open_site, pay
from tests.support.client import data
from tests.support.database import TestDatabase

MAIL = "amina@example.org"


@pytest.fixture
async def strict(empty_database: TestDatabase, browser: Browser, axe: None) -> AsyncIterator[Site]:
    """A site with brakes as in production."""
    async with open_site(empty_database, browser, card_testing_limits="strict") as site:
        yield site


async def code(site: Site) -> str:
    """The newest code in the mailbox."""
    site.service.clock.advance(seconds=1)
    await site.service.drain()
    mails = data(await site.api.get("/v1/sandbox/mailbox", to=MAIL))
    found = re.search(r"^\d{6}$", mails[0]["text"], re.MULTILINE)
    assert found, "the mail has a line with the code"
    return found[0]


async def go_to_code(page: Page, session: dict[str, Any]) -> None:
    """Give in a browser that has lost our device cookie, in any language."""
    await page.goto(session["url"])
    await page.context.clear_cookies(name="__Host-device")
    await page.locator("#amount-other").check()
    await page.locator("#typed").fill("20")
    await page.locator("#first_name").fill("Amina")
    await page.locator("#last_name").fill("El-Sayed")
    await page.locator("#email").fill(MAIL)
    await page.locator("form button[type=submit]").first.click()
    await page.wait_for_url("**/code")


async def is_fine(page: Page) -> None:
    """axe finds nothing and nothing is wider than the window."""
    assert await findings(page) == []
    wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert not wide, f"{page.url} scrolls sideways"


@pytest.mark.parametrize(("scheme", "language"), [("light", "en"), ("dark", "ar")])
async def test_h8_axe_finds_nothing_on_any_state_of_the_code(
    strict: Site, scheme: Literal["light", "dark"], language: str
) -> None:
    session = await strict.session(language=language, name="Capital Area Food Bank")
    async with strict.donor(color_scheme=scheme, viewport={"width": 320, "height": 800}) as page:
        await go_to_code(page, session)
        await is_fine(page)
        await page.locator("#code").fill("1")
        await page.locator("form button[type=submit]").first.click()
        await expect(page.locator("#code")).to_have_attribute("aria-invalid", "true")
        await is_fine(page)
        for role in ("status", "status", "alert"):  # two more codes, then no more for an hour
            strict.service.clock.advance(seconds=1)  # the mailbox lists the newest first
            await page.locator("button[name=again]").click()
            await expect(page.get_by_role(role)).to_be_visible()
            await is_fine(page)
        await page.locator("#code").fill(await code(strict))
        await page.locator("form button[type=submit]").first.click()
        await page.wait_for_url("**/pay/*")
    assert strict.complaints == []


async def test_h8_the_code_is_given_by_keyboard_alone_and_errors_are_announced(strict: Site) -> None:
    session = await strict.session(language="en")
    async with strict.donor() as page:
        await go_to_code(page, session)
        assert await page.title() == "Check your email"
        field = page.get_by_role("textbox", name="6-digit code")
        await expect(field).to_have_attribute("autocomplete", "one-time-code")
        for _ in range(12):
            await page.keyboard.press("Tab")
            if await field.evaluate("field => field === document.activeElement"):
                break
        await page.keyboard.type("12")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_be_focused()
        assert await page.title() == "Problem: Check your email"
        await expect(field).to_have_accessible_description(re.compile("Enter or paste the code.*The code is incorrect"))
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")  # the summary leads to the field
        await expect(field).to_be_focused()
        await page.keyboard.type(await code(strict))
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/pay/*")


async def test_h8_without_scripts_a_donor_who_is_asked_for_a_code_gives(strict: Site) -> None:
    session = await strict.session(language="en")
    async with strict.donor(java_script_enabled=False) as page:
        await page.goto(session["url"])
        await page.context.clear_cookies(name="__Host-device")
        await fill(page)
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await page.wait_for_url("**/code")
        strict.service.clock.advance(seconds=1)
        await page.get_by_role("button", name="Send a new code").click()
        await expect(page.get_by_role("status")).to_contain_text("We have sent a new code")
        await page.get_by_label("6-digit code").fill(await code(strict))
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await page.wait_for_url("**/pay/*")
        await pay(page)
        await page.wait_for_url("**/thanks")
    assert [one["status"] for one in await strict.donations()] == ["RECEIVED_PAYMENT"]

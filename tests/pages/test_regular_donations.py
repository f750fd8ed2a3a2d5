"""A donor's regular donations at a telephone's width, behind the mailed link, without scripts (H1, H8, H9)."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, expect

from tests.pages.site import Site, findings, pay
from tests.support.client import Client, data
from tests.support.regular_gifts import PLANS, Plan, begin_plan, reach

TELEPHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "java_script_enabled": False}
NARROW: dict[str, Any] = {"viewport": {"width": 320, "height": 640}}
LANGUAGES = ("en", "ar", "ja", "de")
MORE_LANGUAGES = ("es", "fr", "he", "it", "nl", "pl", "pt-BR", "uk")


async def begun(site: Site, **given: Any) -> Plan:
    """A donor of a new partner begins to give every month."""
    api: Client = site.service.client((await site.service.tenant()).secret)
    return await begin_plan(site.service, api, **given)


async def link(site: Site, plan: Plan) -> str:
    """The link to the donor's page in the newest email that has one."""
    await site.service.drain()
    mails = data(await plan.api.get("/v1/sandbox/mailbox", to="ada@example.org"))
    return str(next(one for mail in mails for one in mail["links"] if "/regular-donations?" in one))


async def told(page: Page, text: str) -> None:
    """What the page says after an action."""
    await expect(page.get_by_role("status")).to_contain_text(text)


async def test_the_amount_is_changed_the_donation_paused_and_ended_on_a_telephone(site: Site) -> None:
    plan = await begun(site)
    async with site.donor(**TELEPHONE) as page:
        await page.goto(await link(site, plan))
        assert "token" not in page.url
        await page.get_by_role("link", name="Change amount").click()
        await page.get_by_label("Amount in US dollars").fill("40")
        await page.get_by_role("button", name="Change amount").click()
        await expect(page.get_by_text("$40.00 every month to")).to_be_visible()
        await page.get_by_role("button", name="Confirm change").click()
        await told(page, "Your regular donation has been changed.")
        await page.get_by_role("link", name="Pause donation").click()
        await page.get_by_label("2 months", exact=True).check()
        await page.get_by_role("button", name="Pause donation").click()
        await told(page, "Your regular donation is paused.")
        await page.get_by_role("link", name="Cancel donation").click()
        await page.get_by_role("button", name="Cancel donation").click()
        await told(page, "Your regular donation has ended.")
        await page.get_by_text("Receipts").click()
        await page.get_by_role("listitem").get_by_role("link").first.click()
        await expect(page.get_by_role("heading", name="Status of your donation")).to_be_visible()
    record = await plan.record()
    assert (record["amount"], record["status"], record["cancellationReason"]) == (4000, "cancelled", "donor")
    assert await plan.events() == ["created", "updated", "updated", "updated", "cancelled"]
    assert site.complaints == []
    await plan.api.close()


async def test_what_failed_is_paid_and_the_card_changed_at_the_provider(site: Site) -> None:
    plan = await begun(site)
    await plan.decline_next()
    await reach(site.service, (await plan.record())["nextDonationAt"])
    async with site.donor(**TELEPHONE) as page:
        await page.goto(await link(site, plan))
        await page.get_by_role("button", name="Pay $25.00 now").click()
        await page.wait_for_url(f"{site.provider_url}/pay/*")
        await pay(page)
        await told(page, "Thank you. We have received your payment.")
        await page.get_by_role("button", name="Change card").click()
        await page.wait_for_url(f"{site.provider_url}/pay/*")
        await page.get_by_role("link", name="Go back").click()
        await told(page, "Your card has not been changed.")
        await page.get_by_role("button", name="Change card").click()
        await page.get_by_label("Card number").fill("4242424242424242")
        await page.get_by_label("Expiry date").fill("12/40")
        await page.get_by_label("Security code").fill("123")
        await page.get_by_label("Name on the card").fill("Ada Byron")
        await page.get_by_role("button", name="Save card").click()
        await told(page, "Your card has been changed.")
        await expect(page.get_by_text("Visa •••• 4242 (12/2040)")).to_be_visible()
    record = await plan.record()
    assert (record["status"], record["paymentMethod"]["last4"], record["donationsCount"]) == ("active", "4242", 2)
    assert site.complaints == []
    await plan.api.close()


async def every_page(page: Page, address: str, plan: Plan) -> list[str]:
    """What axe finds on the list and on each form, and which of them are too wide."""
    found = []
    for path in ("", *(f"/{plan.id}/{action}" for action in ("amount", "day", "pause", "skip", "cancel"))):
        await page.goto(address + path)
        found += await findings(page)
        if await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            found.append(f"{path} is too wide")
    return found


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize(
    "language", [*LANGUAGES, *(pytest.param(one, marks=pytest.mark.long) for one in MORE_LANGUAGES)]
)
async def test_h8_axe_finds_nothing_and_nothing_is_cut_off(site: Site, language: str) -> None:
    plan = await begun(site, language=language)
    await plan.api.patch(f"{PLANS}/{plan.id}", {"amount": 123456})
    async with site.donor(**NARROW, color_scheme="dark" if language in ("ar", "de") else "light") as page:
        await page.goto(await link(site, plan))
        assert await page.locator("html").get_attribute("dir") == ("rtl" if language in ("ar", "he") else "ltr")
        address = urlsplit(page.url)._replace(query="").geturl()
        assert await every_page(page, address, plan) == []
    assert site.complaints == []
    await plan.api.close()

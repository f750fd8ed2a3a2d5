"""From nothing to a monthly donation on a telephone, by keyboard: make a link, print its code, give by it."""

from time import monotonic
from uuid import uuid4

import pytest
from playwright.async_api import expect

from tests.pages.accounts import acme
from tests.pages.site import Site, findings
from tests.pages.test_dashboard import enter
from tests.pages.test_dashboard_journeys import Keyboard
from tests.pages.test_regular import TELEPHONE, pay_card
from tests.support import factories
from tests.support.client import data

MOST_SECONDS = 180


@pytest.mark.usefixtures("axe")
async def test_a_newcomer_makes_a_link_prints_its_code_and_gives_monthly(site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    await factories.nonprofit(site.service, name="Heron Wetland Trust")
    began, title = monotonic(), f"Wetlands {uuid4().hex[:8]}"
    async with site.donor(viewport=TELEPHONE) as page:
        await enter(here, page, "finance", "/giving-links")
        keyboard = Keyboard(page)
        await keyboard.press(page.get_by_role("link", name="Create giving link"))
        await keyboard.write(page.get_by_label("Title"), title)
        await keyboard.write(page.get_by_label("Find a nonprofit"), "Heron Wetland")
        await keyboard.press(page.locator("#organisationIds button"))
        await keyboard.press(page.get_by_label("Heron Wetland Trust"), "Space")
        await keyboard.write(page.get_by_label("Currencies"), "USD")
        await keyboard.write(page.get_by_label("Suggested amounts"), "10\n25")
        await keyboard.press(page.get_by_label("Monthly"), "Space")
        assert await findings(page) == []
        await keyboard.press(page.get_by_role("button", name="Create giving link"))
        await expect(page.locator(".notice")).to_contain_text("The giving link has been created.")
        assert await findings(page) == []
        wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        assert not wide
        async with page.expect_download() as printed:
            await keyboard.press(page.get_by_role("link", name="Download QR code (SVG)"))
        code = await (await printed.value).path()
        assert code.read_bytes().startswith(b"<?xml")
        await page.wait_for_load_state()
        assert await page.locator("img.qr").evaluate("image => image.complete && image.naturalWidth > 0")
        await page.emulate_media(media="print")
        await expect(page.locator("img.qr")).to_be_visible()
        for left_out in (
            page.get_by_role("link", name="Edit giving link"),
            page.get_by_role("heading", name="Details"),
        ):
            await expect(left_out).to_be_hidden()
        await page.emulate_media(media="screen")
        address = await page.locator("section [data-copy]").first.get_attribute("data-copy")
    assert address is not None
    async with site.donor(viewport=TELEPHONE) as page:
        await page.goto(address)
        keyboard = Keyboard(page)
        await keyboard.press(page.get_by_label("Monthly", exact=True), "Space")
        await keyboard.press(page.get_by_label("$25"), "Space")
        await keyboard.write(page.get_by_label("First name"), "Amina")
        await keyboard.write(page.get_by_label("Last name"), "El-Sayed")
        await keyboard.write(page.locator("#email"), "amina@example.org")
        await keyboard.press(page.locator("form button[type=submit]").first)
        await page.locator("#number").wait_for()
        await pay_card(page)
    (plan,) = data(await api.get("/v1/donation-subscriptions", email="amina@example.org"))
    assert (plan["status"], plan["amount"], plan["frequency"]) == ("active", 2500, "monthly")
    assert monotonic() - began < MOST_SECONDS
    assert site.complaints == []
    await api.close()

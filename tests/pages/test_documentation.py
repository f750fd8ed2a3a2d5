"""The documentation site in a browser: for every reader, without scripts, and with those that search and send."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.pages.accounts import acme, sign_in
from tests.pages.site import Site, findings, open_site
from tests.support.database import TestDatabase
from tools.docs_site.__main__ import is_current

WIDTHS = (320, 768, 1280)
OF_EACH_KIND = ("", "api/donations/", "guides/quick-start/")
TABLES = ("reference/events/", "reference/errors/", "reference/test-values/")


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    assert is_current(), "run `make site`"


async def opened(site: Site, page: Page, place: str) -> Page:
    await page.goto(f"{site.base_url}/docs/{place}")
    return page


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", OF_EACH_KIND)
async def test_axe_finds_nothing(site: Site, scheme: Any, place: str) -> None:
    async with site.donor(color_scheme=scheme) as page:
        await opened(site, page, place)
        await page.wait_for_load_state("networkidle")
        assert await findings(page) == []
    assert site.complaints == []


@pytest.mark.parametrize("width", WIDTHS)
async def test_it_fits_every_width_without_scripts(site: Site, width: int) -> None:
    async with site.donor(viewport={"width": width, "height": 800}, java_script_enabled=False) as page:
        await opened(site, page, "api/donations/")
        for sample in ("curl -s", "client.donations.create(", "await client.donations.create("):
            await expect(page.get_by_text(sample).first).to_be_visible()
    async with site.donor(viewport={"width": width, "height": 800}) as page:
        for place in OF_EACH_KIND:
            await opened(site, page, place)
            overflow = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert await page.evaluate(overflow) == 0, place


async def test_tables_fit_a_laptop(site: Site) -> None:
    async with site.donor(viewport={"width": 1280, "height": 800}) as page:
        for place in TABLES:
            await opened(site, page, place)
            tables = await page.locator(".table-wrapper").all()
            assert tables
            for table in tables:
                assert await table.evaluate("one => one.scrollWidth - one.clientWidth") == 0, place


async def test_a_sample_is_copied(site: Site) -> None:
    async with site.donor(permissions=["clipboard-read", "clipboard-write"]) as page:
        await opened(site, page, "guides/quick-start/")
        sample = page.locator("article pre:visible").first
        await sample.hover()
        await page.get_by_role("button", name="Copy").first.click()
        await expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert await page.evaluate("navigator.clipboard.readText()") == await sample.text_content()


async def test_results_of_one_title_are_told_apart(site: Site) -> None:
    async with site.donor() as page:
        await opened(site, page, "search/?q=refund")
        for section in ("Guides", "Runbooks"):
            found = page.locator("#search-results li", has=page.get_by_role("link", name="Refunds")).filter(
                has_text=section
            )
            await expect(found.locator(".context")).to_contain_text("refund")


async def test_a_delivery_is_no_request_to_send(site: Site) -> None:
    async with site.donor() as page:
        await opened(site, page, "guides/webhooks/")
        await page.wait_for_load_state("networkidle")
        await expect(page.get_by_text("POST /almoner HTTP/1.1")).to_be_visible()
        await expect(page.get_by_role("button", name="Try it in the sandbox")).to_have_count(0)


async def test_nothing_comes_from_elsewhere(site: Site) -> None:
    async with site.donor() as page:
        await opened(site, page, "search/?q=idempotency")
        await expect(page.locator("#search-results li").first).to_be_visible()
    assert {address for _, address, _ in site.seen if not address.startswith(site.base_url)} == set()
    assert site.complaints == []


async def test_the_keyboard_searches_and_chooses_a_language(site: Site) -> None:
    async with site.donor() as page:
        await opened(site, page, "api/donations/")
        await page.keyboard.press("/")
        await page.keyboard.type("refund")
        await page.keyboard.press("Enter")
        await expect(page.locator("#search-results li").first).to_be_visible()
        await opened(site, page, "api/donations/")
        await page.get_by_role("tab", name="curl").first.focus()
        await page.keyboard.press("ArrowRight")
        await expect(page.get_by_text("client.donations.list()").first).to_be_visible()
        await opened(site, page, "api/categories/")
        assert await page.get_by_role("tab", name="Python").first.get_attribute("aria-selected") == "true"


async def test_the_old_address_of_a_call_leads_to_its_page(site: Site) -> None:
    async with site.donor() as page:
        await page.goto(f"{site.base_url}/docs#createDonation")
        await page.wait_for_url(re.compile(r"/docs/api/donations/#createDonation$"))


async def form_of(site: Site, page: Page) -> Locator:
    """The open form of a call."""
    await opened(site, page, "api/donation-sessions/")
    section = page.locator("section", has=page.get_by_role("heading", name="Retrieve a donation session")).last
    await section.get_by_role("button", name="Try it in the sandbox").click()
    return section


async def test_a_request_is_sent_to_the_sandbox(site: Site) -> None:
    session = await site.session()
    async with site.donor() as page:
        section = await form_of(site, page)
        await expect(section.get_by_label("Request")).to_have_value("GET /v1/donation-sessions/$donationsession")
        await section.get_by_label("Key").fill(site.api.key)
        await section.get_by_role("button", name="Send").click()
        await expect(section.locator("output pre")).to_contain_text(session["id"])
        assert await findings(page) == []


async def test_a_developer_who_is_signed_in_finds_the_key(
    session_database: TestDatabase, browser: Browser, tmp_path: Path
) -> None:
    async with open_site(session_database, browser, data_dir=str(tmp_path)) as site:
        here = await acme(site)
        known = {"partnerId": here.home.rpartition("/")[2], "secretKey": here.tenant.secret}
        (tmp_path / "sandbox.json").write_text(json.dumps(known))
        await here.member("developer")
        async with site.donor() as page:
            section = await form_of(site, page)
            await section.get_by_role("link", name="Sign in").click()
            await sign_in(page)
            await page.wait_for_url(here.home + "/home")
            section = await form_of(site, page)
            await expect(section.get_by_label(f"Key of {here.tenant.name}")).to_have_value(here.tenant.secret)
            await section.get_by_label("Request").fill("GET /v1/donations")
            await section.get_by_role("button", name="Send").click()
            await expect(section.locator("output")).to_contain_text("GET /v1/donations: 200")
            await opened(site, page, "guides/quick-start/")
            for start in ("key=", "client = Almoner(", "const client"):
                sample = page.locator("article pre").filter(has_text=start).first
                await expect(sample).to_contain_text(here.tenant.secret)
                await expect(sample).to_contain_text(site.base_url)
                await expect(sample).not_to_contain_text("sandbox.json")

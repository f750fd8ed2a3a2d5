"""The statement of a donor's gifts, from the page of one of them to the document (H1, H8, H9)."""

from typing import Literal

import pytest
from playwright.async_api import Page, expect

from tests.pages.site import Site, cases, findings
from tests.pages.test_gift_now import Given, give
from tests.support import factories, payouts


async def mailed(site: Site, page: Page, gift: Given) -> str:
    """Ask for a statement on the page of a gift; the link that is mailed."""
    await page.goto(gift.link)
    await page.locator(".actions .textlink").click()
    await page.get_by_role("button").click()
    await page.wait_for_load_state()
    await site.service.drain()
    donation = (
        await site.api.get(f"/v1/donations/{site.service.db.deployment.ids.encode('donation', gift.id)}")
    ).json()
    mails = (await site.api.get("/v1/sandbox/mailbox", to=donation["data"]["email"])).json()["data"]
    return str(next(link for mail in mails for link in mail["links"] if "/statement?" in link))


@pytest.mark.usefixtures("axe")
async def test_a_statement_is_asked_for_opened_and_kept_without_scripts(site: Site) -> None:
    gift = await give(site)
    async with site.donor() as page:
        await page.goto(gift.link)
        await page.get_by_role("link", name="Statement of all your donations").click()
        await expect(page.get_by_role("heading", name="Donation statement")).to_be_visible()
        assert await findings(page) == []
        await page.get_by_role("button", name="Email me the link").press("Enter")
        await expect(page.get_by_role("heading", name="Check your email")).to_be_visible()
        assert await findings(page) == []
    async with site.donor(java_script_enabled=False) as page:
        await page.goto(await mailed(site, page, gift))
        assert "token" not in page.url
        await expect(page.get_by_text("$25.00").first).to_be_visible()
        await page.get_by_label("Start date").fill("2026-03-01")
        await page.get_by_label("End date").fill("2026-03-31")
        await page.get_by_role("button", name="Show donations").click()
        await expect(page.get_by_role("heading", name="Donations from March 1, 2026 to March 31, 2026")).to_be_visible()
        async with page.expect_download() as waiting:
            await page.get_by_role("link", name="Download statement (PDF)").click()
        assert (await waiting.value).suggested_filename == "statement-2026-03-01-2026-03-31.pdf"
    assert site.complaints == []


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize(
    ("language", "scheme"),
    cases(
        ["en", "ar", "ja", "he", "de"],
        ["light", "dark"],
        short=[("en", "light"), ("ar", "dark"), ("ja", "dark"), ("de", "light")],
    ),
)
async def test_h8_axe_finds_nothing_and_nothing_is_cut_off(
    site: Site, language: str, scheme: Literal["light", "dark"]
) -> None:
    gift = await give(site, language=language)
    other = await factories.nonprofit(site.service, name="Other Fund")
    named = site.service.db.deployment.ids.encode("donation", gift.id)
    await payouts.simulate(site.api, named, "reassign", organisationId=other)
    async with site.donor(color_scheme=scheme, viewport={"width": 320, "height": 640}) as page:
        await page.goto(await mailed(site, page, gift))
        assert await page.locator("html").get_attribute("dir") == ("rtl" if language in ("ar", "he") else "ltr")
        await expect(page.get_by_text("Other Fund")).to_be_visible()
        address = page.url
        for shown in ("", "?first=2001-01-01&last=2001-01-02", "?first=2002-01-01&last=2001-01-02"):
            await page.goto(address + shown)
            assert await findings(page) == []
            wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            assert not await page.evaluate(wide)
    assert site.complaints == []

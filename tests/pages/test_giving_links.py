"""A giving link from its address to the thanks, in Chromium: chosen, filled in, paid; at 320 px, in every language."""

import pytest
from playwright.async_api import expect

from tests.pages import site as sites
from tests.pages.site import KINDS, TO_PAYMENT, Site, fill, pay, shortcomings
from tests.support import factories

LANGUAGES = ("en", "de", "es", "fr", "it", "nl", "pl", "pt-BR", "ja", "ar", "he", "uk")


async def test_a_donor_chooses_a_nonprofit_and_gives(site: Site) -> None:
    bodies = [await factories.nonprofit(site.service, name=name) for name in ("Otter Society", "Beaver Society")]
    link = await factories.giving_link(
        site.service, site.api, organisationIds=bodies, title="Rivers", designations=["Where it is needed most", "Dams"]
    )
    async with site.donor() as page:
        await page.goto(f"{link['url']}?firstName=Amina")
        await page.get_by_role("link", name="Beaver Society").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Beaver Society")
        await expect(page.get_by_label("First name")).to_have_value("Amina")
        await page.get_by_label("What is your donation for?").select_option("Dams")
        await fill(page)
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
        await pay(page)
        await page.wait_for_url("**/thanks")
    donation = (await site.donations())[0]
    assert (donation["organisationId"], donation["designation"]) == (bodies[1], "Dams")
    assert (donation["givingLinkId"], donation["status"]) == (link["id"], "RECEIVED_PAYMENT")
    assert site.complaints == []


async def test_without_a_script_a_mistake_is_told_and_mended(site: Site) -> None:
    link = await factories.giving_link(site.service, site.api, currencies=["USD"], minimum=2000)
    async with site.donor(java_script_enabled=False) as page:
        await page.goto(link["url"])
        await fill(page, typed="19")
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await expect(page.get_by_role("alert")).to_contain_text("The amount must be $20 or more")
        await page.get_by_label("Amount in US dollars").fill("20")
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await page.wait_for_url(f"{site.provider_url}/pay/tp_*")


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("language", ["en", "ar"])
async def test_every_state_of_a_link_is_for_everybody_on_a_telephone(site: Site, language: str) -> None:
    link = await factories.giving_link(
        site.service, site.api, currencies=["USD"], offersDedication=True, frequencies=["monthly", "one_time"]
    )
    monthly = await factories.giving_link(site.service, site.api, currencies=["USD"], frequencies=["monthly"])
    ended = await factories.giving_link(site.service, site.api, active=False)
    found: dict[str, list[str]] = {}
    async with site.donor(locale=language, viewport={"width": 320, "height": 700}) as page:
        await page.goto(link["url"])
        await page.locator("details:has(#dedication) summary").click()
        await expect(page.locator("#recipient_message")).to_be_visible()
        found["dedication"] = await shortcomings(page)
        await page.locator("#recipient_name").fill("Rose")
        await page.locator("#email").fill("amina@example.org")
        for state, dedicated in (("no amount, dedicated to nobody", ""), ("no address to notify", "Zoe")):
            await page.locator("#dedication").fill(dedicated)
            await page.locator("form button[type=submit]").first.click()
            await expect(page.locator("#recipient_email-problem")).to_be_visible()
            await expect(page.locator("#dedication-problem")).to_have_count(0 if dedicated else 1)
            found[state] = await shortcomings(page)
        for state, address in (("monthly", monthly["url"]), ("ended", ended["url"]), ("unknown", f"{ended['url']}x")):
            await page.goto(address)
            found[state] = await shortcomings(page)
        await expect(page.locator("html")).to_have_attribute("dir", "rtl" if language == "ar" else "ltr")
    assert {state: wrong for state, wrong in found.items() if wrong} == {}


@pytest.mark.usefixtures("axe")
async def test_the_pages_are_for_everybody_in_every_language(site: Site) -> None:
    bodies = [await factories.nonprofit(site.service, name=f"Very Long-Named Society No. {n}") for n in range(9)]
    shared = {"title": "Donaudampfschifffahrtsgesellschaftsappell", "text": "For all.\nNow.", "showsProgress": True}
    one = await factories.giving_link(
        site.service, site.api, **shared, currencies=["USD"], goal=1_000_000, designations=["Roof", "Soup"]
    )
    several = await factories.giving_link(site.service, site.api, **shared, organisationIds=bodies)

    async def look(language: str) -> list[str]:
        async with site.donor(locale=language, viewport={"width": 320, "height": 700}) as page:
            found = []
            for address in (one["url"], several["url"], f"{several['url']}?organisation={bodies[0]}"):
                await page.goto(address)
                found += [f"{language} {address}: {wrong}" for wrong in await shortcomings(page)]
            return found

    for language in LANGUAGES if sites.every_page else KINDS:
        assert await look(language) == []
    assert site.complaints == []

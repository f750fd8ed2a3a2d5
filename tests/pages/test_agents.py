"""The pages of agents for everybody: axe, keyboard, 320 px, right-to-left, no script, twelve languages (H1, H8, H9)."""

from itertools import count
from typing import Any, Literal

import pytest
from playwright.async_api import Page, expect

from almoner.platform.pages.translations import TranslationCatalogues
from tests.pages.site import Site, findings
from tests.support import agents, factories

_numbers = count(1)


async def applied(site: Site, **body: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A verification that waits for its applicant, and the mail that leads to the page."""
    email = f"applicant{next(_numbers)}@elsewhere.example"
    organisation = body.pop("organisation", None) or await factories.nonprofit(site.service, name="Hill Road Relief")
    body = {"organisation": organisation, "email": email, "firstName": "Amina", "lastName": "El-Sayed", **body}
    made = await agents.create(site.service, site.api, **body)
    return made, await agents.mail_to(site.service, site.api, email)


async def asked(site: Site, **body: Any) -> tuple[dict[str, Any], str]:
    """A verification about which the nonprofit is asked, and the link to its page."""
    office = f"office{next(_numbers)}@relief.example"
    organisation = await factories.nonprofit(site.service, name="Hill Road Relief")
    await agents.contact(site.service, organisation, office)
    made, _ = await applied(site, organisation=organisation, title="Treasurer", **body)
    await agents.simulate(site.api, made, "confirm_email")
    return made, agents.link_in(await agents.mail_to(site.service, site.api, office))


async def is_fine(page: Page) -> None:
    """axe finds nothing and nothing is wider than the window."""
    assert await findings(page) == []
    wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert not wide, f"{page.url} scrolls sideways"


@pytest.mark.parametrize(
    ("scheme", "language"), [("light", "en"), ("dark", "ar"), pytest.param("light", "de", marks=pytest.mark.long)]
)
async def test_h8_axe_finds_nothing_on_any_page_of_the_applicant(
    site: Site, axe: None, scheme: Literal["light", "dark"], language: str
) -> None:
    made, mail = await applied(site, language=language)
    async with site.donor(color_scheme=scheme, viewport={"width": 320, "height": 800}) as page:
        await page.goto(f"{site.base_url}/confirm/{made['id']}")
        await is_fine(page)
        await page.locator("#code").fill("1")
        await page.locator("form button[type=submit]").first.click()
        await expect(page.locator("#code")).to_have_attribute("aria-invalid", "true")
        await is_fine(page)
        await page.locator("button[name=again]").click()
        await expect(page.get_by_role("alert")).to_be_visible()
        await is_fine(page)
        await page.goto(agents.link_in(mail))
        assert "token" not in page.url
        await is_fine(page)
        await page.locator("button[name=confirm]").click()
        await expect(page.locator("h1")).to_be_visible()
        await is_fine(page)
        assert (await agents.shown(site.api, made))["status"] == "pending_review"
    # The token never leaves in a Referer, and nothing complained about the policy.
    assert all("token" not in (referer or "") for _, _, referer in site.seen)
    assert [complaint for complaint in site.complaints if "429" not in complaint and "422" not in complaint] == []


async def test_h8_axe_finds_nothing_where_a_link_opens_nothing(site: Site, axe: None) -> None:
    made, mail = await applied(site)
    await agents.simulate(site.api, made, "reject")
    async with site.donor(viewport={"width": 320, "height": 800}) as page:
        for address in (agents.link_in(mail), f"{site.base_url}/confirm?token=x", f"{site.base_url}/answer"):
            await page.goto(address)
            await is_fine(page)


@pytest.mark.parametrize(("scheme", "language"), [("light", "en"), ("dark", "he")])
async def test_h8_axe_finds_nothing_on_any_page_of_the_nonprofit(
    site: Site, axe: None, scheme: Literal["light", "dark"], language: str
) -> None:
    made, link = await asked(site, language=language)
    async with site.donor(color_scheme=scheme, viewport={"width": 320, "height": 800}) as page:
        await page.goto(link)
        assert "token" not in page.url
        await expect(page.get_by_text("Treasurer")).to_be_visible()
        await is_fine(page)
        await page.locator("button[value=denied]").click()
        await expect(page.locator("h1")).to_be_visible()
        await is_fine(page)
        assert (await agents.shown(site.api, made))["externalActionRequired"] is False


async def test_h8_the_applicant_confirms_by_keyboard_alone_and_without_scripts(site: Site) -> None:
    made, mail = await applied(site)
    async with site.donor(java_script_enabled=False) as page:
        await page.goto(agents.link_in(mail))
        for _ in range(10):
            await page.keyboard.press("Tab")
            if await page.locator("button[name=confirm]:focus").count():
                break
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Your email address is confirmed")).to_be_visible()
    assert (await agents.shown(site.api, made))["status"] == "pending_review"


async def test_h8_the_code_is_typed_by_keyboard_alone(site: Site) -> None:
    made, mail = await applied(site)
    async with site.donor() as page:
        await page.goto(f"{site.base_url}/confirm/{made['id']}")
        for _ in range(10):
            await page.keyboard.press("Tab")
            if await page.locator("#code:focus").count():
                break
        await page.keyboard.type("12")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_be_focused()
        await page.locator("#code").fill(agents.code_in(mail))
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Your email address is confirmed")).to_be_visible()
    assert (await agents.shown(site.api, made))["status"] == "pending_review"


async def test_h9_every_language_speaks_on_every_page(site: Site, spoken_language: str) -> None:
    spoken = TranslationCatalogues().language(spoken_language)
    made, mail = await applied(site, language=spoken_language)
    assert spoken.text("agent.mail.open") in mail["text"]
    async with site.donor(viewport={"width": 320, "height": 800}) as page:
        await page.goto(agents.link_in(mail))
        await expect(page.locator("h1")).to_have_text(spoken.text("agent.title"))
        assert await page.locator("html").get_attribute("dir") == spoken.direction
        assert (await page.locator("html").get_attribute("lang") or "").split("-")[0] == spoken_language.split("-")[0]
        wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        assert not wide
        await page.locator("button[name=confirm]").click()
        await expect(page.locator("h1")).to_have_text(spoken.text("agent.done.title"))
    assert (await agents.shown(site.api, made))["status"] == "pending_review"


async def test_a_scanner_that_follows_every_link_with_a_browser_changes_nothing(site: Site) -> None:
    made, mail = await applied(site)
    async with site.donor() as page:
        await page.goto(agents.link_in(mail))
        await page.wait_for_load_state("networkidle")
        for link in await page.locator("a[href]").all():
            await page.request.get(f"{site.base_url}{await link.get_attribute('href')}")
        # A script of the scanner's own, on a page of its own, that posts what it saw.
        csrf = await page.locator("input[name=csrf]").first.get_attribute("value")
        form: dict[str, str | float | bool] = {"csrf": csrf or "", "confirm": "yes"}
        answer = await page.request.post(page.url, form=form)
        assert answer.status == 403
    await site.service.drain()
    assert await agents.shown(site.api, made) == made

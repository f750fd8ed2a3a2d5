"""Correcting an address and a number on the page of an application: without scripts, small, in the dark, by axe."""

from itertools import count
from typing import Any, Literal

import pytest
from playwright.async_api import BrowserContext, Page, expect

from almoner.platform.pages.translations import TranslationCatalogues
from tests.pages.site import Site, shortcomings
from tests.support.applications import PERSON, Form, invited
from tests.support.client import data
from tests.support.submissions import ended, shown

PHONE: dict[str, Any] = {"viewport": {"width": 320, "height": 800}}
_numbers = count(1)


async def sent(site: Site, number: str, language: str = "en") -> tuple[Form, dict[str, Any]]:
    """A form that was sent, with a number that no register lists; the record."""
    form = Form(site.service, await invited(site.api, language=language))
    await form.open()
    given = {"country": "USA", "name": "Nobody Knows Us", "registry": "IRS", "website": "www.nobody.example"}
    await form.answer("/nonprofit/other", {**given, "number": number})
    await form.answer("/person", {**PERSON, "email": f"amina{next(_numbers)}@pages.example"})
    await form.answer("/documents/done", {})
    await form.send()
    made = await ended(site.service, site.api, data(await site.api.get("/v1/validation-submissions"))[0])
    return form, made


async def come_back(context: BrowserContext, form: Form, site: Site) -> None:
    """The browser is the one that sent the form."""
    names = form.browser.cookies.items()
    await context.add_cookies(
        [
            {"name": name, "value": value, "url": site.base_url.replace("http:", "https:"), "secure": True}
            for name, value in names
        ]
    )


async def is_fine(page: Page) -> None:
    """Nothing is wrong with it for anybody."""
    assert await shortcomings(page) == [], page.url


async def test_h8_a_slip_is_corrected_by_keyboard_without_scripts_on_a_phone(site: Site) -> None:
    form, made = await sent(site, "99-1234601")
    async with site.donor(java_script_enabled=False, **PHONE) as page:
        await come_back(page.context, form, site)
        await page.goto(f"{site.base_url}/application/{made['id']}")
        await expect(page.locator("h1")).to_have_text("We need more information")
        await expect(page.get_by_text("99-1234601")).to_be_visible()
        await page.locator("#number").fill("99-1234602")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("status")).to_contain_text("We are checking the register")
        await site.service.drain()
        await page.reload()
        await expect(page.locator("#number")).to_have_value("99-1234602")
        await page.locator("#email").fill("right@pages.example")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("status")).to_have_text("We have sent an email to right@pages.example.")
    after = await shown(site.api, made)
    assert after["agentVerification"]["email"] == "right@pages.example"
    assert after["requirements"][0]["registryId"] == "99-1234602"


@pytest.mark.parametrize(("scheme", "language"), [("light", "en"), ("dark", "ar")])
async def test_h8_axe_finds_nothing_while_something_is_corrected(
    site: Site, axe: None, scheme: Literal["light", "dark"], language: str
) -> None:
    spoken = TranslationCatalogues().language(language)
    form, made = await sent(site, "99-1234603", language)
    async with site.donor(color_scheme=scheme, **PHONE) as page:
        await come_back(page.context, form, site)
        for width in (320, 1280):
            await page.set_viewport_size({"width": width, "height": 800})
            await page.goto(f"{site.base_url}/application/{made['id']}")
            await expect(page.locator("html")).to_have_attribute("dir", spoken.direction)
            await is_fine(page)
            await page.locator("#email").fill("wrong")
            await page.locator("form[action$=email] button").click()
            await expect(page.get_by_role("alert")).to_be_focused()
            await expect(page.locator("#email")).to_have_attribute("aria-invalid", "true")
            await is_fine(page)
            await page.locator("#number").fill("twelve")
            await page.locator("form[action$=number] button").click()
            await expect(page.locator("#number")).to_have_attribute("aria-invalid", "true")
            await is_fine(page)
        await page.goto(f"{page.url.removesuffix('/number')}?did=mailed")
        await expect(page.get_by_role("status")).to_be_visible()
        await is_fine(page)

"""The page on which a nonprofit says whether it wants gifts: axe, keyboard, 320 px, no script (H8)."""

from typing import Literal

import pytest
from playwright.async_api import expect

from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.platform.pages.translations import TranslationCatalogues
from tests.pages.site import Site
from tests.pages.test_agents import is_fine
from tests.support import bank
from tests.support.client import data
from tests.support.confirmations import asked, link_in
from tests.support.verifications import shown, simulate

COUNTRIES = {"en": "USA", "de": "DEU", "he": "ISR"}


@pytest.mark.parametrize(("scheme", "language"), [("light", "en"), ("dark", "he"), ("light", "de")])
async def test_h8_axe_finds_nothing_on_any_page_of_the_nonprofit(
    site: Site, axe: None, scheme: Literal["light", "dark"], language: str
) -> None:
    made, mail = await asked(site.service, site.api, name="Hill Road Relief", country=COUNTRIES[language])
    spoken = TranslationCatalogues().language(language)
    async with site.donor(
        color_scheme=scheme, viewport={"width": 320, "height": 800}, java_script_enabled=language != "he"
    ) as page:
        await page.goto(link_in(mail))
        assert "token" not in page.url
        assert await page.locator("html").get_attribute("dir") == spoken.direction
        if language != "he":
            await is_fine(page)
        await page.locator("button[value=confirmed]").click()
        await expect(page.locator("#name")).to_have_attribute("aria-invalid", "true")
        if language != "he":
            await is_fine(page)
        await bank.account(site.service, made["organisationId"])
        await page.locator("#name").fill("Amina El-Sayed")
        await page.locator("#role").fill("Treasurer")
        await page.locator("button[value=confirmed]").click()
        await expect(page.get_by_role("alert")).to_contain_text(spoken.text("payee.changed"))
        await expect(page.locator("#name")).to_have_value("Amina El-Sayed")
        if language != "he":
            await is_fine(page)
        for _ in range(12):
            await page.keyboard.press("Tab")
            if await page.locator("button[value=confirmed]:focus").count():
                break
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_have_text(spoken.text("payee.confirmed.title"))
        if language != "he":
            await is_fine(page)
    assert (await shown(site.api, made))["checks"][3]["status"] == "succeeded"


@pytest.mark.parametrize(("scheme", "language"), [("dark", "en"), ("light", "he")])
async def test_h8_axe_finds_nothing_on_the_page_of_an_account(
    site: Site, axe: None, scheme: Literal["light", "dark"], language: str
) -> None:
    made, mail = await asked(site.service, site.api, name="Hill Road Relief", country=COUNTRIES[language])
    await simulate(site.api, made, "succeed_check", type="organisation_confirmation")
    async with site.service.db.write() as tx:
        await payee_bank_accounts.propose_account(
            tx, bank.proposal(site.service, made["organisationId"]), note="letter", proposed_by="one"
        )
    await site.service.drain()
    stored = data(await site.api.get("/v1/sandbox/mailbox", to=mail["to"]))
    reported = next(one for one in stored if "/payee-account" in link_in(one))
    spoken = TranslationCatalogues().language(language)
    async with site.donor(color_scheme=scheme, viewport={"width": 320, "height": 800}) as page:
        await page.goto(link_in(reported))
        assert "token" not in page.url
        assert await page.locator("html").get_attribute("dir") == spoken.direction
        await is_fine(page)
        for _ in range(12):
            await page.keyboard.press("Tab")
            if await page.locator("main button:focus").count():
                break
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_have_text(spoken.text("payee_account.denied.title"))
        await is_fine(page)

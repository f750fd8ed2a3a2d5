"""The page of a bank transfer in Chromium: axe, 320 px, both directions; its words are in the catalogues (H8, H9)."""

import re
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path

import pytest
from playwright import async_api as playwright
from playwright.async_api import expect

from almoner.giving.donor_emails.jobs import MAILS
from almoner.platform.outbound.mail_rendering import MailRenderer
from tests.pages.site import Site, findings, open_site
from tests.pages.test_pseudo import KEYS, Reader
from tests.support import bank, factories, pseudo
from tests.support.browsing import Browser
from tests.support.card_testing import FORM
from tests.support.database import TestDatabase
from tests.support.service import serving

OTHERS = """
[GBP]
name = "Q"
sort_code = "112233"
account = "12345678"
town = "London"
country = "GBR"

[AUD]
name = "Q"
bsb = "062000"
account = "1234567"
town = "Sydney"
country = "AUS"

[CAD]
name = "Q"
institution = "003"
transit = "12345"
account = "1234567"
town = "Ottawa"
country = "CAN"
"""
COUNTRIES = {"USD": "USA", "EUR": "DEU", "GBP": "GBR", "AUD": "AUS", "CAD": "CAN"}


@pytest.fixture
async def paying(empty_database: TestDatabase, browser: playwright.Browser, tmp_path: Path) -> AsyncIterator[Site]:
    """A site with accounts of its own."""
    file = tmp_path / "accounts.toml"
    file.write_text(bank.OWN)
    async with open_site(empty_database, browser, bank_accounts=file) as made:
        yield made


@pytest.mark.usefixtures("axe")
async def test_h8_axe_finds_nothing_on_details_and_confirmation(paying: Site) -> None:
    for language, currency, scheme in (("en", "EUR", "light"), ("ar", "USD", "dark")):
        session = await paying.session(language=language, currency=currency, country=COUNTRIES[currency])
        options = {"color_scheme": scheme, "viewport": {"width": 320, "height": 800}}
        async with paying.donor(**options) as page:
            await page.goto(session["url"])
            assert await findings(page) == []
            await page.locator("#amount-2500").check()
            for name in ("first_name", "last_name", "email"):
                await page.locator(f"#{name}").fill(FORM[name])
            await page.locator("button[name=way]").click()
            for _ in range(2):
                await page.wait_for_url(re.compile("/transfer$"))
                assert await findings(page) == []
                wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth")
                assert not wide
                assert await page.locator("img.qr").count() == (currency == "EUR")
                if await page.locator("form button").count():
                    async with page.expect_navigation():
                        await page.locator("form button").click()
            await expect(page.get_by_role("status")).to_be_visible()
    assert paying.complaints == []


async def test_h9_no_word_about_a_transfer_is_outside_the_catalogues(
    empty_database: TestDatabase, tmp_path: Path
) -> None:
    catalogues, reader, file = pseudo.catalogues(tmp_path), Reader(), tmp_path / "accounts.toml"
    file.write_text(bank.OWN + OTHERS)
    async with serving(empty_database, catalogues=catalogues, bank_accounts=file) as service:
        api = service.client((await service.tenant()).secret)
        for currency, country in COUNTRIES.items():
            cause = await factories.nonprofit(service, name="Q Q", country=country)
            session = await factories.session(service, api, currency=currency, organisation=cause)
            browser = Browser(service.app, service.db.deployment.base_urls.pages)
            form = await browser.open(session["url"])
            if currency != "GBP":  # HMRC's statement is in English in every language
                reader.page(form.text)
            await browser.post(f"/give/{session['id']}", FORM, way="transfer")
            page = f"/give/{session['id']}/transfer"
            reader.page((await browser.get(page)).text)
            await browser.post(page)
            reader.page((await browser.get(page)).text)
        mails = MailRenderer(service.db.deployment, MAILS, catalogues)
        about = {"organisation": "Q", "name": "Q", "amount": "1", "holder": "Q", "numbers": [("transfer.iban", "1")]}
        reader.mail(pseudo.mail_of(mails, "transfer", {**about, "reference": "1", "until": date(2026, 3, 2)}))
        await api.close()
    named = {key for key in KEYS if key.startswith("transfer.") or key == "give.transfer"}
    assert named - reader.seen == set()

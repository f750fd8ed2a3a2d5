"""Gift aid on the hosted page, in Chromium: the statement, the address, and the declaration that comes of it."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from almoner.giving.gift_aid.declarations.domain import STATEMENT, STATEMENT_SEVERAL
from almoner.platform.pages.translations import TranslationCatalogues
from tests.pages.site import TO_PAYMENT, Site, findings, pay
from tests.support.service import Service

CHARITY = "Thames Reading Trust"
HOME = {"title": "Ms", "house": "12", "road": "St James's Square", "city": "London", "postcode": "sw1y4jh"}


async def opened(site: Site, page: Page, **body: Any) -> dict[str, Any]:
    """The form of a gift to a charity of the United Kingdom, in pounds unless said otherwise."""
    session = await site.session(name=CHARITY, country="GBR", **{"currency": "GBP", "language": "en", **body})
    await page.goto(session["url"])
    return session


async def fill(page: Page) -> None:
    """A gift of ten pounds."""
    await page.locator("input[name=amount]").first.check()
    await page.locator("#first_name").fill("Amina")
    await page.locator("#last_name").fill("El-Sayed")
    await page.locator("#email").fill("amina@example.org")


async def declarations(service: Service) -> list[tuple[Any, ...]]:
    """What was declared, oldest first."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select title, first_name, last_name, building_name_number, road_name, city, country, postcode, user_id, "
            "covers_to - covers_from = interval '1 millisecond' from gift_aid_declaration order by id"
        )
    return [tuple(row) for row in rows]


async def test_a_donor_declares_for_one_gift(site: Site) -> None:
    async with site.donor() as page:
        await opened(site, page)
        statement = page.get_by_label(STATEMENT.format(charity=CHARITY))
        await expect(page.locator("#postcode")).to_be_hidden()
        await statement.check()
        await expect(page.locator("#postcode")).to_be_visible()
        await fill(page)
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await expect(page.get_by_role("alert")).to_contain_text("Enter your postcode for your Gift Aid declaration")
        await expect(page.locator("#title")).to_have_attribute("aria-invalid", "true")
        for name, text in HOME.items():
            await page.locator(f"#{name}").fill(text)
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
        await pay(page)
        await page.wait_for_url("**/thanks")
        await expect(page.get_by_role("main")).to_contain_text(f"You added Gift Aid. {CHARITY} can claim 25p")
    [donation] = [one for one in await site.donations() if one["currencyCode"] == "GBP"][:1]
    assert donation["status"] == "RECEIVED_PAYMENT"
    assert donation["giftAidId"] is not None
    home = ("Ms", "Amina", "El-Sayed", "12", "St James's Square", "London", "United Kingdom", "SW1Y 4JH")
    assert (await declarations(site.service))[-1] == (*home, None, True)
    assert site.complaints == []


async def test_nothing_is_declared_unless_it_is_ticked(site: Site) -> None:
    async with site.donor() as page:
        await opened(site, page)
        before = await declarations(site.service)
        await fill(page)
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
    assert (await site.donations())[0]["giftAidId"] is None
    assert await declarations(site.service) == before


async def test_who_comes_back_and_goes_on_declares_once_and_may_change_it(site: Site) -> None:
    async with site.donor() as page:
        session = await opened(site, page)
        before = len(await declarations(site.service))
        await fill(page)
        await page.locator("#gift_aid").check()
        for name, text in HOME.items():
            await page.locator(f"#{name}").fill(text)
        for _ in range(2):
            await page.get_by_role("button", name=TO_PAYMENT).click()
            await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
            await page.goto(f"{site.base_url}/give/{session['id']}")
            await expect(page.locator("#postcode")).to_have_value("SW1Y 4JH")
        assert len(await declarations(site.service)) == before + 1
        assert (await site.donations())[0]["giftAidId"] is not None
        await page.locator("#gift_aid").uncheck()
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
    assert (await site.donations())[0]["giftAidId"] is None


@pytest.mark.parametrize(("about", "body"), [({"country": "GBR"}, {"currency": "EUR"}), ({}, {"currency": "GBP"})])
async def test_gift_aid_is_offered_for_pounds_to_uk_charities_alone(
    site: Site, about: dict[str, str], body: dict[str, str]
) -> None:
    async with site.donor() as page:
        session = await site.session(**about, **body)
        await page.goto(session["url"])
        await expect(page.locator("#email")).to_be_visible()
        await expect(page.locator("#gift_aid")).to_have_count(0)


@pytest.mark.usefixtures("axe")
async def test_h8_h9_the_statement_stays_in_english_and_is_explained(site: Site, spoken_language: str) -> None:
    async with site.donor(viewport={"width": 320, "height": 700}) as page:
        await opened(site, page, language=spoken_language)
        await page.locator("#gift_aid").check()
        label = page.locator("label[for=gift_aid]")
        await expect(label).to_have_text(STATEMENT.format(charity=CHARITY))
        await expect(label).to_have_attribute("lang", "en")
        words = TranslationCatalogues().language(spoken_language).text("give.giftaid.meaning")
        await expect(page.locator("#gift_aid-hint")).to_contain_text(
            words if spoken_language != "en" else "HMRC needs your name and home address"
        )
        assert await findings(page) == []
        await page.locator("form button[type=submit]").first.click()
        await expect(page.locator("#title-problem")).to_be_visible()
        assert await findings(page) == []
        assert not await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"), (
            "nothing is wider than a small window"
        )


async def test_a_regular_donation_has_the_declaration_for_several_and_a_single_one_its_own(site: Site) -> None:
    async with site.donor(java_script_enabled=False) as page:
        await opened(site, page, frequencies=["one_time", "monthly"])
        once, several = (text.format(charity=CHARITY) for text in (STATEMENT, STATEMENT_SEVERAL))
        await page.locator("#frequency-one_time").check(force=True)
        await expect(page.get_by_role("checkbox", name=once, exact=True)).to_be_visible()
        await page.locator("#frequency-monthly").check(force=True)
        await page.get_by_role("checkbox", name=several, exact=True).check()
        await fill(page)
        for name, text in HOME.items():
            await page.locator(f"#{name}").fill(text)
        await page.locator(".actions button").first.click()
        await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
        await pay(page)
        await page.wait_for_url("**/thanks")
    async with site.service.db.read() as tx:
        newest = await tx.fetchrow(
            "select organisation_id is not null, covers_to is null from gift_aid_declaration order by id desc limit 1"
        )
    assert newest is not None
    assert tuple(newest) == (True, True)

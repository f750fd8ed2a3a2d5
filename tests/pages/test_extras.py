"""What a donor may add: the fee, and a word to the nonprofit (spec 2.8; H8)."""

import re

import pytest
from playwright.async_api import expect

from tests.pages.site import TO_PAYMENT, Site, fill, findings, pay


async def test_a_donor_who_covers_the_fee_sees_the_total_before_paying(site: Site) -> None:
    session = await site.session()
    async with site.donor() as page:
        await page.goto(session["url"])
        label = page.locator('label[for="amount-2500"]')
        assert await label.evaluate("label => getComputedStyle(label, '::after').content") == "none"
        await page.get_by_label("Cover the payment fee").check()
        assert await label.evaluate("label => getComputedStyle(label, '::after').content") == '"$25.64 in total"'
        await page.locator("#amount-other").check()
        await page.locator("#typed").fill("25")
        await expect(page.locator("#typed-total")).to_have_text("$25.64 in total")
        await expect(page.locator("#sum-typed")).to_have_text("Donate $25.64")
        await fill(page, amount="$25")
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("$25.64")
        await pay(page)
        await page.wait_for_url("**/thanks")
        bill = page.locator(".bill")
        await expect(bill).to_contain_text("Your donation$25.00")
        await expect(bill).to_contain_text("Payment fee covered$0.64")
        await expect(bill.locator(".total")).to_have_text("Total$25.64")
    donation = (await site.donations())[0]
    assert donation["amount"] == 2564
    async with site.service.db.read() as tx:
        row = await tx.fetchrow(
            "select amount_minor, cover_minor, message from donation where id = $1",
            tx.ids.decode("donation", donation["id"]),
        )
    assert row is not None
    assert tuple(row) == (2564, 64, None)
    assert site.complaints == []


async def test_the_button_names_a_typed_amount_as_it_is_charged_or_not_at_all(site: Site) -> None:
    for country, currency, language, typed, shown in (
        ("KWT", "KWD", "en", "1,500", "1,500.000"),
        ("KWT", "KWD", "en", "1.500", "1.500"),
        ("JPN", "JPY", "ja", "1万", None),
        ("JPN", "JPY", "ja", "1,500円", "1,500"),
        ("DNK", "DKK", "en", "kr. 50", "50.00"),
        ("USA", "USD", "de", "1.234,50", "1.234,50"),
        ("USA", "USD", "en", "1.234", None),
    ):
        session = await site.session(country=country, currency=currency, language=language)
        async with site.donor() as page:
            await page.goto(session["url"])
            await page.locator("#amount-other").check()
            await page.locator("#typed").fill(typed)
            named = page.locator("#sum-typed")
            if shown is None:
                await expect(named).to_be_empty()
                await expect(page.locator(".sum-open")).to_be_visible()
            else:
                await expect(named).to_contain_text(re.compile(rf"(?<![\d.,]){re.escape(shown)}(?![\d.,])"))
    assert site.complaints == []


@pytest.mark.parametrize("language", ["en", pytest.param("ja", marks=pytest.mark.long)])
async def test_a_message_reaches_the_donation_and_no_event(site: Site, language: str) -> None:
    session = await site.session(language=language)
    words = "For the café 🦁\nwith <b>thanks</b>"
    async with site.donor() as page:
        await page.goto(session["url"])
        await page.locator("#amount-other").check()
        for name, text in (("typed", "20"), ("first_name", "Amina"), ("last_name", "K"), ("email", "wrong")):
            await page.locator(f"#{name}").fill(text)
        await page.locator(".word summary").click()
        await page.locator("#message").fill(words)
        await page.locator("button[type=submit]").click()
        await expect(page.locator("#message")).to_have_value(words)  # kept while another field is wrong
        await page.locator("#email").fill("amina@example.org")
        await page.locator("button[type=submit]").click()
        await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
        for name, text in (("number", "4242424242424242"), ("expiry", "12/30"), ("cvc", "123"), ("name", "A")):
            await page.locator(f"#{name}").fill(text)
        await page.locator("button[type=submit]").click()
        await page.wait_for_url("**/thanks")
    donation = (await site.donations())[0]
    await site.service.drain()
    async with site.service.db.read() as tx:
        stored = await tx.fetchval(
            "select message from donation where id = $1", tx.ids.decode("donation", donation["id"])
        )
        reported = await tx.fetchval("select count(*) from event where convert_from(payload, 'UTF8') like '%café 🦁%'")
    assert stored == words
    assert reported == 0
    assert site.complaints == []


@pytest.mark.usefixtures("axe")
async def test_h8_a_message_that_is_too_long_is_told_at_its_field(site: Site) -> None:
    session = await site.session()
    async with site.donor(viewport={"width": 320, "height": 700}) as page:
        await page.goto(session["url"])
        await fill(page)
        await page.get_by_label("Cover the payment fee").check()
        await page.locator(".word summary").click()
        await page.locator("#message").evaluate("area => area.removeAttribute('maxlength')")
        await page.locator("#message").fill("x" * 501)
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await page.get_by_role("link", name="Message must be 500 characters or fewer").click()
        await expect(page.locator("#message")).to_be_focused()
        await expect(page.locator("#message")).to_have_attribute("aria-invalid", "true")
        await expect(page.get_by_label("Cover the payment fee")).to_be_checked()
        assert await findings(page) == []
        assert not await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")

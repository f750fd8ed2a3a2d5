"""The receipt: one mail for one paid gift, in the donor's language, in both forms (spec 4.8)."""

import re
from datetime import timedelta
from typing import Literal

import pytest
from playwright.async_api import expect

from tests.pages.site import GOOD, TO_PAYMENT, Site, fill, findings, pay


async def give(site: Site, *, anonymous: bool = False, **body: str) -> tuple[dict[str, str], str]:
    """A gift paid in the browser: its session, and the reference that the thank-you page shows."""
    session = await site.session(**body)
    async with site.donor() as page:
        await page.goto(session["url"])
        await page.locator("#amount-other").check()
        await page.locator("#typed").fill("12,34" if body.get("language") == "de" else "12.34")
        for field, text in (("first_name", "Amina"), ("last_name", "K"), ("email", "amina.receipt@example.org")):
            await page.locator(f"#{field}").fill(text)
        if anonymous:
            await page.locator("#anonymous").check()
        await page.locator("button[type=submit]").click()
        for field, text in (("number", GOOD), ("expiry", "12/30"), ("cvc", "123"), ("name", "Amina")):
            await page.locator(f"#{field}").fill(text)
        await page.locator("button[type=submit]").click()
        await page.wait_for_url("**/thanks")
        return session, await page.locator(".code").inner_text()


async def mails(site: Site, reference: str) -> list[dict[str, str]]:
    """What the mailbox holds about one donation."""
    await site.service.drain()
    async with site.service.db.read() as tx:
        rows = await tx.fetch("select * from sandbox_mail where text like $1", f"%{reference}%")
    return [dict(row) for row in rows]


async def test_a_paid_gift_is_followed_by_one_receipt(site: Site) -> None:
    _, reference = await give(site, name="Fish & <Chips> Trust")
    [mail] = await mails(site, reference)
    assert mail["recipient"] == "amina.receipt@example.org"
    assert mail["subject"] == "Your receipt for $12.34 to Fish & <Chips> Trust"
    for fact in ("Thank you, Amina.", "$12.34", "Internal Revenue Service (IRS)", reference, "No real money moved."):
        assert fact in mail["text"]
        assert fact in re.sub("</?bdi>", "", mail["html"])
    assert "Fish & <Chips> Trust" in mail["text"]
    assert "Fish &amp; &lt;Chips&gt; Trust" in mail["html"]
    assert "<Chips>" not in mail["html"]
    assert "anonymously" not in mail["text"]
    await site.provider.deliver_due_callbacks()
    await site.service.drain()
    assert len(await mails(site, reference)) == 1


async def test_h9_a_receipt_in_arabic_says_that_the_gift_was_anonymous(site: Site) -> None:
    _, reference = await give(site, language="ar", anonymous=True)
    [mail] = await mails(site, reference)
    assert mail["subject"].startswith("إيصالك:")
    assert 'dir="rtl"' in mail["html"]
    assert "دون ذكر الاسم" in mail["text"]
    assert f"\u2068{reference}\u2069" in mail["text"]  # else a number with a hyphen would be read backwards


BROKEN_WORDS = """
    () => {
        const broken = [];
        const words = /(?<![\\p{L}\\p{N}_])[\\p{L}\\p{M}]{4,}(?![\\p{L}\\p{N}_])/gu;
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            for (const word of walker.currentNode.data.matchAll(words)) {
                const range = document.createRange();
                range.setStart(walker.currentNode, word.index);
                range.setEnd(walker.currentNode, word.index + word[0].length);
                const lines = new Set(Array.from(range.getClientRects(), (box) => Math.round(box.top)));
                if (lines.size > 1) broken.push(word[0]);
            }
        }
        return broken;
    }
"""
"""Hyphenation is switched off before: what then stands on two lines was cut anywhere."""


@pytest.mark.usefixtures("axe")
async def test_h8_axe_finds_nothing_in_a_receipt_and_no_word_is_cut(site: Site) -> None:
    _, reference = await give(site, language="de")
    [mail] = await mails(site, reference)
    async with site.donor(viewport={"width": 320, "height": 640}) as page:
        await page.set_content(mail["html"])
        assert [found for found in await findings(page) if not found.startswith(("region:", "landmark"))] == []
        assert not await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        await page.add_style_tag(content="* { hyphens: manual !important }")
        assert await page.evaluate(BROKEN_WORDS) == []


async def test_no_receipt_without_the_money(site: Site) -> None:
    session = await site.session()
    async with site.donor() as page:
        await page.goto(session["url"])
        await fill(page, email="never@example.org")
        await page.get_by_role("button", name=TO_PAYMENT).click()
        await page.wait_for_url(f"{site.provider_url}/pay/tp_*")
        await pay(page, "4000000000000002")
    await site.service.drain()
    async with site.service.db.read() as tx:
        assert await tx.fetchval("select count(*) from sandbox_mail where recipient = 'never@example.org'") == 0


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_h8_the_mailbox_page_shows_the_receipt_and_axe_finds_nothing(
    site: Site, scheme: Literal["light", "dark"]
) -> None:
    async with site.service.db.read() as tx:  # the page has the newest mails of all, also of tests ahead in time
        newest = await tx.fetchval("select max(created_at) from sandbox_mail")
        ahead = newest - tx.now if newest else timedelta()
    site.service.clock.advance(seconds=max(0, ahead.total_seconds()) + 1)
    await give(site, name="Mailbox Trust")
    await site.service.drain()
    async with site.donor(color_scheme=scheme, viewport={"width": 320, "height": 640}) as page:
        await page.goto(f"{site.base_url}/sandbox/mailbox")
        await expect(page.get_by_text("to Mailbox Trust").first).to_be_visible()
        assert await findings(page) == []
        assert not await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert site.complaints == []

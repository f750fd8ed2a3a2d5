"""The private page of a gift: where it is now, for whoever has the link in its receipt (spec 4.8; H1, H3, H8, H9)."""

from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID, uuid4

import httpx
import pytest
from playwright.async_api import Page, expect

from almoner.giving.receipts.domain import PAGE_PURPOSE
from tests.pages.site import Site, cases, findings
from tests.support import factories, payouts


@dataclass(frozen=True, slots=True)
class Given:
    """A gift with its receipt. ``link``: the private one of its mail; ``file``: what the mail brings."""

    id: UUID
    link: str
    file: dict[str, Any]


async def give(site: Site, *, language: str = "en", **gift: Any) -> Given:
    """A donor gives, and the receipt comes."""
    organisation = await factories.nonprofit(site.service, name="Relief Fund")
    session = await factories.session(site.service, site.api, organisation=organisation, language=language)
    email = f"{uuid4().hex}@example.org"
    donor = {"amount": 2500, "currencyCode": "USD", "firstName": "Ada", "lastName": "Byron", "email": email}
    await site.api.post("/v1/sandbox/simulate", {"id": session["id"], "action": "donate", **donor, **gift})
    await site.service.drain()
    [mail] = (await site.api.get("/v1/sandbox/mailbox", to=email)).json()["data"]
    [link] = [link for link in mail["links"] if "/gift?" in link]
    donation_id = site.service.db.deployment.vault.read_page_token(PAGE_PURPOSE, link.partition("token=")[2])
    assert donation_id is not None
    return Given(donation_id, link, mail["attachments"][0])


async def stages(page: Page) -> list[tuple[str | None, str]]:
    """Each stage as it looks, with its title."""
    return [
        (await stage.get_attribute("class"), " ".join((await stage.locator(".stage").inner_text()).split()))
        for stage in await page.locator(".journey li").all()
    ]


async def test_h1_the_link_opens_the_gift_and_leaves_the_address(site: Site) -> None:
    gift = await give(site)
    async with site.donor() as page:
        await page.goto(gift.link)
        assert "token" not in page.url
        await expect(page.get_by_role("heading", name="Status of your donation")).to_be_visible()
        assert await stages(page) == [
            ("reached", "Donation received (completed)"),
            ("current", "Payment clears"),
            ("ahead", "Payment to Relief Fund"),
        ]
        await expect(page.locator("[aria-current=step]")).to_contain_text("This usually takes a few days.")
        address = page.url
    async with site.donor() as page:
        answer = await page.goto(address)
        assert answer is not None
        assert answer.status == 404
        await expect(page.get_by_role("heading", name="Use the link in your receipt to open this page")).to_be_visible()
    assert all("token" not in (referer or "") for _, _, referer in site.seen)


@pytest.mark.usefixtures("axe")
async def test_a_gift_is_followed_until_it_is_sent(site: Site) -> None:
    gift = await give(site)
    named = site.service.db.deployment.ids.encode("donation", gift.id)
    other = await factories.nonprofit(site.service, name="Other Fund")
    async with site.donor() as page:
        await page.goto(gift.link)
        await payouts.simulate(site.api, named, "reassign", organisationId=other)
        await payouts.simulate(site.api, named, "settle")
        await page.reload()
        assert [look for look, _ in await stages(page)] == ["reached", "reached", "current"]
        await expect(page.get_by_text("Payment cleared")).to_be_visible()
        await expect(page.locator(".notice")).to_contain_text(
            "Your donation was reassigned from Relief Fund to Other Fund on "
        )
        await expect(page.locator(".facts")).to_contain_text("Registered with")
        await expect(page.locator("[aria-current=step]")).to_contain_text("We are verifying Other Fund")
        assert await findings(page) == []
        await payouts.verified(site.service, site.api, other)
        await payouts.simulate(site.api, named, "disburse")
        await page.reload()
        assert [look for look, _ in await stages(page)] == ["reached"] * 3
        await expect(page.locator("[aria-current=step]")).to_have_count(0)
        await expect(page.get_by_text("Payment to Other Fund")).to_be_visible()
        assert await findings(page) == []


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("language", ["en", "ar", pytest.param("ja", marks=pytest.mark.long)])
async def test_a_gift_that_goes_back_says_so_and_a_whole_refund_voids_the_receipt(site: Site, language: str) -> None:
    gift = await give(site, language=language)
    named = site.service.db.deployment.ids.encode("donation", gift.id)
    async with site.donor() as page:
        await page.goto(gift.link)
        await payouts.simulate(site.api, named, "refund", amount=1000)
        await page.reload()
        assert len(await stages(page)) == 3
        if language == "en":
            reported = await page.locator(".notice").inner_text()
            assert "$10.00 of your donation was refunded on " in reported
            assert "$15.00 stays with the nonprofit" in reported
        assert await findings(page) == []
        await payouts.simulate(site.api, named, "refund")
        await page.reload()
        assert await stages(page) == []
        if language == "en":
            await expect(page.locator(".notice")).to_contain_text("Your receipt is no longer valid.")
        assert await findings(page) == []
    assert site.complaints == []


async def test_the_receipt_is_downloaded_again_byte_for_byte_without_scripts(site: Site) -> None:
    gift = await give(site)
    async with site.donor(java_script_enabled=False) as page:
        attached = await page.request.get(gift.file["url"])
        await page.goto(gift.link)
        async with page.expect_download() as waiting:
            await page.get_by_role("link", name="Download receipt (PDF)").click()
        download = await waiting.value
        assert download.suggested_filename == gift.file["name"]
        assert (await download.path()).read_bytes() == await attached.body()


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize(
    ("language", "scheme"),
    cases(
        ["en", "ar", "ja", "he", "uk"],
        ["light", "dark"],
        short=[("en", "light"), ("ar", "dark"), ("ja", "dark"), ("uk", "light")],
    ),
)
async def test_h8_axe_finds_nothing_and_nothing_is_cut_off(
    site: Site, language: str, scheme: Literal["light", "dark"]
) -> None:
    gift = await give(site, language=language)
    async with site.donor(color_scheme=scheme, viewport={"width": 320, "height": 640}) as page:
        await page.goto(gift.link)
        assert await page.locator("html").get_attribute("dir") == ("rtl" if language in ("ar", "he") else "ltr")
        assert await findings(page) == []
        assert not await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        await page.goto(gift.link[:-3] + "AAA")
        assert await findings(page) == []
    assert site.complaints == []


async def test_h3_the_answers_are_kept_by_nobody(site: Site) -> None:
    gift = await give(site)
    async with site.donor() as page:
        answers = []
        page.on("response", lambda answer: answers.append(answer))
        await page.goto(gift.link)
        pages = [answer for answer in answers if "/gift" in answer.url]
        assert [answer.status for answer in pages] == [303, 200]
        async with httpx.AsyncClient() as client:
            cookies = await page.context.cookies(pages[1].url)
            stored = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in cookies)
            document = await client.get(f"{pages[1].url}/receipt.pdf", headers={"Cookie": stored})
        assert document.headers["content-type"] == "application/pdf"
        for headers in (*[await answer.all_headers() for answer in pages], document.headers):
            assert headers["cache-control"] == "no-store"
            assert headers["referrer-policy"] == "same-origin"
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "noindex" in (await pages[1].all_headers())["x-robots-tag"]

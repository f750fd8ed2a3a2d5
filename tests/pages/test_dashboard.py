"""The dashboard in a browser: journeys of the people who use it every day, by keyboard and on a phone."""

import pytest
from playwright.async_api import Page, expect

from almoner.access.people.domain import MemberRole
from tests.pages.accounts import Acme, acme, is_fine, sign_in
from tests.pages.site import Site
from tests.support import factories, people, submissions
from tests.support.applications import QUESTIONS
from tests.support.client import data
from tests.support.regular_gifts import begin_plan

OLIVE = "olive@example.org"
LANGUAGES = ("ar", "en", "de", "ja")
PHONE = {"width": 320, "height": 700}


async def enter(here: Acme, page: Page, role: MemberRole, path: str) -> None:
    """Sign somebody with the role in, and open a page."""
    olive = await here.member(role, name=OLIVE)
    app = await people.authenticator(here.site.service, olive)
    await page.goto(here.home + path)
    await sign_in(page, OLIVE)
    await page.locator("#code").fill(people.code(here.site.service, app))
    await page.locator("form:has(#code) button[type=submit]").click()
    await page.wait_for_url(here.home + path)


async def test_by_keyboard_finance_finds_a_donation_by_email_and_refunds_a_part(site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    await factories.donation(site.service, api, email="nia@example.org")
    await site.service.drain()
    async with site.donor() as page:
        await enter(here, page, "finance", "/home")
        await page.get_by_label("Search everything").focus()
        await page.keyboard.type("nia@example.org")
        await page.keyboard.press("Enter")
        await page.locator("main .rows a").first.focus()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="$25.00")).to_be_visible()
        await page.get_by_role("link", name="Refund").focus()
        await page.keyboard.press("Enter")
        await page.get_by_label("Amount in USD").focus()
        await page.keyboard.press("Control+A")
        await page.keyboard.type("10.00")
        await page.keyboard.press("Enter")
        await expect(page.locator(".notice")).to_contain_text("The refund has started.")
        await site.service.drain()
        await page.reload()
        await expect(page.get_by_text("Refunded: $10.00")).to_be_visible()
    await api.close()


async def test_hits_appear_as_one_types_and_are_reached_by_arrows(site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    gift = await factories.donation(site.service, api, email="nia@example.org", firstName="Niamh")
    await site.service.drain()
    async with site.donor() as page:
        await enter(here, page, "support", "/search?q=niamh")
        search, hits = page.get_by_label("Search everything"), page.locator(".search-hits")
        await search.focus()
        await page.keyboard.type("nia@ex")
        await expect(hits.get_by_role("link")).to_have_count(1)
        await expect(page.get_by_role("status").get_by_text("1 result")).to_have_count(1)
        await page.keyboard.press("Escape")
        await expect(hits).to_be_hidden()
        await page.keyboard.type("q")
        await expect(hits.get_by_text("No results for")).to_be_visible()
        await page.keyboard.press("Backspace")
        await expect(hits.get_by_role("link")).to_have_count(1)
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{here.home}/donations/{gift['id']}")
        assert site.complaints == []
    await api.close()


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize(
    ("width", "language"),
    [
        (1440, "en"),
        (320, "ar"),
        *(
            pytest.param(width, language, marks=pytest.mark.long)
            for width in (320, 768, 1440)
            for language in LANGUAGES
        ),
    ],
)
async def test_every_kind_of_page_is_fine(width: int, language: str, site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    gift = await factories.donation(site.service, api)
    hook = await factories.subscription(api)
    link = await factories.giving_link(site.service, api, currencies=["USD"], suggestedAmounts=[1000])
    form = await submissions.configured(api, "validation_request", "compliance", partnerFields=QUESTIONS)
    invite = data(await api.post("/v1/validation-invites", {"language": "ar", "hostedConfigId": form}))
    plan = await begin_plan(site.service, api)
    paid = await factories.disbursement(site.service, api)
    submission = await submissions.of_organisation(site.service, api)
    await site.service.drain()
    event = data(await api.get("/v1/events"))[0]
    async with site.donor(viewport={"width": width, "height": 900}, locale=language) as page:
        await enter(here, page, "owner", "/home")
        for path in (
            "/home",
            "/donations",
            "/donations?status=RECEIVED_PAYMENT&email=ada%40example.org",
            "/donations?status=DISBURSED",
            "/donations?startDate=never",
            "/donations?sort=createdAt&direction=ASC",
            "/donations?sort=status&direction=ASC",
            f"/donations/{gift['id']}",
            f"/donations/{gift['id']}/refund",
            f"/donations/{gift['id']}/receipt",
            f"/disbursements/{paid['id']}",
            "/validation-requests/new",
            f"/validation-submissions/{submission['id']}",
            "/events",
            f"/events/{event['id']}",
            "/validation-invites",
            "/validation-invites/new",
            "/donation-sessions/new",
            "/giving-links/new",
            f"/giving-links/{link['id']}",
            f"/giving-links/{link['id']}/edit",
            f"/giving-links/{link['id']}/image",
            f"/donations/{gift['id']}/reassign",
            "/donations?sort=amount&direction=DESC",
            "/regular-donations?sort=nextDonationAt&direction=ASC",
            f"/regular-donations/{plan.id}",
            f"/regular-donations/{plan.id}/change",
            f"/regular-donations/{plan.id}/pause",
            "/reports",
            "/reports/2025-12",
            "/reports/2025-12/close",
            "/application-forms",
            "/application-forms/new",
            f"/application-forms/{form}",
            f"/application-forms/{form}/edit",
            f"/application-forms/{form}/logo",
            f"/application-forms/{form}/questions",
            f"/application-forms/{form}/questions/new",
            f"/application-forms/{form}/questions/edit?question=size",
            f"/application-forms/{form}/questions/remove?question=size",
            f"/validation-invites/{invite['id']}",
            "/audit",
            "/provider",
            "/nonprofits",
            f"/nonprofits/{gift['organisationId']}",
            "/request-log",
            "/support-refunds",
            "/preferences",
            "/gallery",
            "/views",
            "/exports",
            "/exports?list=/donations&query=status%3DACTIVE",
            "/brand",
            "/limits",
            "/webhooks",
            "/webhooks/new",
            f"/webhooks/{hook['id']}",
            f"/webhooks/{hook['id']}/replay",
            f"/webhooks/{hook['id']}/rotate-secret",
            f"/webhooks/{hook['id']}/delete",
            "/search?q=nothing+at+all",
        ):
            await page.goto(here.home + path)
            await is_fine(page)
        await page.locator("#search").fill(gift["email"])
        await page.locator(".search-hits a").first.wait_for()
        await is_fine(page)
    await api.close()


async def test_on_a_phone_the_navigation_opens_without_script(site: Site) -> None:
    here = await acme(site)
    async with site.donor(viewport=PHONE, java_script_enabled=False) as page:
        await enter(here, page, "read_only", "/home")
        await page.get_by_role("button", name="Menu").click()
        await page.get_by_role("link", name="Disbursements").click()
        await expect(page.get_by_role("heading", name="Disbursements")).to_be_visible()
        await expect(page.get_by_text("No entries yet.")).to_be_visible()


async def test_single_letters_move_and_never_act_and_can_be_switched_off(site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    await factories.donation(site.service, api)
    await factories.donation(site.service, api)
    await api.close()
    async with site.donor() as page:
        await enter(here, page, "owner", "/home")
        await page.keyboard.press("g")
        await page.keyboard.press("d")
        await page.wait_for_url(here.home + "/donations")
        await page.keyboard.press("j")
        await page.keyboard.press("j")
        await expect(page.locator(".sheet tbody a").nth(1)).to_be_focused()
        await page.keyboard.press("k")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="$25.00")).to_be_visible()
        await page.wait_for_load_state()  # the keys are a script's
        await page.keyboard.press("/")
        await page.keyboard.type("g?")  # in a field they are letters
        await expect(page.get_by_label("Search everything")).to_have_value("g?")
        await page.get_by_role("heading", name="$25.00").click()
        await page.keyboard.press("?")
        await page.get_by_label("Use single-letter shortcuts").uncheck()
        await page.get_by_role("button", name="Close").click()
        await page.reload()
        await page.keyboard.press("g")
        await page.keyboard.press("h")
        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(page.get_by_role("heading", name="$25.00")).to_be_visible()
        assert site.complaints == []

"""A finance operator's work in a browser: a statement from upload to its lines, by keyboard, and the books."""

import pytest
from playwright.async_api import FilePayload, Page, expect

from almoner.access.people.domain import OPERATORS
from tests.pages.accounts import acme, is_fine, sign_in
from tests.pages.site import Site
from tests.support import camt, people, requests
from tests.support.factories import unique

PATHS = (
    *("/desk", "/money", "/month-end", "/ledger", "/ledger/export", "/ledger/transfers?q=none"),
    *("/bank-statement-lines", "/settlements/import", "/payment-files", "/payment-files/bank-answer"),
    *("/payee-accounts/propose", "/disbursements", "/disbursements/run", "/gift-aid-claims/draft", "/refunds/new"),
    *("/donation-requests", "/donation-requests/overpayments", "/donation-requests/run", "/receipt-donees"),
    *("/receipt-donees/propose", "/disbursements/reassign", "/gift-aid-claims/cancel-declaration"),
)


async def enter(site: Site, page: Page, path: str) -> None:
    """A new finance operator signs in and gets to a page."""
    name = f"{unique('fin').replace(' ', '')}@example.org"
    olive = await people.person(site.service, OPERATORS, name, "finance")
    secret = await people.authenticator(site.service, olive)
    await page.goto(f"{site.base_url}/operator{path}")
    await page.wait_for_url("**/operator/sign-in**")
    await sign_in(page, name)
    await page.get_by_label("Code").fill(people.code(site.service, secret))
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(f"**{path}")


@pytest.mark.usefixtures("axe")
async def test_a_statement_is_booked_and_a_line_dismissed_by_keyboard(site: Site) -> None:
    words = unique("Fee").replace(" ", "")
    other = unique("Other").replace(" ", "")
    lines = camt.entry(words, 777, words=words), camt.entry(other, 778, words=other)
    statement = camt.statement(*lines, reference=words)
    async with site.donor(viewport={"width": 1280, "height": 900}) as page:
        await enter(site, page, "/bank-statements/upload")
        await is_fine(page)
        await page.locator("#file").set_input_files(FilePayload(name="s.xml", mimeType="text/xml", buffer=statement))
        await page.get_by_role("button", name="Upload and preview").click()
        await expect(page.get_by_role("heading", name="Nothing is booked yet")).to_be_visible()
        await is_fine(page)
        await page.get_by_role("button", name="Book statement").focus()
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/bank-statement-lines**")
        await page.goto(f"{site.base_url}/operator/bank-statement-lines?status=open&amount=7.77")
        await is_fine(page)
        await page.keyboard.press("j")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Possible match")).to_be_visible()
        await is_fine(page)
        await page.keyboard.press("d")
        await expect(page.get_by_role("heading", name="Dismiss line")).to_be_visible()
        await is_fine(page)
        await page.get_by_label("Evidence").fill("the bank's fee")
        await page.get_by_role("button", name="Dismiss line").focus()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("status").filter(has_text="Dismissed.")).to_be_visible()
        await page.wait_for_load_state()  # the keys are a script's
        await page.keyboard.press("n")
        await expect(page.get_by_role("heading", name="Possible match")).to_be_visible()
    assert site.complaints == []


@pytest.mark.usefixtures("axe")
async def test_a_payment_of_a_donation_request_is_recorded_by_keyboard(site: Site) -> None:
    api = site.service.client((await acme(site)).tenant.secret)
    request = await requests.asked(site.service, api, 5000)
    async with site.donor(viewport={"width": 1280, "height": 900}) as page:
        await enter(site, page, f"/donation-requests/{request['id']}")
        await is_fine(page)
        await page.keyboard.press("p")
        await expect(page.get_by_role("heading", name="Record a payment")).to_be_visible()
        await is_fine(page)
        await page.get_by_label("Amount received").fill("60")
        await page.get_by_label("Bank's reference").fill(unique("wire"))
        await page.get_by_role("button", name="Record a payment").press("Enter")
        await expect(page.get_by_role("status").filter(has_text="Part of it is an overpayment")).to_be_visible()
        await is_fine(page)
        await page.locator("#table-1 + .sheet").get_by_role("link").press("Enter")
        await expect(page.get_by_role("heading", name="Payment of")).to_be_visible()
        await is_fine(page)
        await page.keyboard.press("r")
        await page.get_by_label("Reason").fill("sent back")
        await page.get_by_role("button", name="Record as returned").press("Enter")
        await expect(page.get_by_role("status").filter(has_text="recorded as returned")).to_be_visible()
    assert site.complaints == []
    await api.close()


@pytest.mark.long
@pytest.mark.usefixtures("axe")
async def test_every_page_about_money_is_accessible(site: Site) -> None:
    async with site.donor(viewport={"width": 1280, "height": 900}) as page:
        await enter(site, page, "/money")
        for path in PATHS:
            await page.goto(f"{site.base_url}/operator{path}")
            await is_fine(page)
    assert site.complaints == []

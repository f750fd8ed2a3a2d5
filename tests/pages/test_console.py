"""A reviewer at the console, in a browser and by keyboard."""

import pytest
from playwright.async_api import Page, expect

from almoner.access.people.domain import OPERATORS, OperatorRole
from tests.pages.accounts import acme, is_fine, sign_in
from tests.pages.site import Site
from tests.support import hostile_pdfs, people
from tests.support.factories import unique
from tests.support.validation import UNHEARD_OF, decided

MISPLACED_CELLS = """tables => tables.flatMap(table => [...table.tHead.rows[0].cells].filter((head, at) =>
    Math.abs(head.getBoundingClientRect().x - table.tBodies[0].rows[0].cells[at].getBoundingClientRect().x) > 1
).map(head => head.textContent))"""
"""Headings of columns that do not stand above their cells."""
FITS = "sheet => sheet.scrollWidth <= sheet.clientWidth"
"""Whether a table is whole without scrolling."""


async def enter(site: Site, page: Page, path: str, *roles: OperatorRole) -> None:
    """Sign in as a new operator, at a page of the console."""
    name = f"{unique('op').replace(' ', '')}@example.org"
    person = await people.person(site.service, OPERATORS, name, *roles)
    secret = await people.authenticator(site.service, person)
    await page.goto(f"{site.base_url}/operator{path}")
    await page.wait_for_url("**/operator/sign-in**")
    await sign_in(page, name)
    await page.get_by_label("Code").fill(people.code(site.service, secret))
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(f"**/operator{path}")


@pytest.mark.usefixtures("axe")
async def test_a_reviewer_decides_by_keyboard(site: Site) -> None:
    api = site.service.client((await acme(site)).tenant.secret)
    made = await decided(site.service, api, **UNHEARD_OF, name="Аid for Rivers")  # the first letter is Cyrillic
    async with site.donor(viewport={"width": 1280, "height": 900}) as page:
        await enter(site, page, "/desk", "reviewer", "administrator")
        await is_fine(page)
        await page.keyboard.press("g")
        await page.keyboard.press("r")
        await page.wait_for_url("**/operator/reviews")
        for width in (1024, 1280):
            await page.set_viewport_size({"width": width, "height": 900})
            assert await page.locator(".sheet").evaluate(FITS), f"cut at {width}"
        await is_fine(page)
        await page.goto(f"{site.base_url}/operator/reviews/{made['id']}")
        await page.get_by_role("button", name="Claim this case").press("Enter")
        await expect(page.get_by_text("(15 min)")).to_be_visible()
        await expect(page.get_by_text("U+0410")).to_be_visible()
        assert await page.get_by_role("table").evaluate_all(MISPLACED_CELLS) == []
        await is_fine(page)
        await page.keyboard.press("h")
        await page.wait_for_url("**#decisions")
        await page.keyboard.press("c")
        await page.wait_for_url("**/conflict")
        await page.go_back()
        await page.keyboard.press("x")
        await page.wait_for_url("**/reject")
        await is_fine(page)
        await page.get_by_label("Reason").select_option("not_eligible")
        await page.get_by_label("Evidence").fill("No register has it")
        await page.get_by_role("button", name="Reject this nonprofit").press("Enter")
        await page.wait_for_url("**done=rejected")
        await expect(page.get_by_text("No register has it")).to_be_visible()
        for path in ("/reviews/second-looks", "/reviews/figures", "/reviews?due=within+a+day"):
            await page.goto(f"{site.base_url}/operator{path}")
            await is_fine(page)
    assert site.complaints == []
    await api.close()


@pytest.mark.usefixtures("axe")
async def test_a_case_fits_a_telephone(site: Site) -> None:
    api = site.service.client((await acme(site)).tenant.secret)
    made = await decided(site.service, api, **UNHEARD_OF, name="Rivers of Hope")
    async with site.donor(viewport={"width": 375, "height": 700}) as page:
        await enter(site, page, f"/reviews/{made['id']}", "reviewer")
        await is_fine(page)
        await page.goto(f"{site.base_url}/operator/reviews")
        await is_fine(page)
    assert site.complaints == []
    await api.close()


@pytest.mark.usefixtures("axe")
async def test_a_case_with_documents_fits_a_laptop(site: Site) -> None:
    api = site.service.client((await acme(site)).tenant.secret)
    details = {"website": "https://www.rivers-of-hope-and-relief.example.org", "addressLine1": "12 Riverside Promenade"}
    made = await decided(site.service, api, **UNHEARD_OF, **details, name="Rivers of Hope and Relief Foundation")
    sent = {"file": ("Statutes.pdf", hostile_pdfs.plain(2), "application/pdf")}
    assert (await api.request("POST", f"/v1/validation-requests/{made['id']}/document", files=sent)).status_code < 300
    await site.service.drain()
    async with site.donor(viewport={"width": 1280, "height": 900}) as page:
        await enter(site, page, f"/reviews/{made['id']}", "reviewer")
        await page.locator(".case details:has(.sheet) > summary").click()
        sheets = await page.locator(".case .sheet").all()
        assert [await sheet.evaluate(FITS) for sheet in sheets] == [True, True, True]
        await is_fine(page)
        await page.get_by_role("link", name="Statutes.pdf").click()
        await page.wait_for_url("**/documents/*")
        await expect(page.locator("img.whole")).to_have_js_property("complete", value=True)
        assert await page.locator(".sheet").evaluate(FITS)
        await is_fine(page)
        await page.get_by_role("link", name="Zoom in").click()
        await page.wait_for_url("**zoom=2**")
        await expect(page.locator("img.magnified")).to_be_visible()
    assert site.complaints == []
    await api.close()

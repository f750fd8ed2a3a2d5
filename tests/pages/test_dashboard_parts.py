"""Lists of the dashboard in a browser: parts of a page change alone, and all of it works without script."""

import pytest
from playwright.async_api import Page, expect

from tests.pages.accounts import acme, is_fine
from tests.pages.site import Site
from tests.pages.test_dashboard import enter
from tests.support import factories
from tests.support.receivers import receiver, reply


async def loads(page: Page) -> int:
    """How often the browser has opened a page; the mark is lost with the page."""
    return int(await page.evaluate("window.marked = (window.marked ?? 0) + 1"))


async def go_back(page: Page) -> None:
    """As the button does, which opens the page of the address anew."""
    async with page.expect_event("load"):
        await page.evaluate("setTimeout(() => history.back())")


async def test_a_filter_changes_the_list_alone_and_keeps_focus_address_and_history(site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    await factories.donation(site.service, api, email="nia@example.org")
    await factories.donation(site.service, api, email="ben@example.org")
    await api.close()
    async with site.donor() as page:
        await enter(here, page, "owner", "/donations")
        await loads(page)
        await page.locator(".filters summary").first.click()
        await page.get_by_label("Donor email").fill("nia@example.org")
        await page.get_by_label("Donor email").press("Enter")
        await expect(page.locator(".sheet tbody tr")).to_have_count(1)
        await expect(page.locator("#announced")).to_have_text("1 result, newest first")
        await expect(page.get_by_label("Donor email")).to_be_focused()
        assert "email=nia%40example.org" in page.url
        await page.get_by_role("link", name="Remove filter Donor email").click()
        await expect(page.locator(".sheet tbody tr")).to_have_count(2)
        await expect(page.locator("#caption")).to_be_focused()
        await page.get_by_label("From", exact=True).evaluate("field => { field.type = 'text'; field.value = 'never' }")
        await page.get_by_role("button", name="Apply").click()
        await expect(page.get_by_role("alert")).to_be_focused()
        assert await loads(page) == 2, "the page was not opened anew"
        await go_back(page)
        await expect(page.locator(".sheet tbody tr")).to_have_count(2)
        await go_back(page)
        await expect(page.locator(".sheet tbody tr")).to_have_count(1)
        assert "email=nia%40example.org" in page.url
        assert site.complaints == []


async def test_a_click_on_a_row_opens_its_record_unless_it_selects_text(site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    session = await factories.session(site.service, api)
    await api.close()
    async with site.donor() as page:
        await enter(here, page, "owner", "/donation-sessions")
        cell = page.locator(".sheet tbody td").nth(1)
        await page.evaluate("row => getSelection().selectAllChildren(row)", await cell.element_handle())
        await cell.dispatch_event("click")
        await page.evaluate("getSelection().removeAllRanges()")
        assert page.url.endswith("/donation-sessions")
        await cell.click()
        await page.wait_for_url(f"**/donation-sessions/{session['id']}")


async def test_whatever_is_not_the_part_is_opened_as_a_page(site: Site) -> None:
    here = await acme(site)
    async with site.donor() as page:
        await enter(here, page, "owner", "/donations?status=CANCELLED")
        await page.context.clear_cookies()
        await page.get_by_role("link", name="Clear all filters").click()
        await page.wait_for_url("**/sign-in?next=**")
        await expect(page.get_by_label("Username")).to_be_visible()


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
async def test_pages_and_tabs_lead_to_the_same_with_and_without_script(script: bool, site: Site) -> None:
    here = await acme(site)
    api = site.service.client(here.tenant.secret)
    organisation = await factories.nonprofit(site.service)
    for _ in range(51):
        await factories.session(site.service, api, organisation=organisation)
    async with receiver(reply(500)) as failing, site.donor(java_script_enabled=script) as page:
        hook = await factories.subscription(api, "donation_session.completed", url=failing.url)
        await enter(here, page, "owner", "/donation-sessions")
        await page.get_by_role("link", name="Older").click()
        await expect(page.locator(".sheet tbody tr")).to_have_count(1)
        assert "cursor=" in page.url
        if script:
            await expect(page.locator("#caption")).to_be_focused()
        await page.goto(f"{here.home}/webhooks/{hook['id']}")
        await page.get_by_role("link", name="Failed").click()
        await expect(page.get_by_text("No deliveries with this status.")).to_be_visible()
        assert page.url.endswith("?status=failed")
        assert site.complaints == []
    await api.close()


@pytest.mark.usefixtures("axe")
async def test_keys_are_changed_and_two_are_never_the_same(site: Site) -> None:
    here = await acme(site)
    async with site.donor() as page:
        await enter(here, page, "read_only", "/home")
        await page.get_by_role("button", name="Shortcuts").click()
        await is_fine(page)
        await page.get_by_label("Shortcut for: Donations").fill("x")
        await page.get_by_label("Shortcut for: Search").fill("j")
        await page.get_by_role("button", name="Close").click()
        await page.reload()
        await page.keyboard.press("g")
        await page.keyboard.press("x")
        await page.wait_for_url(here.home + "/donations")
        await page.keyboard.press("/")
        await expect(page.get_by_label("Search everything")).to_be_focused()
        await page.get_by_role("button", name="Shortcuts").click()
        await page.get_by_role("button", name="Reset shortcuts").click()
        await expect(page.get_by_label("Shortcut for: Donations")).to_have_value("d")
        assert site.complaints == []

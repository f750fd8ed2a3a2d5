"""Account pages for everybody: axe, keyboard, no script, 320 px, zoom, forced colours, target sizes (H8)."""

from typing import Any, Literal

import pytest
from playwright.async_api import Page, expect

from tests.pages.accounts import AMINA, Acme, acme, is_fine, passkeys_work, sign_in
from tests.pages.site import Site
from tests.support import people
from tests.support.people import PASSWORD

OUTSIDE = ("/sign-in", "/sign-in?done=out", "/forgotten", "/none", "/reset", "/invitation")
INSIDE = ("", "/password", "/authenticator", "/recovery-codes", "/passkeys", "/sign-ins", "/prove", "/second-factor")
PHONE: dict[str, Any] = {"viewport": {"width": 320, "height": 640}}


async def inside(here: Acme, page: Page) -> None:
    """Sign a fresh member in."""
    await here.member("owner", "finance")
    await page.goto(f"{here.home}/sign-in")
    await sign_in(page)
    await page.wait_for_url(f"{here.home}/**")


@pytest.mark.usefixtures("axe")
async def test_h8_axe_finds_nothing_on_any_account_page_at_320_px(site: Site) -> None:
    here = await acme(site)
    async with site.donor(**PHONE) as page:
        for path in OUTSIDE:
            await page.goto(here.home + path)
            await is_fine(page)
        await page.goto(f"{site.base_url}/account")
        await is_fine(page)
        person = await here.member("owner", "finance")
        await people.authenticator(site.service, person)
        await page.goto(f"{here.home}/sign-in")
        await sign_in(page)
        secret = page.get_by_label("Code")
        await secret.wait_for()
        await page.get_by_role("button", name="Sign in").click()
        await is_fine(page)
    assert site.complaints == []


@pytest.mark.usefixtures("axe")
async def test_h8_axe_finds_nothing_inside_either_at_320_px(site: Site) -> None:
    here = await acme(site)
    async with site.donor(**PHONE) as page:
        await here.member("finance")
        await page.goto(f"{here.home}/sign-in")
        await sign_in(page)
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)
        for path in INSIDE:
            await page.goto(here.home + path)
            await is_fine(page)
    assert site.complaints == []


async def test_h8_the_whole_way_in_by_keyboard_alone(site: Site) -> None:
    here = await acme(site)
    secret = await people.authenticator(site.service, await here.member("finance"))
    async with here.browser("/sign-in") as page:
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to main content")).to_be_focused()
        await tab_to(page, "#user_name")
        await page.keyboard.type(AMINA)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_be_focused()
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(page.locator("#password")).to_be_focused()
        await page.keyboard.type(PASSWORD)
        await page.keyboard.press("Enter")
        await tab_to(page, "#code")
        await page.keyboard.type(people.code(site.service, secret))
        await page.keyboard.press("Enter")
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)
        await tab_to(page, 'a[href$="/sign-ins"]')
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{here.home}/sign-ins")
        await tab_to(page, 'form[action$="/sign-out"] button')
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/sign-in?done=out")


async def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus, and see that it shows."""
    target = page.locator(selector).first
    for _ in range(40):
        await page.keyboard.press("Tab")
        if await target.evaluate("element => element === document.activeElement"):
            outline = await target.evaluate("element => getComputedStyle(element).outlineStyle")
            assert outline != "none", f"{selector} does not show that it has the focus"
            return
    raise AssertionError(f"{selector} is not reached by keyboard")


async def test_h8_without_scripts_everything_but_passkeys_works(site: Site) -> None:
    here = await acme(site)
    link = await here.invite(await here.member("finance", password=None))
    async with site.donor(java_script_enabled=False, **PHONE) as page:
        await page.goto(link)
        await expect(page.get_by_text("To use passkeys, turn on JavaScript")).to_be_visible()
        await expect(page.get_by_role("button", name="Use a passkey instead")).to_be_hidden()
        await page.get_by_label("New password").fill(PASSWORD)
        await page.get_by_label("Confirm password").fill(PASSWORD)
        await page.get_by_role("button", name="Accept invitation").click()
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)
        await page.get_by_role("link", name="View Sessions").click()
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("button", name="Sign in with a passkey")).to_be_hidden()
        await sign_in(page)
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)
        await page.get_by_role("link", name="Add Passkeys").click()
        await expect(page.get_by_text("To use passkeys, turn on JavaScript")).to_be_visible()


async def test_the_script_of_passkeys_is_on_the_pages_that_ask_for_one_alone(site: Site) -> None:
    here = await acme(site)
    async with here.browser("/sign-in") as page:
        await passkeys_work(page)
        await inside(here, page)
        site.seen.clear()
        for path in ("", "/sign-ins", "/second-factor"):
            answer = await page.goto(here.home + path)
            assert answer is not None
            assert "script-src" not in answer.headers["content-security-policy"]
            assert "publickey" not in answer.headers["permissions-policy"]
        assert not [url for _, url, _ in site.seen if url.endswith(".js")]
        answer = await page.goto(f"{here.home}/passkeys")
        assert answer is not None
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "connect-src" not in policy
        assert "publickey-credentials-create=(self)" in answer.headers["permissions-policy"]
        assert len([url for _, url, _ in site.seen if url.endswith(".js")]) == 1
        assert await page.locator("script:not([src])").count() == 0


async def test_h8_targets_are_large_enough(site: Site) -> None:
    here = await acme(site)
    async with site.donor(**PHONE) as page:
        await here.member("finance")
        await page.goto(f"{here.home}/sign-in")
        await sign_in(page)
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)
        for path in INSIDE:
            await page.goto(here.home + path)
            small = await page.evaluate(
                """() => [...document.querySelectorAll('header a, main a, button, main input:not([type=hidden])')]
                .filter(element => element.checkVisibility())
                .map(element => [element.outerHTML.slice(0, 80), element.getBoundingClientRect()])
                .filter(([, box]) => box.width < 24 || box.height < 24).map(([html]) => html)"""
            )
            assert small == [], path


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_h8_forced_colours_and_four_hundred_percent(site: Site, scheme: Literal["light", "dark"]) -> None:
    here = await acme(site)
    options: dict[str, Any] = {"viewport": {"width": 320, "height": 256}, "device_scale_factor": 4}
    async with here.browser("/sign-in", forced_colors="active", color_scheme=scheme, **options) as page:
        edge = "element => getComputedStyle(element).borderTopWidth"
        for selector in ("#user_name", "button[type=submit]"):
            assert await page.locator(selector).first.evaluate(edge) != "0px"
        wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        assert not wide
        await page.locator("#password").scroll_into_view_if_needed()
        await expect(page.locator("#password")).to_be_in_viewport()


@pytest.mark.parametrize(
    ("path", "field", "wanted"),
    [
        ("/sign-in", "#user_name", "username"),
        ("/sign-in", "#password", "current-password"),
        ("/password", "#password", "new-password"),
        ("/password", "#again", "new-password"),
        ("/forgotten", "#user_name", "username"),
    ],
)
async def test_browsers_and_password_managers_know_the_fields(site: Site, path: str, field: str, wanted: str) -> None:
    here = await acme(site)
    async with site.donor() as page:
        if path == "/password":
            await here.member("finance")
            await page.goto(f"{here.home}/sign-in")
            await sign_in(page)
            await page.wait_for_url(here.home + "/home")
            await page.goto(here.home)
        await page.goto(here.home + path)
        await expect(page.locator(field)).to_have_attribute("autocomplete", wanted)
        typed = page.locator(field)
        await typed.focus()
        await page.keyboard.insert_text("pasted words")
        await expect(typed).to_have_value("pasted words")

"""Signing in and looking after one's own account, in a browser."""

import re

import pyotp
import pytest
from playwright.async_api import Page, expect

from almoner.access.credentials.service import passkeys
from tests.pages.accounts import AMINA, acme, is_fine, open_account, passkeys_work, sign_in
from tests.pages.site import Site
from tests.support import people
from tests.support.people import PASSWORD

NEW = "purple monkeys read dishwashers"


async def choose(page: Page, password: str) -> None:
    """Fill a new password and its repetition, and send it."""
    await page.get_by_label("New password").fill(password)
    await page.get_by_label("Confirm password").fill(password)
    await page.locator("main form button[type=submit]").first.click()


@pytest.mark.usefixtures("axe")
async def test_v8_from_the_invitation_to_a_sign_in_by_password_and_code(site: Site) -> None:
    here = await acme(site)
    link = await here.invite(await here.member("owner", password=None))
    async with site.donor(viewport={"width": 320, "height": 700}) as page:
        await page.goto(link)
        assert page.url == f"{here.home}/invitation", "the token has left the address"
        await is_fine(page)
        await choose(page, "password1234")
        await expect(page.get_by_role("alert")).to_be_focused()
        assert (await page.title()).startswith("Problem: ")
        await is_fine(page)
        await choose(page, NEW)
        await page.wait_for_url("**/second-factor")
        await is_fine(page)
        await page.get_by_role("link", name="Set up Authenticator app").click()
        await is_fine(page)
        await page.get_by_role("button", name="Set up authenticator app").click()
        await is_fine(page)
        shown = await page.locator(".secret").inner_text()
        app = pyotp.TOTP(shown.replace(" ", ""))
        await page.get_by_label("Code").fill("123")
        await page.get_by_role("button", name="Confirm code").click()
        await expect(page.get_by_role("alert")).to_be_focused()
        assert await page.locator(".secret").inner_text() == shown, "the same secret after a wrong first code"
        await is_fine(page)
        await page.get_by_label("Code").fill(app.at(site.service.clock.real_now()))
        await page.get_by_role("button", name="Confirm code").click()
        await page.wait_for_url("**/recovery-codes*")
        await page.get_by_role("button", name="Generate recovery codes").click()
        await is_fine(page)
        codes = await page.locator(".codes li").all_inner_texts()
        assert len(set(codes)) == 10
        await page.get_by_role("link", name="I have saved my codes").click()
        await is_fine(page)
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("status")).to_have_text("You have signed out.")
        await sign_in(page, password=NEW)
        await page.wait_for_url("**/sign-in/second**")
        await is_fine(page)
        await page.get_by_label("Code").fill(people.code(site.service, app.secret))
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)
        await page.get_by_role("button", name="Sign out").click()
        await sign_in(page, password=NEW)
        await page.get_by_label("Code").fill(codes[3].upper().replace("-", " "))
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)
        await expect(page.get_by_text("9 left")).to_be_visible()
    assert site.complaints == []
    async with site.donor() as page:
        answer = await page.goto(link)
        assert answer is not None
        assert answer.status == 410
        await expect(page.get_by_text("The link has already been used.")).to_be_visible()


@pytest.mark.usefixtures("axe")
async def test_v8_a_passkey_is_added_and_signs_in_by_itself(site: Site) -> None:
    here = await acme(site)
    person = await here.member("finance")
    async with here.browser() as page:
        await passkeys_work(page)
        await open_account(here, page)
        await page.get_by_role("link", name="Add Passkeys").click()
        await is_fine(page)
        await page.get_by_label("Passkey name").fill("My phone")
        await page.get_by_role("button", name="Add passkey").click()
        await expect(page.get_by_role("status")).to_contain_text("Passkey added.")
        await is_fine(page)
        await page.get_by_role("button", name="Sign out").click()
        await is_fine(page)
        await page.get_by_role("button", name="Sign in with a passkey").click()
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)
        await expect(page.get_by_text("Amina", exact=True).first).to_be_visible()
        site.service.clock.advance_wall(minutes=11)
        await page.goto(f"{here.home}/passkeys")
        await page.wait_for_url("**/prove?**")
        await is_fine(page)
        await page.get_by_role("button", name="Use a passkey").click()
        await page.wait_for_url(f"{here.home}/passkeys")
        await page.get_by_role("button", name="Remove My phone").click()
        await expect(page.get_by_role("status")).to_have_text("Passkey removed.")
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_role("button", name="Sign in with a passkey").click()
        await expect(page.get_by_text("We could not sign you in with this passkey")).to_be_visible()
        await is_fine(page)
    async with site.service.db.read() as tx:
        assert await passkeys.list_by_person(tx, person) == []
    assert site.complaints == []


async def test_v8_an_invitation_is_accepted_by_a_passkey_alone(site: Site) -> None:
    here = await acme(site)
    link = await here.invite(await here.member("owner", password=None))
    async with site.donor() as page:
        await passkeys_work(page)
        await page.goto(link)
        await page.get_by_role("button", name="Use a passkey instead").click()
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)
        await expect(page.get_by_text("1 added")).to_be_visible()
        await page.goto(f"{here.home}/passkeys")
        await page.get_by_role("button", name="Remove").click()
        await expect(page.get_by_role("alert")).to_contain_text("this is your only second factor")


async def test_v8_a_passkey_is_the_second_factor_of_who_has_no_app(site: Site) -> None:
    here = await acme(site)
    await here.member("finance")
    async with here.browser() as page:
        await passkeys_work(page)
        await sign_in(page)
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)
        await page.goto(f"{here.home}/passkeys")
        await page.get_by_role("button", name="Add passkey").click()
        await page.get_by_role("status").wait_for()
        await page.get_by_role("button", name="Sign out").click()
        await sign_in(page)
        await page.wait_for_url("**/sign-in/second**")
        await expect(page.get_by_label("Code")).to_have_count(0)
        await page.get_by_role("button", name="Use a passkey").click()
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)


async def test_v8_a_cancelled_passkey_is_told_and_asked_for_again(site: Site) -> None:
    here = await acme(site)
    async with here.browser("/sign-in") as page:
        await page.evaluate(
            "() => { navigator.credentials.get = () => Promise.reject(new DOMException('', 'NotAllowedError')) }"
        )
        await page.get_by_role("button", name="Sign in with a passkey").click()
        await expect(page.locator("[data-form-error]")).to_contain_text("The passkey request was cancelled")
        assert page.url == f"{here.home}/sign-in"


@pytest.mark.usefixtures("axe")
async def test_v8_a_forgotten_password_is_replaced_by_mail_and_ends_every_sign_in(site: Site) -> None:
    here = await acme(site)
    await here.member("finance")
    async with here.browser() as old, here.browser("/sign-in") as page:
        await sign_in(old)
        await page.get_by_role("link", name="Forgot your password?").click()
        await is_fine(page)
        await page.get_by_label("Username").fill(AMINA)
        await page.get_by_role("button", name="Send reset link").click()
        await expect(page.get_by_role("heading", name="Check your email")).to_be_visible()
        await is_fine(page)
        link = await here.mailed("/reset?")
        await page.goto(link)
        assert page.url == f"{here.home}/reset"
        await is_fine(page)
        await choose(page, NEW)
        await expect(page.get_by_role("status")).to_have_text(
            "Your password has been changed. Sign in with your new password."
        )
        await sign_in(page)
        await expect(page.get_by_role("alert")).to_contain_text("Incorrect username or password.")
        await sign_in(page, password=NEW)
        await page.wait_for_url(here.home + "/home")
        await old.reload()
        assert old.url.startswith(f"{here.home}/sign-in")
        await page.goto(link)
        await expect(page.get_by_text("The link has already been used.")).to_be_visible()
        await is_fine(page)


@pytest.mark.usefixtures("axe")
async def test_v8_a_sign_in_elsewhere_is_seen_and_ended(site: Site) -> None:
    here = await acme(site)
    await here.member("finance")
    windows = "Mozilla/5.0 (Windows NT 10.0) Gecko/20100101 Firefox/140.0"
    async with here.browser() as page, here.browser(user_agent=windows) as other:
        await open_account(here, page)
        await open_account(here, other)
        await page.get_by_role("link", name="View Sessions").click()
        await is_fine(page)
        await expect(page.locator(".rows li")).to_have_count(2)
        await page.get_by_role("button", name=re.compile("Revoke session on Firefox on Windows")).click()
        await expect(page.get_by_role("status")).to_have_text("Session revoked.")
        await is_fine(page)
        await other.reload()
        assert other.url == f"{here.home}/sign-in"
        await sign_in(other)
        await page.reload()
        await page.get_by_role("button", name="Revoke all other sessions").click()
        await other.goto(f"{here.home}/sign-ins")
        assert other.url.startswith(f"{here.home}/sign-in?next=")
        await sign_in(other)
        await other.wait_for_url(f"{here.home}/sign-ins")


async def test_v8_a_new_password_ends_the_other_sign_ins(site: Site) -> None:
    here = await acme(site)
    await here.member("finance")
    async with here.browser() as page, here.browser() as other:
        await open_account(here, page)
        await open_account(here, other)
        await page.get_by_role("link", name="Change Password").click()
        await choose(page, NEW)
        await expect(page.get_by_role("status")).to_contain_text("Your password has been changed.")
        await other.reload()
        assert other.url == f"{here.home}/sign-in"
        await sign_in(other, password=PASSWORD)
        await expect(other.get_by_role("alert")).to_be_focused()

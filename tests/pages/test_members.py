"""Members, groups, keys and the audit log, in a browser."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Page, expect

from almoner.access.members import service as members
from almoner.access.people.domain import Role
from tests.pages.accounts import Acme, acme, is_fine, sign_in
from tests.pages.site import Site
from tests.support import people
from tests.support.people import PASSWORD

PHONE = {"width": 320, "height": 700}
OLIVE = "olive@example.org"
NEW = "purple monkeys read dishwashers"


@asynccontextmanager
async def signed_in(here: Acme, role: Role, path: str, **options: Any) -> AsyncIterator[Page]:
    """A page of a fresh browser in which Olive has just signed in."""
    olive = await here.member(role, name=OLIVE)
    app = await people.authenticator(here.site.service, olive)
    async with here.browser(path, **options) as page:
        await sign_in(page, OLIVE)
        await page.get_by_label("Code").fill(people.code(here.site.service, app))
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(here.home + path)
        yield page


@pytest.mark.usefixtures("axe")
async def test_from_an_invitation_to_the_end_of_a_membership(site: Site) -> None:
    here = await acme(site)
    async with signed_in(here, "owner", "/members", viewport=PHONE) as page:
        await is_fine(page)
        await page.get_by_role("link", name="Invite member").click()
        await is_fine(page)
        await page.get_by_role("button", name="Send invitation").click()
        await expect(page.get_by_role("alert")).to_be_focused()
        await is_fine(page)
        await page.get_by_label("Email").fill("bo@example.org")
        await page.get_by_label("Name", exact=True).fill("Bo Builder")
        await page.get_by_label("Read only").uncheck()
        await page.get_by_label("Finance").check()
        await page.get_by_role("button", name="Send invitation").click()
        await expect(page.get_by_role("status")).to_have_text("Invitation sent.")
        await is_fine(page)
        link = await here.mailed("/invitation?", to="bo@example.org")
        async with site.donor() as other:
            await other.goto(link)
            await other.get_by_label("New password").fill(NEW)
            await other.get_by_label("Confirm password").fill(NEW)
            await other.locator("form button[type=submit]").first.click()
            await other.wait_for_url(here.home + "**")
            await other.get_by_role("link", name="Members").click()
            await expect(other.get_by_text("bo@example.org; finance; active")).to_be_visible()
            await expect(other.get_by_role("link", name="Invite member")).to_have_count(0)
            await expect(other.get_by_role("link", name="API keys")).to_have_count(0)
            await page.get_by_role("link", name="Edit Bo Builder").click()
            await is_fine(page)
            await page.get_by_label("Name", exact=True).fill("Bo Baker")
            await page.get_by_label("Email").fill("bo")
            await page.get_by_role("button", name="Save profile").click()
            await expect(page.get_by_role("alert")).to_be_focused()
            await is_fine(page)
            await page.get_by_label("Email").fill("bo.baker@example.org")
            await page.get_by_role("button", name="Save profile").click()
            await expect(page.get_by_role("heading", name="Bo Baker")).to_be_visible()
            await page.get_by_label("Developer").check()
            await page.get_by_role("button", name="Save roles").click()
            await expect(page.get_by_role("status")).to_have_text("Roles saved.")
            await other.reload()
            await other.get_by_role("link", name="API keys").click()
            await expect(other.get_by_role("heading", name="API keys", exact=True)).to_be_visible()
            await page.get_by_role("button", name="Deactivate member").click()
            await expect(page.get_by_role("status")).to_contain_text("signed out of all sessions")
            await other.get_by_role("link", name="Members").click()
            await other.wait_for_url("**/sign-in?next=**")
        await is_fine(page)
        await page.get_by_role("button", name="Remove member").click()
        await expect(page.get_by_role("alert")).to_contain_text("Confirm that you want to remove this member")
        await page.get_by_label("Yes, remove Bo Baker", exact=True).check()
        await page.get_by_role("button", name="Remove member").click()
        await expect(page.get_by_role("status")).to_have_text("Member removed.")
        await expect(page.get_by_text("Bo Baker")).to_have_count(0)
    assert site.complaints == []


@pytest.mark.usefixtures("axe")
async def test_the_only_owner_is_told_why_the_role_stays(site: Site) -> None:
    here = await acme(site)
    async with signed_in(here, "owner", "/members") as page:
        await page.get_by_role("link", name="Edit Olive").click()
        await page.get_by_label("Owner").uncheck()
        await page.get_by_role("button", name="Save roles").click()
        await expect(page.get_by_role("alert")).to_contain_text("This is the only active owner")
        await page.get_by_role("alert").get_by_role("link").click()
        await page.wait_for_url("**#roles")
        await is_fine(page)


@pytest.mark.usefixtures("axe")
async def test_what_a_group_may_do_is_chosen_by_keyboard(site: Site) -> None:
    here = await acme(site)
    async with site.service.db.write() as tx:
        group = await members.create_group(tx, here.tenant.partner, {"displayName": "Bookkeepers"})
    async with signed_in(here, "owner", "/groups", viewport=PHONE) as page:
        await is_fine(page)
        await page.get_by_role("link", name="0 members of Bookkeepers").click()
        await expect(page.get_by_text("No members.", exact=True)).to_be_visible()
        await is_fine(page)
        await page.get_by_role("link", name="All groups").click()
        await page.get_by_label("Role for Bookkeepers").focus()
        await page.keyboard.press("f")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("status")).to_contain_text("Group role saved")
        await expect(page.get_by_label("Role for Bookkeepers")).to_have_value("finance")
    async with site.service.db.read() as tx:
        assert (await members.get_group(tx, here.tenant.partner, group.id)).role == "finance"


@pytest.mark.usefixtures("axe")
async def test_a_secret_is_shown_after_a_proof_and_once(site: Site) -> None:
    here = await acme(site)
    async with signed_in(here, "developer", "/keys", viewport=PHONE) as page:
        await is_fine(page)
        site.service.clock.advance_wall(minutes=11)
        await page.get_by_role("link", name="Create key").click()
        await page.wait_for_url("**/prove?next=**")
        await is_fine(page)
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Confirm password").click()
        await page.wait_for_url("**/keys/new")
        await is_fine(page)
        await page.get_by_role("button", name="Create key").click()
        await expect(page.get_by_role("alert")).to_be_focused()
        await page.get_by_label("users:read", exact=True).check()
        await page.get_by_label("Name").fill("The shop")
        await page.get_by_role("button", name="Create key").click()
        await expect(page.get_by_role("heading", name="Your new API key")).to_be_visible()
        secret = await page.locator(".secret").inner_text()
        assert secret.startswith("sk_sandbox_")
        await is_fine(page)
        await page.get_by_role("link", name="I have copied the key").click()
        await expect(page.get_by_role("link", name=f"Rotate or revoke The shop ...{secret[-4:]}")).to_be_visible()
        await page.wait_for_load_state()
        assert secret not in await page.content()
        await is_fine(page)
        await page.get_by_role("link", name=f"Rotate or revoke The shop ...{secret[-4:]}").click()
        await is_fine(page)
        await page.get_by_role("button", name="Rotate key").click()
        successor = await page.locator(".secret").inner_text()
        await page.get_by_role("link", name="I have copied the key").click()
        await page.get_by_role("link", name=f"Rotate or revoke The shop ...{successor[-4:]}").click()
        await page.get_by_label("Yes, revoke this key").check()
        await page.get_by_role("button", name="Revoke key").click()
        await expect(page.get_by_role("status")).to_have_text("API key revoked.")
    assert site.complaints == []


@pytest.mark.usefixtures("axe")
async def test_v8_the_audit_log_is_read_and_downloaded(site: Site) -> None:
    here = await acme(site)
    async with signed_in(here, "owner", "/audit", viewport=PHONE) as page:
        await is_fine(page)
        await expect(page.get_by_text("Olive: Signed in", exact=False).first).to_be_visible()
        await page.get_by_label("Action", exact=True).select_option("Signed in")
        await page.get_by_label("Actor", exact=True).select_option("Olive")
        await page.get_by_role("button", name="Apply").click()
        await expect(page.locator(".rows li")).to_have_count(1)
        await is_fine(page)
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Download CSV").click()
        assert (await download.value).suggested_filename.endswith(".csv")
    assert site.complaints == []

"""An administrator and her tokens, in a browser."""

import pytest
from playwright.async_api import expect

from almoner.access.people.domain import OPERATORS
from tests.pages.accounts import is_fine, sign_in
from tests.pages.site import Site
from tests.support import people
from tests.support.factories import unique


@pytest.mark.usefixtures("axe")
async def test_an_administrator_invites_an_operator_and_makes_a_token(site: Site) -> None:
    name = f"{unique('ada').replace(' ', '')}@example.org"
    ada = await people.person(site.service, OPERATORS, name, "administrator", "finance")
    secret = await people.authenticator(site.service, ada)
    async with site.donor(viewport={"width": 320, "height": 700}) as page:
        await page.goto(f"{site.base_url}/operator/operators")
        await page.wait_for_url("**/operator/sign-in**")
        await sign_in(page, name)
        await page.get_by_label("Code").fill(people.code(site.service, secret))
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url("**/operator/operators")
        await is_fine(page)
        await page.get_by_role("link", name="Invite operator").click()
        await is_fine(page)
        await page.get_by_role("button", name="Send invitation").click()
        await expect(page.get_by_role("alert")).to_be_focused()
        await is_fine(page)
        await page.get_by_label("Email").fill(f"new.{name}")
        await page.get_by_label("reviewer").check()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("status")).to_have_text("Invitation sent.")
        await page.get_by_role("link", name=f"Edit new.{name}").click()
        await is_fine(page)
        await page.get_by_role("button", name="Menu").click()
        await page.get_by_role("link", name="Tokens").click()
        await is_fine(page)
        await page.get_by_label("Name").fill("laptop")
        await page.get_by_role("button", name="Create token").click()
        await is_fine(page)
        assert (await page.locator("#secret").inner_text()).startswith("op_sandbox_")
        await page.get_by_role("link", name="I have copied the token").click()
        await is_fine(page)
        await page.get_by_role("button", name="Revoke laptop").click()
        await expect(page.get_by_role("status")).to_have_text("Token revoked.")
    assert site.complaints == []

"""Signing in at the partner's provider, in a browser; the provider is on another host than our pages."""

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, expect

from almoner.access.people import service as people
from almoner.access.sso import service as sso
from almoner.access.sso.domain import IdentityProviderSettings
from tests.pages.accounts import AMINA, Acme, acme, is_fine, open_account, sign_in
from tests.pages.site import Site
from tests.support.openid import OpenIdProvider, openid_provider
from tests.support.people import authenticator, code
from tests.support.sign_on import BY


@pytest.fixture(scope="module")
async def provider() -> AsyncIterator[OpenIdProvider]:
    async with openid_provider() as made:
        yield made


async def partner(site: Site, provider: OpenIdProvider) -> Acme:
    """A partner with the provider."""
    here = await acme(site)
    wanted = IdentityProviderSettings(
        "Example ID", provider.issuer, "almoner", "s", groups_claim="groups", roles={"staff": "finance"}
    )
    async with site.service.db.write() as tx:
        await sso.save_provider(tx, BY, here.tenant.partner, wanted)
    return here


async def authorize(page: Page, provider: OpenIdProvider, subject: str) -> None:
    """On the provider's own page."""
    assert page.url.startswith(f"{provider.issuer}/")
    await page.get_by_placeholder("sub").fill(subject)
    await page.get_by_role("button", name="Authorize").click()


@pytest.mark.usefixtures("axe")
async def test_v8_a_member_signs_in_at_the_provider_by_keyboard(site: Site, provider: OpenIdProvider) -> None:
    here = await partner(site, provider)
    person = await here.member(password=None)
    async with site.service.db.write() as tx:
        held = await people.get_for_update(tx, person.realm, person.id)
        await people.update_profile(tx, held, {**held.profile, "externalId": "amina"})
    await provider.knows("amina", groups=["staff"])
    async with here.browser("/sign-ins", viewport={"width": 320, "height": 700}) as page:
        await is_fine(page)
        link = page.get_by_role("link", name="Continue with Example ID")
        await link.focus()
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{provider.issuer}/**")
        await authorize(page, provider, "amina")
        await page.wait_for_url(f"{here.home}/sign-ins")
        await page.goto(here.home)
        await expect(page.get_by_text("finance")).to_be_visible()
        cookies = {str(cookie.get("name")) for cookie in await page.context.cookies()}
        assert not [name for name in cookies if name.startswith("__Host-sign-on-")]
        await page.go_back()
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("status")).to_have_text("You have signed out.")
    assert site.complaints == []
    referrers = [referrer for _, url, referrer in site.seen if url.startswith(provider.issuer) and referrer]
    assert not [referrer for referrer in referrers if urlsplit(referrer).netloc == urlsplit(here.home).netloc], (
        "the provider learns no address of ours"
    )


@pytest.mark.usefixtures("axe")
async def test_v8_an_invitation_is_accepted_at_the_provider(site: Site, provider: OpenIdProvider) -> None:
    here = await partner(site, provider)
    link = await here.invite(await here.member("developer", password=None))
    async with site.donor() as page:
        await page.goto(link)
        await page.get_by_role("link", name="Continue with Example ID").click()
        await authorize(page, provider, "amina-at-example-id")
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)
        await expect(page.get_by_text("developer", exact=True)).to_be_visible()
    async with here.browser() as page:
        await page.get_by_role("link", name="Continue with Example ID").click()
        await authorize(page, provider, "amina-at-example-id")
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)
    async with here.browser() as page:
        await page.get_by_role("link", name="Continue with Example ID").click()
        await authorize(page, provider, AMINA)
        await expect(page.get_by_text("Ask an owner to invite you.")).to_be_visible()
        await is_fine(page)
        await page.get_by_role("link", name="Back to sign-in").click()
        await page.wait_for_url(f"{here.home}/sign-in")
    assert site.complaints == []


@pytest.mark.usefixtures("axe")
async def test_v8_a_member_connects_and_disconnects_the_account(site: Site, provider: OpenIdProvider) -> None:
    here = await partner(site, provider)
    await here.member("developer")
    async with here.browser(viewport={"width": 320, "height": 700}) as page:
        await open_account(here, page)
        await page.get_by_role("link", name="Connect Single sign-on (SSO)").click()
        await is_fine(page)
        await page.get_by_role("link", name="Connect Example ID").click()
        await authorize(page, provider, "amina-who-connects")
        await page.wait_for_url(f"{here.home}/provider-account?done=connected")
        await expect(page.get_by_text(provider.issuer, exact=True)).to_be_visible()
        await is_fine(page)
        await page.goto(here.home)
        await expect(page.get_by_text(f"{provider.issuer}, connected")).to_be_visible()
        await is_fine(page)
        await page.get_by_role("link", name="View Single sign-on (SSO)").click()
        await page.get_by_role("button", name="Disconnect SSO account").click()
        await expect(page.get_by_role("status")).to_have_text(
            "SSO account disconnected. You can no longer sign in with this account."
        )
        await is_fine(page)
    assert site.complaints == []


@pytest.mark.usefixtures("axe")
async def test_v8_a_link_of_another_site_signs_nobody_in_without_a_click(site: Site, provider: OpenIdProvider) -> None:
    here = await partner(site, provider)
    async with site.donor() as page:
        await page.goto(f"{provider.issuer}/")
        await page.evaluate("url => { location.href = url }", f"{here.home}/sign-on")
        await page.wait_for_url(f"{here.home}/sign-on")
        await is_fine(page)
        await page.get_by_role("link", name="Continue with Example ID").click()
        await page.wait_for_url(f"{provider.issuer}/oauth2/**")
        await page.get_by_role("button", name="Deny").click()
        await expect(page.get_by_role("heading", name="We could not sign you in")).to_be_visible()
        await is_fine(page)
    assert site.complaints == []


@pytest.mark.usefixtures("axe")
async def test_v8_an_owner_sets_the_provider_up(site: Site, provider: OpenIdProvider) -> None:
    here = await acme(site)
    secret = await authenticator(site.service, await here.member("owner"))
    async with here.browser(viewport={"width": 320, "height": 700}) as page:
        await sign_in(page)
        await page.get_by_label("Code").fill(code(site.service, secret))
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_role("button", name="Menu").click()
        await page.get_by_role("link", name="SSO").click()
        await is_fine(page)
        await page.get_by_role("button", name="Save SSO settings").click()
        await expect(page.get_by_role("alert")).to_be_focused()
        assert (await page.title()).startswith("Problem: ")
        await is_fine(page)
        await page.get_by_label("Name", exact=True).fill("Example ID")
        await page.get_by_label("Issuer").fill(provider.issuer)
        await page.get_by_label("Client ID").fill("almoner")
        await page.get_by_label("Client secret").fill("secret")
        await page.get_by_label("Groups claim").fill("groups")
        await page.get_by_label("Group roles").fill("staff = finance")
        await page.get_by_role("button", name="Save SSO settings").click()
        await expect(page.get_by_text("SSO settings saved.")).to_be_visible()
        await page.get_by_role("button", name="Test connection").click()
        await expect(page.get_by_text("The connection test was successful.")).to_be_visible()
        await is_fine(page)
    assert site.complaints == []

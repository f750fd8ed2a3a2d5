"""Members of a partner in their browsers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Page

from almoner.access.people.domain import Person, Realm, Role, member_realm
from almoner.access.sign_ins.service import links
from tests.pages.site import Site, findings
from tests.support import people
from tests.support.client import data
from tests.support.people import PASSWORD
from tests.support.service import Tenant

AMINA = "amina@example.org"


@dataclass
class Acme:
    """A partner of a running site. ``home``: the address of its members' pages."""

    site: Site
    tenant: Tenant
    realm: Realm
    home: str

    async def member(self, *roles: Role, name: str = AMINA, password: str | None = PASSWORD) -> Person:
        """Somebody new."""
        return await people.person(self.site.service, self.realm, name, *roles, password=password)

    async def invite(self, person: Person) -> str:
        """The link of an invitation, from the mailbox."""
        async with self.site.service.db.write() as tx:
            await links.send_invitation(tx, person)
        return await self.mailed("/invitation?")

    async def mailed(self, part: str, to: str = AMINA) -> str:
        """The link that holds ``part`` in the newest mail to somebody."""
        self.site.service.clock.advance(seconds=1)
        await self.site.service.drain()
        api = self.site.service.client(self.tenant.secret)
        mails = data(await api.get("/v1/sandbox/mailbox", to=to))
        await api.close()
        return str(next(link for mail in mails for link in mail["links"] if part in link))

    @asynccontextmanager
    async def browser(self, path: str = "", **options: Any) -> AsyncIterator[Page]:
        """One page of a fresh browser, at a page of the partner's members."""
        async with self.site.donor(**options) as page:
            await page.goto(self.home + path)
            yield page


async def acme(site: Site) -> Acme:
    """A fresh partner."""
    tenant = await site.service.tenant()
    home = f"{site.base_url}/account/{site.service.db.deployment.ids.encode('partner', tenant.partner.id)}"
    return Acme(site, tenant, member_realm(tenant.partner), home)


async def sign_in(page: Page, name: str = AMINA, password: str = PASSWORD) -> None:
    """By the form that is open, in any language."""
    await page.locator("#user_name").fill(name)
    await page.locator("#password").fill(password)
    await page.locator("form:has(#password) button[type=submit]").click()


async def open_account(here: Acme, page: Page) -> None:
    """Sign in by the form that is open, and go from the dashboard to the own account."""
    await sign_in(page)
    await page.wait_for_url(here.home + "/home")
    await page.goto(here.home)


async def is_fine(page: Page) -> None:
    """axe finds nothing by day and by night, and nothing is wider than the window."""
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # colours change at once
        found = await findings(page)
        assert found == [], f"{page.url} ({scheme}): {found}"
    wide, headings = await page.evaluate(
        """() => {
            const root = document.documentElement;
            return [root.scrollWidth > root.clientWidth, document.querySelectorAll('h1').length];
        }"""
    )
    assert not wide, f"{page.url} scrolls sideways"
    assert headings == 1, f"{page.url} has one heading of the first level"


async def passkeys_work(page: Page) -> None:
    """Give the browser an authenticator that has verified its owner."""
    session = await page.context.new_cdp_session(page)
    await session.send("WebAuthn.enable")
    device = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    await session.send("WebAuthn.addVirtualAuthenticator", {"options": device})

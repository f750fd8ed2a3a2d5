"""A browser that goes to an identity provider and back, and a partner whose provider is on this machine."""

from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

import httpx
import pytest

from almoner.access.credentials.domain import AuditContext
from almoner.access.people import service as people
from almoner.access.people.domain import Person, build_profile, member_realm
from almoner.access.sign_ins.domain import Browser, NewSignIn, SignIn
from almoner.access.sso import service as sso
from almoner.access.sso.domain import IdentityProvider, IdentityProviderSettings, SsoRefused
from almoner.access.sso.service.oidc_flow import AuthorizationRedirect, CallbackRequest, CallbackResult, OidcFlow
from almoner.access.sso.state import Purpose
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import Partner
from almoner.platform.outbound.addresses import AddressPolicy
from almoner.platform.outbound.client import CallTimeouts, OutboundClient
from tests.support.hostile_openid import CLIENT, SECRET
from tests.support.service import Service

BY = AuditContext(Actor("machine", "tests"), None)
BROWSER = Browser("192.0.2.7", "Firefox/130 on Windows")


@dataclass(frozen=True, slots=True)
class Setup:
    """One partner with its provider."""

    service: Service
    sign_on: OidcFlow
    partner: Partner

    async def set_up(self, issuer: str, **changed: Any) -> IdentityProvider:
        """Set up the provider, or change its settings."""
        wanted = IdentityProviderSettings(
            "Example ID", issuer, CLIENT, SECRET, groups_claim="groups", roles={"staff": "finance"}
        )
        async with self.service.db.write() as tx:
            return await sso.save_provider(tx, BY, self.partner, replace(wanted, **changed))

    async def member(self, name: str, **profile: Any) -> Person:
        """Create a member."""
        async with self.service.db.write() as tx:
            return await people.create(tx, member_realm(self.partner), {**build_profile(name), **profile})

    async def find(self, person: Person) -> Person:
        """The member's current data."""
        async with self.service.db.read() as tx:
            return await people.get(tx, person.realm, person.id)

    async def change(self, person: Person, **profile: Any) -> None:
        """Change a member's data."""
        async with self.service.db.write() as tx:
            held = await people.get_for_update(tx, person.realm, person.id)
            await people.update_profile(tx, held, {**held.profile, **profile})

    async def begin(self, purpose: Purpose = "sign_in", record: UUID | None = None) -> AuthorizationRedirect:
        """Start a sign-in in a browser."""
        return await self.sign_on.start_authorization(self.partner, purpose, "/account/here", record)

    async def finish(
        self, away: AuthorizationRedirect, query: Mapping[str, str], sign_in: SignIn | None = None
    ) -> CallbackResult:
        """Return in the same browser."""
        return await self.sign_on.complete_authorization(
            CallbackRequest(self.partner, query, {away.cookie_name: away.cookie_value}, BROWSER, sign_in)
        )

    async def sign_in(
        self, purpose: Purpose = "sign_in", record: UUID | None = None, sign_in: SignIn | None = None
    ) -> CallbackResult:
        """Complete a sign-in at a provider that asks nothing."""
        away = await self.begin(purpose, record)
        return await self.finish(away, await visit(away.url), sign_in)

    async def actions(self) -> list[tuple[str, Any]]:
        """The entries of the partner's audit log, oldest first."""
        async with self.service.db.read() as tx:
            rows = await tx.fetch(
                "select action, details from audit_entry where scope = $1 order by id", self.partner.id
            )
        return [(row["action"], row["details"]) for row in rows]

    async def count(self, table: str) -> int:
        """The number of rows of the partner's people."""
        columns = {"sign_in": "realm", "person": "realm", "sign_on_identity": "partner_id"}
        async with self.service.db.read() as tx:
            return int(await tx.fetchval(f"select count(*) from {table} where {columns[table]} = $1", self.partner.id))


async def visit(url: str) -> dict[str, str]:
    """Open the provider's URL; returns the query with which it redirects back."""
    async with httpx.AsyncClient(verify=False) as client:
        return read_back((await client.get(url)).headers["location"])


async def through(url: str, pages: str) -> str:
    """The path on our pages to which a provider that asks nothing redirects."""
    async with httpx.AsyncClient(verify=False) as client:
        return str((await client.get(url)).headers["location"]).removeprefix(pages)


def read_back(address: str) -> dict[str, str]:
    """The query of the URL to which a provider redirects."""
    return dict(parse_qsl(urlsplit(address).query))


@asynccontextmanager
async def set_up(service: Service, *, seconds: float = 15.0) -> AsyncIterator[Setup]:
    """A new partner, whose provider has a time limit for each response."""
    outbound = OutboundClient(AddressPolicy(allows_loopback=True), limits=CallTimeouts(min(seconds, 3.0), seconds))
    try:
        yield Setup(service, OidcFlow(service.db, outbound), (await service.tenant()).partner)
    finally:
        await outbound.close()


def entered(arrival: CallbackResult) -> NewSignIn:
    """The sign-in that succeeded."""
    assert isinstance(arrival.sign_in_or_second_factor, NewSignIn)
    return arrival.sign_in_or_second_factor


async def refused(here: Setup, call: Coroutine[Any, Any, CallbackResult]) -> SsoRefused:
    """The refusal; checks that nobody was signed in, and that the log has it."""
    before = await here.count("sign_in")
    with pytest.raises(SsoRefused) as caught:
        await call
    assert await here.count("sign_in") == before
    assert ("sign_in.refused", {"method": "provider", "reason": caught.value.reason.value}) in await here.actions()
    return caught.value


def state_of(away: AuthorizationRedirect) -> str:
    """The state with which a browser was sent to the provider."""
    return read_back(away.url)["state"]

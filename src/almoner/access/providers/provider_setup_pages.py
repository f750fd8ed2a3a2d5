"""The page on which an owner sets up the partner's identity provider."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import MEMBERS_HOME, ROLE_NAMES
from almoner.access.accounts.page_guard import PageGuard, Visitor, redirect_to
from almoner.access.people.domain import MEMBER_ROLES
from almoner.access.sso import service as sso
from almoner.access.sso.domain import (
    DEFAULT_SCOPES,
    InvalidProviderSettings,
    NoSuchProvider,
    Provider,
    ProviderMetadata,
    ProviderSettings,
    SsoRefused,
)
from almoner.access.sso.service.oidc_flow import OidcFlow
from almoner.platform.database.transactions import Partner
from almoner.platform.pages.rendering import PageRenderer

_REPORTED: Final = {
    "saved": "SSO settings saved.",
    "removed": "SSO removed. Everyone who signed in with SSO has been signed out.",
}
_MOST: Final = 20_000


class ProviderSetupPages:
    """The identity provider setup page."""

    def __init__(self, gate: PageGuard, pages: PageRenderer, sign_on: OidcFlow) -> None:
        self._gate = gate
        self._db = gate.db
        self._ids = gate.db.deployment.ids
        self._pages = pages
        self._sign_on = sign_on

    def routes(self) -> Sequence[Route]:
        """Starlette routes."""
        return [self._gate.protected_route(f"{MEMBERS_HOME}/{{partner}}/provider", self.provider, "owner", fresh=True)]

    async def provider(self, visitor: Visitor) -> Response:
        """Show, save, test or remove the identity provider."""
        match visitor.form_value("do"):
            case "save":
                return await self._save(visitor)
            case "test":
                return await self._test(visitor)
            case "remove":
                return await self._remove(visitor)
        return await self._page(visitor, reported=_REPORTED.get(visitor.query.get("done", ""), ""))

    async def _save(self, visitor: Visitor) -> Response:
        typed = {name: visitor.form_value(name).strip() for name in _FIELDS}
        typed["roles"] = str(visitor.form.get("roles", ""))[:_MOST]
        roles, strange = _parse_role_mapping(typed["roles"])
        problems = {"roles": f"{strange!r} must be in the format: staff = finance"} if strange is not None else {}
        wanted = ProviderSettings(
            typed["name"],
            typed["issuer"],
            typed["client_id"],
            "" if typed["public"] else typed["secret"] or None,
            typed["subject_claim"],
            typed["groups_claim"] or None,
            roles,
            tuple(typed["scopes"].split()),
            bool(typed["creates_members"]),
            bool(typed["enabled"]),
        )
        if not problems:
            try:
                async with self._db.write() as tx:
                    await sso.save_provider(tx, visitor.audit_context(self._ids), _partner(visitor), wanted)
                return redirect_to(f"{visitor.place.home}/provider?done=saved")
            except InvalidProviderSettings as wrong:
                problems = dict(wrong.problems)
        return await self._page(visitor, typed=typed, problems=problems, status=422)

    async def _test(self, visitor: Visitor) -> Response:
        try:
            return await self._page(visitor, found=await self._sign_on.fetch_metadata(_partner(visitor)))
        except NoSuchProvider:
            return await self._page(visitor)
        except SsoRefused as refused:
            return await self._page(visitor, refused=refused)

    async def _remove(self, visitor: Visitor) -> Response:
        async with self._db.write() as tx:
            if await sso.find(tx, _partner(visitor)) is not None:
                await sso.remove_provider(tx, visitor.audit_context(self._ids), _partner(visitor))
        return redirect_to(f"{visitor.place.home}/provider?done=removed")

    async def _page(
        self,
        visitor: Visitor,
        *,
        typed: Mapping[str, str] | None = None,
        problems: Mapping[str, str] | None = None,
        status: int = 200,
        reported: str = "",
        found: ProviderMetadata | None = None,
        refused: SsoRefused | None = None,
    ) -> Response:
        async with self._db.read() as tx:
            provider = await sso.find(tx, _partner(visitor))
            redirect = sso.redirect_uri(tx, _partner(visitor))
        context: dict[str, Any] = {
            "typed": typed or _form_values(provider),
            "provider": provider,
            "redirect": redirect,
            "roles": [ROLE_NAMES[role] for role in MEMBER_ROLES],
            "message": reported,
            "found": found,
            "refused": refused,
        }
        return self._gate.render_page(
            self._pages, visitor, "provider.html", status=status, problems=dict(problems or {}), **context
        )


_FIELDS: Final = (
    "name",
    "issuer",
    "client_id",
    "secret",
    "public",
    "subject_claim",
    "groups_claim",
    "scopes",
    "creates_members",
    "enabled",
)


def _partner(visitor: Visitor) -> Partner:
    return Partner(visitor.realm.id)


def _form_values(provider: Provider | None) -> Mapping[str, str]:
    """The form as it is filled in; the secret never is."""
    if provider is None:
        return {
            **dict.fromkeys(_FIELDS, ""),
            "subject_claim": "sub",
            "scopes": " ".join(DEFAULT_SCOPES),
            "enabled": "yes",
            "roles": "",
        }
    return {
        "name": provider.name,
        "issuer": provider.issuer,
        "client_id": provider.client_id,
        "secret": "",
        "public": "" if provider.sealed_secret else "yes",
        "subject_claim": provider.subject_claim,
        "groups_claim": provider.groups_claim or "",
        "roles": "\n".join(f"{value} = {ROLE_NAMES[role]}" for value, role in sorted(provider.roles.items())),
        "scopes": " ".join(provider.scopes),
        "creates_members": "yes" if provider.creates_members else "",
        "enabled": "yes" if provider.enabled else "",
    }


def _parse_role_mapping(text: str) -> tuple[dict[str, str], str | None]:
    """Groups with their roles, one on each line; and the first line that is none."""
    found: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        value, sign, role = line.rpartition("=")
        if not sign or not value.strip() or not role.strip():
            return found, line.strip()[:100]
        found[value.strip()] = role.strip().replace(" ", "_")
    return found, None

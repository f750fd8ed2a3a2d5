"""The page on which an owner sets up the partner's identity provider."""

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request, redirect_to
from almoner.access.accounts.page_texts import PageTexts, build_page_texts, mark_as_english
from almoner.access.people.domain import MEMBER_ROLES
from almoner.access.sso import service as sso
from almoner.access.sso.domain import (
    DEFAULT_SCOPES,
    LONGEST_NAME,
    MOST_GROUPS,
    IdentityProvider,
    IdentityProviderSettings,
    InvalidIdentityProviderSettings,
    NoSuchIdentityProvider,
    ProviderMetadata,
    SsoRefused,
)
from almoner.access.sso.service.oidc_flow import OidcFlow

_DONE: Final = {"saved": "sso.done.saved", "removed": "sso.done.removed"}
_EXAMPLE_ROLE: Final = "finance"
_MOST: Final = 20_000


class IdentityProviderSetupPages:
    """The identity provider setup page."""

    def __init__(self, context: PageContext, sign_on: OidcFlow) -> None:
        self._context = context
        self._db = context.db
        self._sign_on = sign_on

    def routes(self) -> Sequence[Route]:
        """Starlette routes."""
        return [self._context.route("/provider", self.manage_provider, "owner", requires_reauthentication=True)]

    async def manage_provider(self, visitor: SignedInRequest) -> Response:
        """Show, save, test or remove the identity provider."""
        match visitor.form_value("do"):
            case "save":
                return await self._save(visitor)
            case "test":
                return await self._test(visitor)
            case "remove":
                return await self._remove(visitor)
        return await self._page(visitor, done=_DONE.get(visitor.query.get("done", "")))

    async def _save(self, visitor: SignedInRequest) -> Response:
        typed = {name: visitor.form_value(name).strip() for name in _FIELDS}
        typed["roles"] = str(visitor.form.get("roles", ""))[:_MOST]
        texts = build_page_texts(self._context, visitor)
        roles = _parse_role_mapping(typed["roles"], texts)
        problems = {} if roles is not None else {"roles": _problem("roles", texts)}
        wanted = IdentityProviderSettings(
            typed["name"],
            typed["issuer"],
            typed["client_id"],
            "" if typed["public"] else typed["secret"] or None,
            typed["subject_claim"],
            typed["groups_claim"] or None,
            roles or {},
            tuple(typed["scopes"].split()),
            bool(typed["creates_members"]),
            bool(typed["enabled"]),
        )
        try:
            async with self._db.write() as tx:
                by, partner = self._context.audit_context(visitor), partner_from_request(visitor)
                await sso.save_provider(tx, by, partner, wanted)
                if problems:
                    raise InvalidIdentityProviderSettings(problems)  # nothing is saved
            return redirect_to(f"{visitor.portal.home}/provider?done=saved")
        except InvalidIdentityProviderSettings as wrong:
            problems |= {field: _problem(field, texts) for field in wrong.problems}
        return await self._page(visitor, entered_values=typed, problems=problems, status=422)

    async def _test(self, visitor: SignedInRequest) -> Response:
        try:
            return await self._page(
                visitor, found=await self._sign_on.fetch_provider_metadata(partner_from_request(visitor))
            )
        except NoSuchIdentityProvider:
            return await self._page(visitor)
        except SsoRefused as refused:
            return await self._page(visitor, refused=refused)

    async def _remove(self, visitor: SignedInRequest) -> Response:
        async with self._db.write() as tx:
            if await sso.find_provider(tx, partner_from_request(visitor)) is not None:
                await sso.remove_provider(tx, self._context.audit_context(visitor), partner_from_request(visitor))
        return redirect_to(f"{visitor.portal.home}/provider?done=removed")

    async def _page(
        self,
        visitor: SignedInRequest,
        *,
        entered_values: Mapping[str, str] | None = None,
        problems: Mapping[str, str] | None = None,
        status: int = 200,
        done: str | None = None,
        found: ProviderMetadata | None = None,
        refused: SsoRefused | None = None,
    ) -> Response:
        async with self._db.read() as tx:
            provider = await sso.find_provider(tx, partner_from_request(visitor))
            redirect = sso.redirect_uri(tx, partner_from_request(visitor))
        texts = build_page_texts(self._context, visitor)
        return self._context.render_page(
            visitor,
            "provider.html",
            language=texts.language,
            status=status,
            typed=entered_values or _form_values(provider, texts),
            provider=provider,
            redirect=redirect,
            roles_hint=texts.text("sso.roles.hint", **_role_words(texts)),
            message=texts.text(done) if done else "",
            found=found,
            refused=refused,
            in_english=mark_as_english,
            problems=dict(problems or {}),
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


def _form_values(provider: IdentityProvider | None, texts: PageTexts) -> Mapping[str, str]:
    """The form's initial values; the secret is never among them."""
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
        "roles": "\n".join(f"{value} = {texts.role_names([role])}" for value, role in sorted(provider.roles.items())),
        "scopes": " ".join(provider.scopes),
        "creates_members": "yes" if provider.creates_members else "",
        "enabled": "yes" if provider.enabled else "",
    }


def _role_words(texts: PageTexts) -> dict[str, str]:
    """The roles that groups can have, and one as an example."""
    return {"role": texts.role_names([_EXAMPLE_ROLE]), "roles": texts.role_names(MEMBER_ROLES)}


def _problem(field: str, texts: PageTexts) -> str:
    """The error text of a field: what to enter instead."""
    count = MOST_GROUPS if field == "roles" else LONGEST_NAME
    return texts.text(f"sso.problem.{field}", count=count, **_role_words(texts))


def _parse_role_mapping(text: str, texts: PageTexts) -> dict[str, str] | None:
    """Parse the mapping of groups to roles, one per line, as the page or the API names the roles; None if invalid."""
    shown = {texts.role_names([role]).casefold(): role for role in MEMBER_ROLES}
    found: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        value, _, role = (part.strip() for part in line.rpartition("="))
        if not value or not role:
            return None
        found[value] = shown.get(role.casefold(), role.replace(" ", "_"))
    return found

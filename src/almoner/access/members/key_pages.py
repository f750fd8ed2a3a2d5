"""Pages on which owners and developers create, rotate and revoke API keys."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import (
    PageContext,
    SignedInRequest,
    form_value,
    partner_from_request,
    redirect_to,
)
from almoner.access.accounts.page_texts import PageTexts, build_page_texts
from almoner.access.keys import service as keys
from almoner.access.keys.domain import PUBLISHABLE_SCOPES, SCOPES, ApiKey, Kind, NewApiKey
from almoner.access.keys.service import NoSuchKey
from almoner.access.members.service import api_keys
from almoner.access.members.views import english_problems_by_field
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.platform.database.transactions import Tx
from almoner.platform.http.caller import ALL_SCOPES, NAMED_ONLY, PERSONAL
from almoner.platform.pages import formats

_KINDS: Final[tuple[Kind, ...]] = ("secret", "publishable", "scim")
_LIFETIMES: Final[dict[str, timedelta | None]] = {
    "": None,
    **{str(days): timedelta(days=days) for days in (30, 90, 180, 365)},
}
"""Key lifetimes by form value, in days; the first never expires."""


@dataclass(frozen=True, slots=True)
class ApiKeyForm:
    """The submitted form for a new or rotated API key."""

    name: str = ""
    kind: str = "secret"
    scopes: frozenset[str] = frozenset()
    expires: str = ""
    overlap: str = "24"


class ApiKeyPages:
    """The API key pages."""

    def __init__(self, desk: PageContext) -> None:
        self._context = desk

    def routes(self) -> list[Route]:
        """Starlette routes. Secrets are shown only after reauthentication."""
        context = self._context
        return [
            context.route("/keys", self.list_keys, "owner", "developer", methods=["GET"]),
            context.route("/keys/new", self.create, "owner", "developer", requires_reauthentication=True),
            context.route("/keys/{id}", self.rotate_or_revoke, "owner", "developer", requires_reauthentication=True),
        ]

    async def list_keys(self, visitor: SignedInRequest) -> Response:
        """List all API keys without their secrets, newest first."""
        async with self._context.db.read() as tx:
            found = await keys.list_by_partner(tx, partner_from_request(visitor))
        texts = build_page_texts(self._context, visitor)
        reported = texts.text("keys.revoke.done") if visitor.query.get("done") == "revoked" else None
        return self._show(
            visitor, texts, "keys.html", keys=[self._facts(key, texts) for key in found], message=reported
        )

    async def create(self, visitor: SignedInRequest) -> Response:
        """Create an API key and show its secret once."""
        typed, texts = ApiKeyForm(), build_page_texts(self._context, visitor)
        problems: dict[str, str] = {}
        if visitor.form:
            typed = _read_form(visitor)
            try:
                return await self._show_secret(visitor, texts, partial(self._create, visitor, typed))
            except IncorrectParams as error:
                problems = _creation_problems(error, typed, texts)
        return self._show(
            visitor,
            texts,
            "key_new.html",
            typed=typed,
            kinds=[kind for kind in _KINDS if _may_manage(visitor, kind)],
            lifetimes={
                days: formats.format_days(int(days), texts.language.locale)
                if days
                else texts.text("keys.expires.never")
                for days in _LIFETIMES
            },
            scope_groups=_scope_groups(sandbox=self._context.db.deployment.sandbox),
            by_owner=visitor.person.has_role("owner"),
            problems=problems,
        )

    async def _create(self, visitor: SignedInRequest, typed: ApiKeyForm, tx: Tx) -> NewApiKey:
        return await api_keys.create(
            tx,
            partner_from_request(visitor),
            self._context.audit_context(visitor),
            _read_kind(visitor, typed.kind),
            typed.name,
            typed.scopes,
            lifetime=_LIFETIMES[typed.expires],
            may_grant_donor_data=visitor.person.has_role("owner"),
        )

    async def rotate_or_revoke(self, visitor: SignedInRequest) -> Response:
        """Rotate or revoke an API key."""
        key_id, partner = self._context.parse_id_from_path(visitor, "apikey"), partner_from_request(visitor)
        try:
            async with self._context.db.read() as tx:
                key = await api_keys.get(tx, partner, key_id)
        except NoSuchKey:
            raise NotFound from None
        texts = build_page_texts(self._context, visitor)
        if not _may_manage(visitor, key.kind):
            return self._context.guard.render_denied_page(
                visitor, texts.text("desk.forbidden.title"), texts.text("keys.owners"), language=texts.language
            )
        typed = ApiKeyForm(overlap=visitor.form_value("overlap").strip() or "24")
        problems: dict[str, str] = {}
        if visitor.form_value("do") == "revoke" and not visitor.form_value("sure"):
            problems = {"sure": texts.text("keys.problem.sure")}
        elif visitor.form:
            try:
                return await self._perform(visitor, texts, key, typed)
            except IncorrectParams:
                problems = {"overlap": self._rotation_problem(visitor, texts, key)}
        return self._show(visitor, texts, "key.html", key=self._facts(key, texts), typed=typed, problems=problems)

    async def _perform(self, visitor: SignedInRequest, texts: PageTexts, key: ApiKey, typed: ApiKeyForm) -> Response:
        """Perform the action of the pressed button."""
        by = self._context.audit_context(visitor)
        match visitor.form_value("do"):
            case "rotate":
                if not typed.overlap.isdecimal() or len(typed.overlap) > 3:
                    raise IncorrectParams("overlap: enter a number of hours, for example 24")
                overlap, by_owner = timedelta(hours=int(typed.overlap)), visitor.person.has_role("owner")
                return await self._show_secret(
                    visitor,
                    texts,
                    lambda tx: api_keys.rotate(tx, by, key, overlap, may_grant_donor_data=by_owner),
                    old_key=key,
                )
            case "revoke":
                async with self._context.db.write() as tx:
                    await api_keys.revoke(tx, by, key)
                return redirect_to(f"{visitor.portal.home}/keys?done=revoked")
            case _:
                raise NotFound

    async def _show_secret(
        self,
        visitor: SignedInRequest,
        texts: PageTexts,
        make: Callable[[Tx], Awaitable[NewApiKey]],
        *,
        old_key: ApiKey | None = None,
    ) -> Response:
        """Make a key, once for each form, and show its secret. ``old_key``: the key that is rotated, if one is."""

        async def make_key(tx: Tx) -> tuple[UUID, str]:
            key, secret = await make(tx)
            return key.id, secret

        async def record_again(tx: Tx, shown: tuple[UUID, str]) -> None:
            by, key = self._context.audit_context(visitor), await api_keys.get(tx, partner, shown[0])
            await api_keys.record_secret_shown_again(tx, by, key, old_key=old_key)

        partner = partner_from_request(visitor)
        async with self._context.db.write() as tx:
            key_id, secret = await visitor.apply_form_once(
                tx, partial(make_key, tx), tuple[UUID, str], partial(record_again, tx)
            )
            key = await api_keys.get(tx, partner, key_id)
        return self._show(visitor, texts, "secret.html", key=self._facts(key, texts), secret=secret)

    def _show(
        self,
        visitor: SignedInRequest,
        texts: PageTexts,
        template: str,
        *,
        problems: dict[str, str] | None = None,
        **context: object,
    ) -> Response:
        """Render a page in the visitor's language; 422 with problems."""
        status = 422 if problems else 200
        return self._context.render_page(
            visitor, template, language=texts.language, status=status, problems=problems or {}, **context
        )

    def _rotation_problem(self, visitor: SignedInRequest, texts: PageTexts, key: ApiKey) -> str:
        """Why the key cannot be rotated, as text."""
        if PERSONAL in key.scopes and not visitor.person.has_role("owner"):
            return texts.text("keys.problem.personal", scope=PERSONAL)
        usable = key.is_usable(self._context.db.deployment.clock.real_now())
        return texts.text("keys.problem.overlap" if usable else "keys.problem.ended")

    def _facts(self, key: ApiKey, texts: PageTexts) -> dict[str, object]:
        """The template values of a key."""
        real_now = self._context.db.deployment.clock.real_now()
        if key.revoked_at is not None:
            state = "revoked"
        elif key.expires_at is None:
            state = "active"
        else:
            state = "until" if key.is_usable(real_now) else "expired"
        ended = texts.timestamp_text(key.expires_at) if key.expires_at else ""
        used = texts.timestamp_text(key.last_used_at) if key.last_used_at else ""
        summary = "unused" if not used else "used.route" if key.last_used_route else "used"
        kind = texts.text(f"keys.kind.{key.kind}")
        return {
            "id": self._context.format_id("apikey", key.id),
            "name": key.name,
            "kind": kind,
            "hint": key.hint,
            "summary": texts.text(
                f"keys.{summary}",
                kind=kind,
                state=texts.text(f"keys.state.{state}", when=ended),
                when=texts.timestamp_text(key.created_at),
                used=used,
                route=key.last_used_route,
            ),
            "usable": key.is_usable(real_now),
            "scopes": ", ".join(sorted(key.scopes)),
        }


def _read_form(visitor: SignedInRequest) -> ApiKeyForm:
    """Read the posted form."""
    form = visitor.form
    ticked = " ".join(str(one) for one in form.getlist("scopes"))
    expires = form_value(form, "expires")
    return ApiKeyForm(
        form_value(form, "name").strip(),
        form_value(form, "kind"),
        frozenset(ticked.split()),
        expires if expires in _LIFETIMES else "",
    )


def _creation_problems(error: IncorrectParams, typed: ApiKeyForm, texts: PageTexts) -> dict[str, str]:
    """The errors of a new key, by form field."""
    refused = sorted(typed.scopes - PUBLISHABLE_SCOPES)
    known = {
        "name": texts.text("keys.problem.name", count=api_keys.LONGEST_NAME),
        "kind": texts.text("keys.problem.kind"),
    }
    if typed.kind == "publishable" and refused:
        known["scopes"] = texts.text(
            "keys.problem.publishable", scopes=formats.list_separator(texts.language.locale).join(refused)
        )
    elif typed.kind == "scim":
        known["scopes"] = texts.text("keys.problem.scim")
    return {field: known.get(field, reason) for field, reason in english_problems_by_field(error, "name").items()}


def _scope_groups(*, sandbox: bool) -> dict[str, list[str]]:
    """The scopes that can be ticked one by one, by resource."""
    groups: dict[str, list[str]] = {}
    for scope in sorted(SCOPES - NAMED_ONLY - {ALL_SCOPES}):
        if sandbox or scope != "sandbox":
            groups.setdefault(scope.partition(":")[0], []).append(scope)
    return groups


def _read_kind(visitor: SignedInRequest, name: str) -> Kind:
    """The selected kind of key. Raises IncorrectParams."""
    chosen = next((kind for kind in _KINDS if kind == name), None)
    if chosen is None or not _may_manage(visitor, chosen):
        raise IncorrectParams("kind: select a key type")
    return chosen


def _may_manage(visitor: SignedInRequest, kind: Kind) -> bool:
    """Whether the visitor may manage this kind of key: a SCIM key can add people to a group of owners."""
    return kind != "scim" or visitor.person.has_role("owner")

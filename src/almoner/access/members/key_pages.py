"""Pages on which owners and developers create, rotate and revoke API keys."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import problems_by_field
from almoner.access.accounts.page_guard import PageContext, Visitor, form_value, partner_of_visitor, redirect_to
from almoner.access.keys import service as keys
from almoner.access.keys.domain import SCOPES, ApiKey, Kind
from almoner.access.keys.service import NoSuchKey
from almoner.access.members.service import api_keys
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.platform.http.caller import ALL_SCOPES, NAMED_ONLY

_KINDS: Final[dict[Kind, dict[str, str]]] = {
    "secret": {"name": "Secret key", "means": "Full access within its scopes. Use it only on your servers."},
    "publishable": {
        "name": "Publishable key",
        "means": "Searches and reads public data. Safe to use in web pages and apps.",
    },
    "scim": {
        "name": "Directory key (SCIM)",
        "means": "Lets your directory manage members and groups. Only owners can create directory keys.",
    },
}
_LIFETIMES: Final[dict[str, timedelta | None]] = {
    "": None,
    **{str(days): timedelta(days=days) for days in (30, 90, 180, 365)},
}
"""By days, as the form names them; the first never ends."""
_REPORTED: Final = {"revoked": "API key revoked."}


@dataclass(frozen=True, slots=True)
class KeyForm:
    """The submitted form for a new or rotated API key."""

    name: str = ""
    kind: str = "secret"
    scopes: frozenset[str] = frozenset()
    expires: str = ""
    overlap: str = "24"


class KeyPages:
    """The API key pages."""

    def __init__(self, desk: PageContext) -> None:
        self._context = desk

    def routes(self) -> list[Route]:
        """Starlette routes. Secrets are shown only after reauthentication."""
        context = self._context
        return [
            context.route("/keys", self.list, "owner", "developer", methods=["GET"]),
            context.route("/keys/new", self.create, "owner", "developer", fresh=True),
            context.route("/keys/{id}", self.rotate_or_revoke, "owner", "developer", fresh=True),
        ]

    async def list(self, visitor: Visitor) -> Response:
        """List all API keys without their secrets, newest first."""
        async with self._context.db.read() as tx:
            found = await keys.list_by_partner(tx, partner_of_visitor(visitor))
        reported = _REPORTED.get(visitor.query.get("done", ""))
        return self._context.render_page(
            visitor, "keys.html", keys=[self._facts(key) for key in found], message=reported
        )

    async def create(self, visitor: Visitor) -> Response:
        """Create an API key and show its secret once."""
        typed, problems = KeyForm(), {}
        if visitor.form:
            typed = _read_form(visitor)
            try:
                async with self._context.db.write() as tx:
                    kind = _read_kind(visitor, typed.kind)
                    made = await api_keys.create(
                        tx,
                        partner_of_visitor(visitor),
                        self._context.audit_context(visitor),
                        kind,
                        typed.name,
                        typed.scopes,
                        lifetime=_LIFETIMES[typed.expires],
                        by_owner=visitor.person.has_role("owner"),
                    )
            except IncorrectParams as error:
                problems = problems_by_field(error, "name")
            else:
                return self._secret(visitor, *made)
        status = 422 if problems else 200
        kinds = [{"id": kind, **_KINDS[kind]} for kind in _KINDS if _may_manage(visitor, kind)]
        return self._context.render_page(
            visitor,
            "key_new.html",
            status=status,
            typed=typed,
            kinds=kinds,
            lifetimes=list(_LIFETIMES),
            scope_groups=_scope_groups(sandbox=self._context.db.deployment.sandbox),
            by_owner=visitor.person.has_role("owner"),
            problems=problems,
        )

    async def rotate_or_revoke(self, visitor: Visitor) -> Response:
        """Rotate or revoke an API key."""
        key_id, partner = self._context.id_from_path(visitor, "apikey"), partner_of_visitor(visitor)
        try:
            async with self._context.db.read() as tx:
                key = await api_keys.get(tx, partner, key_id)
        except NoSuchKey:
            raise NotFound from None
        if not _may_manage(visitor, key.kind):
            return self._context.gate.render_refusal(
                visitor, "You do not have access to this page", "Only owners can manage directory keys."
            )
        typed, problems = KeyForm(overlap=visitor.form_value("overlap").strip() or "24"), {}
        if visitor.form:
            try:
                return await self._act(visitor, key, typed)
            except IncorrectParams as error:
                problems = problems_by_field(error, "overlap")
        status = 422 if problems else 200
        return self._context.render_page(
            visitor, "key.html", status=status, key=self._facts(key), typed=typed, problems=problems
        )

    async def _act(self, visitor: Visitor, key: ApiKey, typed: KeyForm) -> Response:
        """Do what the pressed button says."""
        by = self._context.audit_context(visitor)
        match visitor.form_value("do"):
            case "rotate":
                if not typed.overlap.isdecimal() or len(typed.overlap) > 3:
                    raise IncorrectParams("overlap: enter a number of hours, for example 24")
                async with self._context.db.write() as tx:
                    made = await api_keys.rotate(
                        tx, by, key, timedelta(hours=int(typed.overlap)), by_owner=visitor.person.has_role("owner")
                    )
                return self._secret(visitor, *made)
            case "revoke":
                if not visitor.form_value("sure"):
                    raise IncorrectParams("sure: confirm that you want to revoke this key")
                async with self._context.db.write() as tx:
                    await api_keys.revoke(tx, by, key)
                return redirect_to(f"{visitor.place.home}/keys?done=revoked")
            case _:
                raise NotFound

    def _secret(self, visitor: Visitor, key: ApiKey, secret: str) -> Response:
        return self._context.render_page(visitor, "secret.html", key=self._facts(key), secret=secret)

    def _facts(self, key: ApiKey) -> dict[str, object]:
        """A key for a template."""
        real_now = self._context.db.deployment.clock.real_now()
        if key.revoked_at is not None:
            state = "revoked"
        elif key.expires_at is None:
            state = "active"
        else:
            state = f"{'active until' if key.is_usable(real_now) else 'expired'} {key.expires_at:%Y-%m-%d %H:%M} UTC"
        return {
            "id": self._context.id_text("apikey", key.id),
            "name": key.name,
            "kind": _KINDS[key.kind]["name"],
            "hint": key.hint,
            "state": state,
            "usable": key.is_usable(real_now),
            "scopes": ", ".join(sorted(key.scopes)),
            "created_at": key.created_at,
            "last_used_at": key.last_used_at,
            "last_used_route": key.last_used_route,
        }


def _read_form(visitor: Visitor) -> KeyForm:
    """What was typed and ticked."""
    form = visitor.form
    ticked = " ".join(str(one) for one in form.getlist("scopes"))
    expires = form_value(form, "expires")
    return KeyForm(
        form_value(form, "name").strip(),
        form_value(form, "kind"),
        frozenset(ticked.split()),
        expires if expires in _LIFETIMES else "",
    )


def _scope_groups(*, sandbox: bool) -> dict[str, list[str]]:
    """The scopes that are ticked one by one, by what they are about."""
    groups: dict[str, list[str]] = {}
    for scope in sorted(SCOPES - NAMED_ONLY - {ALL_SCOPES}):
        if sandbox or scope != "sandbox":
            groups.setdefault(scope.partition(":")[0], []).append(scope)
    return groups


def _read_kind(visitor: Visitor, name: str) -> Kind:
    """The kind that was chosen. Raises IncorrectParams."""
    chosen = next((kind for kind in _KINDS if kind == name), None)
    if chosen is None or not _may_manage(visitor, chosen):
        raise IncorrectParams("kind: select a key type")
    return chosen


def _may_manage(visitor: Visitor, kind: Kind) -> bool:
    """Whether the visitor deals with such keys: who has a directory's key can put people into an owners' group."""
    return kind != "scim" or visitor.person.has_role("owner")

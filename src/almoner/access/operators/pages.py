"""Pages for administrators to manage operators, and for operators to manage their tokens."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import (
    OPERATORS_HOME,
    ROLE_NAMES,
    NavigationLink,
    format_role_names,
    problems_by_field,
)
from almoner.access.accounts.page_guard import PageGuard, SignedInRequest, redirect_to
from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import AuditContext
from almoner.access.operators import domain, service
from almoner.access.operators.domain import Approval, OperatorActionDenied, OperatorToken
from almoner.access.operators.service import NoSuchToken
from almoner.access.people import service as people
from almoner.access.people.domain import (
    OPERATOR_ROLES,
    OPERATORS,
    NoSuchPerson,
    OperatorRole,
    Person,
    UserNameTaken,
)
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.rendering import PageRenderer

TEMPLATES: Final = Path(__file__).parent / "templates"
LINKS: Final = (
    NavigationLink("Operators", "/operators", frozenset({"administrator"}), for_operators=True, group="People"),
    NavigationLink("Tokens", "/tokens", None, for_operators=True, group="People"),
)
"""The navigation entries of these pages."""

_MEANS: Final[dict[OperatorRole, str]] = {
    "reviewer": "Approves, rejects and reopens verifications of nonprofits.",
    "finance": "Manages reconciliation, disbursements, holds, unallocated payments and reassigned donations.",
    "administrator": (
        "Manages operators, partners, members and API keys. Cannot make decisions about money or nonprofits."
    ),
}
_ROLES: Final = [{"id": role, "name": ROLE_NAMES[role], "means": _MEANS[role]} for role in OPERATOR_ROLES]
_DAYS: Final = domain.DEFAULT_TOKEN_LIFETIME.days
_REPORTED: Final = {
    "invited": "Invitation sent.",
    "roles": "Roles saved.",
    "details": "Name and email address saved.",
    "entered": (
        "The new email address was entered. It is used once another administrator enters it here, too, within 7 days. "
        "We notified the current address."
    ),
    "reset": (
        "Password and second factor reset. All sessions and tokens have ended, and we emailed a link to set up the "
        "sign-in again."
    ),
    "deactivated": (
        "Operator deactivated. The operator has been signed out of all sessions, and the operator's tokens no longer "
        "work."
    ),
    "activated": "Operator reactivated. The operator's previous tokens stay revoked.",
    "revoked": "Token revoked.",
    "revoked_all": "All tokens revoked.",
}


def routes(guard: PageGuard, page_renderer: PageRenderer) -> list[Route]:
    """Starlette routes. ``page_renderer`` renders ``TEMPLATES``. Changes need a recent reauthentication."""
    own, people_ = _TokenPages(guard, page_renderer), _OperatorPages(guard, page_renderer)
    start = f"{OPERATORS_HOME}/operators"
    return [
        guard.protected_route(start, people_.list, "administrator", methods=["GET"]),
        guard.protected_route(f"{start}/invite", people_.invite, "administrator", requires_reauthentication=True),
        guard.protected_route(f"{start}/{{id}}", people_.operator, "administrator", requires_reauthentication=True),
        guard.protected_route(f"{OPERATORS_HOME}/tokens", own.tokens, requires_reauthentication=True),
    ]


class _PageBase:
    """Shared parts of both pages."""

    def __init__(self, gate: PageGuard, pages: PageRenderer) -> None:
        self._gate, self._pages, self._db = gate, pages, gate.db

    def _show(self, visitor: SignedInRequest, template: str, **context: Any) -> Response:
        """Render a page; 422 with problems."""
        status = 422 if context.get("problems") else 200
        reported = _REPORTED.get(visitor.query.get("done", ""))
        return self._gate.render_page(
            self._pages, visitor, template, status=status, passkeys=False, message=reported, **context
        )

    def _text(self, type_: str, record: UUID) -> str:
        return self._db.deployment.ids.encode(type_, record)

    def _token(self, token: OperatorToken) -> dict[str, object]:
        real_now = self._db.deployment.clock.real_now()
        return {
            "id": self._text(service.TOKEN_ID, token.id),
            "name": token.name,
            "hint": token.hint,
            "state": token.status_text(real_now),
            "usable": token.is_valid(real_now),
            "created_at": token.created_at,
            "last_used_at": token.last_used_at,
        }


class _OperatorPages(_PageBase):
    """The operator pages, for administrators."""

    async def list(self, visitor: SignedInRequest) -> Response:
        """List all operators with their roles, and whether a new address waits for a second administrator."""
        async with self._db.read() as tx:
            known = await service.list_operators(tx)
            entered = {one.subject for one, _ in await service.list_pending_approvals(tx, domain.EMAIL_CHANGE)}
        found = []
        for one in known:
            facts = self._facts(one.person)
            waits = ", new email address to confirm" if facts["id"] in entered else ""
            found.append({**facts, "status": f"{one.status_text}{waits}"})
        return self._show(visitor, "operators.html", found=found, own=self._text(service.ID, visitor.person.id))

    async def invite(self, visitor: SignedInRequest) -> Response:
        """Invite an operator."""
        problems: dict[str, str] = {}
        if visitor.form:
            try:
                async with self._db.write() as tx:
                    done = await visitor.apply_form_once(tx, partial(self._invite, tx, visitor), str)
                return redirect_to(f"{visitor.portal.home}/operators?done={done}")
            except UserNameTaken:
                problems = {"email": "An operator with this email address already exists."}
            except IncorrectParams as error:
                problems = problems_by_field(error, "email")
        typed = {"email": visitor.form_value("email"), "name": visitor.form_value("name")}
        held = visitor.checkbox_values("role", OPERATOR_ROLES)
        return self._show(visitor, "operator_new.html", typed=typed, roles=_ROLES, held=held, problems=problems)

    async def _invite(self, tx: Tx, visitor: SignedInRequest) -> str:
        by, roles = visitor.audit_context(tx.ids), visitor.checkbox_values("role", OPERATOR_ROLES)
        await service.add_operator(tx, by, visitor.form_value("email"), visitor.form_value("name"), roles)
        return "invited"

    async def operator(self, visitor: SignedInRequest) -> Response:
        """Show one operator and the actions on them."""
        operator_id = self._db.deployment.ids.decode(service.ID, visitor.path.rpartition("/")[2])
        if operator_id is None:
            raise NotFound
        problems: dict[str, str] = {}
        try:
            if visitor.form:
                return await self._perform(visitor, operator_id)
        except NoSuchPerson:
            raise NotFound from None
        except UserNameTaken:
            problems = {"email": "An operator with this email address already exists."}
        except IncorrectParams as error:
            problems = problems_by_field(error, "more")
        except OperatorActionDenied as refused:
            problems = {{"roles": "roles", "details": "email"}.get(visitor.form_value("do"), "more"): str(refused)}
        return await self._one(visitor, operator_id, problems)

    async def _one(self, visitor: SignedInRequest, operator_id: UUID, problems: dict[str, str]) -> Response:
        async with self._db.read() as tx:
            try:
                one = await people.get(tx, OPERATORS, operator_id)
            except NoSuchPerson:
                raise NotFound from None
            factors = await credentials.get_authentication_factors(tx, one)
            tokens = [self._token(found) for found in await service.list_tokens(tx, one.id)]
            waiting = await service.list_pending_approvals(tx, domain.EMAIL_CHANGE, [self._text(service.ID, one.id)])
        return self._show(
            visitor,
            "operator.html",
            one=self._facts(one),
            entered=[
                {"by": first.display_name, "at": approval.first.at, "until": approval.expires_at}
                for approval, first in waiting
            ],
            typed={
                name: visitor.form_value(name)
                if visitor.form_value("do") == "details" and visitor.is_field_changed(name)
                else stored
                for name, stored in (("name", one.display_name), ("email", one.user_name))
            },
            own=one.id == visitor.person.id,
            held=visitor.checkbox_values("role", OPERATOR_ROLES) if "roles" in problems else one.roles,
            roles=_ROLES,
            stored_roles=" ".join(sorted(one.roles)),
            invitable=one.active and not (factors.password or factors.passkeys),
            tokens=tokens,
            problems=problems,
        )

    async def _perform(self, visitor: SignedInRequest, operator_id: UUID) -> Response:
        """Perform the action of the pressed button, and show the result."""
        by = visitor.audit_context(self._db.deployment.ids)
        actions: Mapping[str, tuple[str, Callable[[Tx], Awaitable[object]]]] = {
            "roles": ("roles", lambda tx: self._set_roles(tx, visitor, operator_id)),
            "invite": ("invited", lambda tx: service.resend_invitation(tx, by, operator_id)),
            "deactivate": ("deactivated", lambda tx: service.deactivate(tx, by, operator_id)),
            "activate": ("activated", lambda tx: service.activate(tx, by, operator_id)),
            "details": ("details", lambda tx: self._update_details(tx, visitor, operator_id)),
            "reset": ("reset", lambda tx: self._reset(tx, visitor, operator_id)),
            "revoke_all": ("revoked_all", lambda tx: self._revoke_all(tx, by, operator_id)),
        }
        if (chosen := actions.get(visitor.form_value("do"))) is None:
            raise NotFound
        reported, act = chosen

        async def apply(tx: Tx) -> str:
            return "entered" if isinstance(await act(tx), Approval) else reported

        async with self._db.write() as tx:
            done = await visitor.apply_form_once(tx, partial(apply, tx), str)
        return redirect_to(f"{visitor.path}?done={done}")

    async def _update_details(self, tx: Tx, visitor: SignedInRequest, operator_id: UUID) -> Person | Approval:
        name, email = visitor.form_value("name").strip(), visitor.form_value("email").strip()
        if missing := [field for field, value in (("name", name), ("email", email)) if not value]:
            raise IncorrectParams(*(f"{field}: enter a value" for field in missing))
        touched = {
            field: value for field, value in (("name", name), ("email", email)) if visitor.is_field_changed(field)
        }
        return await service.update_details(tx, visitor.audit_context(tx.ids), operator_id, **touched)

    async def _set_roles(self, tx: Tx, visitor: SignedInRequest, operator_id: UUID) -> Person:
        wanted = visitor.checkbox_values("role", OPERATOR_ROLES)
        by = visitor.audit_context(tx.ids)
        return await service.set_roles(tx, by, operator_id, wanted, expected_current_roles=visitor.roles_shown_in_form)

    async def _reset(self, tx: Tx, visitor: SignedInRequest, operator_id: UUID) -> None:
        if operator_id == visitor.person.id:
            raise OperatorActionDenied("Change your own password and second factor on your account page.")
        await service.reset_credentials_and_reinvite(tx, visitor.audit_context(tx.ids), operator_id)

    async def _revoke_all(self, tx: Tx, by: AuditContext, operator_id: UUID) -> None:
        await service.revoke_all_tokens(tx, by, await people.get_for_update(tx, OPERATORS, operator_id))

    def _facts(self, one: Person) -> dict[str, object]:
        return {
            "id": self._text(service.ID, one.id),
            "name": one.display_name,
            "user_name": one.user_name,
            "roles": format_role_names(one.roles),
            "active": one.active,
        }


class _TokenPages(_PageBase):
    """The pages of the signed-in operator's own tokens."""

    async def tokens(self, visitor: SignedInRequest) -> Response:
        """List the operator's tokens, create one, and show its secret once."""
        problems: dict[str, str] = {}
        typed = {"name": visitor.form_value("name"), "days": visitor.form_value("days").strip() or str(_DAYS)}
        if visitor.form:
            try:
                match visitor.form_value("do"):
                    case "make":
                        return await self._make(visitor, typed)
                    case "revoke":
                        return await self._revoke(visitor)
                    case "revoke_all":
                        return await self._revoke_all(visitor)
                    case _:
                        raise NotFound
            except IncorrectParams as error:
                problems = problems_by_field(error, "name")
        async with self._db.read() as tx:
            found = [self._token(one) for one in await service.list_tokens(tx, visitor.person.id)]
        return self._show(visitor, "tokens.html", found=found, typed=typed, problems=problems)

    async def _make(self, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> Response:
        if not entered_values["days"].isdecimal() or len(entered_values["days"]) > 3:
            raise IncorrectParams("days: enter a number, for example 90")

        async def create(tx: Tx) -> tuple[UUID, str]:
            person = await people.get_for_update(tx, OPERATORS, visitor.person.id)
            life = domain.parse_token_lifetime(int(entered_values["days"]))
            token, secret = await service.create_token(
                tx, visitor.audit_context(tx.ids), person, entered_values["name"], life
            )
            return token.id, secret

        async def record_again(tx: Tx, shown: tuple[UUID, str]) -> None:
            by, token = visitor.audit_context(tx.ids), await service.get_token(tx, shown[0])
            await service.record_token_shown_again(tx, by, visitor.person, token)

        async with self._db.write() as tx:
            token_id, secret = await visitor.apply_form_once(
                tx, partial(create, tx), tuple[UUID, str], partial(record_again, tx)
            )
            token = await service.get_token(tx, token_id)
        return self._show(visitor, "token.html", token=self._token(token), secret=secret)

    async def _revoke(self, visitor: SignedInRequest) -> Response:
        token_id = self._db.deployment.ids.decode(service.TOKEN_ID, visitor.form_value("token"))
        if token_id is None:
            raise NotFound
        async with self._db.write() as tx:
            try:
                token = await service.get_token(tx, token_id)
            except NoSuchToken:
                raise NotFound from None
            if token.person_id != visitor.person.id:
                raise NotFound
            await service.revoke_token(tx, visitor.audit_context(tx.ids), token)
        return redirect_to(f"{visitor.path}?done=revoked")

    async def _revoke_all(self, visitor: SignedInRequest) -> Response:
        async with self._db.write() as tx:
            person = await people.get_for_update(tx, OPERATORS, visitor.person.id)
            await service.revoke_all_tokens(tx, visitor.audit_context(tx.ids), person)
        return redirect_to(f"{visitor.path}?done=revoked_all")

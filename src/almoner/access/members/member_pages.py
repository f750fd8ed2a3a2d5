"""Pages on which owners invite and manage members and groups."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, cast
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request, redirect_to
from almoner.access.accounts.page_texts import PageTexts, build_page_texts
from almoner.access.members import service
from almoner.access.members.domain import (
    MAX_DAILY_ADDRESSES,
    MAX_DAILY_INVITATIONS,
    LastOwnerRequired,
    MemberNotInvitable,
    MembershipState,
    NoSuchGroup,
    TooManyInvitations,
)
from almoner.access.members.service import member_details
from almoner.access.members.views import (
    PAGE_SIZE,
    english_problems_by_field,
    role_choices,
    trim_to_page_and_check_for_more,
)
from almoner.access.people.domain import (
    LONGEST_NAME,
    MEMBER_ROLES,
    MemberRole,
    NoSuchPerson,
    Person,
    UserNameTaken,
)
from almoner.access.sso.service import identities
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.platform.database.transactions import Tx
from almoner.platform.outbound import email_addresses
from almoner.platform.pages import formats

_NOTICES: Final = (
    "invited",
    "again",
    "roles",
    "changed",
    "deactivated",
    "activated",
    "disconnected",
    "removed",
    "mapped",
)


@dataclass(frozen=True, slots=True)
class InvitationForm:
    """The submitted form that invites a member."""

    email: str = ""
    name: str = ""
    user_name: str = ""
    roles: tuple[str, ...] = ("read_only",)

    @classmethod
    def from_form(cls, visitor: SignedInRequest) -> "InvitationForm":
        """Read the posted form."""
        email, name, user_name = (visitor.form_value(field).strip() for field in ("email", "name", "user_name"))
        return cls(email, name, user_name, tuple(str(one) for one in visitor.form.getlist("role")))

    def find_problems(self, texts: PageTexts) -> dict[str, str]:
        """Errors by form field."""
        found = {}
        if not email_addresses.is_email_address(self.email):
            found["email"] = texts.text("account.find.format")
        for field in ("name", "user_name"):
            if len(getattr(self, field)) > LONGEST_NAME:
                found[field] = texts.text("members.problem.too_long", count=LONGEST_NAME)
        return found


class MemberPages:
    """The member and group pages."""

    def __init__(self, desk: PageContext) -> None:
        self._context = desk

    def routes(self) -> list[Route]:
        """Starlette routes. Changes need an owner who has just reauthenticated."""
        context = self._context
        return [
            context.route("/members", self.list_members, *MEMBER_ROLES, methods=["GET"]),
            context.route("/members/invite", self.invite, "owner", requires_reauthentication=True),
            context.route("/members/{id}", self.manage_member, "owner", requires_reauthentication=True),
            context.route("/groups", self.manage_groups, "owner", requires_reauthentication=True),
            context.route("/groups/{id}", self.manage_group, "owner", methods=["GET"]),
        ]

    async def list_members(self, visitor: SignedInRequest) -> Response:
        """List all members with their roles."""
        after = self._context.parse_page_cursor(visitor, "member")
        async with self._context.db.read() as tx:
            found, more = trim_to_page_and_check_for_more(
                await service.list_page(tx, partner_from_request(visitor), after, PAGE_SIZE + 1)
            )
        texts = build_page_texts(self._context, visitor)
        return self._show(
            visitor,
            texts,
            "members.html",
            members=[self._facts(one, texts) for one in found],
            manages=visitor.person.has_role("owner"),
            own=self._context.format_id("member", visitor.person.id),
            later=after is not None,
            onward=f"{visitor.path}?after={self._context.format_id('member', found[-1].person.id)}" if more else None,
        )

    async def invite(self, visitor: SignedInRequest) -> Response:
        """Invite a new member."""
        texts, typed = build_page_texts(self._context, visitor), InvitationForm()
        problems: dict[str, str] = {}
        if visitor.form:
            typed = InvitationForm.from_form(visitor)
            problems = typed.find_problems(texts)
        if visitor.form and not problems:
            try:
                async with self._context.db.write() as tx:
                    done = await visitor.apply_form_once(tx, partial(self._invite, tx, visitor, typed), str)
            except IncorrectParams as error:
                problems = _refusal_texts(error, "user_name" if typed.user_name else "email", texts)
            else:
                return redirect_to(f"{visitor.portal.home}/members?done={done}")
        return self._show(visitor, texts, "invite.html", typed=typed, roles=role_choices(texts), problems=problems)

    async def _invite(self, tx: Tx, visitor: SignedInRequest, typed: InvitationForm) -> str:
        await service.invite_member(
            tx,
            partner_from_request(visitor),
            self._context.audit_context(visitor),
            typed.email,
            name=typed.name,
            user_name=typed.user_name,
            roles=visitor.checkbox_values("role", MEMBER_ROLES),
        )
        return "invited"

    async def manage_member(self, visitor: SignedInRequest) -> Response:
        """Show one member and apply an owner's change to them."""
        person_id, partner = self._context.parse_id_from_path(visitor, "member"), partner_from_request(visitor)
        texts, pressed = build_page_texts(self._context, visitor), visitor.form_value("do")
        problems: dict[str, str] = {}
        try:
            if pressed == "remove" and not visitor.form_value("sure"):
                problems = {"more": texts.text("members.problem.sure")}
            elif visitor.form:
                return await self._perform(visitor)
        except NoSuchPerson:
            raise NotFound from None
        except IncorrectParams as error:
            field = {"roles": "roles", "change": "email"}.get(pressed, "more")
            problems = _refusal_texts(error, field, texts)
        async with self._context.db.read() as tx:
            try:
                one = await service.get_member(tx, partner, person_id)
            except NoSuchPerson:
                raise NotFound from None
            groups = (await service.load_groups_by_person_id(tx, partner, [person_id]))[person_id]
            bound = await identities.list_linked_accounts(tx, one.person)
        typed = stored = {"name": one.person.display_name, "email": one.person.email or ""}
        if pressed == "change":
            typed = {
                field: visitor.form_value(field) if visitor.is_field_changed(field) else value
                for field, value in stored.items()
            }
        return self._show(
            visitor,
            texts,
            "member.html",
            one=self._facts(one, texts),
            typed=typed,
            stored={**stored, "roles": " ".join(sorted(one.granted_roles))},
            held=visitor.checkbox_values("role", MEMBER_ROLES) if "roles" in problems else one.granted_roles,
            roles=role_choices(texts),
            groups=formats.list_separator(texts.language.locale).join(group.display_name for group in groups),
            bound=bound,
            invitable=not one.has_joined and one.person.active and one.person.email is not None,
            problems=problems,
        )

    async def _perform(self, visitor: SignedInRequest) -> Response:
        """Perform the action of the pressed button, and show the result."""
        person_id = self._context.parse_id_from_path(visitor, "member")
        partner, by, pressed = (
            partner_from_request(visitor),
            self._context.audit_context(visitor),
            visitor.form_value("do"),
        )
        name, email = (
            visitor.form_value(field) if visitor.is_field_changed(field) else None for field in ("name", "email")
        )
        actions: Mapping[str, tuple[str, Callable[[Tx], Awaitable[object]]]] = {
            "change": (
                "changed",
                lambda tx: member_details.update_details(tx, partner, by, person_id, name=name, email=email),
            ),
            "roles": (
                "roles",
                lambda tx: self._change_roles(tx, visitor, person_id),
            ),
            "invite": ("again", lambda tx: service.resend_invitation(tx, partner, by, person_id)),
            "deactivate": ("deactivated", lambda tx: service.deactivate_member(tx, partner, by, person_id)),
            "activate": ("activated", lambda tx: service.activate_member(tx, partner, by, person_id)),
            "disconnect": ("disconnected", lambda tx: service.unlink_sso_account(tx, partner, by, person_id)),
            "remove": ("removed", lambda tx: service.remove_member(tx, partner, by, person_id)),
        }
        if pressed not in actions:
            raise NotFound
        reported, act = actions[pressed]

        async def apply(tx: Tx) -> str:
            await act(tx)
            return reported

        async with self._context.db.write() as tx:
            done = await visitor.apply_form_once(tx, partial(apply, tx), str)
        page = f"{visitor.portal.home}/members" if pressed == "remove" else visitor.path
        return redirect_to(f"{page}?done={done}")

    async def _change_roles(self, tx: Tx, visitor: SignedInRequest, person_id: UUID) -> Person:
        partner, wanted = partner_from_request(visitor), visitor.checkbox_values("role", MEMBER_ROLES)
        by = self._context.audit_context(visitor)
        return await service.change_roles(
            tx, partner, by, person_id, wanted, expected_current_roles=visitor.roles_shown_in_form
        )

    async def manage_groups(self, visitor: SignedInRequest) -> Response:
        """List groups with the role each gives to its members."""
        partner, texts = partner_from_request(visitor), build_page_texts(self._context, visitor)
        problems: dict[str, str] = {}
        if visitor.form:
            try:
                await self._map(visitor)
            except IncorrectParams as error:
                problems = _refusal_texts(error, visitor.form_value("group"), texts)
            else:
                return redirect_to(f"{visitor.path}?done=mapped")
        after = self._context.parse_page_cursor(visitor, "group")
        async with self._context.db.read() as tx:
            found, more = trim_to_page_and_check_for_more(
                await service.list_groups_with_sizes(tx, partner, after, PAGE_SIZE + 1)
            )
        return self._show(
            visitor,
            texts,
            "groups.html",
            groups=[
                {
                    "id": self._context.format_id("group", group.id),
                    "name": group.display_name,
                    "role": group.role,
                    "size": size,
                }
                for group, size in found
            ],
            roles=role_choices(texts),
            later=after is not None,
            onward=f"{visitor.path}?after={self._context.format_id('group', found[-1][0].id)}" if more else None,
            problems=problems,
        )

    async def manage_group(self, visitor: SignedInRequest) -> Response:
        """Show a group's members, and set the role that it gives."""
        group_id, partner = self._context.parse_id_from_path(visitor, "group"), partner_from_request(visitor)
        after = self._context.parse_page_cursor(visitor, "member")
        async with self._context.db.read() as tx:
            try:
                group = await service.get_group(tx, partner, group_id, with_members=False)
            except NoSuchGroup:
                raise NotFound from None
            found, more = trim_to_page_and_check_for_more(
                await service.list_group_members(tx, partner, group_id, after, PAGE_SIZE + 1)
            )
        shown = [{"id": self._context.format_id("member", one.id), "name": one.name} for one in found]
        texts = build_page_texts(self._context, visitor)
        return self._show(
            visitor,
            texts,
            "group.html",
            name=group.display_name,
            role=texts.role_names([group.role]) if group.role else None,
            members=shown,
            later=after is not None,
            onward=f"{visitor.path}?after={shown[-1]['id']}" if more else None,
        )

    async def _map(self, visitor: SignedInRequest) -> None:
        group_id = self._context.parse_id("group", visitor.form_value("group"))
        role = cast("MemberRole | None", visitor.form_value("role") or None)
        try:
            async with self._context.db.write() as tx:
                by = self._context.audit_context(visitor)
                await service.map_group_to_role(tx, partner_from_request(visitor), group_id, role, by)
        except NoSuchGroup:
            raise NotFound from None

    def _facts(self, one: MembershipState, texts: PageTexts) -> dict[str, object]:
        """The template values of a member."""
        person = one.person
        if not person.active:
            state = "deactivated"
        elif one.has_joined:
            state = "active"
        else:
            state = "invited" if one.invitation_expires_at else "never"
        until = texts.timestamp_text(one.invitation_expires_at) if one.invitation_expires_at else ""
        return {
            "id": self._context.format_id("member", person.id),
            "name": person.display_name,
            "user_name": person.user_name,
            "email": person.email,
            "roles": texts.role_names(person.roles),
            "elsewhere": texts.role_names(one.roles_from_groups_and_sso),
            "active": person.active,
            "state": texts.text(f"members.state.{state}", when=until),
        }

    def _show(
        self,
        visitor: SignedInRequest,
        texts: PageTexts,
        template: str,
        *,
        problems: Mapping[str, str] | None = None,
        **context: object,
    ) -> Response:
        """Render a page in the visitor's language; 422 with problems."""
        done = visitor.query.get("done", "")
        return self._context.render_page(
            visitor,
            template,
            language=texts.language,
            status=422 if problems else 200,
            problems=problems or {},
            message=texts.text(f"members.done.{done}") if done in _NOTICES else None,
            moment=texts.timestamp_text,
            **context,
        )


def _refusal_texts(error: IncorrectParams, field: str, texts: PageTexts) -> dict[str, str]:
    """The texts of a refusal, by field. ``field``: the form's main field; "more": the actions on a member."""
    match error:
        case UserNameTaken():
            return {field: texts.text("members.problem.taken")}
        case LastOwnerRequired():
            key = "only_sign_in" if error.others_invited else "last_owner"
            return {field: texts.text(f"members.problem.{key}")}
        case MemberNotInvitable():
            return {field: texts.text("members.problem.not_invitable")}
        case TooManyInvitations() if field == "more":
            return {field: texts.text("members.problem.invitations", count=MAX_DAILY_INVITATIONS)}
        case TooManyInvitations():
            return {"email": texts.text("members.problem.addresses", count=MAX_DAILY_ADDRESSES)}
    known = {
        "email": texts.text("account.find.format"),
        "name": texts.text("members.problem.too_long", count=LONGEST_NAME),
    }
    return {name: known.get(name, reason) for name, reason in english_problems_by_field(error, field).items()}

"""Pages on which owners invite and manage members and groups."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import ROLE_NAMES, problems_by_field, roles_text
from almoner.access.accounts.page_guard import PageContext, Visitor, partner_of_visitor, redirect_to
from almoner.access.members import service
from almoner.access.members.domain import MembershipState, NoSuchGroup
from almoner.access.members.service import member_details
from almoner.access.members.views import PAGE_SIZE, ROLE_CHOICES, trim_to_page_size
from almoner.access.people.domain import LONGEST_NAME, MEMBER_ROLES, MemberRole, NoSuchPerson, UserNameTaken
from almoner.access.sso.service import identities
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.platform.database.transactions import Tx
from almoner.platform.outbound import email_addresses

_TAKEN: Final = "This username is already taken."
_REPORTED: Final = {
    "invited": "Invitation sent.",
    "again": "New invitation sent. The previous link no longer works.",
    "roles": "Roles saved.",
    "changed": "Profile saved. If the email address changed, we have notified the old one.",
    "deactivated": "Member deactivated and signed out of all sessions.",
    "activated": "Member reactivated.",
    "disconnected": "SSO account disconnected. The member can no longer sign in with SSO.",
    "removed": "Member removed.",
    "mapped": "Group role saved.",
}


@dataclass(frozen=True, slots=True)
class InvitationForm:
    """The submitted form that invites a member."""

    email: str = ""
    name: str = ""
    user_name: str = ""
    roles: tuple[str, ...] = ("read_only",)

    @classmethod
    def from_form(cls, visitor: Visitor) -> "InvitationForm":
        """Read the posted form."""
        email, name, user_name = (visitor.form_value(field).strip() for field in ("email", "name", "user_name"))
        return cls(email, name, user_name, tuple(str(one) for one in visitor.form.getlist("role")))

    def problems(self) -> dict[str, str]:
        """Errors by form field."""
        found = {}
        if not email_addresses.is_email_address(self.email):
            found["email"] = "Enter an email address in the correct format, like amina@example.org."
        for field in ("name", "user_name"):
            if len(getattr(self, field)) > LONGEST_NAME:
                found[field] = f"Must be {LONGEST_NAME} characters or fewer."
        return found


class MemberPages:
    """The member and group pages."""

    def __init__(self, desk: PageContext) -> None:
        self._context = desk

    def routes(self) -> list[Route]:
        """Starlette routes. Changes need an owner who has just reauthenticated."""
        context = self._context
        return [
            context.route("/members", self.list, *MEMBER_ROLES, methods=["GET"]),
            context.route("/members/invite", self.invite, "owner", fresh=True),
            context.route("/members/{id}", self.member, "owner", fresh=True),
            context.route("/groups", self.groups, "owner", fresh=True),
            context.route("/groups/{id}", self.group, "owner", methods=["GET"]),
        ]

    async def list(self, visitor: Visitor) -> Response:
        """List all members with their roles."""
        after = self._context.after_id(visitor, "member")
        async with self._context.db.read() as tx:
            found, more = trim_to_page_size(
                await service.list_page(tx, partner_of_visitor(visitor), after, PAGE_SIZE + 1)
            )
        return self._context.render_page(
            visitor,
            "members.html",
            members=[self._facts(one) for one in found],
            manages=visitor.person.has_role("owner"),
            own=self._context.id_text("member", visitor.person.id),
            later=after is not None,
            onward=f"{visitor.path}?after={self._context.id_text('member', found[-1].person.id)}" if more else None,
            message=_notice_text(visitor),
        )

    async def invite(self, visitor: Visitor) -> Response:
        """Invite a new member."""
        typed = InvitationForm.from_form(visitor) if visitor.form else InvitationForm()
        problems = typed.problems() if visitor.form else {}
        if visitor.form and not problems:
            try:
                async with self._context.db.write() as tx:
                    await service.invite_member(
                        tx,
                        partner_of_visitor(visitor),
                        self._context.audit_context(visitor),
                        typed.email,
                        name=typed.name,
                        user_name=typed.user_name,
                        roles=visitor.checkbox_values("role", MEMBER_ROLES),
                    )
            except UserNameTaken:
                field = "user_name" if typed.user_name else "email"
                problems = {field: _TAKEN}
            except IncorrectParams as error:
                problems = problems_by_field(error, "user_name")
            else:
                return redirect_to(f"{visitor.place.home}/members?done=invited")
        status = 422 if problems else 200
        return self._context.render_page(
            visitor, "invite.html", status=status, typed=typed, roles=ROLE_CHOICES, problems=problems
        )

    async def member(self, visitor: Visitor) -> Response:
        """Show one member and apply an owner's change to them."""
        person_id, partner = self._context.id_from_path(visitor, "member"), partner_of_visitor(visitor)
        problems = {}
        try:
            if visitor.form:
                return await self._act(visitor)
        except NoSuchPerson:
            raise NotFound from None
        except UserNameTaken:
            problems = {"email": _TAKEN}
        except IncorrectParams as error:
            problems = problems_by_field(error, "roles" if visitor.form_value("do") == "roles" else "more")
        async with self._context.db.read() as tx:
            try:
                one = await service.get_member(tx, partner, person_id)
            except NoSuchPerson:
                raise NotFound from None
            groups = (await service.list_groups_of_people(tx, partner, [person_id]))[person_id]
            bound = await identities.list_by_person(tx, one.person)
        typed = {"name": one.person.shown_name, "email": one.person.email or ""}
        if visitor.form_value("do") == "change":
            typed = {field: visitor.form_value(field) for field in typed}
        return self._context.render_page(
            visitor,
            "member.html",
            status=422 if problems else 200,
            one=self._facts(one),
            typed=typed,
            held=visitor.checkbox_values("role", MEMBER_ROLES) if "roles" in problems else one.granted,
            roles=ROLE_CHOICES,
            groups=[group.display_name for group in groups],
            bound=bound,
            invitable=not one.has_joined and one.person.active and one.person.email is not None,
            problems=problems,
            message=_notice_text(visitor),
        )

    async def _act(self, visitor: Visitor) -> Response:
        """Do what the pressed button says, and show it."""
        person_id = self._context.id_from_path(visitor, "member")
        partner, by, pressed = (
            partner_of_visitor(visitor),
            self._context.audit_context(visitor),
            visitor.form_value("do"),
        )
        name, email, roles = (
            visitor.form_value("name"),
            visitor.form_value("email"),
            visitor.checkbox_values("role", MEMBER_ROLES),
        )
        acts: Mapping[str, tuple[str, Callable[[Tx], Awaitable[object]]]] = {
            "change": (
                "changed",
                lambda tx: member_details.update_details(tx, partner, by, person_id, name=name, email=email),
            ),
            "roles": (
                "roles",
                lambda tx: service.change_roles(tx, partner, by, person_id, roles),
            ),
            "invite": ("again", lambda tx: service.resend_invitation(tx, partner, by, person_id)),
            "deactivate": ("deactivated", lambda tx: service.deactivate_member(tx, partner, by, person_id)),
            "activate": ("activated", lambda tx: service.activate_member(tx, partner, by, person_id)),
            "disconnect": ("disconnected", lambda tx: service.unlink_provider_account(tx, partner, by, person_id)),
            "remove": ("removed", lambda tx: service.remove_member(tx, partner, by, person_id)),
        }
        if pressed not in acts:
            raise NotFound
        if pressed == "remove" and not visitor.form_value("sure"):
            raise IncorrectParams("confirm that you want to remove this member")
        reported, act = acts[pressed]
        async with self._context.db.write() as tx:
            await act(tx)
        page = f"{visitor.place.home}/members" if pressed == "remove" else visitor.path
        return redirect_to(f"{page}?done={reported}")

    async def groups(self, visitor: Visitor) -> Response:
        """List groups with the role each gives to its members."""
        partner, problems = partner_of_visitor(visitor), {}
        if visitor.form:
            try:
                await self._map(visitor)
            except IncorrectParams as error:
                problems = problems_by_field(error, visitor.form_value("group"))
            else:
                return redirect_to(f"{visitor.path}?done=mapped")
        after = self._context.after_id(visitor, "group")
        async with self._context.db.read() as tx:
            found, more = trim_to_page_size(await service.list_groups(tx, partner, after, PAGE_SIZE + 1))
        return self._context.render_page(
            visitor,
            "groups.html",
            status=422 if problems else 200,
            groups=[
                {
                    "id": self._context.id_text("group", group.id),
                    "name": group.display_name,
                    "role": group.role,
                    "size": size,
                }
                for group, size in found
            ],
            roles=ROLE_CHOICES,
            later=after is not None,
            onward=f"{visitor.path}?after={self._context.id_text('group', found[-1][0].id)}" if more else None,
            problems=problems,
            message=_notice_text(visitor),
        )

    async def group(self, visitor: Visitor) -> Response:
        """Show who is in a group, and set the role it gives."""
        group_id, partner = self._context.id_from_path(visitor, "group"), partner_of_visitor(visitor)
        after = self._context.after_id(visitor, "member")
        async with self._context.db.read() as tx:
            try:
                group = await service.get_group(tx, partner, group_id, with_members=False)
            except NoSuchGroup:
                raise NotFound from None
            found, more = trim_to_page_size(
                await service.list_group_members(tx, partner, group_id, after, PAGE_SIZE + 1)
            )
        texts = [{"id": self._context.id_text("member", one.id), "name": one.name} for one in found]
        return self._context.render_page(
            visitor,
            "group.html",
            name=group.display_name,
            role=ROLE_NAMES[group.role] if group.role else None,
            members=texts,
            later=after is not None,
            onward=f"{visitor.path}?after={texts[-1]['id']}" if more else None,
        )

    async def _map(self, visitor: Visitor) -> None:
        group_id = self._context.parse_id("group", visitor.form_value("group"))
        role = cast("MemberRole | None", visitor.form_value("role") or None)
        try:
            async with self._context.db.write() as tx:
                by = self._context.audit_context(visitor)
                await service.set_role_for_group_members(tx, partner_of_visitor(visitor), group_id, role, by)
        except NoSuchGroup:
            raise NotFound from None

    def _facts(self, one: MembershipState) -> dict[str, object]:
        """A member for a template."""
        person = one.person
        if not person.active:
            state = "deactivated"
        elif one.has_joined:
            state = "active"
        else:
            state = "invited" if one.invited_until else "never signed in"
        return {
            "id": self._context.id_text("member", person.id),
            "name": person.shown_name,
            "user_name": person.user_name,
            "email": person.email,
            "roles": roles_text(person.roles),
            "elsewhere": roles_text(one.elsewhere),
            "active": person.active,
            "state": state,
            "until": one.invited_until if state == "invited" else None,
        }


def _notice_text(visitor: Visitor) -> str | None:
    return _REPORTED.get(visitor.query.get("done", ""))

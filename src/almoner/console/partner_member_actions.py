"""Actions for a partner's members. Each action is also available as a CLI command."""

from collections.abc import Awaitable, Callable, Mapping

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.credentials.domain import AuditContext
from almoner.access.members import service as members
from almoner.access.members.domain import MembershipState
from almoner.access.members.service import member_details
from almoner.access.people.domain import MEMBER_ROLES, MemberRole
from almoner.access.sso.service import identities
from almoner.console.actions import ActionField, ActionPage, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS
from almoner.console.partner_ids import PATH, get_member_from_url, get_partner_from_url, partner_page_path
from almoner.platform.database.transactions import Partner, Tx

Change = Callable[[Tx, Partner, AuditContext, MembershipState, Mapping[str, str]], Awaitable[object]]


def partner_member_actions(context: ConsoleContext) -> list[ConsoleAction]:
    """All actions for members."""
    return [_invite(context), *_change_actions(context), *_membership_actions(context), *_sign_in_actions(context)]


def _change_actions(context: ConsoleContext) -> list[ConsoleAction]:
    return [
        _of_member(
            context,
            "roles",
            "Change roles",
            "Save roles",
            [
                (
                    "The roles that you select replace the roles granted before. Roles from SSO or groups do not "
                    "change. We email the member."
                )
            ],
            lambda tx, scope, by, one, values: members.change_roles(tx, scope, by, one.person.id, _roles(values)),
            fields=lambda one: _role_fields(one.granted_roles),
        ),
        _of_member(
            context,
            "details",
            "Change name and email address",
            "Save changes",
            [
                "If the member signs in with their email address, they must use the new address from now on.",
                "Links in emails that we sent before the change stop working. We notify the old address of the change.",
                "If the member has signed in before, the new address gets no links that set a password for 7 days.",
            ],
            lambda tx, scope, by, one, values: member_details.update_details(
                tx, scope, by, one.person.id, name=values["name"], email=values["email"] or None
            ),
            fields=_detail_fields,
        ),
    ]


def _membership_actions(context: ConsoleContext) -> list[ConsoleAction]:
    return [
        _of_member(
            context,
            "deactivate",
            "Deactivate the member",
            "Deactivate",
            ["The member is signed out of all sessions and can no longer sign in. We email the member."],
            lambda tx, scope, by, one, _values: members.deactivate_member(tx, scope, by, one.person.id),
            closed=_deactivation_refusal_reason,
        ),
        _of_member(
            context,
            "activate",
            "Reactivate the member",
            "Reactivate",
            ["The member can sign in again, with the same roles as before."],
            lambda tx, scope, by, one, _values: members.activate_member(tx, scope, by, one.person.id),
            closed=_activation_refusal_reason,
        ),
        _of_member(
            context,
            "remove",
            "Remove the member",
            "Remove",
            [
                (
                    "The member's account and all sign-in methods are deleted, and the member is signed out of all "
                    "sessions."
                ),
                "The member's past actions stay in the audit log. You cannot undo the removal.",
            ],
            lambda tx, scope, by, one, _values: members.remove_member(tx, scope, by, one.person.id),
        ),
    ]


def _sign_in_actions(context: ConsoleContext) -> list[ConsoleAction]:
    return [
        _of_member(
            context,
            "resend",
            "Resend the invitation",
            "Send invitation",
            ["We email the member a new link, which expires in 7 days. The link in the old invitation stops working."],
            lambda tx, scope, by, one, _values: members.resend_invitation(tx, scope, by, one.person.id),
        ),
        _of_member(
            context,
            "reset",
            "Reset sign-in methods",
            "Reset sign-in methods",
            [
                "Verify the member's identity first. See docs/runbooks/lost-second-factor.md.",
                "The member's password, authenticator app, passkeys and recovery codes stop working.",
                "We notify the member by email and send a new invitation. We also notify the partner's owners.",
            ],
            lambda tx, scope, by, one, _values: members.reset_credentials_and_reinvite(tx, scope, by, one.person.id),
        ),
        _of_member(
            context,
            "unlink",
            "Unlink the member from SSO",
            "Unlink",
            ["The member can no longer sign in with SSO, and loses the roles that SSO granted. We email the member."],
            lambda tx, scope, by, one, _values: members.unlink_sso_account(tx, scope, by, one.person.id),
            closed=_unlinkable_reason,
        ),
    ]


def _role_fields(held: frozenset[str] = frozenset()) -> list[ActionField]:
    return [
        ActionField(
            role, role.replace("_", " ").capitalize(), "check", required=False, value="yes" if role in held else ""
        )
        for role in MEMBER_ROLES
    ]


def _detail_fields(one: MembershipState) -> list[ActionField]:
    return [
        ActionField("name", "Full name", required=False, value=one.person.display_name, maxlength=255),
        ActionField("email", "Email address", required=False, value=one.person.email or "", maxlength=255),
    ]


async def _deactivation_refusal_reason(_tx: Tx, one: MembershipState) -> str | None:
    """The reason why the member cannot be deactivated, or None."""
    return None if one.person.active else "This member is deactivated."


async def _activation_refusal_reason(_tx: Tx, one: MembershipState) -> str | None:
    """The reason why the member cannot be reactivated, or None."""
    return "This member is active." if one.person.active else None


async def _unlinkable_reason(tx: Tx, one: MembershipState) -> str | None:
    """The reason why the member cannot be unlinked from SSO, or None."""
    return (
        None
        if await identities.list_linked_accounts(tx, one.person)
        else "This member is not linked to an SSO provider."
    )


def _roles(entered_values: Mapping[str, str]) -> list[MemberRole]:
    return [role for role in MEMBER_ROLES if entered_values[role] == "yes"]


def _invite(context: ConsoleContext) -> ConsoleAction:
    async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
        account = await get_partner_from_url(tx, visitor)
        return ActionPage(
            "Invite a member",
            "Send invitation",
            partner_page_path(tx, account),
            account.name,
            [
                f"We'll email the new member a single-use link to join {account.name}. The link expires in 7 days.",
                "A member without a role can see only their own account.",
            ],
            fields=[
                ActionField("email", "Email address", maxlength=255),
                ActionField("name", "Full name", required=False, maxlength=255),
                *_role_fields(),
            ],
        )

    async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        account = await get_partner_from_url(tx, visitor)
        by = context.audit_context(visitor)
        scope, name = Partner(account.id), entered_values["name"] or None
        await members.invite_member(tx, scope, by, entered_values["email"], name=name, roles=_roles(entered_values))
        return partner_page_path(tx, account)

    return ConsoleAction(
        f"{PATH}/{{id}}/members/invite", ADMINISTRATORS, describe, perform, requires_reauthentication=True
    )


def _of_member(
    context: ConsoleContext,
    path: str,
    title: str,
    button: str,
    sentences: list[str],
    change: Change,
    *,
    fields: Callable[[MembershipState], list[ActionField]] = lambda _: [],
    closed: Callable[[Tx, MembershipState], Awaitable[str | None]] | None = None,
) -> ConsoleAction:
    async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
        account, one = await get_partner_from_url(tx, visitor), await get_member_from_url(tx, visitor)
        who = f"{one.person.display_name}, who signs in to {account.name} as {one.person.user_name}."
        return ActionPage(
            title,
            button,
            partner_page_path(tx, account),
            account.name,
            [who, *sentences],
            fields=fields(one),
            closed=await closed(tx, one) if closed else None,
        )

    async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        account, one = await get_partner_from_url(tx, visitor), await get_member_from_url(tx, visitor)
        await change(tx, Partner(account.id), context.audit_context(visitor), one, entered_values)
        return partner_page_path(tx, account)

    return ConsoleAction(
        f"{PATH}/{{id}}/members/{{member}}/{path}", ADMINISTRATORS, describe, perform, requires_reauthentication=True
    )

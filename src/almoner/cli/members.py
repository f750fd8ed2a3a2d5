"""``almoner members``: members of partners and their roles."""

from typing import Annotated, Final

import typer

from almoner.access.members import service as members
from almoner.access.members.domain import MembershipState
from almoner.access.members.service import member_details
from almoner.access.people.domain import MEMBER_ROLES, MemberRole, Person
from almoner.cli import sso
from almoner.cli.access import get_partner, parse_id
from almoner.cli.caller import CommandCaller, administrator_command
from almoner.cli.database import transaction_command
from almoner.cli.named_members import Member, get_member_id
from almoner.cli.tables import FieldList, Output, Table
from almoner.kit.text import sanitise_for_terminal
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Partner, Tx

commands = typer.Typer(help="Manage partners' members, their roles and SSO.", no_args_is_help=True)
commands.add_typer(sso.commands, name="sso")

PartnerId = Annotated[str, typer.Argument(metavar="PARTNER", help="Partner ID, from `almoner partners list`.")]
Roles = Annotated[
    list[str] | None,
    typer.Option("--role", help=f"Role to assign. Can be repeated. One of: {', '.join(MEMBER_ROLES)}."),
]

_NONE: Final = "none"
_MOST: Final = 1000


@commands.command("add")
@administrator_command
async def add_member(
    tx: Tx,
    caller: CommandCaller,
    partner: PartnerId,
    email: Annotated[str, typer.Argument(help="Email address to send the invitation to.")],
    name: Annotated[str | None, typer.Option(help="Full name.")] = None,
    role: Roles = None,
    user_name: Annotated[str | None, typer.Option(help="User name for signing in. Default: the email address.")] = None,
) -> Output:
    """Add a member and email them an invitation.

    A member without a role can only see their own account.
    """
    scope = await get_partner(tx, partner)
    person, link = await members.invite_member(
        tx, scope, caller.audit_context, email, name=name, user_name=user_name, roles=_roles(role)
    )
    return _invitation(await _invitation_message(tx, scope, caller, person), link)


@commands.command("list")
@transaction_command
async def list_members(tx: Tx, partner: PartnerId) -> Table:
    """List a partner's members, oldest first."""
    scope, after = await get_partner(tx, partner), None
    rows: list[list[object]] = []
    while True:
        found = await members.list_page(tx, scope, after, _MOST)
        rows += [[tx.ids.encode("member", one.person.id), *_columns(one)] for one in found]
        if len(found) < _MOST:
            return Table(
                ("member", "user name", "name", "roles", "granted", "status", "invitation expires", "added"), rows
            )
        after = found[-1].person.id


@commands.command("update")
@administrator_command
async def update(
    tx: Tx,
    caller: CommandCaller,
    partner: PartnerId,
    member: Member,
    name: Annotated[str | None, typer.Option(help="Full name.")] = None,
    email: Annotated[
        str | None, typer.Option(help="New email address. We notify the old address of the change.")
    ] = None,
) -> str:
    """Change a member's name or email address.

    If the member signs in with their email address, they must sign in with the new address from now on.
    """
    if name is None and email is None:
        raise typer.BadParameter("use --name, --email or both")
    scope = await get_partner(tx, partner)
    person_id = await get_member_id(tx, scope, member)
    person = await member_details.update_details(tx, scope, caller.audit_context, person_id, name=name, email=email)
    return sanitise_for_terminal(f"{person.user_name} is {person.display_name}, email {person.email or 'none'}.")


@commands.command("set-roles")
@administrator_command
async def set_roles(
    tx: Tx,
    caller: CommandCaller,
    partner: PartnerId,
    member: Member,
    role: Roles = None,
    none: Annotated[bool, typer.Option("--none", help="Remove all roles granted to the member.")] = False,
) -> str:
    """Replace the roles granted to a member. Roles that the member has through SSO or through groups do not change."""
    if none == bool(role):
        raise typer.BadParameter("give --role at least once, or --none")
    scope = await get_partner(tx, partner)
    person = await members.change_roles(
        tx, scope, caller.audit_context, await get_member_id(tx, scope, member), _roles(role)
    )
    return f"Roles of {person.user_name}: {', '.join(sorted(person.roles)) or 'none'}."


@commands.command("resend-invitation")
@administrator_command
async def resend_invitation(tx: Tx, caller: CommandCaller, partner: PartnerId, member: Member) -> Output:
    """Send a member a new invitation.

    The link in the old invitation stops working. The command prints the new link, unless the member has already used
    the account.
    """
    scope = await get_partner(tx, partner)
    person, link = await members.resend_invitation(
        tx, scope, caller.audit_context, await get_member_id(tx, scope, member)
    )
    if link is None:
        return f"We emailed {person.user_name} a single-use link that expires in 7 days."
    return _invitation(await _invitation_message(tx, scope, caller, person), link)


@commands.command("deactivate")
@administrator_command
async def deactivate(tx: Tx, caller: CommandCaller, partner: PartnerId, member: Member) -> str:
    """Deactivate a member and end their sessions."""
    scope = await get_partner(tx, partner)
    person = await members.deactivate_member(tx, scope, caller.audit_context, await get_member_id(tx, scope, member))
    return f"{person.user_name} has been deactivated."


@commands.command("activate")
@administrator_command
async def activate(tx: Tx, caller: CommandCaller, partner: PartnerId, member: Member) -> str:
    """Activate a deactivated member."""
    scope = await get_partner(tx, partner)
    person = await members.activate_member(tx, scope, caller.audit_context, await get_member_id(tx, scope, member))
    return f"{person.user_name} is active."


@commands.command("remove")
@administrator_command
async def remove(tx: Tx, caller: CommandCaller, partner: PartnerId, member: Member) -> str:
    """Remove a member and their credentials.

    The member's past actions are kept in the audit log.
    """
    scope = await get_partner(tx, partner)
    await members.remove_member(tx, scope, caller.audit_context, await get_member_id(tx, scope, member))
    return f"{member} has been removed."


@commands.command("reset-second-factor")
@administrator_command
async def reset_second_factor(tx: Tx, caller: CommandCaller, partner: PartnerId, member: Member) -> Output:
    """Reset a member's password and second factor.

    Before you run this command, follow the steps in docs/runbooks/lost-second-factor.md.
    """
    scope = await get_partner(tx, partner)
    person, link = await members.reset_credentials_and_reinvite(
        tx, scope, caller.audit_context, await get_member_id(tx, scope, member)
    )
    if link:
        await _invitation_message(tx, scope, caller, person)
    way = (
        f"this single-use link, which is valid for 7 days: {link}"
        if link
        else "the link that we emailed, which is valid for 7 days."
    )
    return f"{person.user_name} can no longer sign in with old credentials. The member can sign in again with {way}"


@commands.command("groups")
@transaction_command
async def list_groups(tx: Tx, partner: PartnerId) -> Table:
    """List a partner's groups and their roles."""
    scope, after = await get_partner(tx, partner), None
    rows: list[list[object]] = []
    while True:
        found = await members.list_groups_with_sizes(tx, scope, after, _MOST)
        for group, size in found:
            rows.append([tx.ids.encode("group", group.id), group.display_name, group.role, size])
        if len(found) < _MOST:
            return Table(("group", "name", "role", "members"), rows)
        after = found[-1][0].id


@commands.command("map-group")
@administrator_command
async def map_group(
    tx: Tx,
    caller: CommandCaller,
    partner: PartnerId,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="Group ID, from `almoner members groups`.")],
    role: Annotated[
        str, typer.Argument(metavar="ROLE", help=f"Role to assign: {', '.join(MEMBER_ROLES)}, or {_NONE} for no role.")
    ],
) -> str:
    """Map a group to a role."""
    wanted = None if role == _NONE else _roles([role])[0]
    scope = await get_partner(tx, partner)
    mapped = await members.map_group_to_role(tx, scope, parse_id(tx, "group", group), wanted, caller.audit_context)
    return f"{mapped.display_name} is mapped to {mapped.role or 'no role'}."


def _roles(typed: list[str] | None) -> list[MemberRole]:
    """Parse the roles on the command line. Raises BadParameter."""
    if strange := sorted(set(typed or ()) - set(MEMBER_ROLES)):
        raise typer.BadParameter(f"{', '.join(strange)}: not a member role. The roles are {', '.join(MEMBER_ROLES)}")
    return [role for role in MEMBER_ROLES if role in (typed or ())]


async def _invitation_message(tx: Tx, partner: Partner, officer: CommandCaller, person: Person) -> str:
    """The message about a new invitation, with the link if it may be shown."""
    member = tx.ids.encode("member", person.id)
    await officer.record_audit_entry(tx, partner.id, "invitation.viewed", member)
    return member


def _columns(one: MembershipState) -> list[object]:
    person = one.person
    status = "deactivated" if not person.active else "active" if one.has_joined else "invited"
    return [
        person.user_name,
        person.display_name,
        ",".join(sorted(person.roles)) or None,
        ",".join(sorted(one.granted_roles)) or None,
        status,
        iso_timestamp_or_none(one.invitation_expires_at),
        iso_timestamp(person.created_at),
    ]


def _invitation(member: str, link: str) -> Output:
    return [
        FieldList([("member", member), ("invitation", link)]),
        "We also emailed this link. The link works once and expires in 7 days. It will not be shown again.",
    ]

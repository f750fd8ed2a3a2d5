"""``almoner members``: who signs in for a partner, and what they may do."""

from typing import Annotated, Final

import typer

from almoner.access.members import service
from almoner.access.members.domain import MembershipState
from almoner.access.members.service import details
from almoner.access.people.domain import MEMBER_ROLES, MemberRole, Person
from almoner.cli import sign_on
from almoner.cli.access import partner_of, read_id, table
from almoner.cli.database import in_transaction
from almoner.cli.named_members import Member, member_of
from almoner.cli.officer import Officer, administer
from almoner.kit.text import one_line
from almoner.kit.time import iso, iso_or_none
from almoner.platform.database.transactions import Partner, Tx

commands = typer.Typer(help="Who signs in for a partner: docs/guides/members.md.", no_args_is_help=True)
commands.add_typer(sign_on.commands, name="provider")

PartnerId = Annotated[str, typer.Argument(metavar="PARTNER", help="Identifier, as `almoner partners list` shows it.")]
Roles = Annotated[
    list[str] | None, typer.Option("--role", help=f"What they may do; repeat for more: {', '.join(MEMBER_ROLES)}.")
]

_NONE: Final = "none"
_MOST: Final = 1000


@commands.command("add")
def add_member(
    partner: PartnerId,
    email: Annotated[str, typer.Argument(help="Where the invitation goes.")],
    name: Annotated[str | None, typer.Option(help="How they are called.")] = None,
    role: Roles = None,
    user_name: Annotated[str | None, typer.Option(help="What they sign in with. Default: the e-mail address.")] = None,
) -> None:
    """Add a member and invite them by mail. Without a role they see their own account alone."""

    async def use(tx: Tx, officer: Officer) -> tuple[str, str]:
        scope = await partner_of(tx, partner)
        person, link = await service.invite(
            tx, scope, officer.by, email, name=name, user_name=user_name, roles=_roles(role)
        )
        return await _shown(tx, scope, officer, person), link

    _show_link(*administer(use))


@commands.command("list")
def list_members(partner: PartnerId) -> None:
    """List a partner's members in the order in which they came."""

    async def use(tx: Tx) -> list[list[object]]:
        scope, after = await partner_of(tx, partner), None
        rows: list[list[object]] = []
        while True:
            found = await service.page(tx, scope, after, _MOST)
            rows += [[tx.ids.text("member", one.person.id), *_columns(one)] for one in found]
            if len(found) < _MOST:
                return rows
            after = found[-1].person.id

    titles = ("member", "user name", "name", "roles", "granted", "standing", "invited until", "added")
    table(titles, in_transaction(use))


@commands.command("change")
def change(
    partner: PartnerId,
    member: Member,
    name: Annotated[str | None, typer.Option(help="How they are called.")] = None,
    email: Annotated[str | None, typer.Option(help="Where mails go from now on; the old mailbox is told.")] = None,
) -> None:
    """Change a member's name or e-mail address. Who signs in with the old address signs in with the new one."""
    if name is None and email is None:
        raise typer.BadParameter("give --name, --email or both")

    async def use(tx: Tx, officer: Officer) -> str:
        scope = await partner_of(tx, partner)
        person_id = await member_of(tx, scope, member)
        person = await details.change(tx, scope, officer.by, person_id, name=name, email=email)
        return f"{person.user_name} is {person.shown_name}; mails go to {person.email or 'nobody'}."

    typer.echo(one_line(administer(use)))


@commands.command("roles")
def set_roles(
    partner: PartnerId,
    member: Member,
    role: Roles = None,
    none: Annotated[bool, typer.Option("--none", help="Take away what was granted.")] = False,
) -> None:
    """Replace the roles granted to a member. What the provider says and what groups give stays."""
    if none == bool(role):
        raise typer.BadParameter("give --role, once or more, or --none")

    async def use(tx: Tx, officer: Officer) -> str:
        scope = await partner_of(tx, partner)
        person = await service.change_roles(tx, scope, officer.by, await member_of(tx, scope, member), _roles(role))
        return f"{person.user_name} is {', '.join(sorted(person.roles)) or 'without a role'}."

    typer.echo(administer(use))


@commands.command("invite")
def invite_again(partner: PartnerId, member: Member) -> None:
    """Send a new invitation to a member who has not come yet; the old link is void."""

    async def use(tx: Tx, officer: Officer) -> tuple[str, str]:
        scope = await partner_of(tx, partner)
        person, link = await service.invite_again(tx, scope, officer.by, await member_of(tx, scope, member))
        return await _shown(tx, scope, officer, person), link

    _show_link(*administer(use))


@commands.command("deactivate")
def deactivate(partner: PartnerId, member: Member) -> None:
    """End what a member may do; every sign-in ends with it."""

    async def use(tx: Tx, officer: Officer) -> str:
        scope = await partner_of(tx, partner)
        person = await service.deactivate(tx, scope, officer.by, await member_of(tx, scope, member))
        return f"{person.user_name} is deactivated."

    typer.echo(administer(use))


@commands.command("activate")
def activate(partner: PartnerId, member: Member) -> None:
    """Let a deactivated member in again."""

    async def use(tx: Tx, officer: Officer) -> str:
        scope = await partner_of(tx, partner)
        person = await service.activate(tx, scope, officer.by, await member_of(tx, scope, member))
        return f"{person.user_name} is active."

    typer.echo(administer(use))


@commands.command("remove")
def remove(partner: PartnerId, member: Member) -> None:
    """Remove a member with all that they sign in by; what they did stays in the audit log."""

    async def use(tx: Tx, officer: Officer) -> None:
        scope = await partner_of(tx, partner)
        await service.remove(tx, scope, officer.by, await member_of(tx, scope, member))

    administer(use)
    typer.echo(f"{member} is removed.")


@commands.command("reset-second-factor")
def reset_second_factor(partner: PartnerId, member: Member) -> None:
    """Take what a member lost, with the password; first do what docs/runbooks/lost-second-factor.md says."""

    async def use(tx: Tx, officer: Officer) -> tuple[Person, str | None]:
        scope = await partner_of(tx, partner)
        person, link = await service.reset_second_factor(tx, scope, officer.by, await member_of(tx, scope, member))
        if link:
            await _shown(tx, scope, officer, person)
        return person, link

    person, link = administer(use)
    way = f"this link, once, within 7 days: {link}" if link else "the link that was mailed, within 7 days."
    typer.echo(f"Nothing of before signs {person.user_name} in any more. They begin anew by {way}")


@commands.command("groups")
def list_groups(partner: PartnerId) -> None:
    """List a partner's groups, and what they are mapped to."""

    async def use(tx: Tx) -> list[list[object]]:
        scope, after = await partner_of(tx, partner), None
        rows: list[list[object]] = []
        while True:
            found = await service.groups(tx, scope, after, _MOST)
            for group, size in found:
                rows.append([tx.ids.text("group", group.id), group.display_name, group.role, size])
            if len(found) < _MOST:
                return rows
            after = found[-1][0].id

    table(("group", "name", "role", "members"), in_transaction(use))


@commands.command("map-group")
def map_group(
    partner: PartnerId,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="Identifier, as `almoner members groups` shows it.")],
    role: Annotated[str, typer.Argument(metavar="ROLE", help=f"{', '.join(MEMBER_ROLES)}, or {_NONE}.")],
) -> None:
    """Say what everybody in a group may do."""
    wanted = None if role == _NONE else _roles([role])[0]

    async def use(tx: Tx, officer: Officer) -> str:
        scope = await partner_of(tx, partner)
        mapped = await service.map_group(tx, scope, read_id(tx, "group", group), wanted, officer.by)
        return f"Everybody in {mapped.display_name} is {mapped.role or 'nothing by it'}."

    typer.echo(administer(use))


def _roles(typed: list[str] | None) -> list[MemberRole]:
    """The roles that were typed. Raises BadParameter."""
    if strange := sorted(set(typed or ()) - set(MEMBER_ROLES)):
        raise typer.BadParameter(f"{', '.join(strange)}: no role of members; there are {', '.join(MEMBER_ROLES)}")
    return [role for role in MEMBER_ROLES if role in (typed or ())]


async def _shown(tx: Tx, partner: Partner, officer: Officer, person: Person) -> str:
    """The member in text, when the invitation is about to be shown to somebody else."""
    member = tx.ids.text("member", person.id)
    await officer.record(tx, partner.id, "invitation.shown", member)
    return member


def _columns(one: MembershipState) -> list[object]:
    person = one.person
    standing = "deactivated" if not person.active else "active" if one.joined else "not come yet"
    return [
        person.user_name,
        person.shown_name,
        ",".join(sorted(person.roles)) or None,
        ",".join(sorted(one.granted)) or None,
        standing,
        iso_or_none(one.invited_until),
        iso(person.created_at),
    ]


def _show_link(member: str, link: str) -> None:
    typer.echo(f"member      {member}")
    typer.echo(f"invitation  {link}")
    typer.echo("It was mailed as well. It works once, for 7 days, and is not shown again.")

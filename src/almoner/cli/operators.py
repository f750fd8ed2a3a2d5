"""``almoner operators``: operators, their tokens, and approvals by a second operator."""

from enum import StrEnum
from typing import Annotated, Final
from uuid import UUID

import typer

from almoner.access.operators import service as operators
from almoner.access.operators.domain import Approval
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS, OperatorRole, Person
from almoner.cli.access import parse_id
from almoner.cli.caller import (
    CommandCaller,
    administrator_command,
    administrator_transaction,
    operator_transaction,
)
from almoner.cli.database import database_command, transaction_command
from almoner.cli.tables import FieldList, Output, Table
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Database, Tx

commands = typer.Typer(help="Manage operators, their roles and tokens.", no_args_is_help=True)
tokens = typer.Typer(help="Manage operators' personal tokens.", no_args_is_help=True)
approvals = typer.Typer(help="Show decisions that need a second approval.", no_args_is_help=True)
commands.add_typer(tokens, name="tokens")


class OnOffSwitch(StrEnum):
    """The values ``on`` and ``off`` of an option."""

    ON = "on"
    OFF = "off"


class RoleName(StrEnum):
    """The roles of operators."""

    REVIEWER = "reviewer"
    FINANCE = "finance"
    ADMINISTRATOR = "administrator"


_INVITED: Final = "We emailed a single-use link that expires in 7 days."

OperatorId = Annotated[str, typer.Argument(help="Operator ID or email address, from `almoner operators list`.")]
Roles = Annotated[list[RoleName], typer.Option("--role", help="Role to assign. Can be repeated.")]
_ROLES: dict[RoleName, OperatorRole] = {
    RoleName.REVIEWER: "reviewer",
    RoleName.FINANCE: "finance",
    RoleName.ADMINISTRATOR: "administrator",
}


@commands.command("add")
@administrator_command
async def add_operator(
    tx: Tx,
    caller: CommandCaller,
    email: Annotated[str, typer.Argument(help="Email address for signing in.")],
    role: Roles,
    name: Annotated[str | None, typer.Option(help="Full name.")] = None,
) -> Output:
    """Add an operator and email them an invitation.

    The first operator must be an administrator. For the first operator, the command also shows a personal token, which
    is shown only once.
    """
    first = await operators.lock_and_check_no_operator_exists(tx)
    if first and RoleName.ADMINISTRATOR not in role:
        raise typer.BadParameter("the first operator must have --role administrator")
    person = await operators.add_operator(tx, caller.audit_context, email, name, [_ROLES[one] for one in role])
    fields = [("operator", tx.ids.encode(operators.ID, person.id))]
    if not first:
        return [FieldList(fields), _INVITED]
    _, token = await operators.create_token(tx, caller.audit_context, person, "first")
    fields.append(("token", token))
    return [FieldList(fields), "Store the token now. It will not be shown again.", _INVITED]


@commands.command("resend-invitation")
@administrator_command
async def resend_invitation(tx: Tx, caller: CommandCaller, operator: OperatorId) -> str:
    """Send an operator a new invitation.

    The link in the old invitation stops working.
    """
    await operators.resend_invitation(tx, caller.audit_context, await _id(tx, operator))
    return _INVITED


@commands.command("list")
@transaction_command
async def list_operators(tx: Tx) -> Table:
    """List operators, oldest first."""
    return Table(
        ("operator", "name", "signs in as", "roles", "status", "added"),
        [
            [
                tx.ids.encode(operators.ID, person.id),
                person.display_name,
                person.user_name,
                ", ".join(sorted(person.roles)),
                one.status_text,
                iso_timestamp(person.created_at),
            ]
            for one in await operators.list_operators(tx)
            for person in [one.person]
        ],
    )


@commands.command("set-roles")
@administrator_command
async def set_roles(tx: Tx, caller: CommandCaller, operator: OperatorId, role: Roles) -> str:
    """Replace another operator's roles.

    You cannot change your own roles.
    """
    person = await operators.set_roles(tx, caller.audit_context, await _id(tx, operator), [_ROLES[one] for one in role])
    return _operator_message(tx, person, f"is {', '.join(sorted(person.roles))}")


@commands.command("deactivate")
@administrator_command
async def deactivate(tx: Tx, caller: CommandCaller, operator: OperatorId) -> str:
    """Deactivate an operator.

    The operator's sessions, tokens and pending approvals end immediately. Decisions that the operator has made remain
    in effect.
    """
    return _operator_message(
        tx, await operators.deactivate(tx, caller.audit_context, await _id(tx, operator)), "has been deactivated"
    )


@commands.command("activate")
@administrator_command
async def activate(tx: Tx, caller: CommandCaller, operator: OperatorId) -> str:
    """Reactivate a deactivated operator. The operator's previous tokens stay revoked."""
    return _operator_message(
        tx, await operators.activate(tx, caller.audit_context, await _id(tx, operator)), "is active"
    )


def _operator_message(tx: Tx, person: Person, what: str) -> str:
    return f"{person.display_name} ({tx.ids.encode(operators.ID, person.id)}) {what}."


@commands.command("update")
@administrator_command
async def update(
    tx: Tx,
    caller: CommandCaller,
    operator: OperatorId,
    email: Annotated[str | None, typer.Option(help="New email address for signing in.")] = None,
    name: Annotated[str | None, typer.Option(help="New full name.")] = None,
) -> str:
    """Change an operator's email address or name.

    If the operator has used the account, another administrator must run the same command with the same address.
    """
    if email is None and name is None:
        raise typer.BadParameter("use --email, --name or both")
    operator_id = await _id(tx, operator)
    changed = await operators.update_details(tx, caller.audit_context, operator_id, email=email, name=name)
    person = await people.get(tx, OPERATORS, operator_id)
    if isinstance(changed, Approval):
        return _operator_message(
            tx,
            person,
            "gets the new email address once another administrator has entered it, too, before "
            f"{changed.expires_at:%Y-%m-%d %H:%M} UTC. We notified the current address",
        )
    return _operator_message(tx, person, f"signs in as {person.user_name}")


@commands.command("reset-second-factor")
@administrator_command
async def reset_second_factor(tx: Tx, caller: CommandCaller, operator: OperatorId) -> str:
    """Reset an operator's password and second factor.

    Before you run this command, follow the steps in docs/runbooks/lost-second-factor.md.
    """
    person = await operators.reset_credentials_and_reinvite(tx, caller.audit_context, await _id(tx, operator))
    return _operator_message(
        tx, person, "can sign in again with the link that we emailed. All sessions and tokens have ended"
    )


@commands.command("two-person-approval")
@database_command
async def two_person_approval(
    database: Database,
    switch: Annotated[
        OnOffSwitch | None,
        typer.Argument(
            help="Turn two-person approval on or off. Default: show the current setting.",
            show_default=False,
        ),
    ] = None,
) -> str:
    """Turn two-person approval on or off.

    If two-person approval is on, two operators must each approve a verification or the release of a hold on
    disbursements. By default, two-person approval is on in production and off in the sandbox.
    """
    if switch is not None:
        async with administrator_transaction(database) as (tx, officer):
            await operators.set_two_person_approval(tx, officer.audit_context, required=switch == OnOffSwitch.ON)
    async with database.read() as tx:
        many = 2 if await operators.is_two_person_approval_enabled(tx) else 1
    return f"Number of operators required to approve a verification or to release disbursements: {many}."


@tokens.command("list")
@transaction_command
async def list_tokens(
    tx: Tx,
    operator: Annotated[str | None, typer.Argument(help="Show only this operator's tokens.")] = None,
) -> Table:
    """List tokens, newest first."""
    whose = await _id(tx, operator) if operator else None
    names = {one.person.id: one.person.display_name for one in await operators.list_operators(tx)}
    return Table(
        ("token", "operator", "name", "ends in", "created", "expires", "revoked", "last used"),
        [
            [
                tx.ids.encode(operators.TOKEN_ID, one.id),
                names[one.person_id],
                one.name,
                f"...{one.hint}",
                *map(iso_timestamp_or_none, (one.created_at, one.expires_at, one.revoked_at, one.last_used_at)),
            ]
            for one in await operators.list_tokens(tx, whose)
        ],
    )


@tokens.command("revoke")
@database_command
async def revoke_token(
    database: Database,
    token: Annotated[str, typer.Argument(help="Token ID, from `almoner operators tokens list`.")],
) -> str:
    """Revoke a personal token.

    You can revoke your own tokens. Administrators can revoke the tokens of any operator.
    """
    async with operator_transaction(database) as (tx, officer):
        assert officer.person is not None
        found = await operators.get_token(tx, parse_id(tx, operators.TOKEN_ID, token))
        if found.person_id != officer.person.id:
            await operators.ensure_has_role(tx, officer.person, "administrator")
        await operators.revoke_token(tx, officer.audit_context, found)
    return f"{token} has been revoked."


@approvals.command("list")
@transaction_command
async def list_approvals(tx: Tx) -> Table:
    """List decisions that need the approval of a second operator."""
    return Table(
        ("action", "subject", "confirmed by", "at", "expires", "note"),
        [
            [
                one.action,
                one.subject,
                person.display_name,
                iso_timestamp(one.first.at),
                iso_timestamp(one.expires_at),
                one.first.note,
            ]
            for one, person in await operators.list_pending_approvals(tx)
        ],
    )


async def _id(tx: Tx, text: str) -> UUID:
    """The operator with this ID or email address. Raises BadParameter."""
    if "@" in text:
        found = await people.find_by_user_name(tx, OPERATORS, text.strip())
        if found is None:
            raise typer.BadParameter(f"no operator signs in as {text}: see `almoner operators list`")
        return found.id
    return parse_id(tx, operators.ID, text)

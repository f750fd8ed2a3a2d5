"""``almoner operators``: who decides, their tokens, and what waits for a second look."""

from enum import StrEnum
from typing import Annotated, Final
from uuid import UUID

import typer

from almoner.access.operators import service
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS, OperatorRole, Person
from almoner.cli.access import read_id, table
from almoner.cli.database import in_transaction, with_database
from almoner.cli.officer import Officer, acting, administer
from almoner.kit.time import iso, iso_or_none
from almoner.platform.database.transactions import Database, Tx

commands = typer.Typer(help="Who decides: docs/runbooks/operators.md.", no_args_is_help=True)
tokens = typer.Typer(help="What operators' commands are known by.", no_args_is_help=True)
approvals = typer.Typer(help="What waits for a second operator.", no_args_is_help=True)
commands.add_typer(tokens, name="tokens")


class Switch(StrEnum):
    """Whether a rule holds."""

    ON = "on"
    OFF = "off"


class RoleName(StrEnum):
    """What an operator may be."""

    REVIEWER = "reviewer"
    FINANCE = "finance"
    ADMINISTRATOR = "administrator"


_INVITED: Final = "The invitation was mailed: the link works once, for seven days."

OperatorId = Annotated[str, typer.Argument(help="Identifier or e-mail, as `almoner operators list` shows it.")]
Roles = Annotated[list[RoleName], typer.Option("--role", help="What they may do; repeat for more.")]
_ROLES: dict[RoleName, OperatorRole] = {
    RoleName.REVIEWER: "reviewer",
    RoleName.FINANCE: "finance",
    RoleName.ADMINISTRATOR: "administrator",
}


@commands.command("add")
def add_operator(
    email: Annotated[str, typer.Argument(help="What they sign in with, and where mails go.")],
    role: Roles,
    name: Annotated[str | None, typer.Option(help="How they are called.")] = None,
) -> None:
    """Add an operator and invite them by mail. The first one, an administrator, gets a token as well, printed once."""

    async def use(tx: Tx, officer: Officer) -> tuple[str, str | None]:
        first = await service.begin(tx)
        if first and RoleName.ADMINISTRATOR not in role:
            raise typer.BadParameter("the first operator adds the others: give them --role administrator as well")
        person = await service.add(tx, officer.by, email, name, [_ROLES[one] for one in role])
        token = (await service.make_token(tx, officer.by, person, "first"))[1] if first else None
        return tx.ids.text(service.ID, person.id), token

    operator, token = administer(use)
    typer.echo(f"operator  {operator}")
    if token:
        typer.echo(f"token     {token}")
        typer.echo("Keep the token now: it is not shown again.")
    typer.echo(_INVITED)


@commands.command("invite")
def invite(operator: OperatorId) -> None:
    """Invite an operator again who has not come yet; the link of before is void."""

    async def use(tx: Tx, officer: Officer) -> None:
        await service.invite_again(tx, officer.by, await _id(tx, operator))

    administer(use)
    typer.echo(_INVITED)


@commands.command("list")
def list_operators() -> None:
    """List the operators in the order in which they came."""

    async def use(tx: Tx) -> list[list[object]]:
        return [
            [
                tx.ids.text(service.ID, person.id),
                person.shown_name,
                person.user_name,
                ", ".join(sorted(person.roles)),
                one.in_words,
                iso(person.created_at),
            ]
            for one in await service.everyone(tx)
            for person in [one.person]
        ]

    table(("operator", "name", "signs in as", "roles", "status", "added"), in_transaction(use))


@commands.command("roles")
def set_roles(operator: OperatorId, role: Roles) -> None:
    """Replace what another operator may do: nobody says so of themselves."""

    async def use(tx: Tx, officer: Officer) -> str:
        person = await service.grant(tx, officer.by, await _id(tx, operator), [_ROLES[one] for one in role])
        return _said(tx, person, f"is {', '.join(sorted(person.roles))}")

    typer.echo(administer(use))


@commands.command("deactivate")
def deactivate(operator: OperatorId) -> None:
    """End what an operator may do, at once: sign-ins, tokens, first looks. What they decided stays."""

    async def use(tx: Tx, officer: Officer) -> str:
        return _said(tx, await service.deactivate(tx, officer.by, await _id(tx, operator)), "is deactivated")

    typer.echo(administer(use))


@commands.command("activate")
def activate(operator: OperatorId) -> None:
    """Let an operator in again, without the tokens of before."""

    async def use(tx: Tx, officer: Officer) -> str:
        return _said(tx, await service.activate(tx, officer.by, await _id(tx, operator)), "is active")

    typer.echo(administer(use))


def _said(tx: Tx, person: Person, what: str) -> str:
    return f"{person.shown_name} ({tx.ids.text(service.ID, person.id)}) {what}."


@commands.command("change")
def change(
    operator: OperatorId,
    email: Annotated[str | None, typer.Option(help="What they sign in with from now on, and where mails go.")] = None,
    name: Annotated[str | None, typer.Option(help="How they are called from now on.")] = None,
) -> None:
    """Give an operator another e-mail address or name."""
    if email is None and name is None:
        raise typer.BadParameter("give --email, --name or both")

    async def use(tx: Tx, officer: Officer) -> str:
        person = await service.change(tx, officer.by, await _id(tx, operator), email=email, name=name)
        return _said(tx, person, f"signs in as {person.user_name}")

    typer.echo(administer(use))


@commands.command("reset-second-factor")
def reset_second_factor(operator: OperatorId) -> None:
    """Take what an operator lost; first do what docs/runbooks/lost-second-factor.md says."""

    async def use(tx: Tx, officer: Officer) -> str:
        person = await service.reset_second_factor(tx, officer.by, await _id(tx, operator))
        return _said(tx, person, "begins anew by the link that was mailed; tokens and sign-ins have ended")

    typer.echo(administer(use))


@commands.command("two-people")
def two_people(
    switch: Annotated[Switch | None, typer.Argument(help="Without it, how it stands.", show_default=False)] = None,
) -> None:
    """Say whether approvals and releases take two operators. Without a word they do in production only."""

    async def use(tx: Tx, officer: Officer) -> None:
        await service.set_takes_two(tx, officer.by, required=switch == Switch.ON)

    if switch is not None:
        administer(use)
    many = "two operators" if in_transaction(service.requires_dual_control) else "one operator"
    typer.echo(f"Approving a verification and releasing payouts take {many}.")


@tokens.command("list")
def list_tokens(
    operator: Annotated[str | None, typer.Argument(help="Of this operator only.")] = None,
) -> None:
    """List tokens, newest first, without their secrets."""

    async def use(tx: Tx) -> list[list[object]]:
        whose = await _id(tx, operator) if operator else None
        names = {one.person.id: one.person.shown_name for one in await service.everyone(tx)}
        return [
            [
                tx.ids.text(service.TOKEN_ID, one.id),
                names[one.person_id],
                one.name,
                f"...{one.hint}",
                *map(iso_or_none, (one.created_at, one.expires_at, one.revoked_at, one.last_used_at)),
            ]
            for one in await service.tokens(tx, whose)
        ]

    titles = ("token", "operator", "name", "ends in", "created", "expires", "revoked", "last used")
    table(titles, in_transaction(use))


@tokens.command("revoke")
def revoke_token(
    token: Annotated[str, typer.Argument(help="Identifier, as `almoner operators tokens list` shows it.")],
) -> None:
    """End a token at once: one of your own, or as an administrator anybody's."""

    async def use(database: Database) -> None:
        async with acting(database) as (tx, officer):
            assert officer.person is not None
            found = await service.get_token(tx, read_id(tx, service.TOKEN_ID, token))
            if found.person_id != officer.person.id:
                await service.ensure_may(tx, officer.person, "administrator")
            await service.revoke_token(tx, officer.by, found)

    with_database(use)
    typer.echo(f"{token} is revoked.")


@approvals.command("list")
def list_approvals() -> None:
    """List what one operator has confirmed and another has yet to look at."""

    async def use(tx: Tx) -> list[list[object]]:
        return [
            [one.action, one.subject, person.shown_name, iso(one.first.at), iso(one.expires_at), one.first.note]
            for one, person in await service.waiting(tx)
        ]

    table(("action", "subject", "confirmed by", "at", "waits until", "note"), in_transaction(use))


async def _id(tx: Tx, text: str) -> UUID:
    """The operator of an identifier or an e-mail. Raises BadParameter."""
    if "@" in text:
        found = await people.find_by_name(tx, OPERATORS, text.strip())
        if found is None:
            raise typer.BadParameter(f"no operator signs in as {text}: see `almoner operators list`")
        return found.id
    return read_id(tx, service.ID, text)

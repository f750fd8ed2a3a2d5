"""``almoner suspense``: money that pays no donation, and what people decide over it."""

from typing import Annotated, Final

import typer

from almoner.cli.access import read_id, table
from almoner.cli.amounts import amount
from almoner.cli.database import in_transaction
from almoner.cli.officer import Officer, decide, named
from almoner.giving.accounting.suspense import service
from almoner.giving.accounting.suspense.domain import HELD, NOTE_LENGTH, Decided, Held
from almoner.giving.checkout.bank_transfers import service as transfers
from almoner.kit.time import iso
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx

commands = typer.Typer(help="Money that pays no donation: docs/money-rules.md.", no_args_is_help=True)

_TYPE: Final = "heldpayment"
_LONGEST_NAME: Final = 255
_OPEN: Final = ("held", "refunding")

HeldId = Annotated[str, typer.Argument(help="Identifier, as `almoner suspense list` shows it.")]
Note = Annotated[str, typer.Option(help="Why; kept with the decision.")]


@commands.command("list")
def list_held(
    every: Annotated[bool, typer.Option("--all", help="Also what was refunded, dismissed or accepted.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 50,
) -> None:
    """List held money, newest first: why it is held, when the rule decides, and what people decided."""

    async def use(tx: Tx) -> tuple[list[list[object]], list[list[object]]]:
        found = await service.newest(tx, sorted(HELD.states()) if every else _OPEN, limit)
        decided = await service.decisions(tx, [held.id for held in found])
        by = await named(tx, [one.by for one in decided])
        return [_row(tx, held) for held in found], [[*_decision(tx, one), by(one.by), one.note] for one in decided]

    rows, decisions = in_transaction(use)
    table(("held", "since", "reason", "amount", "status", "rule decides", "payment"), rows)
    if decisions:
        typer.echo()
        table(("held", "decided at", "decision", "refund", "by", "note"), decisions)


def _row(tx: Tx, held: Held) -> list[object]:
    decides = held.auto_decide_at.date() if held.status == "held" else None
    facts = [held.reason, amount(held.money), held.status, decides, held.provider_payment]
    return [tx.ids.text(_TYPE, held.id), held.received_at.date(), *facts]


def _decision(tx: Tx, one: Decided) -> list[object]:
    return [tx.ids.text(_TYPE, one.held_id), iso(one.at), one.choice, one.provider_refund]


@commands.command("refund")
def refund(
    held: HeldId,
    note: Note,
    done_as: Annotated[
        str | None,
        typer.Option(help="The provider's name of a refund made in its dashboard: nothing is asked, it is recorded."),
    ] = None,
) -> None:
    """Have it sent back to whoever paid; a worker asks the provider."""
    noted = _checked(note)
    if done_as is not None and not 1 <= len(done_as) <= _LONGEST_NAME:
        raise typer.BadParameter(f"the name of a refund has 1 to {_LONGEST_NAME} characters")

    async def use(tx: Tx, officer: Officer) -> Held:
        held_id = read_id(tx, _TYPE, held)
        await officer.record(tx, DEPLOYMENT, "unallocated_payment.refunded", held, done_as=done_as)
        if done_as is not None:
            return await service.refunded_by_hand(tx, held_id, done_as, noted, officer.id)
        return await service.refund(tx, held_id, noted, officer.id)

    typer.echo(f"{held} is {decide('finance', use).status}.")


@commands.command("accept")
def accept(held: HeldId, note: Note) -> None:
    """Make it the gift that it was meant to be, of the amount that came: a late, short or larger bank transfer."""
    noted = _checked(note)

    async def use(tx: Tx, officer: Officer) -> str:
        held_id = read_id(tx, _TYPE, held)
        await officer.record(tx, DEPLOYMENT, "unallocated_payment.accepted", held)
        return tx.ids.text("donation", (await transfers.accept(tx, held_id, noted, officer.id)).id)

    typer.echo(f"{held} is accepted as {decide('finance', use)}.")


@commands.command("dismiss")
def dismiss(held: HeldId, note: Note) -> None:
    """Take it out of the books: it is none of ours, and nothing goes back."""
    noted = _checked(note)

    async def use(tx: Tx, officer: Officer) -> Held:
        held_id = read_id(tx, _TYPE, held)
        await officer.record(tx, DEPLOYMENT, "unallocated_payment.dismissed", held)
        return await service.write_off(tx, held_id, noted, officer.id)

    typer.echo(f"{held} is {decide('finance', use).status}.")


def _checked(note: str) -> str:
    if not 1 <= len(note.strip()) <= NOTE_LENGTH:
        raise typer.BadParameter(f"a note has 1 to {NOTE_LENGTH} characters")
    return note.strip()

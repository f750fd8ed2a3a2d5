"""``almoner bank-lines``: statements of our bank accounts, and what each line of them is the movement of."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import typer

from almoner.cli.access import read_id, table
from almoner.cli.amounts import decimal
from almoner.cli.database import in_transaction, with_database
from almoner.cli.officer import Note, Officer, acting, decide
from almoner.cli.progress import Line
from almoner.giving.bank_lines import flows, service
from almoner.giving.bank_lines.domain import BankLine, Open, Statement, StatementRefused, Unbanked
from almoner.giving.bank_lines.flows import Looked
from almoner.giving.requests import service as requests
from almoner.kit.errors import NotFound
from almoner.platform.audit import DEPLOYMENT
from almoner.platform.db import Database, Tx

commands = typer.Typer(help="What our bank says of our accounts, line by line.", no_args_is_help=True)

_TYPE: Final = "bankline"

LineId = Annotated[str, typer.Argument(help="Identifier, as `almoner bank-lines list` shows it.")]


@commands.command("import")
def import_statement(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A camt.053, or CSV with --mapping.")],
    mapping: Annotated[Path | None, typer.Option(help="A TOML file that names the columns of a CSV.")] = None,
) -> None:
    """Import a statement, and match every open line that can be: requests, providers' payouts, our own payouts."""
    content, line = file.read_bytes(), Line()

    async def use(database: Database) -> Looked:
        async with acting(database, "finance") as (_, officer):
            pass  # refused before anything is kept

        async def record(tx: Tx, statements: Sequence[Statement], looked: Looked) -> None:
            named_so = ", ".join(one.reference for one in statements)[:200] or "empty"
            await officer.record(
                tx, DEPLOYMENT, "bank_statement.imported", named_so, kept=looked.kept, matched=looked.matched
            )

        def report(looked: Looked) -> None:
            line.show(f"{looked.lines:,} lines looked at, {looked.per_second:,.0f}/s")

        return await flows.import_file(database, content, mapping, by=officer.id, record=record, report=report)

    looked = with_database(use)
    line.clear()
    new = f"{looked.kept:,} new statement{'' if looked.kept == 1 else 's'}"
    typer.echo(f"{new}; {looked.lines:,} open lines looked at, {looked.matched:,} of them matched.")
    if looked.lines > looked.matched:
        typer.echo(f"{looked.lines - looked.matched:,} wait for a person: see `almoner bank-lines list`.")


@commands.command("list")
def list_lines(
    every: Annotated[bool, typer.Option("--all", help="The newest lines, whatever became of them.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 50,
) -> None:
    """List lines that wait for a person, the oldest first: how old each is, and why it waits."""

    async def use(tx: Tx) -> list[list[object]]:
        return [_row(tx, one) for one in await service.newest(tx, limit, every=every)]

    titles = ("line", "age", "booked", "amount", "from or to", "words", "status", "why it waits")
    table(titles, in_transaction(use))


def _row(tx: Tx, line: BankLine) -> list[object]:
    moved = line.movement
    why = Open(line.reason).sentence if line.reason else line.matched_as
    amount = f"{decimal(moved.minor, moved.currency)} {moved.currency}"
    told = (moved.counterparty, (moved.text or "")[:60] or None, line.status, why)
    return [tx.ids.text(_TYPE, line.id), f"{(tx.now - line.since).days} d", moved.booked_on, amount, *told]


@commands.command("reports")
def list_reports(limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 50) -> None:
    """List providers' payouts that no line of our bank tells of yet, the oldest first."""

    async def use(tx: Tx) -> list[list[object]]:
        return [_report(tx, one) for one in await service.unbanked(tx, limit)]

    table(("provider", "report", "settled", "age", "amount", "why it waits"), in_transaction(use))


def _report(tx: Tx, one: Unbanked) -> list[object]:
    paid = one.paid_out
    amount = f"{decimal(paid.net_minor, paid.currency)} {paid.currency}"
    why = "an open line names it with another amount" if one.near else "no line of our bank names it"
    return [one.provider, paid.reference, one.settled_on, f"{(tx.now - one.since).days} d", amount, why]


@commands.command("assign")
def assign(
    line: LineId,
    request: Annotated[
        str | None, typer.Option(help="The donation request that it pays, by its reference or identifier.")
    ] = None,
    donation: Annotated[
        str | None, typer.Option(help="The donation whose donor sent it, and left out the reference.")
    ] = None,
) -> None:
    """Say that a line is the transfer for a request or of a donation, though it does not name it."""
    if (request is None) == (donation is None):
        raise typer.BadParameter("name a request or a donation")
    thing = request or donation or ""

    async def use(tx: Tx, officer: Officer) -> None:
        try:
            if donation is not None:
                await service.assign_gift(tx, _id(tx, line), read_id(tx, "donation", donation), by=officer.id)
            else:
                request_id = await requests.named(tx, thing) or tx.ids.parse("donationrequest", thing)
                if request_id is None:
                    raise StatementRefused(f"There is no donation request {thing}: see `almoner requests list`.")
                await service.assign(tx, _id(tx, line), request_id, by=officer.id)
        except NotFound:
            raise StatementRefused(f"There is no line {line}, or nothing is named {thing}.") from None
        told = {"request": request} if donation is None else {"donation": donation}
        await officer.record(tx, DEPLOYMENT, "bank_line.assigned", line, **told)

    decide("finance", use)
    typer.echo(f"{line} is the transfer for {thing}.")


@commands.command("dismiss")
def dismiss(line: LineId, note: Note) -> None:
    """Say that a line is no movement of ours, such as a fee of the bank: nothing is booked by it."""

    async def use(tx: Tx, officer: Officer) -> None:
        try:
            await service.dismiss(tx, _id(tx, line), note=note.strip(), by=officer.id)
        except NotFound:
            raise StatementRefused(f"There is no line {line}.") from None
        await officer.record(tx, DEPLOYMENT, "bank_line.dismissed", line)

    decide("finance", use)
    typer.echo(f"{line} is dismissed.")


def _id(tx: Tx, line: str) -> UUID:
    return read_id(tx, _TYPE, line)

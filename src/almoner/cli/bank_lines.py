"""``almoner bank-lines``: statements of our bank accounts, and what each line of them is the movement of."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import typer

from almoner import settings
from almoner.cli.access import read_id, table
from almoner.cli.amounts import decimal
from almoner.cli.database import in_transaction, with_database
from almoner.cli.officer import Note, Officer, acting, decide
from almoner.cli.progress import Line
from almoner.giving.banking.bank_statements import flows, service
from almoner.giving.banking.bank_statements.domain import BankLine, Gap, Open, Statement, StatementRefused, Unbanked
from almoner.giving.banking.bank_statements.flows import Looked
from almoner.giving.banking.payment_files import service as bank_files
from almoner.giving.checkout.donation_requests import service as requests
from almoner.kit.errors import NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Database, Tx

commands = typer.Typer(help="What our bank says of our accounts, line by line.", no_args_is_help=True)

_TYPE: Final = "bankline"
_STATEMENT: Final = "bankstatement"

LineId = Annotated[str, typer.Argument(help="Identifier, as `almoner bank-lines list` shows it.")]


@commands.command("import")
def import_statement(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A camt.053, or CSV with --mapping.")],
    mapping: Annotated[Path | None, typer.Option(help="A TOML file that names the columns of a CSV.")] = None,
) -> None:
    """Import a statement, and match every open line that can be: requests, providers' payouts, our own payouts."""
    content, line = file.read_bytes(), Line()
    ours = settings.read().bank_accounts
    own = bank_files.own_accounts(ours) if ours else None

    async def use(database: Database) -> tuple[Looked, int]:
        async with acting(database, "finance") as (_, officer):
            pass  # refused before anything is kept

        async def record(tx: Tx, statements: Sequence[Statement], looked: Looked) -> None:
            named_so = ", ".join(one.reference for one in statements)[:200] or "empty"
            await officer.record(
                tx, DEPLOYMENT, "bank_statement.imported", named_so, kept=looked.kept, matched=looked.matched
            )

        def report(looked: Looked) -> None:
            line.show(f"{looked.lines:,} lines looked at, {looked.per_second:,.0f}/s")

        looked = await flows.import_file(
            database, content, mapping, own=own, by=officer.id, record=record, report=report
        )
        async with database.read() as tx:
            return looked, len(await service.gaps(tx, service.PAGE))

    looked, gaps = with_database(use)
    line.clear()
    new = f"{looked.kept:,} new statement{'' if looked.kept == 1 else 's'}"
    typer.echo(f"{new}; {looked.lines:,} open lines looked at, {looked.matched:,} of them matched.")
    if looked.lines > looked.matched:
        typer.echo(f"{looked.lines - looked.matched:,} wait for a person: see `almoner bank-lines list`.")
    if gaps:
        before = "a statement" if gaps == 1 else f"{gaps:,} statements"
        typer.echo(f"Before {before} another one is missing: see `almoner bank-lines gaps`.")


@commands.command("list")
def list_lines(
    every: Annotated[bool, typer.Option("--all", help="The newest lines, whatever became of them.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 50,
) -> None:
    """List lines that wait for a person, the oldest first: how old each is, and why it waits."""

    async def use(tx: Tx) -> list[list[object]]:
        return [_row(tx, one) for one in await service.newest(tx, limit, every=every)]

    titles = ("line", "account", "age", "booked", "amount", "from or to", "words", "status", "why it waits")
    table(titles, in_transaction(use))


def _row(tx: Tx, line: BankLine) -> list[object]:
    moved = line.movement
    why = _why(line.reason, line.booking_error) if line.reason else line.matched_as
    amount = f"{decimal(moved.minor, moved.currency)} {moved.currency}"
    told = (moved.counterparty, (moved.text or "")[:60] or None, line.status, why)
    return [
        tx.ids.text(_TYPE, line.id),
        line.account,
        f"{(tx.now - line.since).days} d",
        moved.booked_on,
        amount,
        *told,
    ]


def _why(reason: Open, refusal: str | None) -> str:
    return f"{reason.sentence}: {refusal}" if reason is Open.REFUSED and refusal else reason.sentence


@commands.command("gaps")
def list_gaps(limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 50) -> None:
    """List statements that open with a balance which no other one ended with: what lies before them is missing."""

    async def use(tx: Tx) -> list[list[object]]:
        return [_gap(tx, one) for one in await service.gaps(tx, limit)]

    table(("statement", "account", "the bank's name", "ends", "opens with", "age"), in_transaction(use))


def _gap(tx: Tx, one: Gap) -> list[object]:
    opens = f"{decimal(one.opening_minor, one.currency)} {one.currency}"
    named = tx.ids.text(_STATEMENT, one.id)
    return [named, one.account, one.reference, one.day, opens, f"{(tx.now - one.since).days} d"]


@commands.command("explain")
def explain(
    what: Annotated[
        str,
        typer.Argument(help="A statement as `gaps` shows it, or a provider's report as `reports` does."),
    ],
    note: Note,
) -> None:
    """Say why nothing is missing before a statement, or why a provider's payout never came as it was told."""

    async def use(tx: Tx, officer: Officer) -> None:
        provider, by_provider, reference = what.partition("/")
        try:
            if by_provider:
                await service.explain_report(tx, provider, reference, note=note.strip(), by=officer.id)
            else:
                await service.explain_gap(tx, read_id(tx, _STATEMENT, what), note=note.strip(), by=officer.id)
        except NotFound:
            raise StatementRefused(
                f"Nothing is missing of {what}, or there is none: see `almoner bank-lines gaps` and `reports`."
            ) from None
        await officer.record(
            tx, DEPLOYMENT, "settlement.explained" if by_provider else "bank_statement.explained", what
        )

    decide("finance", use)
    typer.echo(f"{what} is explained.")


@commands.command("reports")
def list_reports(limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 50) -> None:
    """List providers' payouts that no line of our bank tells of yet, the oldest first."""

    async def use(tx: Tx) -> list[list[object]]:
        return [_report(tx, one) for one in await service.unbanked(tx, limit)]

    table(("report", "settled", "age", "amount", "why it waits"), in_transaction(use))


def _report(tx: Tx, one: Unbanked) -> list[object]:
    paid = one.paid_out
    amount = f"{decimal(paid.net_minor, paid.currency)} {paid.currency}"
    return [f"{one.provider}/{paid.reference}", one.settled_on, f"{(tx.now - one.since).days} d", amount, one.why]


@commands.command("assign")
def assign(
    line: LineId,
    request: Annotated[
        str | None, typer.Option(help="The donation request that it pays, by its reference or identifier.")
    ] = None,
    donation: Annotated[
        str | None, typer.Option(help="The donation whose donor sent it, or was sent it back, without the reference.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(help="The provider's report that it pays, as PROVIDER/REFERENCE: see `reports`.")
    ] = None,
    payout: Annotated[
        str | None, typer.Option(help="The payout that it is the transfer of; or the return, if it came.")
    ] = None,
) -> None:
    """Say what a line is the movement of, though it does not name it. The rules for what follows are the same."""
    told = {"request": request, "donation": donation, "report": report, "payout": payout}
    given = {name: value for name, value in told.items() if value is not None}
    if len(given) != 1:
        raise typer.BadParameter("name one of a request, a donation, a report and a payout")
    [(kind, thing)] = given.items()

    async def use(tx: Tx, officer: Officer) -> None:
        try:
            await _assign(tx, _id(tx, line), kind, thing, officer.id)
        except NotFound:
            raise StatementRefused(f"There is no line {line}, or nothing is named {thing}.") from None
        await officer.record(tx, DEPLOYMENT, "bank_statement_line.assigned", line, **given)

    decide("finance", use)
    typer.echo(f"{line} is assigned to {thing}.")


async def _assign(tx: Tx, line_id: UUID, kind: str, thing: str, by: str) -> None:
    match kind:
        case "donation":
            await service.assign_gift(tx, line_id, read_id(tx, "donation", thing), by=by)
        case "payout":
            await service.assign_payout(tx, line_id, read_id(tx, "disbursement", thing), by=by)
        case "report":
            provider, _, reference = thing.partition("/")
            await service.assign_report(tx, line_id, provider, reference, by=by)
        case _:
            request_id = await requests.named(tx, thing) or tx.ids.parse("donationrequest", thing)
            if request_id is None:
                raise StatementRefused(f"There is no donation request {thing}: see `almoner requests list`.")
            await service.assign(tx, line_id, request_id, by=by)


@commands.command("dismiss")
def dismiss(line: LineId, note: Note) -> None:
    """Say that a line is no movement of ours, such as a fee of the bank: nothing is booked by it."""

    async def use(tx: Tx, officer: Officer) -> None:
        try:
            await service.dismiss(tx, _id(tx, line), note=note.strip(), by=officer.id)
        except NotFound:
            raise StatementRefused(f"There is no line {line}.") from None
        await officer.record(tx, DEPLOYMENT, "bank_statement_line.dismissed", line)

    decide("finance", use)
    typer.echo(f"{line} is dismissed.")


def _id(tx: Tx, line: str) -> UUID:
    return read_id(tx, _TYPE, line)

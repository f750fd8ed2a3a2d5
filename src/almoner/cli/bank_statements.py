"""``almoner bank-statements``: statements of our bank accounts, and what each line matches."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import typer

from almoner import settings
from almoner.cli.access import parse_id
from almoner.cli.amounts import format_decimal
from almoner.cli.caller import CommandCaller, Note, operator_command, operator_transaction
from almoner.cli.database import database_command, transaction_command
from almoner.cli.progress import ProgressLine
from almoner.cli.tables import ErrorOutput, Limit, Output, Table
from almoner.giving.banking.bank_statements import flows as bank_statements_flows
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import (
    BankLine,
    BankStatement,
    BankStatementError,
    MissingProviderPayout,
    StatementGap,
    UnreconciledLineReason,
)
from almoner.giving.banking.bank_statements.flows import StatementImportProgress
from almoner.giving.banking.payment_files import service as payment_files
from almoner.kit.errors import NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Database, Tx

commands = typer.Typer(help="Import bank statements and match their lines.", no_args_is_help=True)

_TYPE: Final = "bankline"
_STATEMENT: Final = "bankstatement"
_SHOWN: Final = 200

LineId = Annotated[str, typer.Argument(help="ID of the statement line, from `almoner bank-statements lines`.")]


@commands.command("import")
@database_command
async def import_statement(
    database: Database,
    file: Annotated[
        Path,
        typer.Argument(
            exists=True,
            dir_okay=False,
            help="camt.053 or MT940 file, or CSV file with --mapping. Can be compressed (zip, gzip, tar).",
        ),
    ],
    mapping: Annotated[Path | None, typer.Option(help="TOML file that maps the columns of the CSV file.")] = None,
) -> Output:
    """Import a bank statement and match its lines.

    Each line is compared with donation requests, provider payouts, disbursements and donors' bank transfers.
    """
    content, line = file.read_bytes(), ProgressLine()
    ours = settings.read_settings().bank_accounts
    own = payment_files.load_own_accounts(ours) if ours else None
    form = bank_statements.load_mapping(mapping) if mapping else None
    async with operator_transaction(database, "finance") as (_, officer):
        pass  # check the operator before storing anything

    async def record(tx: Tx, statements: Sequence[BankStatement], looked: StatementImportProgress) -> None:
        named_so = ", ".join(one.reference for one in statements)[:200] or "empty"
        await officer.record_audit_entry(
            tx,
            DEPLOYMENT,
            "bank_statement.imported",
            named_so,
            kept=looked.new_statement_count,
            matched=looked.matched_line_count,
        )

    def report(looked: StatementImportProgress) -> None:
        line.show(f"{looked.checked_line_count:,} lines checked, {looked.lines_per_second:,.0f} per second")

    looked = await bank_statements_flows.import_statements(
        database, content, form, own_accounts=own, imported_by=officer.id, on_finished=record, on_progress=report
    )
    async with database.read() as tx:
        gaps = len(await bank_statements.list_statement_gaps(tx, bank_statements.PAGE_SIZE))
    line.clear()
    new = f"{looked.new_statement_count:,} new statement{'' if looked.new_statement_count == 1 else 's'}"
    parts = [f"{new}. {looked.checked_line_count:,} unmatched lines checked, {looked.matched_line_count:,} matched."]
    if looked.checked_line_count > looked.matched_line_count:
        parts.append(
            f"{looked.checked_line_count - looked.matched_line_count:,} need review: "
            "see `almoner bank-statements lines`."
        )
    if gaps:
        missing = "A statement is" if gaps == 1 else f"{gaps:,} statements are"
        parts.append(f"{missing} missing or incomplete: see `almoner bank-statements gaps`.")
    wrong = [f"Not imported: {problem}" for problem in looked.problems[:_SHOWN]]
    if more := len(looked.problems[_SHOWN:]):
        wrong.append(f"Not imported: {more:,} more")
    return [*parts, *(ErrorOutput(one) for one in wrong)]


@commands.command("lines")
@transaction_command
async def list_lines(
    tx: Tx,
    every: Annotated[
        bool,
        typer.Option("--all", help="Also list matched and dismissed lines, and sort the list from newest to oldest."),
    ] = False,
    limit: Limit = 50,
) -> Table:
    """List unmatched statement lines, oldest first."""
    return Table(
        ("line", "account", "age", "booked", "amount", "counterparty", "text", "status", "reason"),
        [
            _row(tx, one)
            for one in await bank_statements.list_oldest_open_or_newest_lines(tx, limit, newest_of_any_status=every)
        ],
    )


def _row(tx: Tx, line: BankLine) -> list[object]:
    moved = line.movement
    why = (
        _unreconciled_reason(line.unreconciled_reason, line.booking_error)
        if line.unreconciled_reason
        else line.matched_as
    )
    amount = f"{format_decimal(moved.amount_minor, moved.currency)} {moved.currency}"
    reported = (moved.counterparty, (moved.reference_search_text or "")[:60] or None, line.status, why)
    return [
        tx.ids.encode(_TYPE, line.id),
        line.account,
        f"{(tx.now - line.imported_at).days} d",
        moved.booked_on,
        amount,
        *reported,
    ]


def _unreconciled_reason(reason: UnreconciledLineReason, refusal: str | None) -> str:
    if reason is UnreconciledLineReason.REFUSED and refusal:
        return f"{reason.description}: {refusal}"
    return reason.description


@commands.command("gaps")
@transaction_command
async def list_gaps(tx: Tx, limit: Limit = 50) -> Table:
    """List missing and incomplete bank statements.

    If the opening balance of a statement is not the closing balance of another statement, a statement is missing. A
    statement is incomplete if some of its lines could not be read.
    """
    return Table(
        ("statement", "account", "reference", "ends", "opening balance", "age", "reason"),
        [_gap(tx, one) for one in await bank_statements.list_statement_gaps(tx, limit)],
    )


def _gap(tx: Tx, one: StatementGap) -> list[object]:
    opens = f"{format_decimal(one.opening_minor, one.currency)} {one.currency}"
    named = tx.ids.encode(_STATEMENT, one.id)
    return [
        named,
        one.account,
        one.statement_reference,
        one.statement_date,
        opens,
        f"{(tx.now - one.imported_at).days} d",
        one.explanation,
    ]


@commands.command("explain")
@operator_command("finance")
async def explain_discrepancy(
    tx: Tx,
    caller: CommandCaller,
    discrepancy: Annotated[
        str,
        typer.Argument(
            help="Statement ID, from `almoner bank-statements gaps`, or PROVIDER/REFERENCE, from "
            "`almoner bank-statements provider-payouts`."
        ),
    ],
    note: Note,
) -> str:
    """Record why a statement or provider payout is missing."""
    provider, by_provider, reference = discrepancy.partition("/")
    try:
        if by_provider:
            await bank_statements.record_provider_payout_explanation(
                tx, provider, reference, note=note.strip(), explained_by=caller.id
            )
        else:
            await bank_statements.record_gap_explanation(
                tx, parse_id(tx, _STATEMENT, discrepancy), note=note.strip(), explained_by=caller.id
            )
    except NotFound:
        raise BankStatementError(
            f"{discrepancy} does not exist or is not waiting for an explanation. List those that are with "
            "`almoner bank-statements gaps` or `almoner bank-statements provider-payouts`."
        ) from None
    await caller.record_audit_entry(
        tx, DEPLOYMENT, "settlement.explained" if by_provider else "bank_statement.explained", discrepancy
    )
    return f"{discrepancy} has been explained."


@commands.command("provider-payouts")
@transaction_command
async def list_provider_payouts(
    tx: Tx,
    limit: Limit = 50,
) -> Table:
    """List provider payouts that match no statement line."""
    return Table(
        ("provider payout", "settled", "age", "amount", "reason"),
        [_report(tx, one) for one in await bank_statements.list_missing_provider_payouts(tx, limit)],
    )


def _report(tx: Tx, one: MissingProviderPayout) -> list[object]:
    paid = one.payout
    amount = f"{format_decimal(paid.net_minor, paid.currency)} {paid.currency}"
    return [
        f"{one.provider}/{paid.reference}",
        one.settled_on,
        f"{(tx.now - one.imported_at).days} d",
        amount,
        one.explanation,
    ]


@commands.command("match")
@operator_command("finance")
async def match_line(
    tx: Tx,
    caller: CommandCaller,
    line: LineId,
    request: Annotated[
        str | None,
        typer.Option(
            help="Reference or ID of the donation request that was paid, or up to three of them, separated by commas."
        ),
    ] = None,
    donation: Annotated[str | None, typer.Option(help="ID of the donation that was paid or refunded.")] = None,
    provider_payout: Annotated[
        str | None,
        typer.Option(help="Provider payout as PROVIDER/REFERENCE, from `almoner bank-statements provider-payouts`."),
    ] = None,
    disbursement: Annotated[str | None, typer.Option(help="ID of the disbursement that was sent or returned.")] = None,
) -> str:
    """Match a statement line to a record manually.

    Specify exactly one of the options --request, --donation, --provider-payout and --disbursement.
    """
    reported = {"request": request, "donation": donation, "report": provider_payout, "payout": disbursement}
    given = {name: value for name, value in reported.items() if value is not None}
    if len(given) != 1:
        raise typer.BadParameter("use exactly one of --request, --donation, --provider-payout and --disbursement")
    [(kind, thing)] = given.items()
    try:
        await _assign(tx, _id(tx, line), kind, thing, caller.id)
    except NotFound:
        raise BankStatementError(f"Line {line} or record {thing} does not exist.") from None
    await caller.record_audit_entry(tx, DEPLOYMENT, "bank_statement_line.assigned", line, **given)
    return f"{line} has been matched to {thing}."


async def _assign(tx: Tx, line_id: UUID, kind: str, thing: str, by: str) -> None:
    match kind:
        case "donation":
            await bank_statements.assign_line_to_donation(tx, line_id, parse_id(tx, "donation", thing), assigned_by=by)
        case "payout":
            await bank_statements.assign_line_to_disbursement(
                tx, line_id, parse_id(tx, "disbursement", thing), assigned_by=by
            )
        case "report":
            provider, _, reference = thing.partition("/")
            await bank_statements.assign_line_to_provider_payout(tx, line_id, provider, reference, assigned_by=by)
        case _:
            await bank_statements.assign_line_to_donation_requests(tx, line_id, thing, assigned_by=by)


@commands.command("dismiss")
@operator_command("finance", audit_action="bank_statement_line.dismissed")
async def dismiss_line(tx: Tx, caller: CommandCaller, line: LineId, note: Note) -> str:
    """Dismiss a statement line, such as a bank fee.

    A dismissed line is not booked in the ledger.
    """
    try:
        await bank_statements.dismiss_line(tx, _id(tx, line), note=note.strip(), dismissed_by=caller.id)
    except NotFound:
        raise BankStatementError(f"There is no line {line}.") from None
    return f"{line} has been dismissed."


@commands.command("reopen")
@operator_command("finance", audit_action="bank_statement_line.reopened")
async def reopen_line(tx: Tx, caller: CommandCaller, line: LineId, note: Note) -> str:
    """Reopen a line that was dismissed or matched by mistake.

    You can only reopen dismissed lines and lines matched to a provider payout, because these are not booked in the
    ledger.
    """
    try:
        await bank_statements.reopen_line(tx, _id(tx, line), note=note.strip(), reopened_by=caller.id)
    except NotFound:
        raise BankStatementError(f"There is no line {line}.") from None
    return f"{line} is open again."


def _id(tx: Tx, line: str) -> UUID:
    return parse_id(tx, _TYPE, line)

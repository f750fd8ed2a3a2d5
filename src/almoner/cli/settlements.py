"""``almoner settlements``: settlement reports of payment providers."""

import time
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final

import typer

from almoner.cli.amounts import format_amount, format_decimal
from almoner.cli.caller import CommandCaller, Note, operator_command, operator_transaction
from almoner.cli.database import database_command, transaction_command
from almoner.cli.progress import ProgressLine
from almoner.cli.tables import Limit, Output, Part, Table
from almoner.giving.accounting.settlements import flows as settlements_flows
from almoner.giving.accounting.settlements import service as settlements
from almoner.giving.accounting.settlements.domain import Settlement, SettlementLineKind, UnmatchedSettlementLine
from almoner.giving.accounting.settlements.flows import COLUMNS, SettlementImportProgress
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import UnreconciledItem
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Database, Tx

commands = typer.Typer(help="Import and reconcile providers' settlement reports.", no_args_is_help=True)

_UNRECONCILED: Final = {
    "provider_line": ("settlement line", "settlements unmatched"),
    "bank_statement_line": ("bank line", "bank-statements lines"),
    "provider_payout": ("provider payout", "bank-statements provider-payouts"),
    "bank_statement": ("missing bank statement", "bank-statements gaps"),
}
"""The display name of each kind of unreconciled line, and the command that shows details of such lines."""


@commands.command("import")
@database_command
async def import_settlement(
    database: Database,
    provider: Annotated[str, typer.Argument(help="Payment provider, such as stripe.")],
    file: Annotated[
        Path, typer.Argument(help=f"CSV file with the columns {', '.join(COLUMNS)}.", exists=True, dir_okay=False)
    ],
) -> Output:
    """Import the settlement report of a provider payout.

    Importing the same report again changes nothing.
    """
    content = file.read_bytes()
    line, started = ProgressLine(), time.monotonic()

    def report(progress: SettlementImportProgress) -> None:
        line.show(
            f"{progress.booked_line_count:,} of {progress.line_count:,} lines, "
            f"{progress.lines_per_second:,.0f} per second"
        )

    async with operator_transaction(database, "finance") as (_, officer):
        pass  # check the operator before booking anything

    async def record(tx: Tx, settlement: Settlement) -> None:
        reported = {"reference": settlement.reference, "sha256": sha256(content).hexdigest()}
        await officer.record_audit_entry(tx, DEPLOYMENT, "settlement.imported", provider, **reported)

    settlement = await settlements_flows.import_report(database, provider, content, report, record)
    line.clear()
    pace = settlement.line_count / max(time.monotonic() - started, 0.001)
    parts = [
        (
            f"{settlement.provider}'s report {settlement.reference} of {settlement.settled_on}: "
            f"{settlement.line_count:,} lines, {settlement.matched_count:,} booked, "
            f"{settlement.unmatched_count:,} unmatched; "
            f"net {format_decimal(settlement.net_minor, settlement.currency)} {settlement.currency} "
            f"after fees of {format_decimal(settlement.fee_minor, settlement.currency)} ({pace:,.0f} rows/s)."
        )
    ]
    if settlement.unmatched_count:
        parts.append(
            "Run `almoner settlements unmatched` to list these lines. Almoner tries to match these lines again every "
            "night."
        )
    return parts


@commands.command("list")
@transaction_command
async def list_settlements(tx: Tx, limit: Limit = 50) -> Output:
    """List settlement reports, newest first."""
    titles = ("provider", "reference", "settled on", "imported", "lines", "booked", "unmatched", "fees", "net")
    parts: list[Part] = [Table(titles, [_row(one) for one in await settlements.list_newest(tx, limit)])]
    for found in await settlements.sum_unmatched_lines_by_currency(tx):
        net = f"{format_decimal(found.net_minor, found.currency)} {found.currency}"
        parts.append(
            f"{net} from {found.line_count:,} unmatched lines has reached the bank but has not been booked: see "
            "`almoner settlements unmatched`."
        )
    return parts


def _row(found: Settlement) -> list[object]:
    sums = (
        format_decimal(found.fee_minor, found.currency),
        f"{format_decimal(found.net_minor, found.currency)} {found.currency}",
    )
    counts = (found.line_count, found.matched_count, found.unmatched_count)
    return [found.provider, found.reference, found.settled_on, iso_timestamp(found.imported_at), *counts, *sums]


@commands.command("unmatched")
@transaction_command
async def list_unmatched(tx: Tx, limit: Limit = 200) -> Table:
    """List settlement report lines that do not match a payment."""
    return Table(
        ("age", "provider", "reference", "kind", "payment", "gross", "fee", "reason", "meaning", "booked in"),
        [_unmatched(tx, unbooked) for unbooked in await settlements.list_unmatched_lines(tx, limit)],
    )


@commands.command("unreconciled")
@transaction_command
async def list_unreconciled(tx: Tx, limit: Limit = 200) -> Table:
    """List all unreconciled lines, oldest first.

    These lines were reported by payment providers and banks, but are not in the ledger yet. The `see` column shows
    which command to use for each line.
    """
    return Table(
        ("age", "kind", "source", "reference", "amount", "reason", "see"),
        [_unreconciled(tx, one) for one in await bank_statements.list_unreconciled_items(tx, limit)],
    )


@commands.command("dismiss")
@operator_command("finance")
async def dismiss_line(
    tx: Tx,
    caller: CommandCaller,
    provider: Annotated[str, typer.Argument(help="Payment provider, from `almoner settlements unmatched`.")],
    reference: Annotated[str, typer.Argument(help="Reference of the settlement report.")],
    payment: Annotated[str, typer.Argument(help="Payment provider's ID for the payment.")],
    note: Note,
    kind: Annotated[SettlementLineKind, typer.Option(help="Type of the report line.")] = SettlementLineKind.PAYMENT,
    refund: Annotated[str, typer.Option(help="Refund ID in the report line, if the line contains one.")] = "",
) -> str:
    """Dismiss a settlement report line that will never be booked.

    Use this command, for example, if the payment provider has reversed the line. No money moves.
    """
    await settlements.dismiss_line(tx, provider, reference, (payment, kind, refund), dismissed_by=caller.id, note=note)
    line = {"reference": reference, "payment": payment, "kind": str(kind)}
    await caller.record_audit_entry(tx, DEPLOYMENT, "settlement_line.dismissed", provider, **line)
    return f"Dismissed: {kind} {payment} of {provider}'s report {reference}. No money has moved."


def _unreconciled(tx: Tx, one: UnreconciledItem) -> list[object]:
    money = f"{format_decimal(one.amount_minor, one.currency)} {one.currency}"
    what, see = _UNRECONCILED[one.kind]
    return [
        _age(tx, one.imported_at),
        what,
        one.provider_or_account,
        one.display_name,
        money,
        one.reason,
        f"almoner {see}",
    ]


def _age(tx: Tx, since: datetime) -> str:
    age = tx.now - since
    return f"{age.days} d" if age.days else f"{age.seconds // 3600} h"


def _unmatched(tx: Tx, unbooked: UnmatchedSettlementLine) -> list[object]:
    stored = unbooked.stored_line
    line, old = stored.line, _age(tx, stored.imported_at)
    sums = (format_amount(line.gross), format_amount(line.fee))
    why = (
        stored.mismatch_reason,
        stored.mismatch_reason.explanation if stored.mismatch_reason else None,
        unbooked.booked_in_report_reference,
    )
    return [old, stored.provider, unbooked.report_reference, line.kind, line.provider_payment_id, *sums, *why]

"""``almoner payment-files``: payment files for the bank, and its status reports."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from almoner import settings
from almoner.cli import outputs
from almoner.cli.access import parse_id
from almoner.cli.amounts import format_amount
from almoner.cli.caller import (
    CommandCaller,
    Note,
    build_display_name_lookup,
    ensure_independent_operator,
    operator_command,
    operator_transaction,
)
from almoner.cli.database import database_command, transaction_command
from almoner.cli.tables import ErrorOutput, Limit, Output, Table
from almoner.giving.banking.payment_files import flows as payment_files_flows
from almoner.giving.banking.payment_files import service as payment_files
from almoner.giving.banking.payment_files.domain import BankOutcome, OwnAccount, PaymentFile, PaymentFileError
from almoner.giving.banking.payment_files.flows import StatusReportResult
from almoner.giving.disbursing.disbursements.domain import Disbursement
from almoner.kit.errors import NotFound
from almoner.kit.time import iso_timestamp_or_none
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Database, Partner, Tx

commands = typer.Typer(help="Manage payment files for the bank (pain.001).", no_args_is_help=True)

_TYPE: Final = "bankfile"
_SHOWN: Final = 20
_HELD: Final = "is on hold: see `almoner disbursements holds` and `almoner verifications flags`"

FileId = Annotated[str, typer.Argument(help="File ID, from `almoner payment-files list`.")]
Out = Annotated[Path, typer.Option("--out", help="File to write. The file must not exist yet.")]


@commands.command("list")
@transaction_command
async def list_files(tx: Tx, limit: Limit = 50) -> Table:
    """List payment files, newest first."""
    found = await payment_files.list_newest(tx, limit)
    by = await build_display_name_lookup(
        tx, [who for one in found for who in (one.created_by, one.released_by, one.withdrawn_by)]
    )
    return Table(
        (
            "file",
            "amount",
            "payments",
            "execution date",
            "status",
            "created by",
            "released or withdrawn by",
            "released",
            "sha256",
        ),
        [
            [
                tx.ids.encode(_TYPE, one.id),
                format_amount(one.total),
                one.payment_count,
                one.execution_date,
                one.status,
                by(one.created_by),
                by(one.released_by or one.withdrawn_by),
                iso_timestamp_or_none(one.released_at),
                one.sha256.hex()[:12],
            ]
            for one in found
        ],
    )


@commands.command("create")
@operator_command("finance")
async def create(
    tx: Tx,
    caller: CommandCaller,
    currency: Annotated[str, typer.Argument(help="Currency, such as EUR.")],
    execution_date: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Date on which the bank should make the payments. Default: today."),
    ] = None,
) -> Output:
    """Create a payment file for disbursements with the status SENT.

    The file is in the pain.001.001.09 format and contains all SENT disbursements in the currency, up to 10,000.
    Disbursements that are on hold or already in another file are left out. To write the file to disk, run `almoner
    payment-files release`.
    """
    own = _own(currency.strip().upper())
    day = execution_date.date() if execution_date else tx.deployment.date_in_issuer_time_zone(tx.now)
    created = await payment_files.create_file(tx, own, day, created_by=caller.id)
    if created.file is not None:
        await _record(tx, caller, "payment_file.created", created.file)
    parts = [
        f"Left out: {await _left_out_line(tx, payout, why)}"
        for payouts, why in (
            (created.disbursements_without_account, "has no approved payee account: see `almoner payee-accounts`"),
            (created.disbursements_on_hold, _HELD),
        )
        for payout in payouts[:_SHOWN]
    ]
    if more := sum(
        max(0, len(payouts) - _SHOWN)
        for payouts in (created.disbursements_without_account, created.disbursements_on_hold)
    ):
        parts.append(f"Left out: {more:,} more")
    if created.file is None:
        return [*parts, f"No disbursements are due in {own.single_operator_release_limit.currency}."]
    who = "another finance operator must release it" if created.file.requires_second_approval else "release it"
    return [
        *parts,
        (
            f"{tx.ids.encode(_TYPE, created.file.id)} created: {format_amount(created.file.total)} in "
            f"{_payments(created.file)}, execution date "
            f"{created.file.execution_date}, sha256 {created.file.sha256.hex()}."
        ),
        *await _changed_texts(tx, created.file),
        f"The file has not been written yet: {who} with `almoner payment-files release`.",
    ]


async def _left_out_line(tx: Tx, disbursement: Disbursement, why: str) -> str:
    organisation = await organisations.get(tx, Partner(disbursement.partner_id), disbursement.organisation_id)
    named_so = tx.ids.encode("disbursement", disbursement.id)
    return f"{named_so}, {format_amount(disbursement.money)}: {organisation.effective_display_name} {why}"


def _own(currency: str) -> OwnAccount:
    known = payment_files.load_own_accounts(settings.read_settings().bank_accounts)
    if currency not in known:
        raise PaymentFileError(
            f"We have no bank account in {currency}. ALMONER_BANK_ACCOUNTS has accounts in {', '.join(known)}."
        )
    return known[currency]


async def _changed_texts(tx: Tx, file: PaymentFile) -> list[str]:
    changed = await payment_files.list_transliterated_texts(tx, file.id)
    lines = [
        f"For the bank, the {one.field_name} of {tx.ids.encode('payeeaccount', one.account_id)} is transliterated as "
        f"{one.sent_text}."
        for one in changed[:_SHOWN]
    ]
    if more := len(changed[_SHOWN:]):
        lines.append(
            f"Another {more:,} names and addresses are transliterated for the bank. To see them, run `almoner "
            "payment-files show`."
        )
    return lines


@commands.command("show")
@transaction_command
async def show(tx: Tx, file: FileId) -> Output:
    """Show a payment file before you release it.

    The command also lists names and addresses that were transliterated, because banks accept only a limited set of
    characters.
    """
    found = await _find(tx, file)
    facts: list[list[object]] = [
        ["amount", format_amount(found.total)],
        ["payments", found.payment_count],
        ["execution date", found.execution_date],
        ["status", found.status],
        ["two approvals", "yes" if found.requires_second_approval else "no"],
        ["sha256", found.sha256.hex()],
    ]
    changed: list[list[object]] = [
        [tx.ids.encode("payeeaccount", one.account_id), one.field_name, one.entered_text, one.sent_text]
        for one in await payment_files.list_transliterated_texts(tx, found.id)
    ]
    tables = [Table(("field", "value"), facts)]
    return [*tables, Table(("account", "field", "entered", "sent to the bank"), changed)] if changed else tables


@commands.command("release")
@database_command
async def release(database: Database, file: FileId, out: Out) -> list[str]:
    """Release a payment file and write it to disk.

    If the total is above the limit for one person, the operator who created the payment file cannot release it.
    """
    outputs.ensure_output_file_absent(out)
    async with operator_transaction(database, "finance") as (tx, officer):
        made = await _find(tx, file)
        if made.requires_second_approval:
            await ensure_independent_operator(tx, officer, made.created_by)
        released = await payment_files.release_file(tx, made.id, released_by=officer.id)
        await _record(tx, officer, "payment_file.released", released)
        await _record(tx, officer, "payment_file.downloaded", released)
        content = payment_files.decrypt_released_content(tx, released)
        changed = await _changed_texts(tx, released)
    outputs.write_file(out, content)
    return [
        f"{out} contains {format_amount(released.total)} in {_payments(released)}, sha256 {released.sha256.hex()}.",
        *changed,
        "Upload the file only once. The bank rejects a second file with the same message ID.",
    ]


@commands.command("export")
@database_command
async def export(
    database: Database,
    file: FileId,
    out: Out,
    note: Annotated[
        str, typer.Option(help="Why you need the file again. Required if the file was already written or downloaded.")
    ] = "",
) -> str:
    """Write an identical copy of a released payment file."""
    outputs.ensure_output_file_absent(out)
    async with operator_transaction(database, "finance") as (tx, officer):
        found = await _find(tx, file)
        reason = note.strip()
        found, content = await payment_files.read_released_file(tx, found.id, reason)
        await _record(tx, officer, "payment_file.downloaded", found, **({"note": reason} if reason else {}))
    outputs.write_file(out, content)
    return f"Wrote {out}."


@commands.command("withdraw")
@operator_command("finance")
async def withdraw(tx: Tx, caller: CommandCaller, file: FileId, note: Note) -> Output:
    """Withdraw a payment file that has not been released.

    The disbursements of a withdrawn file can be added to another payment file.
    """
    withdrawn = await payment_files.withdraw_file(
        tx, (await _find(tx, file)).id, note=note.strip(), withdrawn_by=caller.id
    )
    await _record(tx, caller, "payment_file.withdrawn", withdrawn)
    return f"{file} is {withdrawn.status}."


@commands.command("import-status")
@database_command
async def import_status(
    database: Database,
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="Status report (pain.002 file) from the bank.")
    ],
) -> Output:
    """Import the bank's status report (pain.002).

    Disbursements that the bank has paid are confirmed, and disbursements that the bank rejected are marked as returned.
    """
    content = file.read_bytes()
    async with operator_transaction(database, "finance") as (_, officer):
        pass  # check the operator before doing anything

    async def record(tx: Tx, sent: PaymentFile, counts: dict[BankOutcome, int]) -> None:
        reported = {verdict.value: count for verdict, count in counts.items()}
        named_so = tx.ids.encode(_TYPE, sent.id)
        await officer.record_audit_entry(tx, DEPLOYMENT, "payment_file.answered", named_so, **reported)

    reported = await payment_files_flows.import_status_report(
        database, content, imported_by=officer.id, on_finished=record
    )
    if not reported.outcome_counts:
        return "This report had already been imported. Nothing has changed."
    stated = ", ".join(f"{count:,} {verdict.value}" for verdict, count in sorted(reported.outcome_counts.items()))
    return [
        (
            f"The bank reports {stated}. "
            f"Disbursements confirmed: {reported.confirmed_count:,}, returned: {reported.returned_count:,}."
        ),
        *(ErrorOutput(line) for line in _failed_payment_lines(database, reported)),
    ]


def _failed_payment_lines(database: Database, told: StatusReportResult) -> list[str]:
    """A table of the payments that need attention."""
    ids = database.deployment.ids
    found = [
        f"The report on {ids.encode('disbursement', one)} contradicts an earlier report from the bank. Disbursements "
        "to the organisation are on hold: see `almoner disbursements holds`. Ask the bank before you release the "
        "disbursements."
        for one in told.contradicted_disbursement_ids
    ]
    for one, why in told.refused_disbursements:
        found.append(
            f"{ids.encode('disbursement', one)} could not be updated: {why}. Fix the problem and run the command again."
        )
    return found


async def _find(tx: Tx, file: str) -> PaymentFile:
    try:
        return await payment_files.get(tx, parse_id(tx, _TYPE, file))
    except NotFound:
        raise PaymentFileError(f"There is no file {file}: see `almoner payment-files list`.") from None


async def _record(tx: Tx, officer: CommandCaller, action: str, file: PaymentFile, **details: str) -> None:
    facts = {
        **details,
        "amount": format_amount(file.total),
        "payments": str(file.payment_count),
        "sha256": file.sha256.hex(),
    }
    await officer.record_audit_entry(tx, DEPLOYMENT, action, tx.ids.encode(_TYPE, file.id), **facts)


def _payments(file: PaymentFile) -> str:
    return f"{file.payment_count:,} payment{'' if file.payment_count == 1 else 's'}"

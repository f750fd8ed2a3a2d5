"""``almoner disbursements``: paying donations out to nonprofits."""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import typer

from almoner import settings
from almoner.access.operators.domain import ApprovedDecision
from almoner.cli import outputs
from almoner.cli.access import parse_id
from almoner.cli.amounts import format_amount, format_decimal
from almoner.cli.caller import (
    CommandCaller,
    Note,
    build_display_name_lookup,
    operator_command,
    operator_transaction,
    require_two_person_approval,
    require_two_person_approval_if_enabled,
)
from almoner.cli.database import database_command, transaction_command
from almoner.cli.progress import ProgressLine
from almoner.cli.tables import ErrorOutput, FieldList, Limit, Output, Part, Table
from almoner.giving.banking.payment_files import service as payment_files
from almoner.giving.banking.payment_files.domain import OwnAccount
from almoner.giving.disbursing.disbursements import flows as disbursements_flows
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import (
    MAX_NOTE_LENGTH,
    MAX_REASON_LENGTH,
    Disbursement,
    DisbursementConfirmation,
    DisbursementError,
    DisbursementRules,
    DisbursementStatus,
    DisbursementTotals,
)
from almoner.giving.disbursing.disbursements.flows import DisbursementRunResult
from almoner.giving.disbursing.remittances import service as remittances
from almoner.kit.errors import NotFound
from almoner.kit.language import nearest_offered_language
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Database, Partner, Tx

commands = typer.Typer(help="Pay donations out to nonprofits.", no_args_is_help=True)

DisbursementId = Annotated[str, typer.Argument(help="Disbursement ID, from `almoner disbursements list`.")]
_SHOWN: Final = 100


def read_disbursement_rules() -> DisbursementRules:
    """Read the rules for disbursements from the settings, such as the minimum amount."""
    return DisbursementRules(settings.read_settings().disbursement_min_donations)


@commands.command("run")
@database_command
async def run_disbursements(database: Database) -> Output:
    """Send all disbursements that are ready.

    The command also lists disbursements that cannot be sent yet, with the reasons. In the sandbox, disbursements are
    confirmed immediately. In production, record the bank's confirmation with `almoner disbursements confirm`.
    """
    line = ProgressLine()
    async with operator_transaction(database, "finance") as (_, officer):
        pass  # check the operator before sending anything

    async def record(tx: Tx, ran: DisbursementRunResult) -> None:
        sent = sum(sums.disbursement_count for sums in ran.sent_totals_by_currency.values())
        await officer.record_audit_entry(
            tx, DEPLOYMENT, "disbursements.run", "all", sent=sent, refused=len(ran.refused_disbursements)
        )

    ran = await disbursements_flows.run_disbursements(
        database,
        read_disbursement_rules(),
        lambda ran: line.show(f"{ran.checked_count:,} disbursements checked"),
        record,
    )
    line.clear()
    parts: list[Part] = [] if ran.sent_totals_by_currency else ["Nothing was sent."]
    done = "Paid" if database.deployment.sandbox else "Sent"
    parts += [f"{done}     {_in_words(sums)}" for sums in ran.sent_totals_by_currency.values()]
    for (reason, _), sums in sorted(ran.waiting_totals_by_reason_and_currency.items()):
        parts.append(f"Waiting  {_in_words(sums)}: {reason.value}, {reason.description}")
    ids = database.deployment.ids
    for one, stated in ran.refused_disbursements:
        parts.append(ErrorOutput(f"The ledger rejected disbursement {ids.encode('disbursement', one)}: {stated}"))
    return parts


def _in_words(sums: DisbursementTotals) -> str:
    whole = f"{format_decimal(sums.total_minor, sums.currency)} {sums.currency}"
    disbursements = _counted(sums.disbursement_count, "disbursement")
    donations = _counted(sums.donation_count, "donation")
    return f"{whole} in {disbursements} with {donations}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


@commands.command("list")
@transaction_command
async def list_disbursements(
    tx: Tx,
    status: Annotated[
        str | None, typer.Option(help="Show only disbursements that are PENDING, SENT, PAID or RETURNED.")
    ] = None,
    limit: Limit = 50,
) -> Table:
    """List disbursements, newest first."""
    wanted = _status(status)
    return Table(
        ("disbursement", "organisation", "amount", "donations", "status", "waiting for", "created", "sent", "paid"),
        [await _row(tx, disbursement) for disbursement in await disbursements.list_newest(tx, wanted, limit)],
    )


def _status(text: str | None) -> DisbursementStatus | None:
    for known in ("PENDING", "SENT", "PAID", "RETURNED"):
        if text is not None and text.upper() == known:
            return known
    if text is not None:
        raise typer.BadParameter(f"{text!r} is not PENDING, SENT, PAID or RETURNED")
    return None


async def _row(tx: Tx, disbursement: Disbursement) -> list[object]:
    organisation = await organisations.get(tx, Partner(disbursement.partner_id), disbursement.organisation_id)
    moments = map(iso_timestamp_or_none, (disbursement.created_at, disbursement.sent_at, disbursement.paid_at))
    standing = (
        format_amount(disbursement.money),
        disbursement.donation_count,
        disbursement.status,
        disbursement.waiting_reason,
    )
    return [tx.ids.encode("disbursement", disbursement.id), organisation.effective_display_name, *standing, *moments]


@commands.command("show")
@database_command
async def show(
    database: Database,
    disbursement: DisbursementId,
    csv_file: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            help="Write all donations of the disbursement to this CSV file, which you can send to the nonprofit. The "
            "file must not exist yet.",
        ),
    ] = None,
) -> Output:
    """Show a disbursement and its donations.

    The list of donations includes donors' messages to the nonprofit, and the names of donors who did not donate
    anonymously.
    """
    if csv_file is not None:
        outputs.ensure_output_file_absent(csv_file)
    async with database.read() as tx:
        with _explain_unknown_disbursement(disbursement):
            found = await disbursements.get(tx, ALL_PARTNERS, parse_id(tx, "disbursement", disbursement))
        fields = await _fields(tx, found)
    if csv_file is not None:
        with (
            outputs.create_file(csv_file) as opened,
            io.TextIOWrapper(opened, encoding="utf-8-sig", newline="") as text,
        ):
            written = await disbursements_flows.write_remittance_advice_csv(database, found.id, text)
        return [fields, f"Wrote {_counted(written, 'donation')} to {csv_file}."]
    rows = await disbursements_flows.list_first_remittance_advice_rows(database, found.id, _SHOWN)
    parts: list[Part] = [fields, Table(disbursements_flows.COLUMN_TITLES, rows)]
    if found.donation_count > _SHOWN:
        parts.append(f"and {found.donation_count - _SHOWN:,} more. Use --csv FILE to write all donations to a file.")
    return parts


async def _fields(tx: Tx, found: Disbursement) -> FieldList:
    organisation = await organisations.get(tx, Partner(found.partner_id), found.organisation_id)
    waits = (
        f", waiting: {found.waiting_reason.value}, {found.waiting_reason.description}" if found.waiting_reason else ""
    )
    lines = {
        "organisation": f"{organisation.effective_display_name} ({tx.ids.encode('organisation', organisation.id)})",
        "partner": tx.ids.encode("partner", found.partner_id),
        "amount": f"{format_amount(found.money)} from {_counted(found.donation_count, 'donation')}",
        "status": f"{found.status}{waits}",
        "end-to-end id": found.end_to_end_id,
        "created": iso_timestamp(found.created_at),
        "sent": iso_timestamp_or_none(found.sent_at),
        "paid": iso_timestamp_or_none(found.paid_at),
        "returned": f"{iso_timestamp(found.returned_at)}: {found.return_reason}" if found.returned_at else None,
    }
    return FieldList([(name, value) for name, value in lines.items() if value])


@commands.command("remittance")
@database_command
async def write_remittance(
    database: Database,
    disbursement: DisbursementId,
    pdf: Annotated[Path, typer.Option("--pdf", help="File to write. The file must not exist yet.")],
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            help="Language of the statement, such as de. Default: the language of the nonprofit's country.",
        ),
    ] = None,
) -> Output:
    """Generate the remittance statement for the nonprofit.

    The statement lists the donations, the deductions and the total. Anonymous donors are not named. Generating the
    statement again produces an identical document.
    """
    outputs.ensure_output_file_absent(pdf)
    papers = remittances.RemittanceRenderer(database.deployment)
    spoken = _check_language(papers, language)
    payout_id = _id(database, disbursement)
    async with operator_transaction(database, "finance") as (tx, officer):
        with _explain_unknown_disbursement(disbursement):
            made = await remittances.build_remittance(tx, payout_id, spoken)
    document = await papers.render_pdf(made)
    facts = {"language": made.language, "sha256": sha256(document).hexdigest()}
    async with database.write() as tx:
        await officer.record_audit_entry(
            tx, made.disbursement.partner_id, "disbursement.remittance_created", disbursement, **facts
        )
    outputs.write_file(pdf, document)
    reported = f"{format_amount(made.disbursement.money)} from {_counted(made.totals.donation_count, 'donation')}"
    parts = [f"Wrote the remittance statement for {made.organisation} to {pdf}: {reported}, in {made.language}."]
    if len(made.lines) < made.totals.donation_count:
        parts.append(
            f"The statement lists the first {len(made.lines):,} donations. To list all donations, run `almoner "
            f"disbursements show {disbursement} --csv FILE`."
        )
    return parts


def _check_language(papers: remittances.RemittanceRenderer, language: str | None) -> str | None:
    """Check the requested language. Raises BadParameter if it is not supported."""
    if language is None or nearest_offered_language(language, papers.languages) is not None:
        return language
    raise typer.BadParameter(f"{language!r} is not available. Available languages: {', '.join(papers.languages)}")


@commands.command("confirm")
@database_command
async def confirm(
    database: Database,
    disbursement: DisbursementId,
    note: Annotated[
        str | None,
        typer.Option(
            "--note",
            help=(
                "Evidence that the bank made the payment, such as where you saw the payment. Required if two people "
                "must confirm."
            ),
        ),
    ] = None,
) -> Output:
    """Record that the bank has paid a disbursement.

    The status of its donations becomes DISBURSED. If the disbursement is in a released payment file, or if its amount
    is within the `single_approval_limit` in the file set with ALMONER_BANK_ACCOUNTS, one finance operator can confirm
    it. Otherwise, two finance operators must each run this command. If no limit is set, the limit is 0.
    """
    reported = (note or "").strip() or None
    if reported is not None and len(reported) > MAX_NOTE_LENGTH:
        raise typer.BadParameter(f"--note must be at most {MAX_NOTE_LENGTH} characters")
    payout_id = _id(database, disbursement)
    async with operator_transaction(database, "finance") as (tx, officer):
        with _explain_unknown_disbursement(disbursement):
            stated = await _payment_confirmation(tx, officer, payout_id, reported)
        if isinstance(stated, str):
            return stated
        confirmed = await disbursements.confirm_paid(tx, payout_id, stated)
        people = 2 if stated and stated.second_operator_and_note else 1
        await officer.record_audit_entry(
            tx, confirmed.partner_id, "disbursement.confirmed", disbursement, people=people
        )
    await disbursements_flows.propagate_status_to_donations(database, confirmed)
    return (
        f"{disbursement} is {confirmed.status}: {format_amount(confirmed.money)} with "
        f"{_counted(confirmed.donation_count, 'donation')}."
    )


async def _payment_confirmation(
    tx: Tx, officer: CommandCaller, payout_id: UUID, note: str | None
) -> DisbursementConfirmation | str | None:
    """The confirmation to record, or None if the payment file is sufficient.

    A message if a second person must confirm.
    """
    needed = await payment_files.get_confirmation_requirement(tx, payout_id, _own_accounts())
    if needed.required_operator_count == 0:
        return None
    held, seen, alone = needed.disbursement, needed.fingerprint, needed.single_operator_limit_minor
    if needed.required_operator_count == 1:
        return DisbursementConfirmation(officer.id, alone, note)
    if not note:
        raise DisbursementError(
            f"{format_amount(held.money)} is above the limit for one person. Use --note to say where you saw that the "
            "bank made the payment. Another finance operator must then run the same command."
        )
    shown = tx.ids.encode("disbursement", payout_id)
    agreed = await require_two_person_approval(
        tx, officer, "finance", "disbursements.confirm", shown, seen, note, held.partner_id
    )
    return (
        DisbursementConfirmation(agreed.decided_by, alone, agreed.note, agreed.second_approval)
        if isinstance(agreed, ApprovedDecision)
        else agreed
    )


def _own_accounts() -> Mapping[str, OwnAccount]:
    """Our bank accounts by currency. Each has a limit up to which one person may confirm a disbursement."""
    file = settings.read_settings().bank_accounts
    return payment_files.load_own_accounts(file) if file else {}


@commands.command("mark-returned")
@database_command
async def mark_returned(
    database: Database,
    disbursement: DisbursementId,
    reason: Annotated[str, typer.Option(help=f"Reason given by the bank (up to {MAX_REASON_LENGTH} characters).")],
) -> Output:
    """Record that the bank returned a disbursement.

    You can also use this command for a disbursement that the bank never sent. The donations are added to the next
    disbursement, which is put on hold.
    """
    payout_id = _id(database, disbursement)
    async with operator_transaction(database, "finance") as (tx, officer):
        with _explain_unknown_disbursement(disbursement):
            returned = await disbursements.mark_returned(tx, payout_id, reason.strip(), recorded_by=officer.id)
        await officer.record_audit_entry(tx, returned.partner_id, "disbursement.returned", disbursement)
    await disbursements_flows.propagate_status_to_donations(database, returned)
    return (
        f"{disbursement} is {returned.status}: {format_amount(returned.money)} with "
        f"{_counted(returned.donation_count, 'donation')}. Disbursements to this organisation are on hold. Find out "
        "why the disbursement was returned, then run `almoner disbursements release`."
    )


OrganisationId = Annotated[str, typer.Argument(help="Organisation ID.")]
PartnerId = Annotated[
    str | None,
    typer.Option("--partner", help="Apply the hold only to donations through this partner. Default: all partners."),
]


@commands.command("hold")
@operator_command("finance")
async def place_hold(
    tx: Tx, caller: CommandCaller, organisation: OrganisationId, note: Note, partner: PartnerId = None
) -> str:
    """Put an organisation's disbursements on hold."""
    reported = note.strip()
    with _explain_unknown_organisation(organisation):
        scope, organisation_id = _parse_partner_and_nonprofit(tx, partner, organisation)
        await disbursements.hold_disbursements(
            tx, scope, organisation_id, note=reported, decided_by=caller.id, rules=read_disbursement_rules()
        )
    await caller.record_audit_entry(tx, _audited(scope), "disbursements.held", organisation)
    return f"Disbursements to {organisation} are on hold{f' for {partner}' if partner else ''}."


@commands.command("release")
@operator_command("finance")
async def release_holds(
    tx: Tx, caller: CommandCaller, organisation: OrganisationId, note: Note, partner: PartnerId = None
) -> str:
    """Release all holds on an organisation.

    The next `almoner disbursements run` sends the disbursements that were on hold. The person who placed a hold cannot
    release it alone. If two-person approval is on, as it is by default in production, two finance operators must each
    run this command.
    """
    reported = note.strip()
    whose = f" for {partner}" if partner else ""
    with _explain_unknown_organisation(organisation):
        scope, organisation_id = _parse_partner_and_nonprofit(tx, partner, organisation)
    seen = await disbursements.lock_and_fingerprint_holds(tx, scope, organisation_id)
    of = _audited(scope)
    agreed = await require_two_person_approval_if_enabled(
        tx, caller, "finance", "disbursements.release", f"{organisation}{whose}", seen, reported, of
    )
    if not isinstance(agreed, ApprovedDecision):
        return agreed
    await disbursements.release_holds(
        tx,
        scope,
        organisation_id,
        note=agreed.note,
        decided_by=agreed.decided_by,
        rules=read_disbursement_rules(),
        second_operator_and_note=agreed.second_approval,
    )
    await caller.record_audit_entry(tx, of, "disbursements.released", organisation, people=agreed.approver_count)
    return f"Disbursements to {organisation} are released{whose}."


def _parse_partner_and_nonprofit(tx: Tx, partner: str | None, organisation: str) -> tuple[Partner | AllPartners, UUID]:
    """The partner and the nonprofit of a hold, which blocks the partner's donations to the nonprofit."""
    scope = Partner(parse_id(tx, "partner", partner)) if partner else ALL_PARTNERS
    return scope, parse_id(tx, "organisation", organisation)


def _audited(scope: Partner | AllPartners) -> UUID:
    return scope.id if isinstance(scope, Partner) else DEPLOYMENT


@contextmanager
def _explain_unknown_organisation(organisation: str) -> Iterator[None]:
    """Raise an error if the organisation does not exist. The message names the organisation."""
    try:
        yield
    except NotFound:
        raise DisbursementError(
            f"there is no organisation {organisation}. If a partner added the organisation, use --partner"
        ) from None


@commands.command("holds")
@transaction_command
async def list_holds(tx: Tx) -> Table:
    """List holds on disbursements, oldest first."""
    held = await disbursements.list_active_holds(tx)
    by = await build_display_name_lookup(tx, [one.decided_by for one in held])
    return Table(
        ("organisation", "partner", "since", "by", "note"),
        [
            [
                tx.ids.encode("organisation", one.organisation_id),
                tx.ids.encode("partner", one.partner_id) if one.partner_id else "all",
                *(iso_timestamp(one.decided_at), by(one.decided_by), one.note),
            ]
            for one in held
        ],
    )


@contextmanager
def _explain_unknown_disbursement(disbursement: str) -> Iterator[None]:
    """Raise an error if the disbursement does not exist. The message names the disbursement."""
    try:
        yield
    except NotFound:
        raise DisbursementError(f"there is no disbursement {disbursement}: see `almoner disbursements list`") from None


def _id(database: Database, disbursement: str) -> UUID:
    """The UUID of a disbursement. Raises BadParameter."""
    found = database.deployment.ids.decode("disbursement", disbursement)
    if found is None:
        example = database.deployment.ids.example_id("disbursement")
        raise typer.BadParameter(f"{disbursement!r} is not a disbursement ID. A disbursement ID looks like {example}")
    return found

"""``almoner verifications``: decisions on monetary donation verifications, and their evidence."""

from collections.abc import Mapping, Sequence
from typing import Annotated, get_args

import typer

from almoner.access.operators.domain import ApprovedDecision
from almoner.cli.access import parse_id
from almoner.cli.caller import (
    CommandCaller,
    Note,
    build_display_name_lookup,
    ensure_independent_operator,
    operator_command,
    require_two_person_approval_if_enabled,
)
from almoner.cli.database import transaction_command
from almoner.cli.tables import Limit, Output, Table
from almoner.giving.disbursing.organisation_confirmations import service as organisation_confirmations
from almoner.giving.disbursing.organisation_confirmations.domain import NonprofitContact
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import (
    CHECKS,
    MAX_NOTE_LENGTH,
    CheckType,
    DecisionGrounds,
    InvalidState,
    MonetaryDonationVerification,
    RecordedDecision,
    RejectionReason,
    VerificationFilters,
    VerificationStatus,
)
from almoner.giving.disbursing.verifications.service import VerificationFlag
from almoner.kit.errors import NotFound
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.pages.translations import TranslationCatalogues
from almoner.validation.agents import service as agents

commands = typer.Typer(help="Approve nonprofits to receive disbursements.", no_args_is_help=True)

VerificationId = Annotated[str, typer.Argument(help="Verification ID, from `almoner verifications list`.")]
Status = Annotated[VerificationStatus, typer.Option(help="Show only verifications that have this status.")]
Reason = Annotated[
    RejectionReason,
    typer.Option(metavar="REASON", help=f"Reason shown to the partner: {', '.join(get_args(RejectionReason))}."),
]

FlagId = Annotated[str, typer.Argument(help="Flag ID, from `almoner verifications flags`.")]
Rows = list[list[object]]

ID = "monetarydonationverification"
FLAG = "verificationflag"
_SEEN = ("checked at", "check", "outcome", "reason", "source", "data as of", "valid until", "facts")
_ASKED = ("sent at", "email", "source", "by", "answer", "answered at", "answered by")
_FLAGS = ("raised or reviewed", "flag", "change", "status", "by", "evidence")
_DECIDED = ("decided at", "decision", "reason", "by", "evidence")
_MISSING: Mapping[CheckType, str] = {
    "registration": "registration in its register",
    "compliance": "watchlist screening",
    "bank_details": "an approved payee account",
    "organisation_confirmation": "confirmation by the nonprofit",
}


@commands.command("list")
@transaction_command
async def list_verifications(
    tx: Tx,
    status: Status = "pending",
    partner: Annotated[str | None, typer.Option(help="Show only this partner's verifications.")] = None,
    limit: Limit = 50,
) -> Table:
    """List verifications by status, newest first."""
    scope = Partner(parse_id(tx, "partner", partner)) if partner else ALL_PARTNERS
    found = await verifications.list_newest(tx, scope, VerificationFilters(status=status), limit)
    return Table(
        ("verification", "organisation", "status", "registration", "expires"), [await _row(tx, one) for one in found]
    )


async def _row(tx: Tx, one: MonetaryDonationVerification) -> list[object]:
    organisation = await organisations.get(tx, Partner(one.partner_id), one.organisation_id)
    moment = iso_timestamp_or_none(one.expires_at)
    return [
        tx.ids.encode(ID, one.id),
        organisation.effective_display_name,
        one.status,
        one.checks["registration"],
        moment,
    ]


@commands.command("show")
@transaction_command
async def show_verification(tx: Tx, verification: VerificationId) -> Output:
    """Show a verification's checks, flags and decisions."""
    one = await _find(tx, verification)
    organisation = await organisations.get(tx, Partner(one.partner_id), one.organisation_id)
    facts: list[list[object]] = [
        ["verification", tx.ids.encode(ID, one.id)],
        ["partner", tx.ids.encode("partner", one.partner_id)],
        ["organisation", tx.ids.encode("organisation", one.organisation_id)],
        ["name", organisation.name],
        ["register", f"{organisation.registry_name}, {organisation.registry_number}"],
        ["status", one.status],
        ["rejection reason", one.rejection_reason],
        ["created", iso_timestamp(one.created_at)],
        ["expires", iso_timestamp_or_none(one.expires_at)],
        ["processed", iso_timestamp_or_none(one.processed_at)],
    ]
    facts += [[f"check {check}", one.checks[check]] for check in CHECKS]
    facts.append(
        [
            "missing",
            "; ".join(_MISSING[check] for check in one.remaining_checks) if one.is_pending_or_approved else None,
        ]
    )
    facts.append(["disbursements wait for", await _waits(tx, one)])
    decided = await _decision_rows(tx, await verifications.list_decisions(tx, one.id))
    parts = [
        (_SEEN, await _check_rows(tx, one)),
        (_ASKED, await _confirmation_rows(tx, one)),
        (_FLAGS, await _flagged(tx, await verifications.list_flags(tx, one.id))),
        (_DECIDED, decided),
    ]
    return [Table(("field", "value"), facts), *(Table(titles, rows) for titles, rows in parts if rows)]


async def _waits(tx: Tx, one: MonetaryDonationVerification) -> str | None:
    waiting = [flag.description for flag in await verifications.list_flags(tx, one.id) if flag.status == "open"]
    return "; ".join(waiting) or None


async def _check_rows(tx: Tx, one: MonetaryDonationVerification) -> Rows:
    """A table of the verification's checks, with the facts of each check on one line."""
    noted = await verifications.list_findings(tx, one.id)
    by = await build_display_name_lookup(tx, [row.finding.source for row in noted])
    return [
        [
            iso_timestamp(row.checked_at),
            row.finding.check,
            row.finding.outcome,
            row.finding.reason,
            by(row.finding.source),
            iso_timestamp_or_none(row.finding.data_as_of),
            iso_timestamp_or_none(row.finding.expires_at),
            ", ".join(f"{name} {_plain(value)}" for name, value in row.finding.facts.items() if value is not None),
        ]
        for row in noted
    ]


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name} {reported}" for name, reported in value.items()) or "none"
    return " ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


async def _flagged(tx: Tx, flags: Sequence[VerificationFlag]) -> Rows:
    """A table of flags. Each reviewer who has cleared a flag has a row."""
    by = await build_display_name_lookup(
        tx, [look.by for flag in flags for look in (flag.first_review, flag.second_review) if look]
    )
    rows: Rows = []
    for flag in flags:
        rows.append(
            [iso_timestamp(flag.raised_at), tx.ids.encode(FLAG, flag.id), flag.description, flag.status, None, None]
        )
        looks = [look for look in (flag.first_review, flag.second_review) if look]
        rows += [[iso_timestamp(look.at), None, None, None, by(look.by), look.note] for look in looks]
    return rows


@commands.command("request-confirmation")
@operator_command("reviewer")
async def request_confirmation(
    tx: Tx,
    caller: CommandCaller,
    verification: VerificationId,
    language: Annotated[
        str | None,
        typer.Option(help="Language of the email, such as de. Default: the language of the nonprofit's country."),
    ] = None,
) -> str:
    """Ask a nonprofit whether it wants to receive donations.

    The nonprofit gets an email with a link to a page on which it can answer. The email is sent to the address set with
    `almoner agents set-contact`.
    """
    one = await _find(tx, verification)
    known = await agents.find_official_contact(tx, one.organisation_id)
    if known is None:
        organisation = tx.ids.encode("organisation", one.organisation_id)
        raise InvalidState(
            f"no contact address is set: run `almoner agents set-contact {organisation} EMAIL --source ...`"
        )
    asked = await organisation_confirmations.request_confirmation(
        tx, one.id, NonprofitContact(known.email, known.source), requested_by=caller.id, language=_language(language)
    )
    await caller.record_audit_entry(
        tx, one.partner_id, "verification.confirmation_requested", tx.ids.encode(ID, one.id)
    )
    return f"Emailed {known.email} in {asked.language}. The link expires at {iso_timestamp(asked.expires_at)}."


def _language(given: str | None) -> str | None:
    offered = TranslationCatalogues().offered_languages
    if given is not None and given not in offered:
        raise typer.BadParameter(f"--language must be one of {', '.join(offered)}")
    return given


async def _confirmation_rows(tx: Tx, one: MonetaryDonationVerification) -> Rows:
    """A table of confirmation requests: the sender and the time of each request, and the nonprofit's answer."""
    known = await organisation_confirmations.list_confirmations(tx, one.id)
    by = await build_display_name_lookup(tx, [row.requested_by for row in known])
    return [
        [
            iso_timestamp(row.requested_at),
            row.email or "deleted",
            row.contact_source,
            by(row.requested_by),
            row.answer or ("replaced by a later request" if row.is_withdrawn else "none yet"),
            iso_timestamp_or_none(row.answered_at),
            ", ".join(part for part in (row.respondent_name, row.respondent_role) if part) or None,
        ]
        for row in known
    ]


@commands.command("flags")
@transaction_command
async def list_flags(tx: Tx, limit: Limit = 50) -> Table:
    """List flags that block disbursements.

    A flag is raised if details of a nonprofit change after they were checked. Disbursements to the nonprofit are
    blocked until two reviewers have cleared each flag.
    """
    rows: Rows = []
    for flag in await verifications.list_open_flags(tx, limit):
        one = await verifications.get(tx, ALL_PARTNERS, flag.verification_id)
        organisation = await organisations.get(tx, Partner(one.partner_id), one.organisation_id)
        facts = (
            organisation.effective_display_name,
            flag.description,
            "1 of 2" if flag.first_review else "0 of 2",
            iso_timestamp(flag.raised_at),
        )
        rows.append([tx.ids.encode(FLAG, flag.id), tx.ids.encode(ID, one.id), *facts])
    return Table(("flag", "verification", "organisation", "change", "reviewed", "raised"), rows)


@commands.command("clear-flag")
@operator_command("reviewer")
async def clear_flag(tx: Tx, caller: CommandCaller, flag: FlagId, note: Note) -> Output:
    """Clear a flag that blocks disbursements.

    Two reviewers must each run this command and provide evidence.
    """
    reported = _checked(note)
    try:
        known = await verifications.get_flag(tx, parse_id(tx, FLAG, flag))
        await ensure_independent_operator(tx, caller, known.first_review.by if known.first_review else None)
        looked = await verifications.review_flag(tx, known.id, note=reported, reviewed_by=caller.id)
    except NotFound:
        raise typer.BadParameter(f"there is no flag {flag}") from None
    one = await verifications.get(tx, ALL_PARTNERS, looked.verification_id)
    named_so = tx.ids.encode(ID, one.id)
    await caller.record_audit_entry(
        tx, one.partner_id, "verification.flag_reviewed", named_so, flag=flag, now=looked.status
    )
    lifted = looked.status == "lifted"
    stated = "has been cleared" if lifted else "is still open (1 of 2: a second reviewer must also clear the flag)"
    return f"{flag} {stated}."


async def _decision_rows(tx: Tx, history: list[RecordedDecision]) -> list[list[object]]:
    """A table of decisions. If two reviewers made a decision, each reviewer has a row."""
    by = await build_display_name_lookup(
        tx, [who for one in history for who in (one.grounds.decided_by, one.grounds.second_decided_by)]
    )
    rows: list[list[object]] = []
    for one in history:
        rows.append(
            [iso_timestamp(one.decided_at), one.decision, one.reason, by(one.grounds.decided_by), one.grounds.note]
        )
        if one.grounds.second_decided_by:
            rows.append([None, None, None, by(one.grounds.second_decided_by), one.grounds.second_note])
    return rows


@commands.command("approve")
@operator_command("reviewer")
async def approve_verification(tx: Tx, caller: CommandCaller, verification: VerificationId, note: Note) -> str:
    """Confirm all open checks and approve a verification.

    If two-person approval is on, as it is by default in production, two reviewers must each run this command.
    """
    reported = _checked(note)
    one = await _find(tx, verification)
    named_so = tx.ids.encode(ID, one.id)
    seen = await verifications.compute_approval_fingerprint(tx, ALL_PARTNERS, one.id)
    agreed = await require_two_person_approval_if_enabled(
        tx, caller, "reviewer", "verification.approve", named_so, seen, reported, one.partner_id
    )
    if not isinstance(agreed, ApprovedDecision):
        return agreed
    evidence = DecisionGrounds(agreed.decided_by, agreed.note, *(agreed.second_approval or ()))
    approved = await verifications.approve(tx, ALL_PARTNERS, one.id, evidence)
    return await _decided(tx, caller, approved, "verification.approved", people=agreed.approver_count)


@commands.command("reject")
@operator_command("reviewer")
async def reject_verification(
    tx: Tx, caller: CommandCaller, verification: VerificationId, reason: Reason, note: Note
) -> str:
    """Reject a verification. The partner is notified of the reason."""
    reported = _checked(note)
    one = await _find(tx, verification)
    rejected = await verifications.reject(tx, ALL_PARTNERS, one.id, reason, DecisionGrounds(caller.id, reported))
    return await _decided(tx, caller, rejected, "verification.rejected")


@commands.command("reopen")
@operator_command("reviewer")
async def reopen_verification(tx: Tx, caller: CommandCaller, verification: VerificationId, note: Note) -> str:
    """Reopen a rejected or expired verification.

    All checks run again, and the verification expires after 30 days.
    """
    reported = _checked(note)
    one = await _find(tx, verification)
    reopened = await verifications.reopen(tx, ALL_PARTNERS, one.id, DecisionGrounds(caller.id, reported))
    return await _decided(tx, caller, reopened, "verification.reopened")


async def _find(tx: Tx, verification: str) -> MonetaryDonationVerification:
    try:
        return await verifications.get(tx, ALL_PARTNERS, parse_id(tx, ID, verification))
    except NotFound:
        raise typer.BadParameter(f"there is no verification {verification}") from None


def _checked(note: str) -> str:
    reported = note.strip()
    if not 1 <= len(reported) <= MAX_NOTE_LENGTH:
        raise typer.BadParameter(f"--note must be 1 to {MAX_NOTE_LENGTH} characters")
    return reported


async def _decided(
    tx: Tx, officer: CommandCaller, one: MonetaryDonationVerification, action: str, **details: int
) -> str:
    named_so = tx.ids.encode(ID, one.id)
    await officer.record_audit_entry(tx, one.partner_id, action, named_so, **details)
    return f"{named_so} is {one.status}."

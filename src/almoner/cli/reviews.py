"""``almoner reviews``: the review queue, the evidence of each case, and decisions."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Annotated, Final
from uuid import UUID

import typer

from almoner.cli.access import parse_id
from almoner.cli.caller import CommandCaller, Note, build_display_name_lookup, operator_command, operator_transaction
from almoner.cli.database import database_command
from almoner.cli.tables import Limit, Output, Table
from almoner.kit.errors import NotFound
from almoner.kit.evidence import EvaluationStep
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Database, Tx
from almoner.review_cases import REVIEW_HANDLERS
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import Document
from almoner.validation.applications.form import evidence_requests
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import (
    ID_TYPES,
    MAX_NOTE_LENGTH,
    Kind,
    Review,
    ReviewDecision,
    ReviewFilters,
    ReviewHistory,
    ReviewSubject,
)
from almoner.validation.decisions.reviews.service import ReviewDetails

commands = typer.Typer(help="Review cases that cannot be decided automatically.", no_args_is_help=True)

SubjectId = Annotated[str, typer.Argument(help="Case ID, from `almoner reviews list`.")]
Reason = Annotated[str, typer.Option(help="Reason code that the partner sees, from `almoner reviews show`.")]

_ROLE: Final = "reviewer"


@commands.command("list")
@database_command
async def list_reviews(
    database: Database,
    kind: Annotated[Kind | None, typer.Option(help="Show only cases of this kind.")] = None,
    partner: Annotated[str | None, typer.Option(help="Show only this partner's cases.")] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Show only cases that you have claimed.")] = False,
    limit: Limit = 50,
) -> Table:
    """List open cases, oldest first."""
    if mine:
        async with operator_transaction(database, _ROLE) as (tx, officer):
            return await _open_cases(tx, kind, partner, officer.id, limit)
    async with database.read() as tx:
        return await _open_cases(tx, kind, partner, None, limit)


async def _open_cases(tx: Tx, kind: Kind | None, partner: str | None, claimant: str | None, limit: int) -> Table:
    partner_id = parse_id(tx, "partner", partner) if partner else None
    found = await reviews.list_open_reviews(tx, ReviewFilters(kind, partner_id, claimant), limit)
    by = await build_display_name_lookup(tx, [one.claimant_at(tx.real_now) for one in found])
    rows = [_row(tx, one, by(one.claimant_at(tx.real_now))) for one in found]
    return Table(("subject", "kind", "partner", "reasons", "age", "claimed by", "until"), rows)


def _row(tx: Tx, one: Review, holder: str | None) -> list[object]:
    until = _clock(one.claimed_until) if holder else None
    partner = tx.ids.encode("partner", one.subject.partner_id)
    return [
        _text(tx, one.subject), one.subject.kind, partner, ", ".join(one.reasons), _age(tx.now - one.requested_at),
        holder, until,
    ]  # fmt: skip


def _clock(moment: datetime | None) -> str | None:
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else None


def _age(age: timedelta) -> str:
    """Format a duration with its two largest units, such as "2 d 4 h"."""
    minutes = max(0, int(age.total_seconds())) // 60
    days, hours = minutes // 1440, minutes // 60 % 24
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"


@commands.command("show")
@operator_command(_ROLE)
async def show_review(tx: Tx, caller: CommandCaller, subject: SubjectId) -> Output:
    """Claim a review case for 15 minutes and show its evidence.

    During this time, nobody else can decide the case. To renew the claim, run this command again.
    """
    kind, subject_id = _read(tx, subject)
    with _there(subject):
        looked = await reviews.claim_for_review(tx, REVIEW_HANDLERS[kind], subject_id, caller.id)
    held = looked.claimed_by == caller.id
    await caller.record_audit_entry(tx, looked.subject.partner_id, "review.viewed", subject, held=held)
    return [Table(titles, rows) for titles, rows in await _sections(tx, caller, looked)]


Section = tuple[tuple[str, ...], list[list[object]]]


async def _sections(tx: Tx, officer: CommandCaller, looked: ReviewDetails) -> list[Section]:
    """Tables that describe a case."""
    shown, history = looked.evidence, looked.history
    steps = [row for step in shown.steps for row in _step(step)]
    attached: list[list[object]] = [
        [
            iso_timestamp(one.created_at),
            one.media_type,
            one.size,
            one.scan_status,
            ", ".join(one.flags) or None,
            _link(tx, one),
        ]
        for one in looked.documents
    ]
    found: list[Section] = [
        (("field", "value"), await _facts_of(tx, officer, looked)),
        (("step", "verdict", "code", "source", "data as of", "fact", "value"), steps),
        (("document of", "type", "bytes", "scan", "flags", "link, valid for five minutes"), attached),
        (
            ("decided at", "decision", "reason (partner sees it)", "by", "note (reviewers only)"),
            await _decisions(tx, history),
        ),
    ]
    return [(titles, rows) for titles, rows in found if rows]


def _link(tx: Tx, document: Document) -> str | None:
    """The download URL of a document. None if the document was deleted or has not passed the malware scan."""
    readable = document.deleted_at is None and document.scan_status == "clean"
    return documents.build_download_url(tx, document) if readable else None


async def _facts_of(tx: Tx, officer: CommandCaller, looked: ReviewDetails) -> list[list[object]]:
    subject, shown, waits = looked.subject, looked.evidence, looked.history.current_open_review
    by = await build_display_name_lookup(tx, [looked.claimed_by])
    holder = "you" if looked.claimed_by == officer.id else by(looked.claimed_by)
    rows: list[list[object]] = [
        ["subject", _text(tx, subject)],
        ["kind", subject.kind],
        ["partner", tx.ids.encode("partner", subject.partner_id)],
        ["title", shown.title],
    ]
    rows += [[name, value] for name, value in shown.facts]
    if waits is not None:
        rows += [
            ["open since", f"{iso_timestamp(waits.requested_at)} ({_age(tx.now - waits.requested_at)})"],
            ["reasons", ", ".join(waits.reasons)],
            ["claimed by", f"{holder} until {_clock(looked.claimed_until)}"],
            ["rejection reasons", ", ".join(REVIEW_HANDLERS[subject.kind].rejection_reason_codes)],
        ]
    return rows


def _step(step: EvaluationStep) -> Iterator[list[object]]:
    """The table rows of one step of the evaluation: one row for each fact."""
    reported: list[object] = [step.name, step.verdict, step.code, step.source, iso_timestamp_or_none(step.data_as_of)]
    for name, value in step.facts_as_text or (("", ""),):
        yield [*reported, name, value]
        reported = ["" for _ in reported]


async def _decisions(tx: Tx, history: ReviewHistory) -> list[list[object]]:
    by = await build_display_name_lookup(tx, [one.decision.by for one in history.decisions])
    return [
        [iso_timestamp(one.at), one.decision.verdict, one.decision.reason_code, by(one.decision.by), one.decision.note]
        for one in history.decisions
    ]


@commands.command("accept")
@operator_command(_ROLE)
async def accept_review(tx: Tx, caller: CommandCaller, subject: SubjectId, note: Note) -> str:
    """Accept a case that you have claimed."""
    partner_id = await _decide(tx, subject, ReviewDecision("accepted", None, caller.id, _reported(note)))
    await caller.record_audit_entry(tx, partner_id, "review.accepted", subject)
    return f"{subject} has been accepted."


@commands.command("reject")
@operator_command(_ROLE)
async def reject_review(tx: Tx, caller: CommandCaller, subject: SubjectId, reason: Reason, note: Note) -> str:
    """Reject a case that you have claimed."""
    partner_id = await _decide(tx, subject, ReviewDecision("rejected", reason, caller.id, _reported(note)))
    await caller.record_audit_entry(tx, partner_id, "review.rejected", subject, reason=reason)
    return f"{subject} has been rejected."


async def _decide(tx: Tx, text: str, decision: ReviewDecision) -> UUID:
    """Decide a review case. Returns the UUID of the partner."""
    kind, subject_id = _read(tx, text)
    with _there(text):
        return (await reviews.decide_review(tx, REVIEW_HANDLERS[kind], subject_id, decision)).partner_id


@commands.command("request")
@operator_command(_ROLE)
async def request_evidence(
    tx: Tx,
    caller: CommandCaller,
    subject: SubjectId,
    evidence: Annotated[
        str | None,
        typer.Option(
            help="Evidence that the applicant must provide. Without this option, the command lists the choices."
        ),
    ] = None,
) -> Output:
    """Ask an applicant for evidence instead of rejecting the case.

    Claim the case first. The applicant gets an email with a link to upload the evidence. The case stays open.
    """
    kind, subject_id = _read(tx, subject)
    with _there(subject):
        handler = REVIEW_HANDLERS[kind]
        if evidence is None:
            offered = await evidence_requests.list_requestable_evidence_codes(tx, kind, subject_id)
            await reviews.load_review_details(tx, handler, subject_id)  # raises if there is no such case
            return Table(("evidence",), [[one] for one in offered])
        count, waiting = await evidence_requests.count_applicants_to_ask_and_waiting(tx, kind, subject_id)
        asked = await evidence_requests.request_evidence(tx, handler, kind, subject_id, evidence, caller.id)
    await caller.record_audit_entry(tx, asked.partner_id, "review.evidence_requested", subject, evidence=evidence)
    if count < waiting:
        return (
            f"{count} of {waiting:,} applicants of {subject} have been asked. To ask the remaining applicants, run "
            "this command again."
        )
    return f"The applicant of {subject} has been asked for the evidence."


@commands.command("reopen")
@operator_command(_ROLE)
async def reopen_review(tx: Tx, caller: CommandCaller, subject: SubjectId, note: Note) -> str:
    """Reopen a watchlist match that was already decided."""
    reported = _reported(note)
    kind, subject_id = _read(tx, subject)
    with _there(subject):
        reopened = await reviews.reopen_decision(tx, REVIEW_HANDLERS[kind], subject_id, caller.id, reported)
    await caller.record_audit_entry(tx, reopened.partner_id, "review.reopened", subject)
    return f"{subject} has been reopened."


@commands.command("release")
@operator_command(_ROLE)
async def release_review(tx: Tx, caller: CommandCaller, subject: SubjectId) -> str:
    """Release your claim to a case, so that other reviewers can claim it."""
    kind, subject_id = _read(tx, subject)
    with _there(subject):
        released = await reviews.release_claim(tx, REVIEW_HANDLERS[kind], subject_id, caller.id)
    await caller.record_audit_entry(tx, released.partner_id, "review.released", subject)
    return f"{subject} has been released."


def _reported(note: str) -> str:
    """Build the reviewer's decision from the command's arguments. Raises BadParameter."""
    if not 1 <= len(reported := note.strip()) <= MAX_NOTE_LENGTH:
        raise typer.BadParameter(f"--note must be 1 to {MAX_NOTE_LENGTH} characters")
    return reported


def _read(tx: Tx, text: str) -> tuple[Kind, UUID]:
    """Parse a case ID into the kind and UUID of its subject."""
    for kind in REVIEW_HANDLERS:
        if (found := tx.ids.decode(ID_TYPES[kind], text)) is not None:
            return kind, found
    such = " or ".join(tx.ids.example_id(ID_TYPES[kind]) for kind in REVIEW_HANDLERS)
    raise typer.BadParameter(f"{text!r} is not a case ID. A case ID looks like {such}")


@contextmanager
def _there(text: str) -> Iterator[None]:
    try:
        yield
    except NotFound:
        raise typer.BadParameter(f"there is no {text}") from None


def _text(tx: Tx, subject: ReviewSubject) -> str:
    return tx.ids.encode(ID_TYPES[subject.kind], subject.id)

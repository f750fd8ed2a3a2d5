"""Pages about monetary donation verifications and their flags, with the actions of reviewers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.operators import service as operators
from almoner.access.partners import service as partners
from almoner.access.people.domain import Person
from almoner.console.actions import ActionField, ActionLink, ActionPages
from almoner.console.context import ConsoleContext
from almoner.console.links import REVIEWERS, WATCHLIST_SEARCH
from almoner.console.lists import ListRow, encode_time_cursor
from almoner.console.money_records import (
    ActingOperator,
    RecordAction,
    RecordKind,
    RecordPage,
    RecordTable,
    build_fixed_explanation,
    build_operator_name_lookup,
    label_timestamp,
    render_record_page,
)
from almoner.console.review_confirmations import (
    ConfirmationRequestPages,
    build_confirmation_table,
    confirmation_request_actions,
    confirmation_success_message,
)
from almoner.console.review_dossiers import dossier_links
from almoner.console.review_words import REVIEWS
from almoner.giving.disbursing.organisation_confirmations import service as organisation_confirmations
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import (
    CHECKS,
    MAX_NOTE_LENGTH,
    REJECTION_REASONS,
    DecisionGrounds,
    InvalidState,
    MonetaryDonationVerification,
    RejectionReason,
)
from almoner.giving.disbursing.verifications.service import VerificationFlag, WaitingReviewItem
from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.pages.record_tables import Column, LabelledValue, TimelineStep, humanise_field_name

TYPE: Final = "monetarydonationverification"
FLAG_TYPE: Final = "verificationflag"
VERIFICATIONS: Final = f"{REVIEWS}/verifications"
FLAGS: Final = f"{REVIEWS}/flags"
_WORDS: Final = "Verification"
_FLAG_WORDS: Final = "Flag"
_PAGE: Final = 20
_APPROVAL: Final = "verification.approve"
_EVIDENCE: Final = ActionField("note", "Evidence (visible only to other reviewers)", "area", maxlength=MAX_NOTE_LENGTH)


@dataclass(frozen=True, slots=True)
class _Flagged:
    """A flag, with the verification that it belongs to."""

    flag: VerificationFlag
    verification: MonetaryDonationVerification


class DonationRecipientVerificationPages:
    """Pages about verifications and flags."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """The Starlette routes. They come before the routes of review cases, which would also match these URLs."""
        actions = [*_VERIFICATIONS.declare_actions(self._context), *_FLAGS.declare_actions(self._context)]
        roles = sorted(REVIEWERS)
        return [
            *ActionPages(self._context).routes(*actions),
            *ConfirmationRequestPages(self._context, VERIFICATIONS, TYPE).routes(),
            self._context.route(f"{VERIFICATIONS}/{{id}}", self.show_verification, *roles, methods=["GET"]),
            self._context.route(f"{FLAGS}/{{id}}", self.show_verification_flag, *roles, methods=["GET"]),
        ]

    async def show_verification(self, visitor: SignedInRequest) -> Response:
        """Show a verification: the findings of its checks, its flags and its decisions."""
        async with self._context.db.read() as tx:
            one = await _VERIFICATIONS.get_from_url(self._context, tx, visitor)
            flags = await verifications.list_flags(tx, one.id)
            page = RecordPage(
                title=(
                    await organisations.get(tx, Partner(one.partner_id), one.organisation_id)
                ).effective_display_name,
                id=tx.ids.encode(TYPE, one.id),
                status=one.status,
                back=REVIEWS,
                back_label="Open reviews",
                facts=await _facts(tx, one),
                steps=await _decisions(tx, one),
                actions=[
                    *_VERIFICATIONS.list_available_actions(tx, one),
                    *confirmation_request_actions(_VERIFICATIONS.page_path(tx, one), one),
                    *await _watchlist_search(tx, one),
                ],
                tables=[await _findings(tx, one), await build_confirmation_table(tx, one), _flag_table(tx, flags)],
                downloads=dossier_links(TYPE, tx.ids.encode(TYPE, one.id)),
            )
        message = confirmation_success_message(visitor) or _VERIFICATIONS.success_message(visitor)
        after = encode_time_cursor(one.created_at, one.id)
        return await render_record_page(self._context, visitor, page, message, "review_verification.html", after=after)

    async def show_verification_flag(self, visitor: SignedInRequest) -> Response:
        """Show a flag: what has changed since the checks, and who has reviewed the flag."""
        async with self._context.db.read() as tx:
            one = await _FLAGS.get_from_url(self._context, tx, visitor)
            by = await build_operator_name_lookup(
                tx, [look.by for look in (one.flag.first_review, one.flag.second_review) if look]
            )
            me = self._context.operator_id(visitor)
            name = tx.ids.encode(TYPE, one.verification.id)
            page = RecordPage(
                title=one.flag.description,
                id=tx.ids.encode(FLAG_TYPE, one.flag.id),
                status=one.flag.status,
                back=f"{VERIFICATIONS}/{name}",
                back_label=_WORDS,
                facts=await _flag_facts(tx, one),
                steps=[
                    TimelineStep("Reviewed", "done", look.at.isoformat(), note=f"{by(look.by)}: {look.note}")
                    for look in (one.flag.first_review, one.flag.second_review)
                    if look
                ],
                actions=_FLAGS.list_available_actions(tx, one, me),
                notices=await _FLAGS.describe_actions_reserved_for_others(tx, one, me),
            )
        after = encode_time_cursor(one.flag.raised_at, one.flag.id)
        message = _FLAGS.success_message(visitor)
        return await render_record_page(self._context, visitor, page, message, "review_verification.html", after=after)


async def find_next_waiting_item(
    tx: Tx, operator_id: str, after: tuple[datetime, UUID] | None
) -> WaitingReviewItem | None:
    """The next verification or flag after this position that waits for this operator; None if there is none."""
    while found := await verifications.list_waiting_review_items(tx, _PAGE, after_position=after):
        ids = [one.id for one in found if one.kind == "monetary_donation_verification"]
        approvers = await load_first_approvers_by_verification_id(tx, ids)
        asked = await organisation_confirmations.list_verification_ids_awaiting_only_organisation(tx, ids)
        for one in found:
            if one.has_first_review:
                first = (await verifications.get_flag(tx, one.id)).first_review
                if first is not None and first.by != operator_id:
                    return one
            elif one.id not in asked and not _is_operator(tx, approvers.get(one.id), operator_id):
                return one
        after = found[-1].waiting_since, found[-1].id
    return None


def _is_operator(tx: Tx, person: Person | None, operator_id: str) -> bool:
    return person is not None and tx.ids.encode(operators.ID, person.id) == operator_id


async def load_first_approvers_by_verification_id(tx: Tx, verification_ids: Sequence[UUID]) -> dict[UUID, Person]:
    """The reviewers who gave the first of two approvals, by verification.

    Without approvals of evidence that has changed since, and without those of operators who are no longer reviewers: a
    second approval would not complete them.
    """
    subjects = {tx.ids.encode(TYPE, one): one for one in verification_ids}
    pending = {
        subjects[one.subject]: (one.fingerprint, first)
        for one, first in await operators.list_pending_approvals(tx, _APPROVAL, list(subjects))
        if first.has_role("reviewer")
    }
    current = await verifications.load_approval_fingerprints_by_verification_id(tx, list(pending))
    return {id_: first for id_, (seen, first) in pending.items() if seen == current.get(id_)}


def waiting_item_path(tx: Tx, item: WaitingReviewItem) -> str:
    """The path of the page of a verification or flag."""
    if item.kind == "verification_flag":
        return f"{FLAGS}/{tx.ids.encode(FLAG_TYPE, item.id)}"
    return f"{VERIFICATIONS}/{tx.ids.encode(TYPE, item.id)}"


async def _get(tx: Tx, verification_id: UUID) -> MonetaryDonationVerification:
    return await verifications.get(tx, ALL_PARTNERS, verification_id)


async def _get_flag(tx: Tx, flag_id: UUID) -> _Flagged:
    flag = await verifications.get_flag(tx, flag_id)
    return _Flagged(flag, await _get(tx, flag.verification_id))


async def _facts(tx: Tx, one: MonetaryDonationVerification) -> list[LabelledValue]:
    organisation = await organisations.get(tx, Partner(one.partner_id), one.organisation_id)
    return [
        LabelledValue("Partner", (await partners.get(tx, Partner(one.partner_id))).name),
        LabelledValue("Nonprofit", organisation.effective_display_name),
        LabelledValue("Register", f"{organisation.registry_name}, {organisation.registry_number}"),
        LabelledValue("Registered name", organisation.full_name),
        LabelledValue("Registered address", organisation.address),
        LabelledValue("Registered websites", ", ".join(organisation.websites) or None),
        LabelledValue(
            "Active in the register", "yes" if organisation.active else f"no: {organisation.inactive_reason}"
        ),
        *(LabelledValue(humanise_field_name(check), humanise_field_name(one.checks[check])) for check in CHECKS),
        LabelledValue("Rejection reason", humanise_field_name(one.rejection_reason) if one.rejection_reason else None),
        label_timestamp("Created", one.created_at),
        label_timestamp("Expires", one.expires_at if one.status == "pending" else None),
        label_timestamp("Processed", one.processed_at),
    ]


async def _watchlist_search(tx: Tx, one: MonetaryDonationVerification) -> list[ActionLink]:
    """A link that looks up the nonprofit's name, if screening could not compare it."""
    if await verifications.find_unscreened_subject(tx, one) is None:
        return []
    return [ActionLink(f"{WATCHLIST_SEARCH}?case={tx.ids.encode(TYPE, one.id)}", "Search the watchlists", "")]


async def _flag_facts(tx: Tx, one: _Flagged) -> list[LabelledValue]:
    found = await _facts(tx, one.verification)
    reviewed = sum(1 for look in (one.flag.first_review, one.flag.second_review) if look)
    changed = [
        LabelledValue(humanise_field_name(name), ", ".join(map(str, value)) if isinstance(value, list) else str(value))
        for name, value in one.flag.facts.items()
        if value is not None and not isinstance(value, dict)
    ]
    return [
        LabelledValue("Change", one.flag.description),
        label_timestamp("Raised", one.flag.raised_at),
        LabelledValue("Reviewed", f"{reviewed} of 2"),
        *changed,
        *found[:3],
    ]


async def _decisions(tx: Tx, one: MonetaryDonationVerification) -> list[TimelineStep]:
    known = await verifications.list_decisions(tx, one.id)
    by = await build_operator_name_lookup(
        tx, [who for row in known for who in (row.grounds.decided_by, row.grounds.second_decided_by) if who]
    )
    steps = []
    for row in known:
        seconded = (
            f" {by(row.grounds.second_decided_by)}: {row.grounds.second_note}" if row.grounds.second_decided_by else ""
        )
        note = f"{by(row.grounds.decided_by)}: {row.grounds.note}{seconded}"
        steps.append(TimelineStep(humanise_field_name(row.decision), "done", row.decided_at.isoformat(), note=note))
    return steps


async def _findings(tx: Tx, one: MonetaryDonationVerification) -> RecordTable:
    known = await verifications.list_findings(tx, one.id)
    by = await build_operator_name_lookup(tx, [row.finding.source for row in known])
    columns = (
        *(Column("Check"), Column("Result"), Column("Reason"), Column("Source")),
        *(Column("Checked", "moment"), Column("Valid until", "moment")),
    )
    rows = [
        ListRow(
            "",
            (
                humanise_field_name(row.finding.check),
                humanise_field_name(row.finding.outcome),
                humanise_field_name(row.finding.reason) if row.finding.reason else None,
                by(row.finding.source),
                row.checked_at,
                row.finding.expires_at,
            ),
        )
        for row in known
    ]
    return RecordTable("What the checks found", columns, rows, "No check of this verification has been run yet.")


def _flag_table(tx: Tx, flags: Sequence[VerificationFlag]) -> RecordTable:
    rows = [
        ListRow(
            f"{FLAGS}/{tx.ids.encode(FLAG_TYPE, one.id)}",
            (
                one.description,
                humanise_field_name(one.status),
                f"{sum(1 for look in (one.first_review, one.second_review) if look)} of 2",
                one.raised_at,
            ),
        )
        for one in flags
    ]
    columns = (Column("Flag"), Column("Status"), Column("Reviewed"), Column("Raised", "moment"))
    return RecordTable("Flags", columns, rows, "No details have changed since the checks.")


def _cleared_by(one: _Flagged) -> list[str]:
    """The first of the two reviewers who clear a flag."""
    return [one.flag.first_review.by] if one.flag.first_review else []


async def _parties(tx: Tx, one: MonetaryDonationVerification) -> tuple[str, str]:
    """The names of the nonprofit and of the partner."""
    partner = await partners.get(tx, Partner(one.partner_id))
    return (
        await organisations.get(tx, Partner(one.partner_id), one.organisation_id)
    ).effective_display_name, partner.name


async def _about_approval(tx: Tx, one: MonetaryDonationVerification) -> Sequence[str]:
    nonprofit, partner = await _parties(tx, one)
    checks = ", ".join(humanise_field_name(check).lower() for check in one.remaining_checks)
    confirmed = f"Your approval confirms the open checks: {checks}. " if checks else ""
    return [
        (
            f"{confirmed}Disbursements of {partner} to {nonprofit} that are waiting for this verification can then "
            "be sent."
        ),
        f"{partner} receives an event. We do not send an email about this decision.",
    ]


async def _about_rejection(tx: Tx, one: MonetaryDonationVerification) -> Sequence[str]:
    nonprofit, partner = await _parties(tx, one)
    return [
        (
            f"{nonprofit} receives no disbursements from {partner}. Donations that are waiting for this verification "
            "stay where they are."
        ),
        f"{partner} receives an event with the reason that you choose. We do not send an email about this decision.",
        (
            "The rejection takes effect immediately, without a second person. A reviewer can reopen the verification "
            "later."
        ),
    ]


async def _about_clearing(tx: Tx, one: _Flagged) -> Sequence[str]:
    nonprofit, partner = await _parties(tx, one.verification)
    flags = await verifications.list_flags(tx, one.verification.id)
    others = sum(1 for flag in flags if flag.status == "open" and flag.id != one.flag.id)
    still = (
        (
            f" once {others} other flag{'s'[others == 1 :]} of the verification {'is' if others == 1 else 'are'} also "
            "cleared"
        )
        if others
        else ""
    )
    if one.flag.first_review is None:
        first = "Two reviewers must clear this flag. You are the first reviewer:"
        return [f"{first} disbursements remain blocked until another reviewer also clears this flag."]
    return [
        "You are the second of two reviewers, so your decision clears the flag.",
        f"Disbursements of {partner} to {nonprofit} can be sent again{still}.",
    ]


async def _first_approver(tx: Tx, one: MonetaryDonationVerification) -> Person | None:
    return (await load_first_approvers_by_verification_id(tx, [one.id])).get(one.id)


async def _approve(
    tx: Tx, officer: ActingOperator, one: MonetaryDonationVerification, entered_values: Mapping[str, str]
) -> str | None:
    seen = await verifications.compute_approval_fingerprint(tx, ALL_PARTNERS, one.id)
    name = tx.ids.encode(TYPE, one.id)
    agreed = await officer.confirm_with_second_operator(
        tx, one.partner_id, _APPROVAL, name, seen, entered_values["note"], mandatory=False
    )
    if agreed is None:
        return "first"
    evidence = DecisionGrounds(agreed.decided_by, agreed.note, *(agreed.second_approval or ()))
    await verifications.approve(tx, ALL_PARTNERS, one.id, evidence)
    await officer.record_audit_entry(tx, one.partner_id, "verification.approved", name, people=agreed.approver_count)
    return None


async def _reject(
    tx: Tx, officer: ActingOperator, one: MonetaryDonationVerification, entered_values: Mapping[str, str]
) -> str | None:
    reason: RejectionReason = next(code for code in REJECTION_REASONS if code == entered_values["reason"])
    evidence = DecisionGrounds(officer.id, entered_values["note"])
    await verifications.reject(tx, ALL_PARTNERS, one.id, reason, evidence)
    await officer.record_audit_entry(tx, one.partner_id, "verification.rejected", tx.ids.encode(TYPE, one.id))
    return None


async def _reopen(
    tx: Tx, officer: ActingOperator, one: MonetaryDonationVerification, entered_values: Mapping[str, str]
) -> str | None:
    await verifications.reopen(tx, ALL_PARTNERS, one.id, DecisionGrounds(officer.id, entered_values["note"]))
    await officer.record_audit_entry(tx, one.partner_id, "verification.reopened", tx.ids.encode(TYPE, one.id))
    return None


async def _clear(tx: Tx, officer: ActingOperator, one: _Flagged, entered_values: Mapping[str, str]) -> str | None:
    await operators.ensure_independent_operator(tx, officer.person, _cleared_by(one))
    looked = await verifications.review_flag(tx, one.flag.id, note=entered_values["note"], reviewed_by=officer.id)
    name, flag = tx.ids.encode(TYPE, one.verification.id), tx.ids.encode(FLAG_TYPE, one.flag.id)
    await officer.record_audit_entry(
        tx, one.verification.partner_id, "verification.flag_reviewed", name, flag=flag, now=looked.status
    )
    return "first" if looked.status == "open" else None


_VERIFICATIONS: Final[RecordKind[MonetaryDonationVerification]] = RecordKind(
    path=VERIFICATIONS,
    id_type=TYPE,
    name=_WORDS,
    get=_get,
    get_record_id=lambda one: one.id,
    load_facts=_facts,
    actions=(
        RecordAction(
            "approve",
            "Approve verification",
            _about_approval,
            _approve,
            (_EVIDENCE,),
            lambda one: "" if one.status == "pending" else "This verification is not pending.",
            "The verification is approved.",
            "a",
            find_first_approver=_first_approver,
        ),
        RecordAction(
            "reject",
            "Reject verification",
            _about_rejection,
            _reject,
            (
                ActionField(
                    "reason", "Reason", "choice", choices=[(one, humanise_field_name(one)) for one in REJECTION_REASONS]
                ),
                _EVIDENCE,
            ),
            lambda one: "" if one.is_pending_or_approved else "This verification is rejected or has expired.",
            "The verification is rejected.",
            "x",
        ),
        RecordAction(
            "reopen",
            "Reopen verification",
            build_fixed_explanation(
                "All checks of the verification run again. The verification expires after 30 days."
            ),
            _reopen,
            (_EVIDENCE,),
            lambda one: (
                ""
                if one.status in ("rejected", "expired")
                else "This verification has not been rejected and has not expired."
            ),
            "The verification is open again.",
            "o",
        ),
    ),
    refusal_errors=(InvalidState,),
    not_found_errors=(NotFound,),
    role="reviewer",
)
_FLAGS: Final[RecordKind[_Flagged]] = RecordKind(
    path=FLAGS,
    id_type=FLAG_TYPE,
    name=_FLAG_WORDS,
    get=_get_flag,
    get_record_id=lambda one: one.flag.id,
    load_facts=_flag_facts,
    actions=(
        RecordAction(
            "clear",
            "Clear flag",
            _about_clearing,
            _clear,
            (_EVIDENCE,),
            lambda one: "" if one.flag.status == "open" else "This flag is not open.",
            "The flag has been cleared.",
            "a",
            _cleared_by,
        ),
    ),
    refusal_errors=(InvalidState,),
    not_found_errors=(NotFound,),
    role="reviewer",
)

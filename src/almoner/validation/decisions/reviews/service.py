"""The review queue: requesting, claiming and deciding reviews.

A subject's service calls ``request_review``, ``record_decision`` and ``withdraw_review`` in the transaction of its own
change, after locking the subject. Lock order everywhere: first the subject, then its review.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final, get_args
from uuid import UUID

import msgspec

from almoner.access.operators import service as operators
from almoner.access.people.domain import Person
from almoner.kit.errors import NotFound
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.crypto import sha256_digest
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.evidence.dossier import DossierDecisionResponse, DossierReviewResponse, build_reason_responses
from almoner.platform.observability.telemetry import Telemetry
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import Document
from almoner.validation.decisions.reviews import store, store_second_looks
from almoner.validation.decisions.reviews.domain import (
    CLAIM_DURATION,
    HANDOVER_DURATION,
    WAITING_TARGET,
    ConflictOfInterest,
    CurrentEvidenceNotSeen,
    DecisionNotReopenable,
    DeclaredConflictOfInterest,
    HandoverRefused,
    Kind,
    RecordedDecision,
    RelatedDecision,
    Review,
    ReviewClaimedByAnother,
    ReviewDecision,
    ReviewEvidence,
    ReviewFilters,
    ReviewHistory,
    ReviewNotClaimed,
    ReviewNote,
    ReviewNotOpen,
    ReviewSubject,
    SecondLook,
    UnknownReasonCode,
)
from almoner.validation.decisions.reviews.ports import ReopenHandler, ReviewHandler
from almoner.validation.decisions.reviews.store import QueuePosition as QueuePosition
from almoner.validation.decisions.reviews.store import RelatedDecisions
from almoner.validation.decisions.reviews.store import count_open_reviews_by_filter as count_open_reviews_by_filter
from almoner.validation.decisions.reviews.store import count_open_reviews_up_to as count_open_reviews_up_to
from almoner.validation.decisions.reviews.store import (
    count_reviews_with_received_evidence_up_to as count_reviews_with_received_evidence_up_to,
)
from almoner.validation.decisions.reviews.store import (
    filter_review_ids_with_received_evidence as filter_review_ids_with_received_evidence,
)
from almoner.validation.decisions.reviews.store import list_open_reviews as list_open_reviews
from almoner.validation.decisions.reviews.store import record_evidence_request as record_evidence_request
from almoner.validation.decisions.reviews.store_second_looks import (
    list_daily_review_statistics as list_daily_review_statistics,
)
from almoner.validation.decisions.reviews.store_second_looks import (
    list_decision_counts_by_reviewer as list_decision_counts_by_reviewer,
)
from almoner.validation.decisions.reviews.store_second_looks import list_reason_statistics as list_reason_statistics
from almoner.validation.decisions.reviews.store_second_looks import (
    list_second_look_agreement_by_reviewer as list_second_look_agreement_by_reviewer,
)
from almoner.validation.decisions.reviews.store_second_looks import (
    list_waiting_second_looks as list_waiting_second_looks,
)

KINDS: Final[Sequence[Kind]] = get_args(Kind)
MAX_RELATED: Final = 20
"""The maximum number of related decisions and pending cases shown with a case."""


@dataclass(frozen=True, slots=True)
class ReviewDetails:
    """A case as an operator sees it. ``claimed_by``: who has claimed the open review."""

    subject: ReviewSubject
    evidence: ReviewEvidence
    documents: Sequence[Document]
    history: ReviewHistory
    claimed_by: str | None
    claimed_until: datetime | None
    conflicts: Sequence[DeclaredConflictOfInterest] = ()
    is_evidence_current: bool = True
    """Whether the claimant was shown exactly this evidence."""


@dataclass(frozen=True, slots=True)
class ReviewContext:
    """Context from other reviewers: their notes, and decisions on related records."""

    notes: Sequence[ReviewNote]
    related_decisions: Sequence[RelatedDecision]
    related_open_reviews: Sequence[RelatedDecision]


async def request_review(
    tx: Tx, subject: ReviewSubject, reasons: Sequence[str], due_at: datetime | None = None
) -> None:
    """Open a review for these reasons, or add them to the open one. ``due_at``: the promised decision time, if any."""
    await store.open_review_or_add_reasons(tx, subject, list(dict.fromkeys(reasons)), due_at or tx.now + WAITING_TARGET)


async def replace_review(tx: Tx, subject: ReviewSubject, reasons: Sequence[str]) -> None:
    """Replace the last review because its subject was corrected. The new one knows when evidence was requested."""
    await store.close_review(tx, subject, "withdrawn")
    earlier = await store.list_reviews(tx, subject)
    requested_at = earlier[-1].evidence_requested_at if earlier else None
    await store.open_review_or_add_reasons(
        tx, subject, list(dict.fromkeys(reasons)), tx.now + WAITING_TARGET, requested_at
    )


async def record_decision(tx: Tx, subject: ReviewSubject, decision: ReviewDecision) -> None:
    """Store a decision and close the open review, if any."""
    ended = await store.close_review(tx, subject, "decided")
    await store.insert_decision(tx, subject, RecordedDecision(decision, tx.now, ended))


async def record_reopening(tx: Tx, subject: ReviewSubject, operator_id: str, note: str) -> None:
    """Record that a decision was reopened, by whom and why."""
    await store.insert_decision(
        tx, subject, RecordedDecision(ReviewDecision("reopened", None, operator_id, note), tx.now, None)
    )


async def withdraw_review(tx: Tx, subject: ReviewSubject) -> None:
    """Close the open review because no decision is needed any more."""
    await store.close_review(tx, subject, "withdrawn")


async def load_review_history(tx: Tx, subject: ReviewSubject) -> ReviewHistory:
    """All reviews and decisions of a subject."""
    return ReviewHistory(await store.list_reviews(tx, subject), await store.list_decisions(tx, subject))


@dataclass(frozen=True, slots=True)
class DossierHistory:
    """Reviews and decisions of a subject, as shown in its dossier."""

    reviews: Sequence[DossierReviewResponse]
    decisions: Sequence[DossierDecisionResponse]
    has_open_review: bool


async def load_dossier_history(
    tx: Tx, subject: ReviewSubject, messages: Mapping[str, str] = MappingProxyType({})
) -> DossierHistory:
    """All reviews and decisions of a subject, without operators' notes. ``messages``: the texts of reasons."""
    history = await load_review_history(tx, subject)
    return DossierHistory(
        [
            DossierReviewResponse(
                iso_timestamp(one.requested_at),
                build_reason_responses(one.reasons, messages),
                one.status,
                iso_timestamp_or_none(one.ended_at),
            )
            for one in history.reviews
        ],
        [
            DossierDecisionResponse(
                one.decision.verdict,
                one.decision.reason_code,
                one.decision.by,
                one.decision.public_note,
                iso_timestamp(one.at),
            )
            for one in history.decisions
        ],
        history.current_open_review is not None,
    )


async def claim_for_review(tx: Tx, handler: ReviewHandler, subject_id: UUID, operator_id: str) -> ReviewDetails:
    """Show the evidence to an operator and claim the review for them, unless they declared a conflict of interest.

    Viewing again extends the claim. Raises NotFound.
    """
    subject = await _lock_subject(tx, handler, subject_id)
    review = await store.lock_open_review(tx, subject)
    shown, attached = await _load_evidence(tx, handler, subject_id)
    conflicts = await store.list_conflicts_of_interest(tx, subject)
    held_by = held_until = None
    if review is not None and review.is_claimed_by_another(operator_id, tx.real_now):
        held_by, held_until = review.claimed_by, review.claimed_until
    elif review is not None and operator_id not in {one.by for one in conflicts}:
        held_by, held_until = operator_id, tx.real_now + CLAIM_DURATION
        await store.claim_review(
            tx, review, operator_id, held_until, compute_evidence_fingerprint(review, shown, attached)
        )
    return ReviewDetails(
        subject, shown, attached, await load_review_history(tx, subject), held_by, held_until, conflicts
    )


async def load_review_details(tx: Tx, handler: ReviewHandler, subject_id: UUID) -> ReviewDetails:
    """Show the evidence without claiming the review. Raises NotFound."""
    subject = await _lock_subject(tx, handler, subject_id)
    shown, attached = await _load_evidence(tx, handler, subject_id)
    history = await load_review_history(tx, subject)
    review, held_by, held_until, current = history.current_open_review, None, None, True
    if review is not None and (held_by := review.claimant_at(tx.real_now)) is not None:
        held_until = review.claimed_until
        current = review.claimed_evidence_fingerprint == compute_evidence_fingerprint(review, shown, attached)
    conflicts = await store.list_conflicts_of_interest(tx, subject)
    return ReviewDetails(subject, shown, attached, history, held_by, held_until, conflicts, current)


async def load_review_context(tx: Tx, handler: ReviewHandler, subject: ReviewSubject) -> ReviewContext:
    """Load reviewers' notes and related decisions, for operators only: they concern other partners' records too."""
    related = await handler.list_related_subjects(tx, subject.id)
    found = await store.list_related_decisions(tx, related, MAX_RELATED) if related else RelatedDecisions([], [])
    return ReviewContext(await store.list_notes(tx, subject), found.decided, found.pending)


async def claim_next_review(
    tx: Tx, filters: ReviewFilters, operator_id: str, handlers: Mapping[Kind, ReviewHandler]
) -> Review | None:
    """Claim the oldest unclaimed review that this operator may decide and that waits for nobody else.

    None if there is none, or if another operator was faster; the caller then retries in another transaction.
    """
    found = await store.list_open_reviews(tx, replace(filters, free_for=operator_id), 1)
    if not found:
        return None
    subject = found[0].subject
    view = await claim_for_review(tx, handlers[subject.kind], subject.id, operator_id)
    return found[0] if view.claimed_by == operator_id else None


async def ensure_claimed_by(tx: Tx, handler: ReviewHandler, subject_id: UUID, operator_id: str) -> ReviewSubject:
    """Lock a case that this operator has claimed.

    Raises NotFound, ReviewNotOpen, ReviewClaimedByAnother, ReviewNotClaimed.
    """
    subject, _ = await _lock_own(tx, handler, subject_id, operator_id)
    return subject


async def extend_claim(tx: Tx, handler: ReviewHandler, subject_id: UUID, operator_id: str) -> ReviewSubject:
    """Extend one's claim on a case to 15 minutes from now.

    Raises NotFound, ReviewNotOpen, ReviewClaimedByAnother, ReviewNotClaimed.
    """
    subject, review = await _lock_own(tx, handler, subject_id, operator_id)
    await store.extend_claim(tx, review, tx.real_now + CLAIM_DURATION)
    return subject


async def hand_over_review(
    tx: Tx, handler: ReviewHandler, subject_id: UUID, operator_id: str, assignee: Person
) -> ReviewSubject:
    """Reserve one's case for another reviewer.

    Raises NotFound, ReviewNotOpen, ReviewClaimedByAnother, ReviewNotClaimed, HandoverRefused.
    """
    subject, review = await _lock_own(tx, handler, subject_id, operator_id)
    other = tx.ids.encode(operators.ID, assignee.id)
    if other == operator_id or not assignee.active or not assignee.has_role("reviewer"):
        raise HandoverRefused("Choose another operator with the role reviewer.")
    if other in {one.by for one in await store.list_conflicts_of_interest(tx, subject)}:
        raise HandoverRefused(f"{assignee.display_name} declared a conflict of interest about it.")
    await store.assign_review(tx, review, other, tx.real_now + HANDOVER_DURATION)
    return subject


async def add_note(tx: Tx, handler: ReviewHandler, subject_id: UUID, operator_id: str, text: str) -> ReviewSubject:
    """Add a note for other reviewers. Raises NotFound."""
    subject = await _lock_subject(tx, handler, subject_id)
    await store.insert_note(tx, subject, ReviewNote(operator_id, tx.now, text))
    return subject


async def declare_conflict_of_interest(
    tx: Tx, handler: ReviewHandler, subject_id: UUID, operator_id: str, reason: str
) -> ReviewSubject:
    """Declare a permanent conflict of interest, which ends the operator's claim. Raises NotFound."""
    subject = await _lock_subject(tx, handler, subject_id)
    await store.insert_conflict_of_interest(tx, subject, DeclaredConflictOfInterest(operator_id, tx.now, reason))
    review = await store.lock_open_review(tx, subject)
    if review is not None and review.claimed_by == operator_id:
        await store.release_claim(tx, review)
    return subject


async def get_second_look(tx: Tx, review_id: UUID, operator_id: str) -> SecondLook:
    """A second look that waits for this person.

    Raises NotFound if there is none, or if the person decided first or declared a conflict.
    """
    look = await store_second_looks.find_for_update(tx, review_id)
    if look is None or look.decided_by is not None or look.first_decided_by == operator_id:
        raise NotFound
    if operator_id in {one.by for one in await store.list_conflicts_of_interest(tx, look.subject)}:
        raise NotFound
    return look


async def decide_second_look(tx: Tx, handler: ReviewHandler, review_id: UUID, decision: ReviewDecision) -> SecondLook:
    """Record a second look, which affects the statistics only. Raises NotFound, ReviewRefused."""
    _ensure_known_reason(handler, decision)
    look = await store_second_looks.find_for_update(tx, review_id)
    if look is None:
        raise NotFound
    if look.decided_by is not None:
        raise ReviewNotOpen("Somebody else has given this second look.")
    if look.first_decided_by == decision.by:
        raise ConflictOfInterest("You decided it first: another reviewer takes the second look.")
    if decision.by in {one.by for one in await store.list_conflicts_of_interest(tx, look.subject)}:
        raise ConflictOfInterest("You declared a conflict of interest about it.")
    await store_second_looks.record_second_look_decision(tx, look, decision)
    return look


async def decide_review(tx: Tx, handler: ReviewHandler, subject_id: UUID, decision: ReviewDecision) -> ReviewSubject:
    """Apply an operator's decision if they saw the current evidence.

    Raises NotFound; ReviewNotOpen, ReviewClaimedByAnother, CurrentEvidenceNotSeen, UnknownReasonCode; and what the
    subject's service raises.
    """
    _ensure_known_reason(handler, decision)
    subject = await _lock_subject(tx, handler, subject_id)
    review = await _lock_open_review(tx, subject, decision.by)
    if decision.by in {one.by for one in await store.list_conflicts_of_interest(tx, subject)}:
        raise ConflictOfInterest("You declared a conflict of interest about it: another reviewer decides it.")
    if review.claimed_by != decision.by:
        raise CurrentEvidenceNotSeen("You have not been shown it: claim it, and look at it before you decide.")
    if review.claimed_evidence_fingerprint != compute_evidence_fingerprint(
        review, *await _load_evidence(tx, handler, subject_id)
    ):
        raise CurrentEvidenceNotSeen("It has changed since you were shown it: look at it again before you decide.")
    if decision.verdict == "accepted":
        await handler.accept_subject(tx, ALL_PARTNERS, subject_id, decision)
    else:
        await handler.reject_subject(tx, ALL_PARTNERS, subject_id, decision)
    if secrets.randbelow(100) < tx.deployment.second_look_percent:
        await store_second_looks.insert(tx, review.id, subject, decision)
    return subject


def _ensure_known_reason(case: ReviewHandler, decision: ReviewDecision) -> None:
    if decision.reason_code is not None and decision.reason_code not in case.rejection_reason_codes:
        raise UnknownReasonCode(f"reason: {decision.reason_code!r} is none of {', '.join(case.rejection_reason_codes)}")


async def reopen_decision(
    tx: Tx, handler: ReviewHandler, subject_id: UUID, operator_id: str, note: str
) -> ReviewSubject:
    """Reopen a decision. Raises NotFound, ReviewNotOpen, DecisionNotReopenable."""
    subject = await _lock_subject(tx, handler, subject_id)
    if not isinstance(handler, ReopenHandler):
        raise DecisionNotReopenable(
            f"A decision about a {subject.kind.replace('_', ' ')} is not taken back: others rest on it."
        )
    await handler.reopen_decision(tx, subject_id, operator_id, note)
    return subject


async def release_claim(tx: Tx, handler: ReviewHandler, subject_id: UUID, operator_id: str) -> ReviewSubject:
    """Release one's claim on a case. Raises NotFound, ReviewNotOpen, ReviewClaimedByAnother, ReviewNotClaimed."""
    subject, review = await _lock_own(tx, handler, subject_id, operator_id)
    await store.release_claim(tx, review)
    return subject


async def _lock_own(tx: Tx, case: ReviewHandler, subject_id: UUID, by: str) -> tuple[ReviewSubject, Review]:
    subject = await _lock_subject(tx, case, subject_id)
    review = await _lock_open_review(tx, subject, by)
    if review.claimed_by != by:
        raise ReviewNotClaimed("You do not hold it, and nobody else does.")
    return subject, review


def compute_evidence_fingerprint(
    review: Review, evidence: ReviewEvidence, attached_documents: Sequence[Document]
) -> bytes:
    """A fingerprint of everything that a reviewer sees."""
    scans = [(one.id, one.scan_status, one.flags, one.deleted_at) for one in attached_documents]
    return sha256_digest(msgspec.json.encode((review.id, review.reasons, evidence, scans)))


async def _load_evidence(tx: Tx, case: ReviewHandler, subject_id: UUID) -> tuple[ReviewEvidence, list[Document]]:
    shown = await case.load_evidence(tx, subject_id)
    return shown, await documents.list_documents_with_ids(tx, ALL_PARTNERS, shown.document_ids)


async def _lock_subject(tx: Tx, case: ReviewHandler, subject_id: UUID) -> ReviewSubject:
    if (subject := await case.lock_subject(tx, subject_id)) is None:
        raise NotFound
    return subject


async def _lock_open_review(tx: Tx, subject: ReviewSubject, by: str) -> Review:
    """Lock the subject's open review. Raises ReviewNotOpen, ReviewClaimedByAnother."""
    review = await store.lock_open_review(tx, subject)
    if review is None:
        raise ReviewNotOpen(await _not_open_message(tx, subject))
    if review.is_claimed_by_another(by, tx.real_now):
        until = f"{review.claimed_until:%Y-%m-%d %H:%M} UTC"
        raise ReviewClaimedByAnother(f"{await _reviewer_name(tx, review.claimed_by)} holds it until {until}.")
    return review


async def _not_open_message(tx: Tx, subject: ReviewSubject) -> str:
    if decisions := await store.list_decisions(tx, subject):
        last = decisions[-1]
        by = await _reviewer_name(tx, last.decision.by)
        return f"It was {last.decision.verdict} by {by}, {last.at:%Y-%m-%d %H:%M} UTC."
    return "Nobody is asked to decide about it."


async def _reviewer_name(tx: Tx, by: str | None) -> str:
    names = await operators.load_display_names_by_operator_id(tx, [by])
    return f"{names[by]} ({by})" if by and by in names else str(by)


async def collect_metrics(tx: Tx, telemetry: Telemetry) -> None:
    """Report how many reviews wait, and since when."""
    waiting = await store.count_open_reviews_by_kind(tx)
    for kind in KINDS:
        total, oldest = waiting.get(kind, (0, None))
        telemetry.reviews.open.labels(kind).set(total)
        telemetry.reviews.oldest.labels(kind).set(max(0.0, (tx.now - (oldest or tx.now)).total_seconds()))


async def collect_decision_metrics(tx: Tx, telemetry: Telemetry) -> None:
    """Report decisions by person, and waiting times. Reads all decisions ever made by people."""
    for by, kind, verdict, count in await store.list_decision_counts(tx):
        telemetry.reviews.decisions.set_total((by, kind, verdict), count)
    for one in await store.list_waiting_time_histograms(tx, telemetry.reviews.waited.bounds):
        telemetry.reviews.waited.set((one.kind,), one.counts_by_bucket, one.total_waiting_seconds)

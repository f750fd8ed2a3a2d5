"""The review queue: requesting, claiming and deciding reviews.

Whose subject it is calls ``ask``, ``record_decision`` and ``withdraw_review`` in the transaction of its own change,
after it has locked the subject: locks are taken in this order everywhere, the subject's first, then its review's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, get_args
from uuid import UUID

import msgspec

from almoner.access.operators import service as operators
from almoner.kit.errors import NotFound
from almoner.platform.crypto import sha256_digest
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.observability.telemetry import Telemetry
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import Document
from almoner.validation.decisions.reviews import store
from almoner.validation.decisions.reviews.domain import (
    CLAIM_DURATION,
    DecisionNotReopenable,
    EvidenceNotShown,
    Kind,
    RecordedDecision,
    Review,
    ReviewClaimedByAnother,
    ReviewDecision,
    ReviewEvidence,
    ReviewHistory,
    ReviewNotClaimed,
    ReviewNotOpen,
    ReviewSubject,
    UnknownReasonCode,
)
from almoner.validation.decisions.reviews.ports import ReopenHandler, ReviewHandler
from almoner.validation.decisions.reviews.store import list_open_reviews as list_open_reviews

KINDS: Final[Sequence[Kind]] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class ReviewView:
    """What an operator is shown. ``claimed_by``: who holds the open review."""

    subject: ReviewSubject
    shown: ReviewEvidence
    documents: Sequence[Document]
    history: ReviewHistory
    claimed_by: str | None
    claimed_until: datetime | None


async def request_review(tx: Tx, subject: ReviewSubject, reasons: Sequence[str]) -> None:
    """Open a review for these reasons, or add them to the open one."""
    await store.open_review(tx, subject, list(dict.fromkeys(reasons)))


async def record_decision(tx: Tx, subject: ReviewSubject, decision: ReviewDecision) -> None:
    """Store a decision and close the open review, if any."""
    ended = await store.close_review(tx, subject, "decided")
    await store.insert_decision(tx, subject, RecordedDecision(decision, tx.now, ended))


async def record_reopening(tx: Tx, subject: ReviewSubject, by: str, note: str) -> None:
    """Store that a decision was reopened, by whom and why."""
    await store.insert_decision(tx, subject, RecordedDecision(ReviewDecision("reopened", None, by, note), tx.now, None))


async def withdraw_review(tx: Tx, subject: ReviewSubject) -> None:
    """Close the open review because no decision is needed any more."""
    await store.close_review(tx, subject, "withdrawn")


async def review_history_of(tx: Tx, subject: ReviewSubject) -> ReviewHistory:
    """All reviews and decisions of a subject."""
    return ReviewHistory(await store.list_reviews(tx, subject), await store.list_decisions(tx, subject))


async def claim_for_review(tx: Tx, case: ReviewHandler, subject_id: UUID, by: str) -> ReviewView:
    """Show the evidence to an operator and claim the review for them.

    Looking again holds it for longer. Raises NotFound.
    """
    subject = await _lock_subject(tx, case, subject_id)
    review = await store.lock_open_review(tx, subject)
    shown, attached = await _load_evidence(tx, case, subject_id)
    held_by = held_until = None
    if review is not None and review.is_claimed_by_other(by, tx.real_now):
        held_by, held_until = review.claimed_by, review.claimed_until
    elif review is not None:
        held_by, held_until = by, tx.real_now + CLAIM_DURATION
        await store.claim_review(tx, review, by, held_until, evidence_fingerprint(review, shown, attached))
    return ReviewView(subject, shown, attached, await review_history_of(tx, subject), held_by, held_until)


async def decide_review(tx: Tx, case: ReviewHandler, subject_id: UUID, decision: ReviewDecision) -> ReviewSubject:
    """Apply an operator's decision if they saw the current evidence.

    Raises NotFound; ReviewNotOpen, ReviewClaimedByAnother, EvidenceNotShown, UnknownReasonCode; and what the subject's
    service raises.
    """
    if decision.reason_code is not None and decision.reason_code not in case.reason_codes:
        raise UnknownReasonCode(f"reason: {decision.reason_code!r} is none of {', '.join(case.reason_codes)}")
    subject = await _lock_subject(tx, case, subject_id)
    review = await _lock_open_review(tx, subject, decision.by)
    if review.claimed_by != decision.by:
        raise EvidenceNotShown("You have not been shown it: look at it with `almoner reviews show` before you decide.")
    if review.claimed_fingerprint != evidence_fingerprint(review, *await _load_evidence(tx, case, subject_id)):
        raise EvidenceNotShown("It has changed since you were shown it: look at it again before you decide.")
    if decision.verdict == "accepted":
        await case.accept(tx, ALL_PARTNERS, subject_id, decision)
    else:
        await case.reject(tx, ALL_PARTNERS, subject_id, decision)
    return subject


async def reopen_decision(tx: Tx, case: ReviewHandler, subject_id: UUID, by: str, note: str) -> ReviewSubject:
    """Reopen a decision. Raises NotFound, ReviewNotOpen, DecisionNotReopenable."""
    subject = await _lock_subject(tx, case, subject_id)
    if not isinstance(case, ReopenHandler):
        raise DecisionNotReopenable(
            f"A decision about a {subject.kind.replace('_', ' ')} is not taken back: others rest on it."
        )
    await case.reopen(tx, subject_id, by, note)
    return subject


async def release_claim(tx: Tx, case: ReviewHandler, subject_id: UUID, by: str) -> ReviewSubject:
    """Release one's claim. Raises NotFound, ReviewNotOpen, ReviewClaimedByAnother, ReviewNotClaimed."""
    subject = await _lock_subject(tx, case, subject_id)
    review = await _lock_open_review(tx, subject, by)
    if review.claimed_by != by:
        raise ReviewNotClaimed("You do not hold it, and nobody else does.")
    await store.release_claim(tx, review)
    return subject


def evidence_fingerprint(review: Review, shown: ReviewEvidence, attached: Sequence[Document]) -> bytes:
    """A fingerprint of everything that a reviewer sees."""
    scans = [(one.id, one.scan_status, one.flags, one.deleted_at) for one in attached]
    return sha256_digest(msgspec.json.encode((review.id, review.reasons, shown, scans)))


async def _load_evidence(tx: Tx, case: ReviewHandler, subject_id: UUID) -> tuple[ReviewEvidence, list[Document]]:
    shown = await case.load_evidence(tx, subject_id)
    return shown, await documents.find_many(tx, ALL_PARTNERS, shown.documents)


async def _lock_subject(tx: Tx, case: ReviewHandler, subject_id: UUID) -> ReviewSubject:
    if (subject := await case.lock_subject(tx, subject_id)) is None:
        raise NotFound
    return subject


async def _lock_open_review(tx: Tx, subject: ReviewSubject, by: str) -> Review:
    """The subject's open review, locked, which nobody else holds."""
    review = await store.lock_open_review(tx, subject)
    if review is None:
        raise ReviewNotOpen(await _not_open_message(tx, subject))
    if review.is_claimed_by_other(by, tx.real_now):
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
    names = await operators.find_display_names(tx, [by])
    return f"{names[by]} ({by})" if by and by in names else str(by)


async def collect_metrics(tx: Tx, telemetry: Telemetry) -> None:
    """How much waits, and since when."""
    waiting = {kind: (count, oldest) for kind, count, oldest in await store.count_open_reviews(tx)}
    for kind in KINDS:
        count, oldest = waiting.get(kind, (0, tx.now))
        telemetry.reviews.open.labels(kind).set(count)
        telemetry.reviews.oldest.labels(kind).set(max(0.0, (tx.now - oldest).total_seconds()))


async def collect_decision_metrics(tx: Tx, telemetry: Telemetry) -> None:
    """Who decided how often, and how long it took. It reads all that was ever decided by people."""
    for by, kind, verdict, count in await store.count_decisions(tx):
        telemetry.reviews.decisions.set((by, kind, verdict), count)
    for kind, counts, seconds in await store.list_waiting_times(tx, telemetry.reviews.waited.bounds):
        telemetry.reviews.waited.set((kind,), counts, seconds)

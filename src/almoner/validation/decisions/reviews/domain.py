"""Reviews: what an operator must decide, who has claimed it, and the decision."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Final, Literal, NamedTuple
from uuid import UUID

from almoner.kit.evidence import EvaluationStep
from almoner.kit.scripts import unicode_scripts_in_text
from almoner.kit.states import Lifecycle

REVIEW: Final = Lifecycle("review", {"open": frozenset({"decided", "withdrawn"})})

Kind = Literal["validation_request", "agent_verification", "match", "screening", "appeal"]
Status = Literal["open", "decided", "withdrawn"]
EvidenceState = Literal["awaited", "received"]
"""Whether evidence that the applicant was asked for has not arrived, or has."""
Verdict = Literal["accepted", "rejected", "reopened"]
"""``reopened``: the previous decision is withdrawn."""

ID_TYPES: Final[Mapping[Kind, str]] = {
    "validation_request": "validationrequest",
    "agent_verification": "agentverification",
    "match": "screeningmatch",
    "screening": "screeningsubject",
    "appeal": "appeal",
}
"""A review is identified by its subject's ID, whose type determines the kind."""
CLAIM_DURATION: Final = timedelta(minutes=15)
"""How long, in real time, a claim keeps others from deciding the case."""
HANDOVER_DURATION: Final = timedelta(days=1)
"""How long, in real time, a case is reserved for the person it was handed over to."""
NOT_SHOWN: Final = bytes(32)
"""The fingerprint of a claim whose holder has not seen the evidence; no evidence has this value."""
WAITING_TARGET: Final = timedelta(days=2)
"""How soon a case should be decided unless another deadline was promised, such as ten business days for appeals."""
MAX_NOTE_LENGTH: Final = 2000
_APPEAL: Final = re.compile(r"By appeal (sandbox_)?appeal_[0-9a-z]{26}(?=: )")


class ReviewRefused(Exception):
    """The decision cannot be made now; the message says why."""


class ReviewNotOpen(ReviewRefused):
    """No review of the subject is open."""


class ReviewClaimedByAnother(ReviewRefused):
    """Another operator has claimed the review."""


class ReviewNotClaimed(ReviewRefused):
    """Nobody has claimed the review."""


class CurrentEvidenceNotSeen(ReviewRefused):
    """The evidence changed since the operator saw it."""


class DecisionNotReopenable(ReviewRefused):
    """Decisions of this kind cannot be reopened."""


class ConflictOfInterest(ReviewRefused):
    """The operator declared to be too close to the case to decide it."""


class HandoverRefused(ReviewRefused):
    """The case cannot be given to that person."""


class UnknownReasonCode(ReviewRefused):
    """There is no such reason code for this kind."""


@dataclass(frozen=True, slots=True)
class ReviewSubject:
    """The record under review. ``country_code``, ``name_script``: queue filters, where known."""

    kind: Kind
    id: UUID
    partner_id: UUID
    country_code: str | None = field(default=None, compare=False)
    name_script: str | None = field(default=None, compare=False)


def detect_name_script(name: str) -> str | None:
    """The writing system of a name in the queue: ``LATIN``, ``CYRILLIC`` or ``MIXED``; None without letters."""
    found = sorted(unicode_scripts_in_text(name))
    return found[0] if len(found) == 1 else "MIXED" if found else None


@dataclass(frozen=True, slots=True)
class ReviewDecision:
    """A decision: verdict, reason, operator and note.

    ``reason_code``: of a rejection. ``by``: ``operator_...``, ``sandbox`` or ``rules``. ``note``: the evidence it is
    based on, 1 to 2000 characters.
    """

    verdict: Verdict
    reason_code: str | None
    by: str
    note: str

    @property
    def public_note(self) -> str | None:
        """The part of the note that may be shown to the applicant."""
        if self.by in ("rules", "sandbox"):
            return self.note
        return f"{named[0]}." if (named := _APPEAL.match(self.note)) else None

    @classmethod
    def build_acceptance_after_appeal(cls, appeal_id: str, decision: "ReviewDecision") -> "ReviewDecision":
        """The decision by which a reversed appeal overturns a rejection."""
        return cls("accepted", None, decision.by, f"By appeal {appeal_id}: {decision.note}"[:MAX_NOTE_LENGTH])


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A stored decision. ``review_id``: None if it was made without a review."""

    decision: ReviewDecision
    at: datetime
    review_id: UUID | None


@dataclass(frozen=True, slots=True)
class Review:
    """One review.

    ``claimed_evidence_fingerprint``: of the evidence that its claimant saw last. ``claimed_until`` is real time, the
    other times are business time. ``evidence_requested_at``: when a reviewer last asked the applicant for evidence.
    """

    id: UUID
    subject: ReviewSubject
    reasons: Sequence[str]
    requested_at: datetime
    claimed_by: str | None
    claimed_until: datetime | None
    claimed_evidence_fingerprint: bytes | None
    status: Status
    ended_at: datetime | None
    due_at: datetime
    evidence_requested_at: datetime | None = None

    def claimant_at(self, real_now: datetime) -> str | None:
        """The operator who has claimed it at this real time."""
        held = self.status == "open" and self.claimed_until is not None and real_now < self.claimed_until
        return self.claimed_by if held else None

    def is_claimed_by_another(self, operator_id: str, real_now: datetime) -> bool:
        """Whether an operator other than ``operator_id`` has claimed it."""
        return self.claimant_at(real_now) not in (None, operator_id)


@dataclass(frozen=True, slots=True)
class ReviewHistory:
    """All reviews and decisions of one subject, oldest first."""

    reviews: Sequence[Review]
    decisions: Sequence[RecordedDecision]

    @property
    def current_open_review(self) -> Review | None:
        """The open review, if any."""
        return next((review for review in self.reviews if review.status == "open"), None)


Fact = tuple[str, str | None]
"""The name of a fact, and its value as text."""


@dataclass(frozen=True, slots=True)
class ValueComparison:
    """A submitted value, compared with the values of a register or watchlist. ``listed``: empty if there are none."""

    label: str
    stated: str | None
    listed: Sequence[str] = ()


class SourceLink(NamedTuple):
    """A public page of a source."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class RegisterCandidate:
    """Another register entry that a case may mean, with what ``ReviewEvidence`` has for the entry of the number."""

    organisation_id: UUID
    name: str
    registry_number: str
    place: str | None
    value_comparisons: Sequence[ValueComparison]
    links: Sequence[SourceLink]


@dataclass(frozen=True, slots=True)
class ReviewEvidence:
    """The evidence shown to a reviewer. ``links``: public pages of sources."""

    title: str
    facts: Sequence[Fact]
    steps: Sequence[EvaluationStep] = ()
    document_ids: Sequence[UUID] = ()
    value_comparisons: Sequence[ValueComparison] = ()
    links: Sequence[SourceLink] = ()
    candidates: Sequence[RegisterCandidate] = ()


@dataclass(frozen=True, slots=True)
class RelatedSubject:
    """Another record that may be about the same subject. ``relation``: why, in words."""

    subject: ReviewSubject
    relation: str


@dataclass(frozen=True, slots=True)
class RelatedDecision:
    """A decision on a related record; ``decision`` is None while it is pending."""

    related_subject: RelatedSubject
    decision: RecordedDecision | None
    requested_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReviewNote:
    """A reviewer's note on a case for other reviewers."""

    by: str
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class DeclaredConflictOfInterest:
    """An operator who must not decide a case, and why."""

    by: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class SecondLook:
    """A decided review that another reviewer decides again without knowing the decision. It changes nothing."""

    review_id: UUID
    subject: ReviewSubject
    first_decided_by: str
    selected_at: datetime
    decided_by: str | None = None


@dataclass(frozen=True, slots=True)
class SecondLookAgreement:
    """How often second looks agreed with one person's first decisions of one kind."""

    reviewer: str
    kind: Kind
    second_look_count: int
    agreed_count: int


@dataclass(frozen=True, slots=True)
class DailyReviewStatistics:
    """One kind on one day: how many were decided, how many of them on time, and the median wait in seconds."""

    kind: Kind
    day: date
    decided_count: int
    on_time_count: int
    median_wait_seconds: float


@dataclass(frozen=True, slots=True)
class ReasonStatistics:
    """The decided cases of one kind that needed a review for one reason.

    ``agreed_count``: how many second looks agreed with the first decision.
    """

    kind: Kind
    reason: str
    decided_count: int
    accepted_count: int
    second_look_count: int
    agreed_count: int


MIN_LOOKS: Final = 20
"""Fewer second looks are not significant for a person or a reason."""


def agreement_confidence_interval(second_look_count: int, agreed_count: int) -> tuple[float, float]:
    """The 95 % confidence interval of the agreement rate (Wilson); ``second_look_count`` is not 0."""
    z = 1.96
    share, spread = agreed_count / second_look_count, z * z / second_look_count
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * (share * (1 - share) / second_look_count + spread / second_look_count / 4) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True, slots=True)
class ReviewFilters:
    """The filters of the queue.

    ``holder``: who has claimed it; ``asked_until``: waiting since this time or longer. ``free_for``: unclaimed cases
    that this person may decide and that wait for nobody else. ``due_until``: cases due by then. ``evidence``: cases
    whose applicant was asked.
    """

    kind: Kind | None = None
    partner_id: UUID | None = None
    holder: str | None = None
    country_code: str | None = None
    script: str | None = None
    reason: str | None = None
    asked_until: datetime | None = None
    free_for: str | None = None
    due_until: datetime | None = None
    evidence: EvidenceState | None = None

"""Reviews: what a person is asked to decide, who holds it, and what was decided."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.kit.states import Lifecycle

REVIEW: Final = Lifecycle("review", {"open": frozenset({"decided", "withdrawn"})})

Kind = Literal["validation_request", "agent_verification", "match", "screening", "appeal"]
Status = Literal["open", "decided", "withdrawn"]
Verdict = Literal["accepted", "rejected", "reopened"]
"""``reopened``: what was decided before is taken back."""

ID_TYPES: Final[Mapping[Kind, str]] = {
    "validation_request": "validationrequest",
    "agent_verification": "agentverification",
    "match": "screeningmatch",
    "screening": "screeningsubject",
    "appeal": "appeal",
}
"""A review is known by the identifier of its subject, whose type tells the kind."""
CLAIM_DURATION: Final = timedelta(minutes=15)
"""How long, in real time, nobody else decides what somebody was claimed_fingerprint."""
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


class EvidenceNotShown(ReviewRefused):
    """The evidence changed since the operator saw it."""


class DecisionNotReopenable(ReviewRefused):
    """Decisions of this kind cannot be reopened."""


class UnknownReasonCode(ReviewRefused):
    """There is no such reason code for this kind."""


@dataclass(frozen=True, slots=True)
class ReviewSubject:
    """The record that a review is about."""

    kind: Kind
    id: UUID
    partner_id: UUID


@dataclass(frozen=True, slots=True)
class ReviewDecision:
    """A decision: verdict, reason, who and why.

    ``reason_code``: of a rejection. ``by``: ``operator_...``, ``sandbox`` or ``rules``. ``note``: on what evidence, 1
    to 2000 characters.
    """

    verdict: Verdict
    reason_code: str | None
    by: str
    note: str

    @property
    def public_note(self) -> str | None:
        """The part of the note that may be shown outside."""
        if self.by in ("rules", "sandbox"):
            return self.note
        return f"{named[0]}." if (named := _APPEAL.match(self.note)) else None

    @classmethod
    def from_appeal(cls, appeal: str, decided: "ReviewDecision") -> "ReviewDecision":
        """The decision that a reversed appeal makes of a rejection."""
        return cls("accepted", None, decided.by, f"By appeal {appeal}: {decided.note}"[:MAX_NOTE_LENGTH])


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A stored decision. ``review_id``: None if it was made without a review."""

    decision: ReviewDecision
    at: datetime
    review_id: UUID | None


@dataclass(frozen=True, slots=True)
class Review:
    """One review. ``claimed_fingerprint``: of the evidence its claimant saw last.

    ``claimed_until`` is real time, the other moments are business time.
    """

    id: UUID
    subject: ReviewSubject
    reasons: Sequence[str]
    asked_at: datetime
    claimed_by: str | None
    claimed_until: datetime | None
    claimed_fingerprint: bytes | None
    status: Status
    ended_at: datetime | None

    def claimant_at(self, real_now: datetime) -> str | None:
        """The operator who holds the claim at this real time."""
        held = self.status == "open" and self.claimed_until is not None and real_now < self.claimed_until
        return self.claimed_by if held else None

    def is_claimed_by_other(self, by: str, real_now: datetime) -> bool:
        """Whether somebody else than ``by`` holds it."""
        return self.claimant_at(real_now) not in (None, by)


@dataclass(frozen=True, slots=True)
class ReviewHistory:
    """All reviews and decisions of one subject, oldest first."""

    reviews: Sequence[Review]
    decisions: Sequence[RecordedDecision]

    @property
    def open(self) -> Review | None:
        """The open review, if any."""
        return next((review for review in self.reviews if review.status == "open"), None)


Fact = tuple[str, str | None]
"""What is known and how it reads: a name, and a value for people."""


@dataclass(frozen=True, slots=True)
class EvidenceStep:
    """One step of the evidence: what was found, where and when."""

    name: str
    verdict: str
    code: str | None = None
    source: str | None = None
    data_as_of: datetime | None = None
    facts: Sequence[Fact] = ()


@dataclass(frozen=True, slots=True)
class ReviewEvidence:
    """The evidence shown to a reviewer."""

    title: str
    facts: Sequence[Fact]
    steps: Sequence[EvidenceStep] = ()
    documents: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True)
class ReviewFilters:
    """The filters of the queue. ``holder``: who has claimed it."""

    kind: Kind | None = None
    partner_id: UUID | None = None
    holder: str | None = None

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
    """A decision that cannot be made now; the message says why, in one line for people."""


class ReviewNotOpen(ReviewRefused):
    """Nobody is asked to decide about it, or somebody has."""


class ReviewClaimedByAnother(ReviewRefused):
    """Somebody else is looking at it."""


class ReviewNotClaimed(ReviewRefused):
    """Nobody holds it."""


class EvidenceNotShown(ReviewRefused):
    """Who decides has not seen what there is to see now."""


class DecisionNotReopenable(ReviewRefused):
    """What was decided about this kind led further, and is not taken back."""


class UnknownReasonCode(ReviewRefused):
    """Its kind knows no such reason code."""


@dataclass(frozen=True, slots=True)
class ReviewSubject:
    """What is decided about."""

    kind: Kind
    id: UUID
    partner_id: UUID


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided, by whom and why.

    ``reason_code``: of a rejection. ``by``: ``operator_...``, ``sandbox`` or ``rules``. ``note``: on what evidence, 1
    to 2000 characters.
    """

    verdict: Verdict
    reason_code: str | None
    by: str
    note: str

    @property
    def public_note(self) -> str | None:
        """The note where rules or a test value decided; of what a person noted only by which appeal it was."""
        if self.by in ("rules", "sandbox"):
            return self.note
        return f"{named[0]}." if (named := _APPEAL.match(self.note)) else None

    @classmethod
    def from_appeal(cls, appeal: str, decided: "Decision") -> "Decision":
        """What a reversed appeal, by its id, makes of what was rejected."""
        return cls("accepted", None, decided.by, f"By appeal {appeal}: {decided.note}"[:MAX_NOTE_LENGTH])


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """One decision of the history. ``review_id``: None where nobody had to be asked."""

    decision: Decision
    at: datetime
    review_id: UUID | None


@dataclass(frozen=True, slots=True)
class Review:
    """One review as the store read it. ``claimed_fingerprint``: fingerprint of what ``claimed_by`` was shown last.

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
        """Who alone may decide it at this (real) time."""
        held = self.status == "open" and self.claimed_until is not None and real_now < self.claimed_until
        return self.claimed_by if held else None

    def is_claimed_by_other(self, by: str, real_now: datetime) -> bool:
        """Whether somebody else than ``by`` holds it."""
        return self.claimant_at(real_now) not in (None, by)


@dataclass(frozen=True, slots=True)
class ReviewHistory:
    """All that reviews know of one subject, oldest first."""

    reviews: Sequence[Review]
    decisions: Sequence[RecordedDecision]

    @property
    def open(self) -> Review | None:
        """The review that waits for somebody, if any."""
        return next((review for review in self.reviews if review.status == "open"), None)


Fact = tuple[str, str | None]
"""What is known and how it reads: a name, and a value for people."""


@dataclass(frozen=True, slots=True)
class EvidenceStep:
    """One step of the evidence: what it found, by which source, of which day, and the facts that it saw."""

    name: str
    verdict: str
    code: str | None = None
    source: str | None = None
    data_as_of: datetime | None = None
    facts: Sequence[Fact] = ()


@dataclass(frozen=True, slots=True)
class ReviewEvidence:
    """The evidence beside a decision. Nothing in it changes by the passing of time: what changes is shown anew."""

    title: str
    facts: Sequence[Fact]
    steps: Sequence[EvidenceStep] = ()
    documents: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True)
class Filters:
    """What the queue may be narrowed by; None: not narrowed. ``holder``: who holds it now."""

    kind: Kind | None = None
    partner_id: UUID | None = None
    holder: str | None = None

"""Evidence for a dispute: its states, and what it must have before it is submitted; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final, Literal, get_args
from uuid import UUID

from almoner.giving.checkout.payments.domain import DisputeEvidenceKind, DisputeStatus
from almoner.kit.states import Lifecycle

EvidenceStatus = Literal["draft", "submitting", "submitted", "rejected"]
EVIDENCE: Final = Lifecycle(
    "dispute_evidence",
    {
        "draft": frozenset({"submitting"}),
        "submitting": frozenset({"submitted", "rejected"}),
        "rejected": frozenset({"draft", "submitting"}),
    },
)
EVIDENCE_KINDS: Final[tuple[DisputeEvidenceKind, ...]] = get_args(DisputeEvidenceKind)
EDITABLE: Final[tuple[EvidenceStatus, ...]] = ("draft", "rejected")
MAX_TEXT: Final = 5000
MAX_TOTAL_BYTES: Final = 4_500_000
"""The maximum total size of a dispute's files, in bytes; it is what providers accept."""


@dataclass(frozen=True, slots=True)
class EvidenceFile:
    """A file of the evidence. There is one of each kind."""

    kind: DisputeEvidenceKind
    file_name: str
    media_type: str
    size_bytes: int
    sha256: bytes
    storage_key: str
    uploaded_by: str
    uploaded_at: datetime


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for a dispute, whose ID it has.

    ``requested_by``, ``requested_at``: who submitted it. ``ended_at``: when the provider accepted or rejected it.
    ``reason``: why it was rejected.
    """

    id: UUID
    status: EvidenceStatus = "draft"
    product_description: str | None = None
    explanation: str | None = None
    requested_by: str | None = None
    requested_at: datetime | None = None
    ended_at: datetime | None = None
    reason: str | None = None
    files: tuple[EvidenceFile, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to submit."""
        return not (self.has_texts or self.files)

    @property
    def has_texts(self) -> bool:
        """Whether there is a text to submit."""
        return bool(self.product_description or self.explanation)

    @property
    def version(self) -> str:
        """A version that changes with the status and with everything that is submitted."""
        parts = [self.status, self.product_description or "", self.explanation or ""]
        parts += [f"{one.kind} {one.sha256.hex()} {one.file_name}" for one in self.files]
        return sha256("\0".join(parts).encode()).hexdigest()[:32]


def edit_blocked_reason(
    status: DisputeStatus, due_at: datetime | None, evidence: Evidence, now: datetime
) -> str | None:
    """Why the evidence can be neither changed nor submitted; None if it can."""
    if reason := removal_blocked_reason(evidence):
        return reason
    if status is not DisputeStatus.OPEN:
        return f"This dispute is {status.value}."
    if due_at is None:
        return "The payment provider does not accept evidence for this dispute."
    if due_at <= now:
        return "The deadline for evidence has passed."
    return None


def removal_blocked_reason(evidence: Evidence) -> str | None:
    """Why texts and files cannot be removed; None if they can. Evidence that was never submitted can be removed."""
    return None if evidence.status in EDITABLE else "The evidence has already been submitted."


def file_rejection_reason(evidence: Evidence, kind: DisputeEvidenceKind, size_bytes: int) -> str | None:
    """Why a file cannot be added; None if it can."""
    if any(one.kind == kind for one in evidence.files):
        return "There is already a file of this kind: remove it first."
    if total_bytes(evidence.files) + size_bytes > MAX_TOTAL_BYTES:
        return "The files of a dispute may have at most 4.5 MB in total."
    return None


def total_bytes(files: Sequence[EvidenceFile]) -> int:
    """The total size of the files, in bytes."""
    return sum(one.size_bytes for one in files)

"""Documents that partners upload: their scan, quotas, and how long a download link is valid (U5 to U7)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple
from uuid import UUID

from almoner.kit.errors import Conflict, Forbidden
from almoner.kit.events import InternalEvent
from almoner.kit.states import Lifecycle
from almoner.platform.files.uploads.problems import FileTooLarge, TooManyFiles

SCAN: Final = Lifecycle("document", {"pending_scan": frozenset({"clean", "rejected", "unreadable"})})
ScanStatus = Literal["pending_scan", "clean", "rejected", "unreadable"]


LINK_LIFETIME: Final = timedelta(minutes=5)  # U6, real time
_MAX_FILES: Final = 20  # U7, per record
MAX_TOTAL_BYTES: Final = 100 * 1024 * 1024  # U7, per record
MAX_BYTES_PER_DAY: Final = 1024 * 1024 * 1024  # U7, per partner
DAY: Final = timedelta(days=1)
RETENTION_CHECK_INTERVAL: Final = timedelta(days=30)
"""How often a document's retention is checked: no retention period is shorter."""
RETRY_SECONDS: Final = 3600  # the oldest bytes leave the daily quota over time


DocumentStatus = Literal["pending", "clean", "infected", "unreadable", "deleted"]
"""``infected``: the virus scanner rejected it, and nobody can open it. ``unreadable``: a scanner could not read it."""


_STATUSES: Final[Mapping[ScanStatus, DocumentStatus]] = {
    "pending_scan": "pending",
    "clean": "clean",
    "rejected": "infected",
    "unreadable": "unreadable",
}
REFUSED: Final[tuple[ScanStatus, ...]] = ("rejected", "unreadable")
ENCRYPTED: Final = "Heuristics.Encrypted"
LIMITS_EXCEEDED: Final = "Heuristics.Limits.Exceeded"
_NOT_SCANNED: Final = (ENCRYPTED, LIMITS_EXCEEDED)
"""Scan results for content that a scanner could not read, which need not be infected."""


def scan_status_for_threat(threat: str) -> ScanStatus:
    """The status that a scan result gives a document."""
    return "unreadable" if threat.startswith(_NOT_SCANNED) else "rejected"


@dataclass(frozen=True, slots=True)
class DocumentScannedEvent:
    """The internal event that a document was scanned."""

    document: UUID
    clean: bool


SCANNED: Final = InternalEvent("internal.document_scanned", DocumentScannedEvent)
"""Emitted when a scan ends."""


class DocumentCountExceeded(TooManyFiles):
    message = "The record has reached its maximum number of documents"


class DocumentSizeExceeded(FileTooLarge):
    message = "The total size of the record's documents would exceed the limit"


class DocumentNotScannedYet(Conflict):
    message = "The document is still being scanned for malware; it can be downloaded once it has passed the scan"


class InvalidDownloadLink(Forbidden):
    message = "The link to this document is not valid or has expired"


@dataclass(frozen=True, slots=True)
class Document:
    """One document.

    ``flags``: active content in a PDF, for reviewers. ``file_name``: the uploader's name for it, until it is deleted.
    ``threat``: what the scanner named, or why it could not be read; None unless it was rejected.
    """

    id: UUID
    partner_id: UUID
    media_type: str
    size: int
    sha256: bytes
    storage_key: str
    scan_status: ScanStatus
    flags: tuple[str, ...]
    created_at: datetime
    deleted_at: datetime | None
    removed_at: datetime | None
    file_name: str | None = None
    threat: str | None = None

    @property
    def status(self) -> DocumentStatus:
        """The status of the document in the API."""
        return "deleted" if self.deleted_at is not None else _STATUSES[self.scan_status]

    @property
    def is_unusable(self) -> bool:
        """Whether it was rejected after its scan."""
        return self.scan_status in REFUSED


EvidenceOutcome = Literal["open", "refused", "accepted"]
"""The outcome of a record that a document is evidence for. ``open``: not decided yet, or under review again."""


class DatedEvidenceOutcome(NamedTuple):
    """An outcome, and when it was decided; None while it is open."""

    outcome: EvidenceOutcome
    decided_at: datetime | None


@dataclass(frozen=True, slots=True)
class RetentionPeriods:
    """How long documents and applicants' data are kept after a decision (V6)."""

    after_rejection: timedelta = timedelta(days=365)
    after_acceptance: timedelta = timedelta(days=2557)

    def retention_ends_at(self, created_at: datetime, outcomes: Sequence[DatedEvidenceOutcome]) -> datetime | None:
        """When a document may be deleted; None while a record that it is evidence for is open."""
        ends = [created_at + self.after_rejection]
        after = {"refused": self.after_rejection, "accepted": self.after_acceptance}
        for outcome, decided_at in outcomes:
            if outcome == "open" or decided_at is None:
                return None
            ends.append(decided_at + after[outcome])
        return max(ends)


def ensure_within_quota(stored_documents: Sequence[Document], new_document: Document) -> None:
    """Raises if one more document would exceed the record's quota: DocumentCountExceeded, DocumentSizeExceeded (U7)."""
    stored = [
        document for document in stored_documents if document.deleted_at is None and document.id != new_document.id
    ]
    if len(stored) >= _MAX_FILES:
        raise DocumentCountExceeded(f"body.file is one more than {_MAX_FILES}")
    if sum(document.size for document in stored) + new_document.size > MAX_TOTAL_BYTES:
        raise DocumentSizeExceeded(f"body.file would make the documents larger than {MAX_TOTAL_BYTES} bytes together")

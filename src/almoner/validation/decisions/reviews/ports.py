"""What the review queue needs from the records in it."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable
from uuid import UUID

from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.validation.decisions.reviews.domain import RelatedSubject, ReviewDecision, ReviewEvidence, ReviewSubject


class ReviewHandler(Protocol):
    """Loads and decides review subjects of one kind; implemented by their slice."""

    @property
    def rejection_reason_codes(self) -> Sequence[str]:
        """The possible rejection reasons."""
        ...

    async def lock_subject(self, tx: Tx, subject_id: UUID) -> ReviewSubject | None:
        """Lock the record until the transaction ends; None if it does not exist."""
        ...

    async def load_names_by_subject_id(self, tx: Tx, subject_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """Whom each record is about, in a few words; without those that are erased."""
        ...

    async def load_evidence(self, tx: Tx, subject_id: UUID) -> ReviewEvidence:
        """Load everything that a reviewer should see before deciding. Raises NotFound."""
        ...

    async def list_related_subjects(self, tx: Tx, subject_id: UUID) -> Sequence[RelatedSubject]:
        """List other records, of all partners, that may be about the same nonprofit, person or address."""
        ...

    async def accept_subject(
        self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision, /
    ) -> object:
        """Accept the subject. Raises NotFound, InvalidState."""
        ...

    async def reject_subject(
        self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision, /
    ) -> object:
        """Reject the subject; returns the changed record."""
        ...


@runtime_checkable
class ReopenHandler(Protocol):
    """Reopens decisions of one kind."""

    async def reopen_decision(self, tx: Tx, subject_id: UUID, reopened_by: str, note: str, /) -> object:
        """Reopen a decision. Raises NotFound, ReviewNotOpen."""
        ...

"""What the queue needs of the records that wait in it."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable
from uuid import UUID

from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.validation.decisions.reviews.domain import Decision, ReviewEvidence, ReviewSubject


class ReviewHandler(Protocol):
    """How records of one kind are shown to a person and decided; its slice has it in ``cases.py``."""

    @property
    def reason_codes(self) -> Sequence[str]:
        """Why one may be rejected."""
        ...

    async def lock_subject(self, tx: Tx, subject_id: UUID) -> ReviewSubject | None:
        """Lock the record until the transaction ends; None where there is none."""
        ...

    async def load_evidence(self, tx: Tx, subject_id: UUID) -> ReviewEvidence:
        """All that a person should see before deciding. Raises NotFound."""
        ...

    async def accept(self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: Decision, /) -> object:
        """Decide so by the record's own service, which calls ``reviews.record_decision``.

        Raises NotFound, InvalidState.
        """
        ...

    async def reject(self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: Decision, /) -> object:
        """As ``accept``."""
        ...


@runtime_checkable
class ReopenHandler(Protocol):
    """A case in which a decision may be taken back: nothing that cannot be undone followed from it."""

    async def reopen(self, tx: Tx, subject_id: UUID, by: str, note: str, /) -> object:
        """Take back what was decided, by the record's own service, which calls ``reviews.take_back``.

        Raises NotFound, ReviewNotOpen.
        """
        ...

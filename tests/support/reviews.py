"""A real review case for tests: monetary donation verifications, decided through the queue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications import store as verifications_store
from almoner.giving.disbursing.verifications.domain import REASON_OF_FAILED, DecisionGrounds
from almoner.kit.evidence import EvaluationStep
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import (
    RelatedSubject,
    ReviewDecision,
    ReviewEvidence,
    ReviewHistory,
    ReviewSubject,
)
from almoner.validation.decisions.reviews.ports import ReviewHandler
from tests.support import factories
from tests.support.client import Client
from tests.support.service import Service
from tests.support.terminal import Operator, operator

KIND: Final = "match"
REASONS = ("name_differs", "register_not_loaded")


@dataclass(frozen=True, slots=True)
class VerificationCase:
    """A review handler for a slice that has no reviews."""

    rejection_reason_codes: Sequence[str] = tuple(sorted({*REASON_OF_FAILED.values(), "no_response"}))

    async def lock_subject(self, tx: Tx, subject_id: UUID) -> ReviewSubject | None:
        """Lock the subject."""
        found = await verifications_store.find_for_update(tx, ALL_PARTNERS, subject_id)
        return ReviewSubject(KIND, found.id, found.partner_id) if found else None

    async def load_names_by_subject_id(self, tx: Tx, subject_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """None."""
        return {}

    async def load_evidence(self, tx: Tx, subject_id: UUID) -> ReviewEvidence:
        """Its organisation and its checks."""
        found = await verifications.get(tx, ALL_PARTNERS, subject_id)
        organisation = await organisations.get(tx, Partner(found.partner_id), found.organisation_id)
        steps = [EvaluationStep(check, "unknown", status) for check, status in found.checks.items()]
        return ReviewEvidence(organisation.name, [("status", found.status), ("metadata", str(found.metadata))], steps)

    async def list_related_subjects(self, tx: Tx, subject_id: UUID) -> Sequence[RelatedSubject]:
        """None."""
        return []

    async def accept_subject(
        self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision, /
    ) -> None:
        """Approve."""
        approved = await verifications.approve(tx, scope, subject_id, DecisionGrounds(decision.by, decision.note))
        await reviews.record_decision(tx, ReviewSubject(KIND, subject_id, approved.partner_id), decision)

    async def reject_subject(
        self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision, /
    ) -> None:
        """Reject; the reasons of this case are those of the record."""
        evidence = DecisionGrounds(decision.by, decision.note)
        rejected = await verifications.reject(tx, scope, subject_id, decision.reason_code, evidence)  # type: ignore[arg-type]
        await reviews.record_decision(tx, ReviewSubject(KIND, subject_id, rejected.partner_id), decision)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A case in the queue of a service."""

    service: Service
    case: ReviewHandler
    subject: ReviewSubject

    async def look(self, by: Operator) -> reviews.ReviewDetails:
        """View the case as the command does."""
        async with self.service.db.write() as tx:
            return await reviews.claim_for_review(tx, self.case, self.subject.id, by.id)

    async def accept(self, by: Operator, note: str = "Seen") -> None:
        """Accept it as the command does."""
        async with self.service.db.write() as tx:
            await reviews.decide_review(tx, self.case, self.subject.id, ReviewDecision("accepted", None, by.id, note))

    async def reject(self, by: Operator, reason: str = "no_response", note: str = "Three letters") -> None:
        """Reject it as the command does."""
        async with self.service.db.write() as tx:
            await reviews.decide_review(tx, self.case, self.subject.id, ReviewDecision("rejected", reason, by.id, note))

    async def release(self, by: Operator) -> None:
        """Release it as the command does."""
        async with self.service.db.write() as tx:
            await reviews.release_claim(tx, self.case, self.subject.id, by.id)

    async def ask(self, *reasons: str) -> None:
        """Request a review as its own slice does."""
        async with self.service.db.write() as tx:
            await reviews.request_review(tx, self.subject, reasons)

    async def history(self) -> ReviewHistory:
        """Its history."""
        async with self.service.db.read() as tx:
            return await reviews.load_review_history(tx, self.subject)


async def waiting(service: Service, api: Client, *reasons: str) -> Waiting:
    """Create a case that waits for a decision."""
    made = await factories.verification(service, api)
    found = service.db.deployment.ids.decode("monetarydonationverification", made["id"])
    assert found is not None
    case = VerificationCase()
    async with service.db.write() as tx:
        subject = await case.lock_subject(tx, found)
        assert subject is not None
    one = Waiting(service, case, subject)
    await one.ask(*(reasons or REASONS))
    return one


async def reviewers(service: Service) -> tuple[Operator, Operator]:
    """Create two reviewers."""
    return await operator(service, "reviewer"), await operator(service, "reviewer")

"""Shows agent verifications to reviewers and applies their decisions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from almoner.kit.time import iso_timestamp
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.evidence import store as evidence
from almoner.validation.agents import service
from almoner.validation.agents.domain import REJECTIONS, AgentVerification, RepresentationRequest
from almoner.validation.decisions.reviews.domain import (
    Fact,
    RelatedSubject,
    ReviewDecision,
    ReviewEvidence,
    ReviewSubject,
    ValueComparison,
)


class AgentReviewHandler:
    """A ``reviews.ports.ReviewHandler``."""

    @property
    def rejection_reason_codes(self) -> Sequence[str]:
        """The codes with which a reviewer may reject one (settled 4)."""
        return REJECTIONS

    async def lock_subject(self, tx: Tx, subject_id: UUID) -> ReviewSubject | None:
        """Lock the verification until the transaction ends; None if it does not exist."""
        return await service.lock_review_subject(tx, subject_id)

    async def load_names_by_subject_id(self, tx: Tx, subject_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """The applicants, and the nonprofits that they represent."""
        return await service.load_names_by_verification_id(tx, subject_ids)

    async def load_evidence(self, tx: Tx, subject_id: UUID) -> ReviewEvidence:
        """Load the applicant, the nonprofit's answer, documents, and what each step found last. Raises NotFound."""
        found = await service.get(tx, ALL_PARTNERS, subject_id)
        facts = [
            *_facts(found),
            *await _nonprofit(tx, found),
            *_question_facts(await service.find_representation_request(tx, subject_id)),
        ]
        latest = {
            step.name: replace(step, facts={"seen": iso_timestamp(made.at), **step.facts})
            for made in await evidence.list_evaluations(tx, subject_id)
            for step in made.steps
        }
        who = " ".join(name for name in (found.first_name, found.last_name) if name)
        return ReviewEvidence(
            title=f"Does {who or 'somebody forgotten'} speak for {found.nonprofit_name}?",
            facts=facts,
            steps=list(latest.values()),
            document_ids=await service.list_document_ids_of_verification(tx, subject_id),
            value_comparisons=await _compared(tx, found),
        )

    async def list_related_subjects(self, tx: Tx, subject_id: UUID) -> Sequence[RelatedSubject]:
        """Verifications with the same address or for the same nonprofit, and its request. Raises NotFound."""
        found = await service.get(tx, ALL_PARTNERS, subject_id)
        related = [
            RelatedSubject(ReviewSubject("agent_verification", id_, partner_id), relation)
            for id_, partner_id, relation in await service.list_related_verifications(tx, found, _MAX_RELATED)
            if id_ != subject_id
        ]
        if found.validation_request is not None:
            request = ReviewSubject("validation_request", found.validation_request.id, found.partner_id)
            related.append(RelatedSubject(request, "its nonprofit"))
        return related

    async def accept_subject(
        self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision, /
    ) -> object:
        """Approve the applicant. Raises NotFound, InvalidState."""
        return await service.approve(tx, scope, subject_id, decision)

    async def reject_subject(
        self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision, /
    ) -> object:
        """Reject the applicant for the decision's reason. Raises NotFound, InvalidState."""
        return await service.reject(tx, scope, subject_id, decision)


REVIEW_HANDLER: Final = AgentReviewHandler()
_MAX_RELATED: Final = 50


def _facts(found: AgentVerification) -> Iterator[Fact]:
    yield "status", found.status
    yield "first name", found.first_name
    yield "last name", found.last_name
    yield "title", found.title
    yield "email", found.email
    if not found.requires_email_confirmation:
        yield "email confirmed", "not asked for"
    else:
        yield "email confirmed", iso_timestamp(found.confirmed_at) if found.confirmed_at else "no"
    yield "website, as stated by the applicant", found.organisation_website
    yield "language", found.language


async def _nonprofit(tx: Tx, found: AgentVerification) -> list[Fact]:
    facts: list[Fact] = []
    if found.validation_request is not None:
        named = tx.ids.encode("validationrequest", found.validation_request.id)
        facts.append(("validation request", f"{named} {found.validation_request.name}"))
    if found.organisation is None:
        return [*facts, ("organisation", "none yet")]
    known = await organisations.get(tx, Partner(found.partner_id), found.organisation.id)
    return [
        *facts,
        ("organisation", f"{tx.ids.encode('organisation', known.id)} {known.name}"),
        ("register", f"{known.registry_name}, {known.registry_number}"),
        ("active", "yes" if known.active else f"no: {known.inactive_reason}"),
        ("address", known.address),
        ("websites", ", ".join(known.websites) or None),
        ("its own email", found.organisation.email),
    ]


async def _compared(tx: Tx, found: AgentVerification) -> list[ValueComparison]:
    """The applicant's details beside the known details of the nonprofit."""
    if found.organisation is None:
        return []
    known = await organisations.get(tx, Partner(found.partner_id), found.organisation.id)
    own = [found.organisation.email] if found.organisation.email else []
    return [
        ValueComparison("Email address", found.email, own),
        ValueComparison("Website", found.organisation_website, known.websites),
    ]


def _question_facts(asked: RepresentationRequest | None) -> Iterator[Fact]:
    if asked is not None:
        yield "asked the nonprofit", asked.email or "forgotten"
        yield "asked at", iso_timestamp(asked.requested_at)
        yield "the nonprofit's answer", asked.answer or "none yet"

"""Shows validation requests to reviewers and applies their decisions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from almoner.kit.evidence import Evaluation
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import FormerName, Organisation
from almoner.nonprofits.registries import service as registries
from almoner.nonprofits.registries.domain import Registry, normalise_stored_number, register_page_url
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.validation.decisions.reviews.domain import (
    Fact,
    RegisterCandidate,
    RelatedSubject,
    ReviewDecision,
    ReviewEvidence,
    ReviewSubject,
    SourceLink,
    ValueComparison,
)
from almoner.validation.requests import service
from almoner.validation.requests.domain import REJECTION_REASONS, ValidationRequest, candidates_from_evaluation


class RequestReviewHandler:
    """A ``reviews.ports.ReviewHandler``."""

    @property
    def rejection_reason_codes(self) -> Sequence[str]:
        """The codes with which a reviewer may reject one (settled 4)."""
        return REJECTION_REASONS

    async def lock_subject(self, tx: Tx, subject_id: UUID) -> ReviewSubject | None:
        """Lock the request until the transaction ends; None if it does not exist."""
        held = await service.find_for_update(tx, ALL_PARTNERS, subject_id)
        return service.review_subject_for(held) if held else None

    async def load_names_by_subject_id(self, tx: Tx, subject_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """The names of the nonprofits."""
        return await service.load_nonprofit_names_by_request_id(tx, subject_ids)

    async def load_evidence(self, tx: Tx, subject_id: UUID) -> ReviewEvidence:
        """Load the request, its last evaluation and its documents. Raises NotFound."""
        request = await service.get(tx, ALL_PARTNERS, subject_id)
        made = await service.find_latest_evaluation(tx, request)
        return ReviewEvidence(
            title=f"Is this {request.details.name}?",
            facts=[*_facts(request), *await _correction_facts(tx, request), *await _organisation_facts(tx, request)],
            steps=made.steps_marking_unverified_sources if made else [],
            document_ids=[document.id for document in request.documents],
            value_comparisons=await _compared(tx, request),
            links=await _links(tx, request),
            candidates=await _candidates(tx, request, made) if made else [],
        )

    async def list_related_subjects(self, tx: Tx, subject_id: UUID) -> Sequence[RelatedSubject]:
        """Other requests about the number, and applicants for the nonprofit. Raises NotFound."""
        request = await service.get(tx, ALL_PARTNERS, subject_id)
        return await service.list_related_subjects(tx, request)

    async def accept_subject(
        self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision, /
    ) -> object:
        """Accept it, as the organisation of its number or as a new one. Raises NotFound, InvalidState."""
        return await service.accept(tx, scope, subject_id, decision)

    async def reject_subject(
        self, tx: Tx, scope: Partner | AllPartners, subject_id: UUID, decision: ReviewDecision, /
    ) -> object:
        """Reject it for the decision's reason. Raises NotFound, InvalidState."""
        return await service.reject(tx, scope, subject_id, decision)


REVIEW_HANDLER: Final = RequestReviewHandler()


def _facts(request: ValidationRequest) -> Iterator[Fact]:
    asked = request.details
    yield "name", asked.name
    yield "registry", f"{asked.registry_name} ({asked.country_code})"
    yield "identifier", asked.registry_number
    yield "website", asked.website
    reported = (asked.address_line_1, asked.address_line_2, asked.city, asked.state, asked.postal)
    yield "address", ", ".join(line for line in reported if line) or None
    yield "email", asked.email
    if asked.usa_group_exempt is not None:
        yield "exempt by a group", "yes" if asked.usa_group_exempt else "no"


async def _correction_facts(tx: Tx, request: ValidationRequest) -> list[Fact]:
    """The values before each correction."""
    before = await service.list_replaced_registry_names_and_numbers(tx, request)
    return [("given before", f"{name} {number}") for name, number in before]


async def _organisation_facts(tx: Tx, request: ValidationRequest) -> list[Fact]:
    """The organisation that accepting it would assign."""
    registry = await registries.get(tx, request.registry_id)
    scope = Partner(request.partner_id)
    found = await organisations.find_by_number_key(tx, scope, request.registry_id, request.number_key)
    named = "A new one that only this partner sees"
    if found is not None:
        named = f"{tx.ids.encode('organisation', found.id)} {found.name}, {found.address or 'no address'}"
    return [("register", f"{registry.code}, {registry.english_name}"), ("organisation", named)]


async def _compared(tx: Tx, request: ValidationRequest) -> list[ValueComparison]:
    """The stated values beside the register's entry of the number."""
    listed = await organisations.find_record_by_number_even_if_merged(tx, request.registry_id, request.number_key)
    if listed is None:
        return [ValueComparison(label, value) for label, value in _stated(request)]
    return _beside(request, listed, await organisations.list_former_names(tx, listed.id))


def _stated(request: ValidationRequest) -> list[tuple[str, str | None]]:
    asked = request.details
    lines = (asked.address_line_1, asked.address_line_2, asked.city, asked.state, asked.postal)
    return [
        ("Name", asked.name),
        ("Number", asked.registry_number),
        ("Address", ", ".join(line for line in lines if line) or None),
        ("Website", asked.website),
    ]


def _beside(
    request: ValidationRequest, listed: Organisation, former_names: Sequence[FormerName]
) -> list[ValueComparison]:
    """The stated values beside those of a register entry."""
    names = [listed.name, *(f"{name} (other name)" for name in listed.registered_names[1:])]
    names += [f"{one.name} (former name)" for one in former_names]
    address = [listed.address] if listed.address else []
    found = (names, [listed.registry_number], address, list(listed.websites))
    return [ValueComparison(label, value, of) for (label, value), of in zip(_stated(request), found, strict=True)]


async def _links(tx: Tx, request: ValidationRequest) -> list[SourceLink]:
    """A link to the register's page of the entry."""
    return _register_link(await registries.get(tx, request.registry_id), request.details.registry_number)


def _register_link(registry: Registry, number: str) -> list[SourceLink]:
    page = register_page_url(registry.code, number)
    return [SourceLink(f"{registry.english_name}: {number}", page)] if page else []


async def _candidates(tx: Tx, request: ValidationRequest, evaluation: Evaluation) -> list[RegisterCandidate]:
    """The other entries that the evaluation names, as the register lists them now."""
    named = candidates_from_evaluation(evaluation)
    if not named:
        return []
    registry = await registries.get(tx, request.registry_id)
    keys = [normalise_stored_number(registry.code, one.registry_number) for one in named]
    found = await organisations.list_records_by_number_even_if_merged(tx, registry.id, [key for key in keys if key])
    by_number = {one.registry_number: one for one in found}
    return [
        RegisterCandidate(
            listed.id,
            one.name,
            one.registry_number,
            one.place,
            _beside(request, listed, ()),
            _register_link(registry, one.registry_number),
        )
        for one in named
        if (listed := by_number.get(one.registry_number)) is not None
    ]

"""Operations on validation requests.

Every change locks the row first. A decision sends the partner one event with the record as a GET then returns it
(settled 6).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

import msgspec

from almoner.kit.errors import NotFound
from almoner.kit.evidence import Evaluation
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import normalise_search_text
from almoner.nonprofits.registries import domain as registries_domain
from almoner.nonprofits.registries import service as registries
from almoner.nonprofits.registries.domain import IdentifierCheck, Registry
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.evidence import store as evidence
from almoner.platform.files.uploads.files import StoredFile
from almoner.platform.http.paging import Position, RequestedPage
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import JobKind
from almoner.screening.matching import service as matching
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import Document
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import (
    RelatedSubject,
    ReviewDecision,
    ReviewSubject,
    detect_name_script,
)
from almoner.validation.requests import domain, schemas, store, test_values
from almoner.validation.requests.domain import (
    InvalidRegistryId,
    NonprofitDetails,
    RegistryNotFound,
    RequestDecidedEvent,
    RequestFilters,
    Sort,
    ValidationRequest,
)
from almoner.validation.requests.schemas import ValidationRequestResponse
from almoner.validation.requests.store import load_nonprofit_names_by_request_id as load_nonprofit_names_by_request_id
from almoner.validation.requests.store import lock_request_exclusively as lock_request_exclusively

Scope = Partner | AllPartners


class EvaluateRequestJob(msgspec.Struct, frozen=True):
    """The request to evaluate, why, and the action of a test value."""

    request_id: UUID = msgspec.field(name="request")
    occasion: domain.Occasion
    sandbox_action: test_values.Action | None = msgspec.field(name="then", default=None)


EVALUATE: Final = JobKind("validation_requests.evaluate", EvaluateRequestJob)


class ReevaluatePendingRequestsJob(msgspec.Struct, frozen=True):
    """The registry whose requests are re-evaluated."""

    registry: UUID


REEVALUATE_PENDING: Final = JobKind("validation_requests.reconsider", ReevaluatePendingRequestsJob)
_BATCH_SIZE: Final = 1000


async def create(tx: Tx, partner: Partner, nonprofit_details: NonprofitDetails) -> ValidationRequest:
    """Create a request; it is evaluated after the commit. Raises RegistryNotFound, InvalidRegistryId."""
    registry, check = await _identify_registry(tx, nonprofit_details)
    assert check.number_key is not None, "a number that has no key is refused"
    created = domain.new_request(tx.new_id(), partner.id, nonprofit_details, registry.id, check.number_key, tx.now)
    await store.insert(tx, partner, created)
    then = test_values.find_sandbox_action(nonprofit_details.name) if tx.deployment.sandbox else None
    await EVALUATE.enqueue(tx, EvaluateRequestJob(created.id, "created", then), unique_key=str(created.id))
    return created


async def _identify_registry(tx: Tx, nonprofit_details: NonprofitDetails) -> tuple[Registry, IdentifierCheck]:
    """The named registry, and its check of the identifier.

    If the name fits several, the one that lists the number, else the first whose format it matches.
    """
    named = await registries.find_registries_by_text(
        tx, nonprofit_details.registry_name, nonprofit_details.country_code
    )
    if not named:
        raise RegistryNotFound(
            f"body.registryName '{nonprofit_details.registry_name[:100]}' is the id, code or name of no registry of "
            f"{nonprofit_details.country_code}, which has "
            f"{await registries.describe_known_registries(tx, nonprofit_details.country_code)}"
        )
    checked = [
        (registry, registries_domain.check_registry_number(registry.code, nonprofit_details.registry_number))
        for registry in named
    ]
    possible = [(registry, check) for registry, check in checked if check.number_key is not None]
    if len(possible) > 1:
        return await _choose_registry(tx, nonprofit_details.name, possible)
    if possible:
        return possible[0]
    raise InvalidRegistryId(*_describe_invalid_number(checked))


async def _choose_registry(
    tx: Tx, name: str, possible: Sequence[tuple[Registry, IdentifierCheck]]
) -> tuple[Registry, IdentifierCheck]:
    """Of several registries, the one that lists the number, under the most similar name; else the first."""
    best, chosen = -1.0, possible[0]
    for registry, check in possible:
        assert check.number_key is not None, "each of them may have given the number"
        if listed := await organisations.find_record_by_number_even_if_merged(tx, registry.id, check.number_key):
            score = matching.best_name_similarity([name], listed.registered_names).score
            if score > best:
                best, chosen = score, (registry, check)
    return chosen


def _describe_invalid_number(checked: Sequence[tuple[Registry, IdentifierCheck]]) -> Iterator[str]:
    """Why it is no number of any of these registries, which are named if there are several."""
    for registry, check in checked:
        place = f" in {registry.code}" if len(checked) > 1 else ""
        yield f"body.registryId is {check.verdict}{place}: {check.explanation}"
        yield from check.suggested_numbers


async def correct_registry_number(
    tx: Tx, scope: Scope, request_id: UUID, registry_name: str, number: str
) -> ValidationRequest:
    """Correct the number or register of an undecided request; the earlier values are kept.

    Raises NotFound, InvalidState, UnchangedCorrection, RegistryNotFound, InvalidRegistryId.
    """
    locked = await _lock(tx, scope, request_id)
    registry, check = await _identify_registry(
        tx, replace(locked.details, registry_name=registry_name, registry_number=number)
    )
    assert check.number_key is not None, "a number that has no key is refused"
    corrected = locked.with_correction(registry.id, registry_name, number, check.number_key, tx.now)
    await store.store_correction(tx, locked, corrected)
    await reviews.withdraw_review(
        tx, review_subject_for(locked)
    )  # an operator deciding now would rely on findings for the previous number
    # A unique key of its own: an evaluation that is due or running concerns the previous number.
    await EVALUATE.enqueue(
        tx, EvaluateRequestJob(locked.id, "corrected"), unique_key=f"{locked.id} {corrected.corrections}"
    )
    return corrected


async def list_replaced_registry_names_and_numbers(tx: Tx, request: ValidationRequest) -> list[tuple[str, str]]:
    """Register and number as given before each correction, oldest first."""
    return await store.list_replaced_registry_names_and_numbers(tx, request.id) if request.corrections else []


async def get(tx: Tx, scope: Scope, request_id: UUID) -> ValidationRequest:
    """One request. Raises NotFound."""
    if (found := await store.find(tx, scope, request_id)) is None:
        raise NotFound
    return (await _with_documents(tx, [found]))[0]


async def find_latest_evaluation(tx: Tx, request: ValidationRequest) -> Evaluation | None:
    """The last evaluation of a request; None before the first one and right after a correction."""
    return await evidence.find_latest_evaluation(tx, request.id, facts={"corrections": request.corrections})


async def load_requests_by_id(tx: Tx, partner: Partner, request_ids: Sequence[UUID]) -> dict[UUID, ValidationRequest]:
    """The existing ones of these requests, by ID."""
    found = await store.list_requests_with_ids(tx, partner, request_ids) if request_ids else []
    return {request.id: request for request in await _with_documents(tx, found)}


async def find_accepted_request_of_nonprofit(
    tx: Tx, partner: Partner, nonprofit_details: NonprofitDetails
) -> ValidationRequest | None:
    """The newest accepted request for the same nonprofit, by number and name; None if there is none.

    Another name may mean another nonprofit; a sandbox test value needs a decision of its own. Raises RegistryNotFound,
    InvalidRegistryId.
    """
    registry, check = await _identify_registry(tx, nonprofit_details)
    if check.number_key is None or (tx.deployment.sandbox and test_values.find_sandbox_action(nonprofit_details.name)):
        return None
    name = normalise_search_text(nonprofit_details.name)
    before = await store.list_accepted_requests(tx, partner, registry.id, check.number_key)
    return next((request for request in before if normalise_search_text(request.details.name) == name), None)


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: RequestFilters, sort: Sort
) -> tuple[list[ValidationRequest], int]:
    """One page and the exact total."""
    rows, total = await store.list_page(tx, partner, page_, filters, sort)
    return await _with_documents(tx, rows), total


async def _with_documents(tx: Tx, requests: Sequence[ValidationRequest]) -> list[ValidationRequest]:
    attached = await store.load_request_ids_by_document_id(tx, [request.id for request in requests]) if requests else {}
    if not attached:
        return list(requests)
    found: dict[UUID, list[Document]] = {}
    for document in await documents.list_documents_with_ids(tx, ALL_PARTNERS, list(attached)):
        found.setdefault(attached[document.id], []).append(document)
    return [replace(request, documents=tuple(found.get(request.id, ()))) for request in requests]


def cursor_position_of(request: ValidationRequest, sort: Sort) -> Position:
    """The position of a request in a sorted list."""
    return store.cursor_position_of(request, sort)


def review_subject_for(request: ValidationRequest) -> ReviewSubject:
    """The subject of the review."""
    asked = request.details
    return ReviewSubject(
        "validation_request", request.id, request.partner_id, asked.country_code, detect_name_script(asked.name)
    )


async def list_related_subjects(tx: Tx, request: ValidationRequest) -> list[RelatedSubject]:
    """Other requests about the same number, of all partners."""
    found = await store.list_requests_by_number(tx, request.registry_id, request.number_key, MAX_RELATED)
    return [
        RelatedSubject(ReviewSubject("validation_request", id_, partner_id), "same number")
        for id_, partner_id in found
        if id_ != request.id
    ]


async def attach_document(tx: Tx, partner: Partner, request_id: UUID, upload: StoredFile) -> ValidationRequest:
    """Attach a document as evidence; returns the request.

    Raises NotFound, and what ``documents.store_document`` raises if the request's quota is exceeded.
    """
    locked = await _lock(tx, partner, request_id)
    document = await documents.store_document(tx, partner, upload, locked.documents)
    await store.attach_document(tx, partner, locked.id, document.id)
    return replace(locked, documents=(*locked.documents, document))


async def attach_stored_documents(tx: Tx, partner: Partner, request_id: UUID, document_ids: Sequence[UUID]) -> None:
    """Attach the partner's stored documents as evidence."""
    for document_id in document_ids:
        await store.attach_document(tx, partner, request_id, document_id)


async def emit_document_rejected(tx: Tx, document_id: UUID) -> None:
    """Notify partners of a rejected document, for each request with it as evidence."""
    [document] = await documents.list_documents_with_ids(tx, ALL_PARTNERS, [document_id])
    for request_id in await store.list_request_ids_of_document(tx, document_id):
        record = schemas.document_response(tx, request_id, document)
        await outbox.emit_event(tx, document.partner_id, domain.DOCUMENT_REJECTED, record)


def serialise_for_api(tx: Tx, request: ValidationRequest) -> ValidationRequestResponse:
    """The request as an API record."""
    return schemas.request_response(tx, request)


async def accept(tx: Tx, scope: Scope, request_id: UUID, decision: ReviewDecision) -> ValidationRequest:
    """Accept a request; if the number's organisation is unknown, create one that only the partner sees.

    Raises NotFound, InvalidState.
    """
    locked = await _lock(tx, scope, request_id)
    locked.ensure_transition_allowed("accepted")
    found = await organisations.find_or_create_unlisted(
        tx, Partner(locked.partner_id), domain.unlisted_organisation_of(locked)
    )
    return await _store_decision(tx, locked.with_acceptance(found.id, found.types, tx.now), decision)


async def reject(tx: Tx, scope: Scope, request_id: UUID, decision: ReviewDecision) -> ValidationRequest:
    """Reject a request for the decision's reason. Raises NotFound, InvalidState."""
    locked = await _lock(tx, scope, request_id)
    return await _store_decision(
        tx, locked.with_rejection(domain.parse_rejection_reason(decision.reason_code), tx.now), decision
    )


async def reverse_rejection(tx: Tx, scope: Scope, request_id: UUID, decision: ReviewDecision) -> ValidationRequest:
    """Accept a rejected request after an appeal. Raises NotFound, InvalidState."""
    locked = await _lock(tx, scope, request_id)
    found = await organisations.find_or_create_unlisted(
        tx, Partner(locked.partner_id), domain.unlisted_organisation_of(locked)
    )
    return await _store_decision(tx, locked.with_rejection_reversed(found.id, found.types, tx.now), decision)


async def enqueue_evaluation_batch_and_get_last_id(tx: Tx, registry_id: UUID, after_request_id: UUID) -> UUID | None:
    """Enqueue evaluations of the next pending requests after an ID; returns the last one, None at the end."""
    found = await store.list_pending_request_ids(tx, registry_id, after_request_id, _BATCH_SIZE)
    await queue.enqueue_jobs(
        tx, [EVALUATE.build_job(EvaluateRequestJob(one, "register_loaded"), unique_key=str(one)) for one in found]
    )
    return found[-1] if len(found) == _BATCH_SIZE else None


async def find_for_update(tx: Tx, scope: Scope, request_id: UUID) -> ValidationRequest | None:
    """Lock one request until the transaction ends; None if it does not exist."""
    locked = await store.find_for_update(tx, scope, request_id)
    return (await _with_documents(tx, [locked]))[0] if locked else None


async def _lock(tx: Tx, scope: Scope, request_id: UUID) -> ValidationRequest:
    if (held := await find_for_update(tx, scope, request_id)) is None:
        raise NotFound
    return held


MAX_RELATED: Final = 50
"""The maximum number of related requests shown with a request."""
_EVENTS: Final = {"accepted": domain.APPROVED, "rejected": domain.REJECTED}


async def _store_decision(tx: Tx, decided: ValidationRequest, decision: ReviewDecision) -> ValidationRequest:
    """Store a decision on a locked request, and emit its events."""
    if not await store.store_decision(tx, decided):
        raise LookupError(f"validation request {decided.id} is not where its holder saw it")
    await reviews.record_decision(tx, review_subject_for(decided), decision)
    await outbox.emit_event(tx, decided.partner_id, _EVENTS[decided.status], serialise_for_api(tx, decided))
    reported = RequestDecidedEvent(decided.id, decided.partner_id, decided.status == "accepted")
    await outbox.emit_internal_event(tx, domain.DECIDED, reported, partner_id=decided.partner_id)
    return decided

"""What can be done with validation requests.

Whatever changes one holds its row first, and tells the partner once of its decision, with the record as its GET then
shows it (settled 6).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import searchable
from almoner.nonprofits.registries import domain as registries_domain
from almoner.nonprofits.registries import service as registries
from almoner.nonprofits.registries.domain import Check, Registry
from almoner.platform.database.transactions import EVERYONE, Everyone, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.files.uploads.files import Stored
from almoner.platform.http.paging import Page, Position
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import NewJob
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import Document
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import Decision, Subject
from almoner.validation.requests import domain, schemas, store, store_evidence, triggers
from almoner.validation.requests.domain import (
    Asked,
    Evaluation,
    Filters,
    InvalidRegistryId,
    RegistryNotFound,
    RequestDecided,
    Sort,
    ValidationRequest,
)
from almoner.validation.requests.schemas import ValidationRequestOut

Scope = Partner | Everyone

EVALUATE: Final = "validation_requests.evaluate"
RECONSIDER: Final = "validation_requests.reconsider"
_AT_ONCE: Final = 1000


async def create(tx: Tx, partner: Partner, asked: Asked) -> ValidationRequest:
    """A new request; it is evaluated right after the commit. Raises RegistryNotFound, InvalidRegistryId."""
    registry, check = await _identified(tx, asked)
    assert check.key is not None, "a number that has no key is refused"
    made = domain.received(tx.new_id(), partner.id, asked, registry.id, check.key, tx.now)
    await store.insert(tx, partner, made)
    then = triggers.action_of(asked.name) if tx.deployment.sandbox else None
    await queue.enqueue(
        tx, EVALUATE, {"request": str(made.id), "occasion": "created", "then": then}, unique=str(made.id)
    )
    return made


async def _identified(tx: Tx, asked: Asked) -> tuple[Registry, Check]:
    """The registry that is named, and its check of the identifier: of several the first that could have given it."""
    named = await registries.called(tx, asked.registry_name, asked.country_code)
    if not named:
        there_are = ", ".join(one.code for one in await registries.of_country(tx, asked.country_code)) or "none"
        raise RegistryNotFound(
            f"body.registryName '{asked.registry_name[:100]}' is the id, code or name of no registry of "
            f"{asked.country_code}, which has {there_are}"
        )
    checked = [(registry, registries_domain.check(registry.code, asked.registry_number)) for registry in named]
    for registry, check in checked:
        if check.key is not None:
            return registry, check
    check = checked[0][1]
    raise InvalidRegistryId(f"body.registryId is {check.verdict}: {check.reason}", *check.hints)


async def correct(tx: Tx, scope: Scope, request_id: UUID, registry_name: str, number: str) -> ValidationRequest:
    """Look another number or register up, while nobody has decided; what was given before is kept.

    Raises NotFound, InvalidState, NothingCorrected, RegistryNotFound, InvalidRegistryId.
    """
    held = await _hold(tx, scope, request_id)
    registry, check = await _identified(tx, replace(held.asked, registry_name=registry_name, registry_number=number))
    assert check.key is not None, "a number that has no key is refused"
    corrected = held.corrected(registry.id, registry_name, number, check.key, tx.now)
    await store.correct(tx, held, corrected)
    await reviews.withdraw(tx, subject_of(held))  # who decides now would decide on what was found of another number
    payload = {"request": str(held.id), "occasion": "corrected", "then": None}
    # Of its own: a look that is under way, or due, is at what was given before.
    await queue.enqueue(tx, EVALUATE, payload, unique=f"{held.id} {corrected.corrections}")
    return corrected


async def given_before(tx: Tx, request: ValidationRequest) -> list[tuple[str, str]]:
    """Register and number as they were given before each correction, oldest first."""
    return await store.corrected(tx, EVERYONE, request.id) if request.corrections else []


async def get(tx: Tx, scope: Scope, request_id: UUID) -> ValidationRequest:
    """One request. Raises NotFound."""
    if (found := await store.find(tx, scope, request_id)) is None:
        raise NotFound
    return (await _with_documents(tx, [found]))[0]


async def several(tx: Tx, partner: Partner, request_ids: Sequence[UUID]) -> dict[UUID, ValidationRequest]:
    """Those of these that there are, by id."""
    found = await store.several(tx, partner, request_ids) if request_ids else []
    return {request.id: request for request in await _with_documents(tx, found)}


async def accepted_before(tx: Tx, partner: Partner, asked: Asked) -> ValidationRequest | None:
    """The newest request that was accepted for the same nonprofit: of its number, and under the same name.

    Under another name somebody may mean another nonprofit. A test value of the sandbox asks for a decision of its own.
    Raises RegistryNotFound, InvalidRegistryId.
    """
    registry, check = await _identified(tx, asked)
    if check.key is None or (tx.deployment.sandbox and triggers.action_of(asked.name)):
        return None
    name = searchable(asked.name)
    before = await store.accepted_before(tx, partner, registry.id, check.key)
    return next((request for request in before if searchable(request.asked.name) == name), None)


async def page(
    tx: Tx, partner: Partner, page_: Page, filters: Filters, sort: Sort
) -> tuple[list[ValidationRequest], int]:
    """One page and the exact total."""
    rows, total = await store.page(tx, partner, page_, filters, sort)
    return await _with_documents(tx, rows), total


async def _with_documents(tx: Tx, requests: Sequence[ValidationRequest]) -> list[ValidationRequest]:
    attached = await store.documents_of(tx, EVERYONE, [request.id for request in requests]) if requests else {}
    if not attached:
        return list(requests)
    found: dict[UUID, list[Document]] = {}
    for document in await documents.of(tx, EVERYONE, list(attached)):
        found.setdefault(attached[document.id], []).append(document)
    return [replace(request, documents=tuple(found.get(request.id, ()))) for request in requests]


def position_of(request: ValidationRequest, sort: Sort) -> Position:
    """Where a request stands in a list that is sorted so."""
    return store.position_of(request, sort)


def subject_of(request: ValidationRequest) -> Subject:
    """What is reviewed."""
    return Subject("validation_request", request.id, request.partner_id)


async def attach(tx: Tx, partner: Partner, request_id: UUID, upload: Stored) -> ValidationRequest:
    """Add a document to the evidence; the request with it.

    Raises NotFound, and what ``documents.store`` raises where a request may have no more of them.
    """
    held = await _hold(tx, partner, request_id)
    document = await documents.store(tx, partner, upload, held.documents)
    await store.attach(tx, partner, held.id, document.id)
    return replace(held, documents=(*held.documents, document))


async def attach_stored(tx: Tx, partner: Partner, request_id: UUID, document_ids: Sequence[UUID]) -> None:
    """Add documents of the partner that are stored already to the evidence."""
    for document_id in document_ids:
        await store.attach(tx, partner, request_id, document_id)


def record(tx: Tx, request: ValidationRequest) -> ValidationRequestOut:
    """The request as partners see it."""
    return schemas.request_out(tx, request)


async def accept(tx: Tx, scope: Scope, request_id: UUID, decision: Decision) -> ValidationRequest:
    """Accept, as the organisation of the number: where there is none, as a new one that the partner alone sees.

    Raises NotFound, InvalidState.
    """
    held = await _hold(tx, scope, request_id)
    held.ensure("accepted")
    found = await organisations.register_own(tx, Partner(held.partner_id), domain.unlisted(held))
    return await _decided(tx, held.accepted(found.id, found.types, tx.now), decision)


async def reject(tx: Tx, scope: Scope, request_id: UUID, decision: Decision) -> ValidationRequest:
    """Reject, for the reason of the decision. Raises NotFound, InvalidState."""
    held = await _hold(tx, scope, request_id)
    return await _decided(tx, held.rejected(domain.rejection_reason(decision.reason_code), tx.now), decision)


async def reverse(tx: Tx, scope: Scope, request_id: UUID, decision: Decision) -> ValidationRequest:
    """Accept what was rejected, as an appeal has shown; told as every acceptance. Raises NotFound, InvalidState."""
    held = await _hold(tx, scope, request_id)
    found = await organisations.register_own(tx, Partner(held.partner_id), domain.unlisted(held))
    return await _decided(tx, held.reversed(found.id, found.types, tx.now), decision)


async def evaluations(tx: Tx, request_id: UUID) -> list[Evaluation]:
    """Every evaluation of a request with its evidence, oldest first."""
    return await store_evidence.of(tx, EVERYONE, request_id)


async def newest_evaluation(tx: Tx, request_id: UUID) -> Evaluation | None:
    """The last evaluation of a request as it is now; None before the first, and right after a correction."""
    return await store_evidence.newest(tx, EVERYONE, request_id)


async def reconsider(tx: Tx, registry_id: UUID, after: UUID) -> UUID | None:
    """Have pending requests of a registry evaluated anew, a batch after an id; the last one, None at the end."""
    found = await store.pending(tx, EVERYONE, registry_id, after, _AT_ONCE)
    payload = {"occasion": "register_loaded", "then": None}
    jobs = [NewJob(EVALUATE, {"request": str(one), **payload}, unique=str(one)) for one in found]
    await queue.enqueue_all(tx, jobs)
    return found[-1] if len(found) == _AT_ONCE else None


async def find_held(tx: Tx, scope: Scope, request_id: UUID) -> ValidationRequest | None:
    """One request, held until the transaction ends; None where there is none."""
    held = await store.lock(tx, scope, request_id)
    return (await _with_documents(tx, [held]))[0] if held else None


async def hold_alone(tx: Tx, request_id: UUID) -> None:
    """Until the transaction ends nothing comes to rest on the request; what does at this moment is waited for."""
    await store.lock_alone(tx, EVERYONE, request_id)


async def _hold(tx: Tx, scope: Scope, request_id: UUID) -> ValidationRequest:
    if (held := await find_held(tx, scope, request_id)) is None:
        raise NotFound
    return held


_TOLD: Final = {"accepted": domain.APPROVED, "rejected": domain.REJECTED}


async def _decided(tx: Tx, decided: ValidationRequest, decision: Decision) -> ValidationRequest:
    """Store a decision that was made under the lock, and tell it."""
    if not await store.decide(tx, decided):
        raise LookupError(f"validation request {decided.id} is not where its holder saw it")
    await reviews.conclude(tx, subject_of(decided), decision)
    await outbox.emit(tx, decided.partner_id, _TOLD[decided.status], record(tx, decided))
    told = RequestDecided(decided.id, decided.partner_id, decided.status == "accepted")
    await outbox.emit(tx, decided.partner_id, domain.DECIDED, told)
    return decided

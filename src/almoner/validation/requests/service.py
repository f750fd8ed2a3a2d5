"""What can be done with validation requests.

Whatever changes one holds its row first, and tells the partner once of its decision, with the record as its GET then
shows it (settled 6).
"""

from typing import Final
from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registries import domain as registries_domain
from almoner.nonprofits.registries import service as registries
from almoner.nonprofits.registries.domain import Check, Registry
from almoner.platform import outbox
from almoner.platform.db import Everyone, Partner, Tx
from almoner.platform.http.paging import Page, Position
from almoner.validation.requests import domain, schemas, store
from almoner.validation.requests.domain import (
    Asked,
    Filters,
    InvalidRegistryId,
    InvalidState,
    OrganisationNotFound,
    RegistryNotFound,
    RequestDecided,
    Sort,
    ValidationRequest,
)
from almoner.validation.requests.schemas import ValidationRequestOut
from almoner.validation.reviews import service as reviews
from almoner.validation.reviews.domain import Decision, Subject

Scope = Partner | Everyone


async def create(tx: Tx, partner: Partner, asked: Asked) -> ValidationRequest:
    """A new request; it is evaluated right after the commit. Raises RegistryNotFound, InvalidRegistryId."""
    registry, check = await _identified(tx, asked)
    assert check.key is not None, "a number that has no key is refused"
    made = domain.received(tx.new_id(), partner.id, asked, registry.id, check.key, tx.now)
    await store.insert(tx, partner, made)
    return made


async def _identified(tx: Tx, asked: Asked) -> tuple[Registry, Check]:
    """The registry that is named, and its check of the identifier: of several the first that could have given it."""
    named = await registries.called(tx, asked.registry_name, asked.country_code)
    if not named:
        raise RegistryNotFound(
            f"body.registryName '{asked.registry_name[:100]}' is the id, code or name of no registry of "
            f"{asked.country_code}"
        )
    checked = [(registry, registries_domain.check(registry.code, asked.registry_number)) for registry in named]
    for registry, check in checked:
        if check.key is not None:
            return registry, check
    check = checked[0][1]
    raise InvalidRegistryId(f"body.registryId is {check.verdict}: {check.reason}", *check.hints)


async def get(tx: Tx, scope: Scope, request_id: UUID) -> ValidationRequest:
    """One request. Raises NotFound."""
    if (found := await store.find(tx, scope, request_id)) is None:
        raise NotFound
    return found


async def page(
    tx: Tx, partner: Partner, page_: Page, filters: Filters, sort: Sort
) -> tuple[list[ValidationRequest], int]:
    """One page and the exact total."""
    return await store.page(tx, partner, page_, filters, sort)


def position_of(request: ValidationRequest, sort: Sort) -> Position:
    """Where a request stands in a list that is sorted so."""
    return store.position_of(request, sort)


def subject_of(request: ValidationRequest) -> Subject:
    """What is reviewed."""
    return Subject("validation_request", request.id, request.partner_id)


async def record(tx: Tx, request: ValidationRequest) -> ValidationRequestOut:
    """The request as partners see it."""
    return schemas.request_out(tx, request)


async def accept(
    tx: Tx,
    scope: Scope,
    request_id: UUID,
    decision: Decision,
    *,
    organisation_id: UUID | None = None,
    publish: bool = False,
) -> ValidationRequest:
    """Accept, as the organisation of the number, a new one where there is none, or as the one that is chosen.

    ``publish``: have everybody see it, where only the partner does. Raises NotFound, InvalidState,
    OrganisationNotFound.
    """
    held = await _hold(tx, scope, request_id)
    held.ensure("accepted")
    partner = Partner(held.partner_id)
    chosen = await _organisation(tx, partner, held, organisation_id)
    if publish and chosen.partner_id is not None and not await organisations.publish(tx, chosen.id):
        raise InvalidState("another organisation of this number is published: accept the request as that one")
    return await _decided(tx, held.accepted(chosen.id, chosen.types, tx.now), decision)


async def reject(tx: Tx, scope: Scope, request_id: UUID, decision: Decision) -> ValidationRequest:
    """Reject, for the reason of the decision. Raises NotFound, InvalidState."""
    held = await _hold(tx, scope, request_id)
    return await _decided(tx, held.rejected(domain.rejection_reason(decision.reason_code), tx.now), decision)


async def _organisation(
    tx: Tx, partner: Partner, request: ValidationRequest, organisation_id: UUID | None
) -> Organisation:
    if organisation_id is None:
        return await organisations.register_own(tx, partner, domain.unlisted(request))
    try:
        return await organisations.get(tx, partner, organisation_id)
    except NotFound:
        raise OrganisationNotFound(f"{organisation_id} is no organisation that the partner sees") from None


async def _hold(tx: Tx, scope: Scope, request_id: UUID) -> ValidationRequest:
    if (held := await store.lock(tx, scope, request_id)) is None:
        raise NotFound
    return held


_TOLD: Final = {"accepted": domain.APPROVED, "rejected": domain.REJECTED}


async def _decided(tx: Tx, decided: ValidationRequest, decision: Decision) -> ValidationRequest:
    """Store a decision that was made under the lock, and tell it."""
    if not await store.decide(tx, decided):
        raise LookupError(f"validation request {decided.id} is not where its holder saw it")
    await reviews.conclude(tx, subject_of(decided), decision)
    await outbox.emit(tx, decided.partner_id, _TOLD[decided.status], await record(tx, decided))
    told = RequestDecided(decided.id, decided.partner_id, decided.status == "accepted")
    await outbox.emit(tx, decided.partner_id, domain.DECIDED, told)
    return decided

"""Evaluating a request: what the registers say now, the ladder, its evidence, and what follows.

A request is accepted here, or asked of a person; it is never rejected by itself (settled 5).
"""

from typing import Final
from uuid import UUID

from almoner.nonprofits.legal_status import service as standing
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registries import domain as registries_domain
from almoner.nonprofits.registries import service as registries
from almoner.platform.database.transactions import EVERYONE, Partner, Tx
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import Decision
from almoner.validation.requests import rules, service, store, store_evidence
from almoner.validation.requests.domain import Evaluation, Occasion, ValidationRequest
from almoner.validation.requests.rules import Climbed, Rules, Seen
from almoner.validation.requests.triggers import Action

_SANDBOX: Final = "A test value in name asked for it."


async def evaluate(
    tx: Tx, threshold: float, request_id: UUID, occasion: Occasion, then: Action | None = None
) -> Evaluation | None:
    """Climb the ladder for a pending request, keep what it saw, and accept it or ask a person.

    ``threshold``: how well names have to agree, 0 to 1. ``then``: what a test value of the sandbox asks for in place of
    that. None when the request was decided, so that a second run does nothing.
    """
    held = await store.lock(tx, EVERYONE, request_id)
    if held is None or held.status != "pending":
        return None
    seen = await _look(tx, held)
    climbed = rules.climb(seen, Rules(threshold, tx.deployment.max_age))
    made = await _keep(tx, held, climbed, seen.listed, occasion, threshold)
    if then is not None:
        await _do(tx, held, then)
    elif climbed.outcome.verdict == "accept":
        agree = "name and address together agree" if made.of_addresses else "the name agrees"
        note = f"The register lists the identifier as active, and {agree} ({made.agreement:.2f})."
        await service.accept(tx, EVERYONE, held.id, Decision("accepted", None, "rules", note))
    else:
        if occasion == "corrected":  # what was asked of the number before is asked of nobody any more
            await reviews.withdraw(tx, service.subject_of(held))
        await reviews.ask(tx, service.subject_of(held), climbed.outcome.reasons)
    return made


async def _look(tx: Tx, request: ValidationRequest) -> Seen:
    """What is known of the number now."""
    registry = await registries.get(tx, request.registry_id)
    listed = await organisations.find_listed(tx, registry.id, request.number_key)
    main = await organisations.get(tx, EVERYONE, listed.branch_of) if listed and listed.branch_of else None
    return Seen(
        asked=request.asked,
        registry=registry,
        check=registries_domain.check(registry.code, request.asked.registry_number),
        heard=await standing.of_number(tx, registry.id, request.number_key),
        listed=listed,
        main=main,
        namesakes=await organisations.namesakes(tx, listed) if listed else 0,
        now=tx.now,
        parts=tuple(await registries.parts(tx, registry.id)),
    )


async def _keep(
    tx: Tx,
    request: ValidationRequest,
    climbed: Climbed,
    listed: Organisation | None,
    occasion: Occasion,
    threshold: float,
) -> Evaluation:
    led_to = await organisations.find_by_key(tx, Partner(request.partner_id), request.registry_id, request.number_key)
    made = Evaluation(
        id=tx.new_id(),
        occasion=occasion,
        outcome=climbed.outcome,
        steps=climbed.steps,
        agreement=climbed.agreement,
        threshold=threshold,
        organisation_id=led_to.id if led_to else listed.id if listed else None,
        evaluated_at=tx.now,
    )
    await store_evidence.insert(tx, request.id, made)
    return made


async def _do(tx: Tx, request: ValidationRequest, action: Action) -> None:
    if action == "accept":
        await service.accept(tx, EVERYONE, request.id, Decision("accepted", None, "sandbox", _SANDBOX))
    else:
        await service.reject(tx, EVERYONE, request.id, Decision("rejected", action, "sandbox", _SANDBOX))

"""Evaluates requests by the registers' current data, and acts on the outcome.

A request is accepted or sent to review; it is never rejected automatically (settled 5).
"""

from dataclasses import replace
from typing import Final
from uuid import UUID

from almoner.kit.evidence import Evaluation
from almoner.nonprofits.legal_status import service as legal_status
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registries import domain as registries_domain
from almoner.nonprofits.registries import service as registries
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.evidence import store as evidence
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewDecision
from almoner.validation.requests import rules, service, store
from almoner.validation.requests.domain import (
    NonprofitDetails,
    Occasion,
    ValidationRequest,
    match_score_includes_postal_address,
)
from almoner.validation.requests.rules import AcceptanceThresholds, RequestFacts, RulesResult
from almoner.validation.requests.test_values import Action

_SANDBOX_NOTE: Final = "A test value in name asked for it."


async def evaluate_request(
    tx: Tx, min_name_score: float, request_id: UUID, occasion: Occasion, sandbox_action: Action | None = None
) -> Evaluation | None:
    """Evaluate a pending request, store the evidence, and accept it or ask a reviewer.

    ``min_name_score``: the required name agreement, 0 to 1. ``sandbox_action``: the action of a sandbox test value
    instead. None if the request was already decided, so that a second run does nothing.
    """
    locked = await store.find_for_update(tx, ALL_PARTNERS, request_id)
    if locked is None or locked.status != "pending":
        return None
    seen = await load_request_facts(tx, locked.details, locked.registry_id, locked.number_key)
    climbed = rules.evaluate_rules(seen, AcceptanceThresholds(min_name_score, tx.deployment.max_data_age))
    made = await _store_evaluation(tx, locked, climbed, seen.listed, occasion, min_name_score)
    if sandbox_action is not None:
        await _apply_sandbox_action(tx, locked, sandbox_action)
    elif climbed.outcome.verdict == "accept":
        agree = "name and address together agree" if match_score_includes_postal_address(made) else "the name agrees"
        note = f"The register lists the identifier as active, and {agree} ({climbed.name_agreement:.2f})."
        await service.accept(tx, ALL_PARTNERS, locked.id, ReviewDecision("accepted", None, "rules", note))
    elif occasion == "corrected":  # the review of the previous number is obsolete
        await reviews.replace_review(tx, service.review_subject_for(locked), climbed.outcome.reasons)
    else:
        await reviews.request_review(tx, service.review_subject_for(locked), climbed.outcome.reasons)
    return made


async def load_request_facts(
    tx: Tx, nonprofit_details: NonprofitDetails, registry_id: UUID, number_key: str
) -> RequestFacts:
    """Load the registers' current facts about the number."""
    registry = await registries.get(tx, registry_id)
    listed = await organisations.find_record_by_number_even_if_merged(tx, registry.id, number_key)
    main = await organisations.get(tx, ALL_PARTNERS, listed.branch_of) if listed and listed.branch_of else None
    seen = RequestFacts(
        asked=nonprofit_details,
        registry=registry,
        check=registries_domain.check_registry_number(registry.code, nonprofit_details.registry_number),
        legal_status=await legal_status.load_status_of_registry_number(tx, registry.id, number_key),
        listed=listed,
        main=main,
        namesakes=0,
        now=tx.now,
        parts=tuple(await registries.list_imported_parts(tx, registry.id)),
        number_key=number_key,
    )
    return seen if listed is None else await _with_namesakes(tx, seen, listed)


async def _with_namesakes(tx: Tx, facts: RequestFacts, listed: Organisation) -> RequestFacts:
    asked = facts.asked
    place = " ".join(part for part in (asked.city, asked.state, asked.postal) if part)
    others = await organisations.list_namesakes(tx, listed, asked.name, place, facts.number_key)
    return replace(
        facts,
        namesakes=await organisations.count_namesakes(tx, listed),
        others=tuple(others),
        former_names=tuple(await organisations.list_former_names(tx, listed.id)),
    )


async def _store_evaluation(
    tx: Tx,
    request: ValidationRequest,
    climbed: RulesResult,
    listed: Organisation | None,
    occasion: Occasion,
    threshold: float,
) -> Evaluation:
    led_to = await organisations.find_by_number_key(
        tx, Partner(request.partner_id), request.registry_id, request.number_key
    )
    found = led_to or listed
    return await evidence.record_evaluation(
        tx,
        Partner(request.partner_id),
        "validation_request",
        request.id,
        climbed.steps,
        occasion=occasion,
        outcome=climbed.outcome.verdict,
        reasons=climbed.outcome.reasons,
        facts={
            "agreement": climbed.name_agreement,
            "threshold": threshold,
            "organisationId": found.id if found else None,
            "corrections": request.corrections,
        },
    )


async def _apply_sandbox_action(tx: Tx, request: ValidationRequest, action: Action) -> None:
    if action == "accept":
        await service.accept(tx, ALL_PARTNERS, request.id, ReviewDecision("accepted", None, "sandbox", _SANDBOX_NOTE))
    else:
        await service.reject(tx, ALL_PARTNERS, request.id, ReviewDecision("rejected", action, "sandbox", _SANDBOX_NOTE))

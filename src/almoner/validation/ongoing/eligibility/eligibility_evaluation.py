"""Evaluates a subscription: loads current data, decides, stores the evidence and emits changes."""

from typing import Final
from uuid import UUID

from almoner.kit.evidence import EvaluationStep
from almoner.nonprofits.activities import service as activities
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import normalise_search_text
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.evidence import store as evidence
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.ongoing.eligibility import domain, schemas, store
from almoner.validation.ongoing.eligibility.domain import (
    ALL_ACTIVITIES,
    ENDED,
    EVALUATED_STATUSES,
    UPDATED,
    AllowedActivities,
    EligibilityResults,
    EligibilitySubscription,
    EligibilitySubscriptionEndedEvent,
    Occasion,
    OrganisationActivities,
)
from almoner.validation.requests import service as validation_requests

_FIRST: Final = frozenset({"pending", "pending_validation_request"})


async def evaluate_subscription(tx: Tx, subscription_id: UUID, occasion: Occasion) -> EligibilitySubscription | None:
    """Apply its validation request's decision, then evaluate, and notify the partner of changes.

    None if there is nothing to decide: it waits, has ended, or (``occasion`` created) was decided already, so that a
    second run does nothing.
    """
    locked = await store.find_for_update(tx, ALL_PARTNERS, subscription_id)
    if locked is None or (occasion == "created" and locked.status not in _FIRST):
        return None
    if locked.status == "pending_validation_request":
        locked = await _apply_request_decision(tx, locked)
    if locked.status not in EVALUATED_STATUSES:
        return None
    known = await load_organisation_activities(tx, locked)
    allowed = await load_allowed_activities(tx, locked)
    if await _is_simulated(tx, locked, known, allowed):
        return None
    results, steps = domain.evaluate_activities(known, locked.suggested_sub_tags, allowed, locked.simulated_status)
    return await record_evaluation(tx, locked, known, allowed, results, steps, occasion)


async def _apply_request_decision(tx: Tx, subscription: EligibilitySubscription) -> EligibilitySubscription:
    """Set the organisation of its accepted request, or fail with its rejected one (settled 5)."""
    assert subscription.validation_request_id is not None, "it waits for one"
    request = await validation_requests.get(tx, Partner(subscription.partner_id), subscription.validation_request_id)
    if request.status == "rejected":
        failed = subscription.with_validation_request_rejected(tx.now)
        await end_subscription(tx, failed)
        return failed  # the results are unchanged, so no partner is notified (settled 5)
    if request.organisation_id is None:
        return subscription
    organisation = await organisations.get(tx, Partner(subscription.partner_id), request.organisation_id)
    adopted = subscription.with_organisation(organisation.id, organisation.name, tx.now)
    await store_transition(tx, adopted)
    return adopted


async def _is_simulated(
    tx: Tx, subscription: EligibilitySubscription, known_activities: OrganisationActivities, allowed: AllowedActivities
) -> bool:
    """Whether the last evaluation was simulated in the sandbox on the same data; it stays until the data change."""
    based_on = domain.build_evaluation_facts(known_activities, allowed)
    last = await evidence.find_latest_evaluation(tx, subscription.id)
    return last is not None and last.occasion == "simulated" and last.facts.items() >= based_on.items()


async def load_allowed_activities(tx: Tx, subscription: EligibilitySubscription) -> AllowedActivities:
    """The activities allowed by its configuration, else by its partner's default (``allowedActivitySubTags``)."""
    found = await configurations.find_configuration_or_default(
        tx, Partner(subscription.partner_id), subscription.configuration_id
    )
    if found is None or found.allowed_activity_sub_tags is None:
        return ALL_ACTIVITIES
    return AllowedActivities(frozenset(found.allowed_activity_sub_tags))


async def load_organisation_activities(tx: Tx, subscription: EligibilitySubscription) -> OrganisationActivities:
    """The current known activities of a subscription's organisation."""
    assert subscription.organisation_id is not None, "whatever follows has an organisation"
    organisation = await organisations.get(tx, Partner(subscription.partner_id), subscription.organisation_id)
    words = activities.matching_name_rules_by_sub_tag(organisation.registry_code, organisation.name)
    return OrganisationActivities(organisation.id, organisation.activities or {}, words)


async def record_evaluation(
    tx: Tx,
    subscription: EligibilitySubscription,
    organisation_activities: OrganisationActivities,
    allowed_activities: AllowedActivities,
    results: EligibilityResults,
    steps: tuple[EvaluationStep, ...],
    occasion: Occasion,
) -> EligibilitySubscription:
    """Store an evaluation of a locked subscription; notify the partner if its results changed (settled 5)."""
    differs = subscription.status != results.subscription_status or not subscription.results.is_same_as(results)
    facts = domain.build_evaluation_facts(organisation_activities, allowed_activities)
    last = await evidence.find_latest_evaluation(tx, subscription.id)
    same = last is not None and (last.steps, last.outcome) == (steps, results.status)
    if differs or last is None or not (same and last.facts.items() >= facts.items()):
        await evidence.record_evaluation(
            tx,
            Partner(subscription.partner_id),
            "eligibility_subscription",
            subscription.id,
            steps,
            occasion=occasion,
            outcome=results.status,
            facts={**facts, "resultsChanged": differs},
        )
    if not differs:
        if subscription.search_name != normalise_search_text(subscription.name):
            await store.set_search_name(tx, subscription)
        return subscription
    moved = subscription.with_results(results, tx.now)
    await store_transition(tx, moved, allow_same_status=True)
    await emit_updated_event(tx, moved)
    return moved


async def store_transition(tx: Tx, subscription: EligibilitySubscription, *, allow_same_status: bool = False) -> None:
    """Store a new state of a locked subscription."""
    if not await store.update_status(tx, subscription, allow_same_status=allow_same_status):
        raise LookupError(f"subscription {subscription.id} is not where its holder saw it")


async def end_subscription(tx: Tx, subscription: EligibilitySubscription) -> None:
    """Store the end of a locked subscription, and emit an event about it."""
    await store_transition(tx, subscription)
    await outbox.emit_internal_event(
        tx, ENDED, EligibilitySubscriptionEndedEvent(subscription.id), partner_id=subscription.partner_id
    )


async def emit_updated_event(tx: Tx, subscription: EligibilitySubscription) -> None:
    """Emit the event with the record as a GET now returns it (settled 6)."""
    await outbox.emit_event(tx, subscription.partner_id, UPDATED, schemas.subscription_response(tx, subscription))

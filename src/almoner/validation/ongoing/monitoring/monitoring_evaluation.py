"""Evaluates a subscription: applies its request's decision, collects evidence, and emits changed results."""

from dataclasses import replace
from uuid import UUID

from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import normalise_search_text
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.screening.screenings.service import Screener
from almoner.validation.ongoing.monitoring import domain, monitoring_evidence, service, store
from almoner.validation.ongoing.monitoring.domain import NO_EVIDENCE, MonitoringSubscription, Occasion
from almoner.validation.requests import service as validation_requests


async def evaluate_subscription(tx: Tx, screener: Screener, subscription_id: UUID, occasion: Occasion) -> None:
    """Evaluate one subscription and store the result; repeating it changes nothing."""
    locked = await store.find_for_update(tx, ALL_PARTNERS, subscription_id)
    if locked is None or locked.status in ("cancelled", "validation_request_failed"):
        return
    now = await _apply_request_decision(tx, locked) if locked.status == "pending_validation_request" else locked
    if now.is_organisation_monitored and now.organisation_id is not None:
        organisation = await organisations.get(tx, Partner(now.partner_id), now.organisation_id)
        seen = await monitoring_evidence.screen_and_collect_evidence(tx, screener, organisation, now)
        flags = await monitoring_evidence.load_compliance_flags(tx, now)
        looked = now.with_evidence(seen, normalise_search_text(organisation.name), tx.now, flags)
        if looked.results.compliance_status is None:
            await monitoring_evidence.request_manual_screening(tx, organisation, looked, flags)
        await service.store_transition_and_emit_updated(
            tx, now, replace(looked, name=organisation.name), occasion, seen.matches, flags
        )
    elif now.simulated_results is not None and now.status == "pending_validation_request":
        flags = await monitoring_evidence.load_compliance_flags(tx, now)
        reported = replace(now, results=domain.results_from_evidence(NO_EVIDENCE, now.simulated_results, flags))
        await service.store_transition_and_emit_updated(tx, now, reported, occasion, (), flags)


async def _apply_request_decision(tx: Tx, subscription: MonitoringSubscription) -> MonitoringSubscription:
    """Apply the decision of the request that it waits for."""
    assert subscription.validation_request_id is not None, "it waits for one"
    partner = Partner(subscription.partner_id)
    request = await validation_requests.get(tx, partner, subscription.validation_request_id)
    if request.status == "accepted" and request.organisation_id is not None:
        organisation = await organisations.get(tx, partner, request.organisation_id)
        moved = subscription.with_organisation(organisation.id, normalise_search_text(organisation.name))
    elif request.status == "rejected":
        moved = subscription.with_validation_request_rejected()
    else:
        return subscription
    await service.store_transition(tx, subscription, moved)
    return moved

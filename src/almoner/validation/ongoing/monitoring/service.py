"""Operations on monitoring subscriptions.

Every change locks the row first. The partner is notified only when the results change, with the record as a GET then
returns it (settled 5 and 6).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

import msgspec

from almoner.kit.errors import NotFound
from almoner.kit.evidence import Evaluation
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation, normalise_search_text
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.evidence import store as evidence
from almoner.platform.http.paging import Position, RequestedPage
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import JobKind
from almoner.screening.watchlists import service as watchlists
from almoner.screening.watchlists.domain import Category
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.ongoing.matches import service as matches
from almoner.validation.ongoing.monitoring import domain, monitoring_evidence, schemas, store, test_values
from almoner.validation.ongoing.monitoring.domain import (
    NO_EVIDENCE,
    EntityNotFound,
    InvalidState,
    MonitoringFilters,
    MonitoringMatch,
    MonitoringResults,
    MonitoringSubscription,
    Occasion,
    OrganisationNotActive,
    Sort,
)
from almoner.validation.ongoing.monitoring.schemas import MonitoringResultsResponse as MonitoringResultsResponse
from almoner.validation.ongoing.monitoring.schemas import MonitoringSubscriptionResponse
from almoner.validation.requests import service as validation_requests
from almoner.validation.requests.domain import ValidationRequest

Scope = Partner | AllPartners


class EvaluateSubscriptionJob(msgspec.Struct, frozen=True):
    """The subscription to evaluate, and why."""

    subscription: UUID
    occasion: Occasion


EVALUATE: Final = JobKind("monitoring_subscriptions.evaluate", EvaluateSubscriptionJob)


class ReevaluateSubscriptionsJob(msgspec.Struct, frozen=True):
    """The subscriptions of a configuration; ``after``: the last ID of the previous batch."""

    partner: UUID
    configuration: UUID
    after: UUID | None


REEVALUATE: Final = JobKind("monitoring_subscriptions.reconfigure", ReevaluateSubscriptionsJob)
_BATCH_SIZE: Final = 1000


async def create(
    tx: Tx,
    partner: Partner,
    organisation_id: str | None,
    validation_request_id: str | None,
    configuration_id: UUID | None = None,
) -> MonitoringSubscription:
    """Create a subscription to an organisation or request, by text ID; it is evaluated after the commit.

    ``configuration_id``: the configuration that applies; None for the partner's current default. Raises EntityNotFound,
    OrganisationNotActive.
    """
    organisation_text, organisation_results = _split_test_suffix(tx, organisation_id)
    request_text, request_results = _split_test_suffix(tx, validation_request_id)
    organisation = request = None
    if organisation_text is not None:
        organisation = await _get_organisation(tx, partner, organisation_text)
    else:
        request = await _get_request(tx, partner, request_text or "")
    about = organisation or await _accepted_as(tx, partner, request)
    if about is not None and not about.active:
        raise OrganisationNotActive(f"{about.effective_display_name} is not active: {about.inactive_reason}")
    name = organisation.name if organisation else request.details.name if request else ""
    created = domain.new_subscription(
        tx.new_id(),
        partner.id,
        tx.now,
        normalise_search_text(name),
        organisation_id=organisation.id if organisation else None,
        validation_request_id=request.id if request else None,
        configuration_id=configuration_id,
        simulated_results=organisation_results or request_results,
    )
    await store.insert(tx, partner, created)
    await enqueue_evaluations(tx, [created.id], "created")
    return replace(created, name=organisation.name if organisation else None)


def _split_test_suffix(tx: Tx, text: str | None) -> tuple[str | None, MonitoringResults | None]:
    return (
        test_values.split_id_and_simulated_results(text) if text is not None and tx.deployment.sandbox else (text, None)
    )


def strip_test_value(tx: Tx, id_text: str) -> str:
    """The ID of an organisation or validation request without a sandbox test value."""
    return _split_test_suffix(tx, id_text)[0] or ""


async def _get_organisation(tx: Tx, partner: Partner, text: str) -> Organisation:
    named = tx.ids.decode("organisation", text)
    try:
        found = await organisations.get(tx, partner, named) if named else None
    except NotFound:
        found = None
    if found is None:
        raise EntityNotFound(f"body.organisationId '{text[:100]}' names no organisation")
    return found


async def _get_request(tx: Tx, partner: Partner, text: str) -> ValidationRequest:
    named = tx.ids.decode("validationrequest", text)
    try:
        found = await validation_requests.get(tx, partner, named) if named else None
    except NotFound:
        found = None
    if found is None:
        raise EntityNotFound(f"body.validationRequestId '{text[:100]}' names no validation request")
    return found


async def _accepted_as(tx: Tx, partner: Partner, request: ValidationRequest | None) -> Organisation | None:
    if request is None or request.organisation_id is None:
        return None
    return await organisations.get(tx, partner, request.organisation_id)


async def get(tx: Tx, scope: Scope, subscription_id: UUID) -> MonitoringSubscription:
    """One subscription. Raises NotFound."""
    if (found := await store.find(tx, scope, subscription_id)) is None:
        raise NotFound
    return (await _with_newer_list_versions(tx, [found]))[0]


async def load_subscriptions_by_id(
    tx: Tx, partner: Partner, subscription_ids: Sequence[UUID]
) -> dict[UUID, MonitoringSubscription]:
    """The existing ones of these subscriptions, by ID."""
    found = await store.list_subscriptions_with_ids(tx, partner, subscription_ids) if subscription_ids else []
    return {subscription.id: subscription for subscription in await _with_newer_list_versions(tx, found)}


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: MonitoringFilters, sort: Sort
) -> tuple[list[MonitoringSubscription], int]:
    """One page and the exact total."""
    rows, total = await store.list_page(tx, partner, page_, filters, sort)
    return await _with_newer_list_versions(tx, rows), total


async def _with_newer_list_versions(tx: Tx, found: Sequence[MonitoringSubscription]) -> list[MonitoringSubscription]:
    """With the list versions that live ones were compared with: an update that affects none of them writes no row."""
    if not any(one.status == "live" and one.sources for one in found):
        return list(found)
    since = await store.list_screened_watchlist_versions(tx)
    return [monitoring_evidence.with_newer_watchlist_versions(one, since) for one in found]


def cursor_position_of(subscription: MonitoringSubscription, sort: Sort) -> Position:
    """The position of a subscription in a sorted list."""
    return store.cursor_position_of(subscription, sort)


def serialise_for_api(tx: Tx, subscription: MonitoringSubscription) -> MonitoringSubscriptionResponse:
    """The subscription as an API record."""
    return schemas.subscription_response(tx, subscription)


async def list_evaluation_history(
    tx: Tx, scope: Scope, subscription_id: UUID, page_: RequestedPage
) -> tuple[list[Evaluation], int]:
    """One page of the result changes with their evidence, and the total. Raises NotFound."""
    if await store.find(tx, scope, subscription_id) is None:
        raise NotFound
    return await evidence.list_evaluation_page(tx, subscription_id, page_)


async def cancel(tx: Tx, partner: Partner, subscription_id: UUID) -> MonitoringSubscription:
    """Cancel a subscription and keep its results. Raises NotFound, AlreadyCancelled."""
    locked = await get_for_update(tx, partner, subscription_id)
    cancelled = (await _with_newer_list_versions(tx, [locked]))[0].with_cancellation(tx.now)
    await store_transition(tx, locked, cancelled)
    if locked.organisation_id is not None and locked.is_organisation_monitored:
        await _unwatch(tx, locked, locked.organisation_id)
    return cancelled


async def resume_after_appeal(tx: Tx, subscription_id: UUID) -> None:
    """Resume a subscription that failed with its validation request, after an appeal reversed that. Raises NotFound."""
    locked = await get_for_update(tx, ALL_PARTNERS, subscription_id)
    if locked.status == "validation_request_failed":
        await store_transition(tx, locked, locked.with_validation_request_resumed())
        await enqueue_evaluations(tx, [locked.id], "request_decided")


async def _unwatch(tx: Tx, subscription: MonitoringSubscription, organisation_id: UUID) -> None:
    """Stop rescreening the organisation, unless another subscription watches it.

    Its records are locked before the check, so that a concurrent new subscription is either seen or waits.
    """
    organisation = await organisations.get(tx, Partner(subscription.partner_id), organisation_id)
    records = await monitoring_evidence.list_screening_subjects_of_organisation(tx, organisation, subscription)
    for who in records:
        await matches.lock_screened_subject(tx, who)
    if not await store.list_subscription_ids_by_organisations(tx, [organisation.id]):
        for who in records:
            await matches.stop_monitoring_subject(tx, who)


async def simulate_results(
    tx: Tx, scope: Scope, subscription_id: UUID, results: MonitoringResults
) -> MonitoringSubscription:
    """Set simulated results in the sandbox. Raises NotFound, InvalidState."""
    locked = await get_for_update(tx, scope, subscription_id)
    if not locked.is_organisation_monitored or locked.organisation_id is None:
        raise InvalidState(f"the monitoring subscription is {locked.status}: it has no results")
    organisation = await organisations.get(tx, Partner(locked.partner_id), locked.organisation_id)
    flags = await monitoring_evidence.load_compliance_flags(tx, locked)
    now = (await _with_newer_list_versions(tx, [locked]))[0]
    known = (
        await monitoring_evidence.load_current_evidence(tx, organisation, now) if now.status == "live" else NO_EVIDENCE
    )
    return await store_transition_and_emit_updated(
        tx, locked, now.with_simulated_results(results, known, flags), "chosen", known.matches, flags
    )


async def load_subscribed_partner_ids_by_organisation(
    tx: Tx, organisation_ids: Sequence[UUID]
) -> Mapping[UUID, set[UUID]]:
    """The partners that monitor each of these organisations, which are notified of its changes (settled 6)."""
    return await store.load_subscribed_partner_ids_by_organisation(tx, organisation_ids)


async def enqueue_evaluations(tx: Tx, subscription_ids: Sequence[UUID], occasion: Occasion) -> None:
    """Enqueue evaluations of subscriptions after the commit, each once."""
    await queue.enqueue_jobs(
        tx,
        [
            EVALUATE.build_job(EvaluateSubscriptionJob(one, occasion), unique_key=f"{occasion} {one}")
            for one in subscription_ids
        ],
    )


async def evaluate_after_request_decisions(tx: Tx, request_ids: Sequence[UUID]) -> None:
    """Evaluate the subscriptions that wait for these validation requests."""
    await enqueue_evaluations(
        tx, await store.list_subscription_ids_waiting_for_requests(tx, request_ids), "request_decided"
    )


async def evaluate_after_organisation_changes(tx: Tx, organisation_ids: Sequence[UUID], occasion: Occasion) -> None:
    """Evaluate the subscriptions to changed organisations.

    Until then their records show no newer list version, since they were not compared with it.
    """
    watching = await store.list_subscription_ids_by_organisations(tx, organisation_ids)
    await store.mark_due_for_evaluation(tx, watching)
    await enqueue_evaluations(tx, watching, occasion)


async def evaluate_after_configuration_change(tx: Tx, partner: Partner, configuration_id: UUID) -> None:
    """Evaluate the subscriptions of a changed configuration, in batches."""
    await REEVALUATE.enqueue(
        tx, ReevaluateSubscriptionsJob(partner.id, configuration_id, None), unique_key=str(configuration_id)
    )


async def enqueue_evaluation_batch_and_get_last_id(
    tx: Tx, partner: Partner, configuration_id: UUID, after_subscription_id: UUID | None, batch_size: int = _BATCH_SIZE
) -> UUID | None:
    """Enqueue evaluations of the next subscriptions after an ID; returns the last one, None at the end.

    The default configuration includes the subscriptions without one.
    """
    is_default = (await configurations.get(tx, partner, configuration_id)).is_default
    found = await store.list_subscription_ids_by_configuration(
        tx, partner, configuration_id, after_subscription_id, batch_size, include_unconfigured=is_default
    )
    await enqueue_evaluations(tx, found, "configuration_changed")
    return found[-1] if len(found) == batch_size else None


async def record_screened_watchlist_version(tx: Tx, watchlist_code: str, import_id: UUID) -> None:
    """Record that all live subscriptions were screened against this version of a list."""
    for version in await watchlists.list_current_versions(tx):
        if (version.code, version.load.id) == (watchlist_code, import_id):
            await store.record_screened_watchlist_version(
                tx, watchlist_code, version.version_label, version.covered_categories("organisation")
            )


async def get_for_update(tx: Tx, scope: Scope, subscription_id: UUID) -> MonitoringSubscription:
    """Lock one subscription until the transaction ends. Raises NotFound."""
    if (locked := await store.find_for_update(tx, scope, subscription_id)) is None:
        raise NotFound
    return locked


async def store_transition(
    tx: Tx, subscription: MonitoringSubscription, changed_subscription: MonitoringSubscription
) -> None:
    """Store the new state of a locked subscription."""
    if not await store.update(tx, changed_subscription, subscription.status):
        raise LookupError(f"monitoring subscription {changed_subscription.id} is not where its holder saw it")
    if changed_subscription.status != subscription.status:
        reported = domain.MonitoringStatusChangedEvent(changed_subscription.id)
        await outbox.emit_internal_event(
            tx, domain.STATUS_CHANGED, reported, partner_id=changed_subscription.partner_id
        )


async def store_transition_and_emit_updated(
    tx: Tx,
    subscription: MonitoringSubscription,
    changed_subscription: MonitoringSubscription,
    occasion: Occasion,
    current_matches: Sequence[MonitoringMatch],
    compliance_flags: Collection[Category],
) -> MonitoringSubscription:
    """Store the new state of a locked subscription; if its results changed, record why and emit an event."""
    await store_transition(tx, subscription, changed_subscription)
    if changed_subscription.results != subscription.results:
        await evidence.record_evaluation(
            tx,
            Partner(changed_subscription.partner_id),
            "monitoring_subscription",
            changed_subscription.id,
            [domain.build_screening_step(one, current_matches) for one in changed_subscription.sources],
            occasion=occasion,
            outcome=changed_subscription.results.compliance_status,
            facts={
                "results": changed_subscription.results.as_json(),
                "flags": sorted(compliance_flags),
                "matches": current_matches,
            },
        )
        await outbox.emit_event(
            tx, changed_subscription.partner_id, domain.UPDATED, serialise_for_api(tx, changed_subscription)
        )
    return changed_subscription

"""Operations on eligibility subscriptions.

Every change locks the row first. The partner is notified when results become known or change, when nothing can be
decided, and when the validation request was rejected; never of its own actions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

import msgspec

from almoner.kit import metadata as metadata_rules
from almoner.kit.errors import NotFound
from almoner.kit.evidence import Evaluation
from almoner.nonprofits.activities.domain import SUB_TAGS
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import normalise_search_text
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.evidence import store as evidence
from almoner.platform.http.paging import Position, RequestedPage
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import JobKind
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.ongoing.eligibility import (
    domain,
    eligibility_evaluation,
    schemas,
    store,
    test_values,
)
from almoner.validation.ongoing.eligibility.domain import (
    BY_SANDBOX,
    EVALUATED_STATUSES,
    EligibilityResults,
    EligibilityStatus,
    EligibilitySubscription,
    EligibilitySubscriptionInput,
    InvalidState,
    Occasion,
    Sort,
)
from almoner.validation.ongoing.eligibility.schemas import (
    EligibilityDecidedSubTagResponse as EligibilityDecidedSubTagResponse,
)
from almoner.validation.ongoing.eligibility.schemas import EligibilityResultsResponse as EligibilityResultsResponse
from almoner.validation.ongoing.eligibility.schemas import EligibilitySubscriptionResponse
from almoner.validation.ongoing.eligibility.store import list_page as list_page
from almoner.validation.ongoing.eligibility.test_values import TEST_VALUES as TEST_VALUES
from almoner.validation.requests import service as validation_requests

Scope = Partner | AllPartners


class EvaluateSubscriptionJob(msgspec.Struct, frozen=True):
    """The subscription to evaluate, and why."""

    subscription: UUID
    occasion: Occasion


EVALUATE: Final = JobKind("eligibility_subscriptions.evaluate", EvaluateSubscriptionJob)


class ReevaluateSubscriptionsJob(msgspec.Struct, frozen=True):
    """The subscriptions of a partner's configuration, or all; ``after``: the last ID of the previous batch."""

    partner: UUID | None = None
    configuration: UUID | None = None
    after: UUID | None = None


REEVALUATE: Final = JobKind("eligibility_subscriptions.reevaluate", ReevaluateSubscriptionsJob)
_BATCH_SIZE: Final = 1000
_FIRST: Final = UUID(int=0)
_CODES: Final = {sub.id: code for code, sub in SUB_TAGS.items()}


async def create(tx: Tx, partner: Partner, subscription_input: EligibilitySubscriptionInput) -> EligibilitySubscription:
    """Create a subscription; it is evaluated after the commit.

    Raises EntityNotFound, OrganisationNotActive, InvalidSubTags, InvalidMetadata.
    """
    if subscription_input.metadata and (found := metadata_rules.find_metadata_problems(subscription_input.metadata)):
        raise domain.InvalidMetadata(*found)
    simulated_status = (
        test_values.simulated_status_of(subscription_input.suggested_sub_tag_ids) if tx.deployment.sandbox else None
    )
    suggested = () if simulated_status else parse_sub_tag_ids(tx, subscription_input.suggested_sub_tag_ids)
    organisation_id, request_id, name = await _find_entity(tx, partner, subscription_input)
    created = EligibilitySubscription(
        id=tx.new_id(),
        partner_id=partner.id,
        organisation_id=organisation_id,
        validation_request_id=request_id,
        configuration_id=subscription_input.configuration_id,
        name=name,
        suggested_sub_tags=suggested,
        simulated_status=simulated_status,
        metadata=subscription_input.metadata,
        status="pending_validation_request" if organisation_id is None else "pending",
        results=domain.NO_RESULTS,
        created_at=tx.now,
        updated_at=tx.now,
        search_name=normalise_search_text(name),
    )
    await store.insert(tx, partner, created)
    await _enqueue_evaluations(tx, [created.id], "created")
    return created


def parse_sub_tag_ids(
    tx: Tx, sub_tag_ids: Sequence[str], field_name: str = "suggestedActivitySubTags"
) -> tuple[str, ...]:
    """The codes of sub-tags by their IDs, each once. Raises InvalidSubTags naming all that are unknown."""
    found = {
        text: _CODES.get(parsed) if (parsed := tx.ids.decode("activitysubtag", text)) else None for text in sub_tag_ids
    }
    if unknown := [text for text, code in found.items() if code is None]:
        raise domain.InvalidSubTags(
            *(f"body.{field_name} '{text[:100]}' is the id of no activity sub-tag" for text in unknown)
        )
    return tuple(code for code in found.values() if code is not None)


async def _find_entity(
    tx: Tx, partner: Partner, new_subscription: EligibilitySubscriptionInput
) -> tuple[UUID | None, UUID | None, str]:
    """The organisation or validation request, and its name. Raises EntityNotFound, OrganisationNotActive."""
    if new_subscription.organisation_id is not None:
        named = tx.ids.decode("organisation", new_subscription.organisation_id)
        try:
            organisation = await organisations.get(tx, partner, named) if named else None
        except NotFound:
            organisation = None
        if organisation is None:
            raise domain.EntityNotFound(
                f"body.organisationId '{new_subscription.organisation_id[:100]}' names no organisation"
            )
        if not organisation.active:
            raise domain.OrganisationNotActive(
                f"{organisation.effective_display_name} is not active: {organisation.inactive_reason}"
            )
        return organisation.id, None, organisation.name
    text = new_subscription.validation_request_id or ""
    wanted = tx.ids.decode("validationrequest", text)
    try:
        request = await validation_requests.get(tx, partner, wanted) if wanted else None
    except NotFound:
        request = None
    if request is None:
        raise domain.EntityNotFound(f"body.validationRequestId '{text[:100]}' names no validation request")
    if request.organisation_id is not None:
        accepted_as = await organisations.get(tx, partner, request.organisation_id)
        if not accepted_as.active:
            raise domain.OrganisationNotActive(
                f"{accepted_as.effective_display_name} is not active: {accepted_as.inactive_reason}"
            )
    return None, request.id, request.details.name


async def get(tx: Tx, scope: Scope, subscription_id: UUID) -> EligibilitySubscription:
    """One subscription. Raises NotFound."""
    if (found := await store.find(tx, scope, subscription_id)) is None:
        raise NotFound
    return found


async def load_subscriptions_by_id(
    tx: Tx, partner: Partner, subscription_ids: Sequence[UUID]
) -> dict[UUID, EligibilitySubscription]:
    """The existing ones of these subscriptions, by ID."""
    found = await store.list_subscriptions_with_ids(tx, partner, subscription_ids) if subscription_ids else []
    return {subscription.id: subscription for subscription in found}


def serialise_for_api(tx: Tx, subscription: EligibilitySubscription) -> EligibilitySubscriptionResponse:
    """The subscription as an API record."""
    return schemas.subscription_response(tx, subscription)


def cursor_position_of(subscription: EligibilitySubscription, sort: Sort) -> Position:
    """The position of a subscription in a sorted list."""
    return store.cursor_position_of(subscription, sort)


async def list_evaluation_history(
    tx: Tx, scope: Scope, subscription_id: UUID, page_: RequestedPage
) -> tuple[list[Evaluation], int]:
    """One page of the evaluations with their evidence, and the total. Raises NotFound."""
    await get(tx, scope, subscription_id)
    return await evidence.list_evaluation_page(tx, subscription_id, page_)


async def change_metadata(
    tx: Tx, partner: Partner, subscription_id: UUID, patch: Mapping[str, str | None] | None
) -> EligibilitySubscription:
    """Merge the metadata key by key; a patch of None removes all (settled 1). Raises NotFound, InvalidMetadata."""
    if patch and (found := metadata_rules.find_metadata_problems(patch, is_patch=True)):
        raise domain.InvalidMetadata(*found)
    locked = await _lock(tx, partner, subscription_id)
    merged = None if patch is None else metadata_rules.merge_metadata(locked.metadata or {}, patch)
    if merged and (found := metadata_rules.find_metadata_problems(merged)):
        raise domain.InvalidMetadata(*found)
    changed = replace(locked, metadata=merged, updated_at=tx.now)
    await store.set_metadata(tx, changed)
    return changed


async def cancel(tx: Tx, partner: Partner, subscription_id: UUID) -> EligibilitySubscription:
    """Cancel the subscription: it is not evaluated any more and keeps its results.

    Raises NotFound, AlreadyCancelled.
    """
    cancelled = (await _lock(tx, partner, subscription_id)).with_cancellation(tx.now)
    await eligibility_evaluation.end_subscription(tx, cancelled)
    return cancelled


async def resume_after_appeal(tx: Tx, subscription_id: UUID) -> None:
    """Resume a subscription that failed with its validation request, after an appeal reversed that. Raises NotFound."""
    locked = await _lock(tx, ALL_PARTNERS, subscription_id)
    if locked.status == "validation_request_failed":
        await eligibility_evaluation.store_transition(tx, locked.with_validation_request_resumed(tx.now))
        await _enqueue_evaluations(tx, [locked.id], "created")


async def simulate_results(
    tx: Tx,
    partner: Partner,
    subscription_id: UUID,
    eligibility_status: EligibilityStatus | None,
    confirmed_activity_codes: Iterable[str],
    rejected_activity_codes: Iterable[str],
) -> EligibilitySubscription:
    """Set the results in the sandbox, by codes, until the next evaluation (settled 9).

    Raises NotFound, InvalidState.
    """
    locked = await _lock(tx, partner, subscription_id)
    if locked.status not in EVALUATED_STATUSES:
        raise InvalidState(f"the subscription is {locked.status}: there is nothing to decide")
    turned_down = tuple(dict.fromkeys(rejected_activity_codes))
    results = EligibilityResults(
        eligibility_status, dict.fromkeys((*confirmed_activity_codes, *turned_down), BY_SANDBOX), turned_down
    )
    if eligibility_status is None and results.rule_by_confirmed_activity:
        raise InvalidState("where eligibilityStatus is null nothing is confirmed")
    steps = tuple(
        domain.build_activity_step(
            code, BY_SANDBOX, "fail" if code in turned_down else "pass", suggested=code in locked.suggested_sub_tags
        )
        for code in results.rule_by_confirmed_activity
    )
    known = await eligibility_evaluation.load_organisation_activities(tx, locked)
    allowed = await eligibility_evaluation.load_allowed_activities(tx, locked)
    return await eligibility_evaluation.record_evaluation(tx, locked, known, allowed, results, steps, "simulated")


async def _lock(tx: Tx, scope: Scope, subscription_id: UUID) -> EligibilitySubscription:
    if (locked := await store.find_for_update(tx, scope, subscription_id)) is None:
        raise NotFound
    return locked


async def load_subscribed_partner_ids_by_organisation(
    tx: Tx, organisation_ids: Sequence[UUID]
) -> Mapping[UUID, set[UUID]]:
    """The partners with a subscription to each of these organisations."""
    return await store.load_subscribed_partner_ids_by_organisation(tx, organisation_ids)


async def evaluate_after_request_decisions(tx: Tx, request_ids: Sequence[UUID]) -> None:
    """Evaluate the subscriptions that wait for decided validation requests."""
    await _enqueue_evaluations(tx, await store.list_subscription_ids_waiting_for_requests(tx, request_ids), "created")


async def evaluate_after_organisation_changes(tx: Tx, partner: Partner, organisation_ids: Sequence[UUID]) -> None:
    """Evaluate a partner's subscriptions to changed organisations again."""
    await _enqueue_evaluations(
        tx, await store.list_subscription_ids_by_organisations(tx, partner, organisation_ids), "organisation_changed"
    )


async def evaluate_after_configuration_change(tx: Tx, partner: Partner, configuration_id: UUID) -> None:
    """Evaluate the subscriptions of a changed configuration again."""
    await REEVALUATE.enqueue(
        tx, ReevaluateSubscriptionsJob(partner.id, configuration_id), unique_key=str(configuration_id)
    )


async def reevaluate_all_subscriptions(tx: Tx) -> None:
    """Evaluate all subscriptions again after the activity rules changed."""
    await REEVALUATE.enqueue(tx, ReevaluateSubscriptionsJob(), unique_key="all")


async def enqueue_evaluation_batch_and_get_last_id(
    tx: Tx, partner: Partner | None, configuration_id: UUID | None, after_subscription_id: UUID | None
) -> UUID | None:
    """Enqueue evaluations of the next subscriptions after an ID; returns the last one, None at the end.

    With a configuration, only its subscriptions; the default one includes those without a configuration.
    """
    if partner is None or configuration_id is None:
        found = await store.list_evaluated_subscription_ids(tx, after_subscription_id or _FIRST, _BATCH_SIZE)
        await _enqueue_evaluations(tx, found, "rules_changed")
    else:
        unnamed = (await configurations.get(tx, partner, configuration_id)).is_default
        found = await store.list_subscription_ids_by_configuration(
            tx, partner, configuration_id, after_subscription_id or _FIRST, _BATCH_SIZE, include_unconfigured=unnamed
        )
        await _enqueue_evaluations(tx, found, "configuration_changed")
    return found[-1] if len(found) == _BATCH_SIZE else None


async def _enqueue_evaluations(tx: Tx, subscription_ids: Sequence[UUID], occasion: Occasion) -> None:
    jobs = [
        EVALUATE.build_job(EvaluateSubscriptionJob(one, occasion), unique_key=f"{occasion} {one}")
        for one in subscription_ids
    ]
    await queue.enqueue_jobs(tx, jobs)

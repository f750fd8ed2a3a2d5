"""Endpoints of eligibility subscriptions (spec 4.5; settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.kit.patch import UNSET
from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse
from almoner.platform.http.wire import PageQuery
from almoner.validation.ongoing.eligibility import service
from almoner.validation.ongoing.eligibility.domain import (
    AlreadyCancelled,
    EntityNotFound,
    InvalidMetadata,
    InvalidSubTags,
    OrganisationNotActive,
)
from almoner.validation.ongoing.eligibility.schemas import (
    EligibilityEvaluationResponse,
    EligibilitySubscriptionBody,
    EligibilitySubscriptionPatch,
    EligibilitySubscriptionResponse,
    EligibilitySubscriptionsQuery,
    evaluation_response,
    parse_filters,
    subscription_response,
)

SubscriptionId = Annotated[UUID, PathId("eligibilitysubscription")]

routes = Routes("Eligibility subscriptions")


@routes.get("/v1/eligibility-subscriptions", key=SECRET, scope="eligibility_subscriptions:read")
async def list_eligibility_subscriptions(
    call: ApiCall, query: EligibilitySubscriptionsQuery
) -> ListResponse[EligibilitySubscriptionResponse]:
    """List eligibility subscriptions: newest first unless sorted by name."""
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, page, parse_filters(query), query.sort)
    return call.list_response(
        page,
        rows,
        total,
        lambda row: subscription_response(call.tx, row),
        lambda row: service.cursor_position_of(row, query.sort),
    )


@routes.post(
    "/v1/eligibility-subscriptions",
    key=SECRET,
    scope="eligibility_subscriptions:write",
    errors=(EntityNotFound, OrganisationNotActive, InvalidSubTags, InvalidMetadata),
)
async def create_eligibility_subscription(
    call: ApiCall, body: EligibilitySubscriptionBody
) -> EligibilitySubscriptionResponse:
    """Create an eligibility subscription.

    The subscription checks whether your configuration allows what a nonprofit does, now and whenever this changes.
    """
    return subscription_response(call.tx, await service.create(call.tx, call.partner, body.to_input()))


@routes.get("/v1/eligibility-subscriptions/{id}", key=SECRET, scope="eligibility_subscriptions:read")
async def get_eligibility_subscription(call: ApiCall, id: SubscriptionId) -> EligibilitySubscriptionResponse:
    """Retrieve an eligibility subscription."""
    return subscription_response(call.tx, await service.get(call.tx, call.partner, id))


@routes.get("/v1/eligibility-subscriptions/{id}/history", key=SECRET, scope="eligibility_subscriptions:read")
async def list_eligibility_history(
    call: ApiCall, id: SubscriptionId, query: PageQuery
) -> ListResponse[EligibilityEvaluationResponse]:
    """List the evaluations with their evidence: the rule of every activity, and what was left out."""
    page = call.requested_page(query)
    rows, total = await service.list_evaluation_history(call.tx, call.partner, id, page)
    return call.list_response(
        page, rows, total, lambda row: evaluation_response(call.tx, row), lambda row: (row.id.bytes,)
    )


@routes.patch(
    "/v1/eligibility-subscriptions/{id}",
    key=SECRET,
    scope="eligibility_subscriptions:write",
    errors=(InvalidMetadata,),
)
async def update_eligibility_subscription(
    call: ApiCall, id: SubscriptionId, body: EligibilitySubscriptionPatch
) -> EligibilitySubscriptionResponse:
    """Change an eligibility subscription's metadata, key by key. Nothing else can be changed."""
    if body.metadata is UNSET:
        return subscription_response(call.tx, await service.get(call.tx, call.partner, id))
    return subscription_response(call.tx, await service.change_metadata(call.tx, call.partner, id, body.metadata))


@routes.post(
    "/v1/eligibility-subscriptions/{id}/cancel",
    key=SECRET,
    scope="eligibility_subscriptions:write",
    errors=(AlreadyCancelled,),
)
async def cancel_eligibility_subscription(call: ApiCall, id: SubscriptionId) -> EligibilitySubscriptionResponse:
    """Cancel an eligibility subscription. The subscription is no longer evaluated, and keeps its last results."""
    return subscription_response(call.tx, await service.cancel(call.tx, call.partner, id))

"""Endpoints of monitoring subscriptions (spec 4.4; settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse
from almoner.platform.http.wire import PageQuery
from almoner.validation.ongoing.monitoring import service
from almoner.validation.ongoing.monitoring.domain import AlreadyCancelled, EntityNotFound, OrganisationNotActive
from almoner.validation.ongoing.monitoring.schemas import (
    MonitoringChangeResponse,
    MonitoringSubscriptionBody,
    MonitoringSubscriptionResponse,
    MonitoringSubscriptionsQuery,
    parse_filters,
    results_change_response,
    subscription_response,
)

SubscriptionId = Annotated[UUID, PathId("monitoringsubscription")]

routes = Routes("Monitoring subscriptions")


@routes.get("/v1/monitoring-subscriptions", key=SECRET, scope="monitoring_subscriptions:read")
async def list_monitoring_subscriptions(
    call: ApiCall, query: MonitoringSubscriptionsQuery
) -> ListResponse[MonitoringSubscriptionResponse]:
    """List monitoring subscriptions: newest first unless sorted by name."""
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
    "/v1/monitoring-subscriptions",
    key=SECRET,
    scope="monitoring_subscriptions:write",
    errors=(EntityNotFound, OrganisationNotActive),
)
async def create_monitoring_subscription(
    call: ApiCall, body: MonitoringSubscriptionBody
) -> MonitoringSubscriptionResponse:
    """Create a monitoring subscription.

    The subscription screens an organisation against watchlists and checks its registration, now and whenever a list or
    the register changes. With a validation request, monitoring starts once the request is accepted. The results are
    available a moment after the response.
    """
    created = await service.create(call.tx, call.partner, body.organisation_id, body.validation_request_id)
    return subscription_response(call.tx, created)


@routes.get("/v1/monitoring-subscriptions/{id}", key=SECRET, scope="monitoring_subscriptions:read")
async def get_monitoring_subscription(call: ApiCall, id: SubscriptionId) -> MonitoringSubscriptionResponse:
    """Retrieve a monitoring subscription."""
    return subscription_response(call.tx, await service.get(call.tx, call.partner, id))


@routes.get("/v1/monitoring-subscriptions/{id}/history", key=SECRET, scope="monitoring_subscriptions:read")
async def list_monitoring_history(
    call: ApiCall, id: SubscriptionId, query: PageQuery
) -> ListResponse[MonitoringChangeResponse]:
    """List each change of the results with its evidence: lists, versions, matches, scores and decisions."""
    page = call.requested_page(query)
    rows, total = await service.list_evaluation_history(call.tx, call.partner, id, page)
    return call.list_response(page, rows, total, results_change_response, lambda row: (row.id.bytes,))


@routes.post(
    "/v1/monitoring-subscriptions/{id}/cancel",
    key=SECRET,
    scope="monitoring_subscriptions:write",
    errors=(AlreadyCancelled,),
)
async def cancel_monitoring_subscription(call: ApiCall, id: SubscriptionId) -> MonitoringSubscriptionResponse:
    """Cancel a monitoring subscription. The results of the subscription no longer change."""
    return subscription_response(call.tx, await service.cancel(call.tx, call.partner, id))

"""Endpoints of deliveries: list, replay, test (settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.platform.http.caller import NO_KEY, PERSONAL, SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse
from almoner.webhooks.deliveries import service
from almoner.webhooks.deliveries.schemas import (
    DeliveriesQuery,
    ReplayBody,
    ResendBody,
    WebhookDeliveryResponse,
    WebhookReplayResponse,
    WebhookSourceAddressesResponse,
    delivery_response,
)
from almoner.webhooks.events.domain import WebhookSubscriptionNotFound
from almoner.webhooks.subscriptions.domain import SubscriptionSuspended

SubscriptionId = Annotated[UUID, PathId("webhooksubscription")]
EventId = Annotated[UUID, PathId("event")]

routes = Routes("Webhooks")


@routes.get("/v1/webhook-subscriptions/{id}/deliveries", key=SECRET, scope="webhooks:read")
async def list_webhook_deliveries(
    call: ApiCall, id: SubscriptionId, query: DeliveriesQuery
) -> ListResponse[WebhookDeliveryResponse]:
    """List a subscription's deliveries with all their attempts.

    Deliveries are kept for 90 days, their attempts for 30.
    """
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, id, page, query.status)
    return call.list_response(
        page, rows, total, lambda row: delivery_response(call.tx, row), lambda row: (row.id.bytes,)
    )


@routes.post("/v1/webhook-subscriptions/{id}/test", key=SECRET, scope="webhooks:write", errors=(SubscriptionSuspended,))
async def test_webhook_subscription(call: ApiCall, id: SubscriptionId) -> WebhookDeliveryResponse:
    """Send a test event to a subscription. The list of deliveries shows the result."""
    return delivery_response(call.tx, await service.send_test_event(call.tx, call.partner, id))


@routes.post(
    "/v1/webhook-subscriptions/{id}/replay", key=SECRET, scope="webhooks:write", errors=(SubscriptionSuspended,)
)
async def replay_webhook_events(call: ApiCall, id: SubscriptionId, body: ReplayBody) -> WebhookReplayResponse:
    """Resend the events of a period to one subscription.

    The events have the same IDs and bodies. A period has at most 10,000 events of the subscription's types, and starts
    at most 30 days ago.
    """
    return WebhookReplayResponse(
        await service.replay_events(
            call.tx, call.partner, id, body.start_date, body.end_date, failed_only=body.failed_only
        )
    )


@routes.post("/v1/events/{id}/resend", key=SECRET, scope="webhooks:write", errors=(WebhookSubscriptionNotFound,))
async def resend_event(call: ApiCall, id: EventId, body: ResendBody) -> WebhookReplayResponse:
    """Resend an event.

    The event has the same ID and body, and goes to one subscription or to all that are subscribed to its type.
    """
    sent = await service.resend_event(
        call.tx,
        call.partner,
        id,
        body.webhook_subscription_id,
        may_see_personal_data=call.caller.has_scope(PERSONAL),
    )
    return WebhookReplayResponse(sent)


@routes.get("/v1/webhook-source-addresses", key=NO_KEY, tx=None)
async def list_webhook_source_addresses(call: ApiCall) -> WebhookSourceAddressesResponse:
    """Retrieve the IP addresses that webhooks are sent from."""
    deployment = call.db.deployment
    return WebhookSourceAddressesResponse(deployment.environment, list(deployment.webhook_source_addresses))

"""Endpoints of webhook subscriptions (spec 4.9; settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.platform.http.caller import PERSONAL, SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse
from almoner.webhooks.subscriptions import service
from almoner.webhooks.subscriptions.schemas import (
    RotationBody,
    SubscriptionBody,
    SubscriptionPatch,
    SubscriptionsQuery,
    WebhookSubscriptionResponse,
    subscription_response,
)

SubscriptionId = Annotated[UUID, PathId("webhooksubscription")]

routes = Routes("Webhooks")


@routes.get("/v1/webhook-subscriptions", key=SECRET, scope="webhooks:read")
async def list_webhook_subscriptions(
    call: ApiCall, query: SubscriptionsQuery
) -> ListResponse[WebhookSubscriptionResponse]:
    """List webhook subscriptions, without their secrets."""
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, page, query.event, deleted_only=query.deleted)
    return call.list_response(
        page,
        rows,
        total,
        lambda row: subscription_response(call.tx, row, include_secret=False),
        lambda row: (row.id.bytes,),
    )


@routes.post("/v1/webhook-subscriptions", key=SECRET, scope="webhooks:write", shows_secret=True)
async def create_webhook_subscription(call: ApiCall, body: SubscriptionBody) -> WebhookSubscriptionResponse:
    """Subscribe a URL to events. Events with donors' personal data require the scope `donations:personal`."""
    return subscription_response(
        call.tx,
        await service.create(
            call.tx, call.partner, body.url, body.events, may_see_personal_data=call.caller.has_scope(PERSONAL)
        ),
    )


@routes.get("/v1/webhook-subscriptions/{id}", key=SECRET, scope="webhooks:read", shows_secret=True)
async def get_webhook_subscription(call: ApiCall, id: SubscriptionId) -> WebhookSubscriptionResponse:
    """Retrieve a webhook subscription with its secret."""
    return subscription_response(call.tx, await service.get(call.tx, call.partner, id))


@routes.patch("/v1/webhook-subscriptions/{id}", key=SECRET, scope="webhooks:write", shows_secret=True)
async def update_webhook_subscription(
    call: ApiCall, id: SubscriptionId, body: SubscriptionPatch
) -> WebhookSubscriptionResponse:
    """Change a subscription. You can change its URL or events, and suspend or resume it."""
    personal = call.caller.has_scope(PERSONAL)
    changed = await service.update(
        call.tx, call.partner, id, body.url, body.events, body.status, may_see_personal_data=personal
    )
    return subscription_response(call.tx, changed)


@routes.delete("/v1/webhook-subscriptions/{id}", key=SECRET, scope="webhooks:write")
async def delete_webhook_subscription(call: ApiCall, id: SubscriptionId) -> None:
    """Delete a subscription. No more events are sent to its URL."""
    await service.delete(call.tx, call.partner, id)


@routes.post("/v1/webhook-subscriptions/{id}/rotate-secret", key=SECRET, scope="webhooks:write", shows_secret=True)
async def rotate_webhook_secret(call: ApiCall, id: SubscriptionId, body: RotationBody) -> WebhookSubscriptionResponse:
    """Rotate a subscription's secret.

    The old secret is also used for 24 hours. During this time, `webhook-signature` contains a signature for each
    secret. `Service-Signature` uses the old secret until you call this again with `confirm` true, or until the 24 hours
    are over.
    """
    return subscription_response(
        call.tx, await service.rotate_secret(call.tx, call.partner, id, revoke_previous=body.confirm)
    )

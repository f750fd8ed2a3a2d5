"""Endpoints of donation subscriptions (settled 11)."""

from typing import Annotated
from uuid import UUID

from almoner.giving.subscriptions.donation_subscriptions import service
from almoner.giving.subscriptions.donation_subscriptions.domain import InvalidMetadata, InvalidPause, InvalidState
from almoner.giving.subscriptions.donation_subscriptions.schemas import (
    DonationSubscriptionPatch,
    DonationSubscriptionResponse,
    DonationSubscriptionsQuery,
    PauseBody,
    donation_subscription_response,
    parse_filters,
)
from almoner.kit.errors import Forbidden
from almoner.kit.patch import UNSET
from almoner.platform.http.caller import PERSONAL, SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse

SubscriptionId = Annotated[UUID, PathId("donationsubscription")]

routes = Routes("Donation subscriptions", moves_money=True)


@routes.get("/v1/donation-subscriptions", key=SECRET, scope="donation_subscriptions:read")
async def list_donation_subscriptions(
    call: ApiCall, query: DonationSubscriptionsQuery
) -> ListResponse[DonationSubscriptionResponse]:
    """List donation subscriptions, newest or next due first.

    A donation subscription is the plan of a donor's regular donations.
    """
    if query.email is not None and not call.caller.has_scope(PERSONAL):
        raise Forbidden(f"query.email needs a key with the scope {PERSONAL}")
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, page, parse_filters(call.tx, query), query.sort)
    return call.list_response(
        page,
        rows,
        total,
        lambda row: donation_subscription_response(call.tx, row),
        lambda row: service.cursor_position_of(row, query.sort),
    )


@routes.get("/v1/donation-subscriptions/{id}", key=SECRET, scope="donation_subscriptions:read")
async def get_donation_subscription(call: ApiCall, id: SubscriptionId) -> DonationSubscriptionResponse:
    """Retrieve a donation subscription."""
    return donation_subscription_response(call.tx, await service.get(call.tx, call.partner, id))


@routes.patch(
    "/v1/donation-subscriptions/{id}",
    key=SECRET,
    scope="donation_subscriptions:write",
    errors=(InvalidMetadata, InvalidState),
)
async def update_donation_subscription(
    call: ApiCall, id: SubscriptionId, body: DonationSubscriptionPatch
) -> DonationSubscriptionResponse:
    """Change a donation subscription.

    You can change its metadata, key by key, its amount and its frequency. A change that lowers what the donor pays
    applies immediately. A change that raises what the donor pays stays in `pendingChange` until the donor agrees to the
    change on a page. We email the donor a link to this page. A later request replaces a pending change.
    """
    subscription = await service.get_for_update(call.tx, call.partner, id)
    if body.amount is not UNSET or body.frequency is not UNSET:
        minor = subscription.money.minor if body.amount is UNSET else body.amount
        frequency = subscription.frequency if body.frequency is UNSET else body.frequency
        subscription = await service.apply_or_request_change(call.tx, subscription, minor, frequency)
    if body.metadata is not UNSET:
        subscription = await service.change_metadata(call.tx, subscription, body.metadata)
    return donation_subscription_response(call.tx, subscription)


@routes.post(
    "/v1/donation-subscriptions/{id}/pause",
    key=SECRET,
    scope="donation_subscriptions:write",
    errors=(InvalidState, InvalidPause),
)
async def pause_donation_subscription(
    call: ApiCall, id: SubscriptionId, body: PauseBody
) -> DonationSubscriptionResponse:
    """Pause a donation subscription that is `active` or `past_due`.

    Donations that are missed during the pause are not charged later.
    """
    return donation_subscription_response(
        call.tx, await service.pause(call.tx, call.partner, id, body.until, "partner")
    )


@routes.post(
    "/v1/donation-subscriptions/{id}/resume", key=SECRET, scope="donation_subscriptions:write", errors=(InvalidState,)
)
async def resume_donation_subscription(call: ApiCall, id: SubscriptionId) -> DonationSubscriptionResponse:
    """Resume a donation subscription that is `paused`. The subscription continues with its next date.

    You cannot resume a subscription while its nonprofit cannot receive donations.
    """
    return donation_subscription_response(call.tx, await service.resume(call.tx, call.partner, id))


@routes.post(
    "/v1/donation-subscriptions/{id}/skip", key=SECRET, scope="donation_subscriptions:write", errors=(InvalidState,)
)
async def skip_donation_subscription(call: ApiCall, id: SubscriptionId) -> DonationSubscriptionResponse:
    """Skip the next donation of a donation subscription. The subscription must be `active` or `past_due`."""
    return donation_subscription_response(
        call.tx, await service.skip_next_due_date(call.tx, call.partner, id, "partner")
    )


@routes.post(
    "/v1/donation-subscriptions/{id}/cancel", key=SECRET, scope="donation_subscriptions:write", errors=(InvalidState,)
)
async def cancel_donation_subscription(call: ApiCall, id: SubscriptionId) -> DonationSubscriptionResponse:
    """End a donation subscription for good. A donation that is being charged right now can still succeed."""
    return donation_subscription_response(call.tx, await service.cancel(call.tx, call.partner, id, "partner"))

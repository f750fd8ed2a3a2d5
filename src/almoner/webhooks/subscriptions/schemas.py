"""Webhook subscriptions on the wire (spec 4.9; settled 4)."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from almoner.kit.patch import UNSET
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Tx
from almoner.platform.events.event_types import EVENT_TYPES
from almoner.platform.http.wire import Maybe, PageQuery, PatchBody, RequestBody, ResponseRecord
from almoner.platform.outbound.addresses import MAX_LENGTH
from almoner.webhooks.subscriptions.domain import HealthStatus, Status, WebhookSubscription, find_event_type_problem

Events = Annotated[
    list[Annotated[str, Field(max_length=100)]],
    Field(
        max_length=100,
        description="At least one event type, as in `eventType` of `Event`; `*` for all.",
        examples=[["donation.hosted.payment_received", "donation.cancelled"]],
    ),
]
Url = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_LENGTH,
        description="The URL that receives events: https, port 443, a public address. The sandbox can allow loopback.",
        examples=["https://hooks.example.com/almoner"],
    ),
]


def _known_event_type(event: str) -> str:
    if found := find_event_type_problem(event, EVENT_TYPES):
        raise ValueError(found)
    return event


class SubscriptionsQuery(PageQuery):
    """Filters of a list of subscriptions."""

    event: Annotated[str, AfterValidator(_known_event_type)] | None = Field(
        None, max_length=100, description="Only subscriptions that receive this event type."
    )
    deleted: bool = Field(False, description="List deleted subscriptions instead of the others.")


class SubscriptionBody(RequestBody):
    """A new subscription."""

    events: Events
    url: Url


class SubscriptionPatch(PatchBody):
    """Changes to a subscription; `status` `active` resumes a suspended one."""

    events: Maybe[Events] = UNSET
    url: Maybe[Url] = UNSET
    status: Maybe[Literal["active", "suspended"]] = UNSET


class RotationBody(RequestBody):
    """How to replace the secret."""

    confirm: bool = Field(
        False,
        description="False creates a new secret; the old one is also used for 24 hours. True confirms that the "
        "receiver has the new secret: the old ones are no longer used, and `Service-Signature` uses the new one.",
    )


class WebhookSubscriptionResponse(ResponseRecord, object_name="webhook_subscription"):
    """A subscription as partners see it; `secret` is null in lists and events.

    `health` is `failing` from the first failed attempt to the next success.
    """

    id: str
    events: list[str]
    url: str
    secret: str | None
    previous_secret_expires_at: str | None
    status: Status
    health: HealthStatus
    failing_since: str | None
    last_success_at: str | None
    created_at: str
    updated_at: str | None
    deleted_at: str | None


def subscription_response(
    tx: Tx, subscription: WebhookSubscription, *, include_secret: bool = True
) -> WebhookSubscriptionResponse:
    """The response for one subscription; its secret is left out of lists and events."""
    return WebhookSubscriptionResponse(
        id=tx.ids.encode("webhooksubscription", subscription.id),
        events=list(subscription.events),
        url=subscription.url,
        secret=subscription.secret if include_secret else None,
        previous_secret_expires_at=iso_timestamp_or_none(subscription.previous_secret_expires_at(tx.now)),
        status=subscription.status,
        health=subscription.health.status,
        failing_since=iso_timestamp_or_none(subscription.health.failing_since),
        last_success_at=iso_timestamp_or_none(subscription.health.last_success_at),
        created_at=iso_timestamp(subscription.created_at),
        updated_at=iso_timestamp_or_none(subscription.updated_at),
        deleted_at=iso_timestamp_or_none(subscription.deleted_at),
    )

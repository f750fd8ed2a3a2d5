"""Deliveries on the wire (settled 7 and 8)."""

from typing import Annotated

from pydantic import Field

from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import IdString
from almoner.platform.http.wire import DayOrMoment, PageQuery, RequestBody, ResponseRecord, WindowEnd
from almoner.webhooks.deliveries.domain import Delivery, DeliveryAttempt, Status
from almoner.webhooks.subscriptions.domain import Reason


class DeliveriesQuery(PageQuery):
    """Filters of a list of deliveries."""

    status: Status | None = Field(None, description="Only those in this status.")


class ResendBody(RequestBody):
    """Where to send the event again."""

    webhook_subscription_id: Annotated[str, IdString("webhooksubscription")] | None = Field(
        None, description="The subscription. Default: all that are subscribed to the event's type."
    )


class ReplayBody(RequestBody):
    """The events to replay."""

    start_date: DayOrMoment | None = Field(
        None,
        description="The start of the period, at most 30 days ago. By default, only failed deliveries are replayed.",
        examples=["2026-03-01"],
    )
    end_date: WindowEnd | None = Field(None, description="The end of the period (exclusive). Default: now.")
    failed_only: bool = Field(
        False, description="Whether to leave out events that were delivered or are still being retried."
    )


class WebhookReplayResponse(ResponseRecord, object_name="webhook_replay"):
    """The number of deliveries that were started."""

    scheduled: int


class WebhookAttemptResponse(ResponseRecord):
    """One POST to a receiver; `statusCode` is null if there was no complete response, and `error` gives the reason."""

    number: int
    attempted_at: str
    duration_ms: int
    status_code: int | None
    error: str | None
    response_body: str | None


class WebhookDeliveryResponse(ResponseRecord, object_name="webhook_delivery"):
    """The delivery of one event to one subscription; `reason` is its cause."""

    id: str
    webhook_subscription_id: str
    event_id: str
    event_type: str
    sequence: int | None
    reason: Reason
    status: Status
    attempts: list[WebhookAttemptResponse]
    next_attempt_at: str | None
    created_at: str
    finished_at: str | None


class WebhookSourceAddressesResponse(ResponseRecord, object_name="webhook_source_addresses"):
    """The addresses that deliveries of this environment come from."""

    environment: str
    addresses: list[str]


def delivery_response(tx: Tx, delivery: Delivery) -> WebhookDeliveryResponse:
    """The response for one delivery."""
    return WebhookDeliveryResponse(
        id=tx.ids.encode("webhookdelivery", delivery.id),
        webhook_subscription_id=tx.ids.encode("webhooksubscription", delivery.subscription_id),
        event_id=tx.ids.encode("event", delivery.event_id),
        event_type=delivery.event_type,
        sequence=delivery.sequence,
        reason=delivery.reason,
        status=delivery.status,
        attempts=[_attempt_response(attempt) for attempt in delivery.attempts],
        next_attempt_at=iso_timestamp_or_none(delivery.next_attempt_at),
        created_at=iso_timestamp(delivery.created_at),
        finished_at=iso_timestamp_or_none(delivery.finished_at),
    )


def _attempt_response(attempt: DeliveryAttempt) -> WebhookAttemptResponse:
    return WebhookAttemptResponse(
        number=attempt.number,
        attempted_at=iso_timestamp(attempt.started_at),
        duration_ms=attempt.duration_ms,
        status_code=attempt.status_code,
        error=attempt.error,
        response_body=attempt.response_body,
    )

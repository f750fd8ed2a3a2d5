"""Common steps of webhook tests: subscribe a receiver, emit events, check deliveries."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import standardwebhooks

from almoner.platform.events import outbox
from tests.support.client import Client, data
from tests.support.receivers import Received, Receiver
from tests.support.service import Service, Tenant

RECORD = {"id": "sandbox_donation_x", "firstName": "Zoë", "amount": 1234}


async def subscribe(api: Client, sink: Receiver, *events: str) -> Any:
    """Create a subscription of the receiver, to every event by default; returns the response."""
    body = {"url": sink.url, "events": list(events or ("*",))}
    return data(await api.post("/v1/webhook-subscriptions", body))


async def happen(service: Service, tenant: Tenant, event_type: str = "donation.created", times: int = 1) -> list[str]:
    """Emit events and commit; returns their public IDs."""
    async with service.db.write() as tx:
        made = [await outbox.emit_event(tx, tenant.partner.id, event_type, RECORD) for _ in range(times)]
        return [tx.ids.encode("event", event_id) for event_id in made]


async def deliveries(api: Client, subscription: Mapping[str, Any], **query: Any) -> Any:
    """The deliveries of a subscription, oldest first."""
    path = f"/v1/webhook-subscriptions/{subscription['id']}/deliveries"
    return data(await api.get(path, direction="ASC", **query))


def verify_whenever(got: Received, secret: str) -> Any:
    """Like `verify`, but without the age, for a service whose clock other tests move."""
    sent = datetime.fromtimestamp(int(got.headers["webhook-timestamp"]), UTC)
    expected = standardwebhooks.Webhook(secret).sign(got.headers["webhook-id"], sent, got.body.decode())
    assert hmac.compare_digest(got.headers["webhook-signature"], expected)
    return json.loads(got.body)


def verify(got: Received, secret: str) -> Any:
    """Verify both signature forms as a receiver does; returns the event."""
    event = standardwebhooks.Webhook(secret).verify(got.body, got.headers)
    assert got.headers["service-signature"] == hmac.new(secret.encode(), got.body, hashlib.sha256).hexdigest()
    assert got.headers["webhook-id"] == event["data"]["id"]
    return event

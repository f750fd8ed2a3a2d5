"""Verify webhooks.

Pass the body as the bytes that came. A framework that has parsed it has thrown them away: ``json.dumps`` of what it
parsed is another text, with other spaces, and its signature is wrong. In Flask the bytes are ``request.get_data()``, in
Django ``request.body``, in FastAPI and Starlette ``await request.body()``.
"""

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar, overload

from almoner_client._errors import WebhookVerificationError
from almoner_client._generated.events import EVENT_RECORDS
from almoner_client._generated.models import Event
from almoner_client._records import Record

TOLERANCE_SECONDS = 300
R = TypeVar("R", bound=Record)


class Headers(Protocol):
    """The headers of a request: a dictionary, or what your framework has."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Names and values."""


def verify(
    body: bytes, headers: Headers, secret: str | Sequence[str] | None, *, tolerance: float = TOLERANCE_SECONDS
) -> Event:
    """The event of a delivery that was signed with the secret of your subscription (``whsec_...``).

    ``headers``: those of the request, in any case. ``secret``: several while you rotate. ``tolerance``: how many
    seconds old a delivery may be, so that nobody sends one again later. The event's ``sequence`` is that of the header
    ``Service-Sequence``, which is not signed. Raises WebhookVerificationError.
    """
    if not isinstance(body, (bytes, bytearray, memoryview)):
        raise TypeError("body must be the bytes that came; text or parsed JSON has another signature")
    if not secret:
        raise WebhookVerificationError("The secret is missing: get the subscription by its ID, lists do not show it")
    given = {name.lower(): value for name, value in headers.items()}
    try:
        event_id, sent, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        moment = int(sent)
    except (KeyError, ValueError):
        raise WebhookVerificationError("webhook-id, webhook-timestamp or webhook-signature is missing") from None
    if abs(time.time() - moment) > tolerance:
        raise WebhookVerificationError(f"It was signed more than {tolerance:g} seconds ago, or your clock is off")
    secrets = [secret] if isinstance(secret, str) else list(secret)
    signed = f"{event_id}.{sent}.".encode() + bytes(body)
    expected = [sign(signed, one) for one in secrets]
    shown = [part.partition(",")[2] for part in signatures.split() if part.startswith("v1,")]
    if not any(hmac.compare_digest(one, other) for one in expected for other in shown):
        raise WebhookVerificationError("No signature fits: is it the secret of this subscription, and the raw body?")
    event = json.loads(bytes(body))["data"]
    if (sequence := given.get("service-sequence", "")).isdecimal():
        event["sequence"] = int(sequence)
    return Event.from_json(event)


def sign(signed: bytes, secret: str) -> str:
    """The Base64 of the signature over ``id.timestamp.body``."""
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise WebhookVerificationError("The secret is not Base64; it begins with whsec_") from None
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


@overload
def record_of(event: Event) -> Record | Mapping[str, object]: ...
@overload
def record_of(event: Event, expected: type[R]) -> R: ...
def record_of(event: Event, expected: type[R] | None = None) -> Record | Mapping[str, object]:
    """The record in an event, by its type; what this version does not know is the JSON as it came.

    ``expected``: the class that you expect, such as ``models.Donation``. Raises TypeError if the event has another one.
    """
    known = EVENT_RECORDS.get(event.event_type)
    record = event.event_data if known is None else known.from_json(event.event_data)
    if expected is not None and not isinstance(record, expected):
        raise TypeError(f"{event.event_type} does not contain a {expected.__name__}")
    return record

"""Parses Stripe's webhooks: signature, time, and the payment concerned."""

import hmac
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from almoner.giving.checkout.payments.domain import ProviderEvent, WebhookRefused
from almoner.platform.observability.loggers import get_logger

_log: Final = get_logger("almoner.giving")

_MAX_AGE_SECONDS: Final = 300
_SIGNATURE_HEADER: Final = "stripe-signature"
# While its secret is rolled, Stripe signs with both; schemes other than v1 are not used in production.
_SIGNATURE: Final = re.compile(r"t=(\d{1,12})((?:,v\d=[0-9a-f]{64}){1,8})", re.ASCII)
_V1: Final = re.compile(r",v1=([0-9a-f]{64})", re.ASCII)

_REFUND_NAME: Final = re.compile(r"[a-z]{2,8}_[0-9A-Za-z_]{1,240}", re.ASCII)
PAYMENT_ID: Final = re.compile(r"(?:cs|pi)_[0-9A-Za-z_]{1,250}", re.ASCII)
"""Stripe's ID of a payment: of its Checkout Session, which we store, or of its PaymentIntent."""
METHOD_ID: Final = re.compile(r"(?:pm|card|src)_[0-9A-Za-z_]{1,250}", re.ASCII)
"""Stripe's ID of a saved card."""

PAYMENT_EVENTS: Final = (
    "checkout.session.completed",
    "checkout.session.async_payment_succeeded",
    "checkout.session.async_payment_failed",
    "checkout.session.expired",
    "payment_intent.payment_failed",
    "payment_intent.succeeded",
)
METHOD_EVENTS: Final = ("payment_method.automatically_updated", "payment_method.updated")
DISPUTE_EVENTS: Final = (
    "charge.dispute.created",
    "charge.dispute.updated",
    "charge.dispute.funds_withdrawn",
    "charge.dispute.funds_reinstated",
    "charge.dispute.closed",
)
_REFUND_EVENTS: Final = ("refund.created", "refund.updated", "refund.failed", "charge.refund.updated")
EVENTS: Final = (*PAYMENT_EVENTS, *DISPUTE_EVENTS, *_REFUND_EVENTS, *METHOD_EVENTS)
"""The event types that a webhook endpoint at Stripe must be subscribed to; all others are ignored."""


class _Object(msgspec.Struct, frozen=True):
    """The object of a webhook event: only its IDs and mode are read, since it is fetched anyway (M5)."""

    id: Any = None
    payment_intent: Any = None
    mode: Any = None


class _Data(msgspec.Struct, frozen=True):
    object: _Object


class _Event(msgspec.Struct, frozen=True):
    """A webhook event. ``account``: set if it is about another account than ours."""

    id: str
    type: str
    livemode: bool
    data: _Data
    object: Literal["event"]
    account: str | None = None


def parse_webhook(secret: str, headers: Mapping[str, str], body: bytes, received_at: datetime) -> ProviderEvent | None:
    """Parse a webhook; None if its type is not relevant. Raises WebhookRefused."""
    _verify_signature(secret, headers.get(_SIGNATURE_HEADER, ""), body, received_at)
    try:
        event = msgspec.json.decode(body, type=_Event)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise WebhookRefused("body is not a Stripe event") from None
    if event.account is not None:
        raise WebhookRefused("body.account is not our Stripe account")
    if event.type not in EVENTS:
        return None
    about = _event_subject(event)
    if about in ("dispute", "refund") and event.data.object.payment_intent is None:
        # A charge without a PaymentIntent was made by another product: refusing it would only make Stripe retry for
        # days.
        _log.info("webhook_ignored", notice=event.id, type=event.type)
        return None
    name = str(event.data.object.payment_intent if about in ("dispute", "refund") else event.data.object.id)
    expected = METHOD_ID if about == "payment_method" else PAYMENT_ID
    if not expected.fullmatch(name) or not 1 <= len(event.id) <= 255:
        raise WebhookRefused("body has no valid payment ID")
    refund = str(event.data.object.id) if about == "refund" else ""
    if about == "refund" and not _REFUND_NAME.fullmatch(refund):
        raise WebhookRefused("body has no valid refund ID")
    return ProviderEvent(event.id, event.type, name, event.livemode, about, refund)


def _event_subject(event: _Event) -> Literal["payment", "dispute", "refund", "setup", "payment_method"]:
    if event.type in _REFUND_EVENTS:
        return "refund"
    if event.type in METHOD_EVENTS:
        return "payment_method"
    if event.type in DISPUTE_EVENTS:
        return "dispute"
    return "setup" if event.data.object.mode == "setup" else "payment"


def _verify_signature(secret: str, header: str, body: bytes, at: datetime) -> None:
    match = _SIGNATURE.fullmatch(header)
    if match is None:
        raise WebhookRefused("header.Stripe-Signature must be t=<unix seconds>,v1=<hex HMAC-SHA256>")
    expected = hmac.new(secret.encode(), f"{match[1]}.".encode() + body, "sha256").hexdigest()
    if not any(hmac.compare_digest(expected, given) for given in _V1.findall(match[2])):
        raise WebhookRefused("header.Stripe-Signature does not match the body")
    if abs(at.timestamp() - int(match[1])) > _MAX_AGE_SECONDS:
        raise WebhookRefused("header.Stripe-Signature is older than five minutes")

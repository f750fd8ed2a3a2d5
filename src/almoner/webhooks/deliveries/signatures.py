"""Both signatures of a delivery (spec 5.7, settled 2), and their headers. Pure.

``Service-Signature`` is the HMAC-SHA256 of the body in hexadecimal, keyed with the whole secret string. The Standard
Webhooks headers sign id, time and body, keyed with the decoded base64 part of the secret.
"""

import hmac
from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime

from almoner.webhooks.subscriptions.domain import decode_secret


def compute_service_signature(secret: str, body: bytes) -> str:
    """``Service-Signature``: 64 hexadecimal digits (spec 5.7)."""
    return hmac.digest(secret.encode(), body, "sha256").hex()


def compute_standard_webhooks_signature(secret: str, event_id: str, timestamp: int, body: bytes) -> str:
    """One entry of ``webhook-signature``: ``v1,<base64>``."""
    signed = hmac.digest(decode_secret(secret), f"{event_id}.{timestamp}.".encode() + body, "sha256")
    return "v1," + b64encode(signed).decode()


def build_signed_headers(
    secrets: Sequence[str], event_id: str, sequence: int | None, real_now: datetime, body: bytes
) -> dict[str, str]:
    """The signature headers of one attempt. ``secrets``: newest first; old ones count during rotation.

    The list header carries a signature for each secret. ``Service-Signature`` holds only that of the oldest secret,
    which the receiver uses until it has the new one (W13). ``real_now`` is real time, fresh at every attempt.
    """
    timestamp = int(real_now.timestamp())
    made = {
        "Content-Type": "application/json",
        "Service-Signature": compute_service_signature(secrets[-1], body),
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(
            compute_standard_webhooks_signature(secret, event_id, timestamp, body) for secret in secrets
        ),
    }
    if sequence is not None:
        made["Service-Sequence"] = str(sequence)
    return made

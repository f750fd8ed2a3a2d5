"""Whether a receiver checks signatures: deliveries that it must refuse, and one that it must take."""

import os
from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

import httpx

from almoner_client.cli.forwarding import Forwarder

_OLD_SECONDS = 3600


@dataclass(frozen=True)
class Verdict:
    """What was found. ``is_safe``: a forged delivery is refused, and a right one taken."""

    is_safe: bool
    lines: list[str]


def check_signatures(forwarder: Forwarder) -> Verdict:
    """Send a test event with a wrong signature, an old one, and a right one."""
    try:
        forged = forwarder.probe(_test_event(), secret="whsec_" + b64encode(os.urandom(32)).decode())
        old = forwarder.probe(_test_event(), age=_OLD_SECONDS)
        right = forwarder.probe(_test_event())
    except httpx.TransportError as error:
        return Verdict(False, [f"The receiver cannot be checked: no answer ({type(error).__name__})."])
    lines = []
    if forged.is_success:
        lines.append(
            f"NOT SAFE: the receiver answered {forged.status} to a wrong signature. "
            "Verify webhook-signature before you read the body, and answer 400 if it is wrong."
        )
    if not right.is_success:
        lines.append(
            f"The receiver answered {right.status} to a right signature. "
            "Does it use the signing secret above, and verify the bytes as they came?"
        )
    if not lines:
        lines.append(f"The receiver checks signatures: {forged.status} to a wrong one, {right.status} to a right one.")
    if old.is_success and not forged.is_success:
        lines.append(
            "It takes deliveries that were signed an hour ago: refuse a webhook-timestamp more than 5 minutes off."
        )
    return Verdict(not forged.is_success and right.is_success, lines)


def _test_event() -> dict[str, Any]:
    now = datetime.now(timezone.utc)
    return {
        "id": f"event_check_{uuid4().hex}",
        "createdAt": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "eventType": "webhook_subscription.test",
        "eventData": {},
    }

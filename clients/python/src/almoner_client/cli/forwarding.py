"""Sends events to a receiver on this machine, signed as webhooks are."""

import hashlib
import hmac
import json
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from almoner_client.cli.failures import UsageError
from almoner_client.webhooks import sign

_ANSWER_SECONDS = 15.0
_LONGEST_PAUSE = 5.0
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True)
class Answer:
    """What the receiver answered. ``body``: its beginning."""

    status: int
    milliseconds: int
    body: str

    @property
    def is_success(self) -> bool:
        """Whether the event is acknowledged."""
        return 200 <= self.status < 300


def receiver_url(typed: str) -> str:
    """The address of a receiver; ``localhost:3000/hooks`` is enough. Raises UsageError."""
    url = typed if "://" in typed else f"http://{'localhost:' if typed.split('/')[0].isdigit() else ''}{typed}"
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--forward-to {typed} is no web address.", "Write it like http://localhost:3000/webhooks.")
    return url


def derived_secret(api_key: str) -> str:
    """The signing secret of ``listen``: the same for the same key, so that it can be configured once."""
    made = hmac.digest(api_key.encode(), b"almoner-client listen", "sha256")
    return "whsec_" + b64encode(made).decode()


def webhook_body(event: dict[str, Any]) -> bytes:
    """The body of the webhook for an event of the list, byte for byte."""
    data = {name: event[name] for name in ("id", "createdAt", "eventType", "eventData")}
    return json.dumps({"object": "event", "data": data}, ensure_ascii=False, separators=(",", ":")).encode()


def signed_headers(event_id: str, sequence: int | None, body: bytes, secret: str, signed_at: int) -> dict[str, str]:
    """The headers of a delivery."""
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "almoner-client listen",
        "Service-Signature": hmac.new(secret.encode(), body, hashlib.sha256).hexdigest(),
        "webhook-id": event_id,
        "webhook-timestamp": str(signed_at),
        "webhook-signature": "v1," + sign(f"{event_id}.{signed_at}.".encode() + body, secret),
    }
    return headers if sequence is None else {**headers, "Service-Sequence": str(sequence)}


class Forwarder:
    """Sends to one address. ``report``: told when there is no answer."""

    def __init__(self, url: str, secret: str, report: Callable[[str], None]) -> None:
        self._url = url
        self._secret = secret
        self._report = report
        is_local = urlsplit(url).hostname in _LOOPBACK
        self._http = httpx.Client(timeout=_ANSWER_SECONDS, trust_env=not is_local, follow_redirects=False)

    def send(self, event: dict[str, Any]) -> Answer:
        """Send an event until there is an answer, so that none is lost while the receiver is restarted."""
        body, failures = webhook_body(event), 0
        while True:
            try:
                return self._post(event["id"], event["sequence"], body, self._secret, int(time.time()))
            except httpx.TransportError as error:
                failures += 1
                if failures == 1:
                    self._report(f"No answer from {self._url} ({type(error).__name__}). Trying again until there is.")
                time.sleep(min(_LONGEST_PAUSE, 0.2 * 2.0 ** (failures - 1)))

    def probe(self, event: dict[str, Any], *, secret: str | None = None, age: int = 0) -> Answer:
        """Send an event once, signed with another secret or long ago. Raises TransportError."""
        signed_at = int(time.time()) - age
        return self._post(event["id"], None, webhook_body(event), secret or self._secret, signed_at)

    def _post(self, event_id: str, sequence: int | None, body: bytes, secret: str, signed_at: int) -> Answer:
        headers = signed_headers(event_id, sequence, body, secret, signed_at)
        began = time.monotonic()
        response = self._http.post(self._url, content=body, headers=headers)
        elapsed = round((time.monotonic() - began) * 1000)
        return Answer(response.status_code, elapsed, response.text[:200])

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

"""A cookie that identifies a browser for a day, for the limits against card testing (H6).

It is random and signed, contains nothing about the visitor, and is stored only as a keyed hash.
"""

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from almoner.giving.checkout.card_testing import service as card_testing
from almoner.giving.checkout.card_testing.domain import DAY, BrowserFingerprint
from almoner.platform.crypto import Vault

_COOKIE: Final = "__Host-device"
_PURPOSE: Final = "device"
_RANDOM_BYTES: Final = 16


def ensure_device_cookie(request: Request, response: Response, vault: Vault) -> None:
    """Set the device cookie if the browser has none."""
    if _read_cookie(request, vault) is not None:
        return
    random = os.urandom(_RANDOM_BYTES)
    value = urlsafe_b64encode(random + vault.compute_mac(_PURPOSE, random)).decode()
    seconds = int(DAY.total_seconds())
    response.set_cookie(_COOKIE, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="lax")


def browser_fingerprint_of(request: Request, vault: Vault) -> BrowserFingerprint:
    """The card testing fingerprint of the browser behind a request."""
    return card_testing.fingerprint_browser(
        vault, request.client.host if request.client else "", _read_cookie(request, vault)
    )


def _read_cookie(request: Request, vault: Vault) -> bytes | None:
    """The random part of the cookie; None without a cookie that we signed."""
    try:
        raw = urlsafe_b64decode(request.cookies.get(_COOKIE, ""))
    except ValueError:
        return None
    random, signature = raw[:_RANDOM_BYTES], raw[_RANDOM_BYTES:]
    return random if vault.verify_mac(_PURPOSE, random, signature) else None

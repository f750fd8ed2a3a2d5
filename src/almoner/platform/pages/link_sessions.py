"""Cookie sessions of browsers that opened a record's link (H1, H2).

The first response removes the token from the address bar. The cookie in its place has a random part and our signature
over it and the record: nothing is stored, two tabs for two records never mix, and each browser has its own CSRF token.
"""

import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from almoner.platform.crypto import Vault

CSRF_FIELD: Final = "csrf"
_RANDOM_BYTES: Final = 16
_SIGNED_BYTES: Final = 32
"""The length of the random part and the signature. They are followed by the expiry, if there is one."""
_END_BYTES: Final = 6


@dataclass(frozen=True, slots=True)
class LinkSession:
    """A browser's session for one record's pages, started by its link. ``expires_at``: its expiry, if any."""

    cookie_name: str
    cookie_value: str
    csrf: str
    expires_at: datetime | None = None

    def set_cookie(self, response: Response, *, max_age_seconds: int) -> None:
        """Set the session's ``__Host-`` cookie."""
        response.set_cookie(
            self.cookie_name,
            self.cookie_value,
            max_age=max_age_seconds,
            path="/",
            secure=True,
            httponly=True,
            samesite="lax",
        )

    def matches_csrf_token(self, csrf_token: object) -> bool:
        """Whether a posted form carries this session's CSRF token; constant time."""
        return isinstance(csrf_token, str) and hmac.compare_digest(self.csrf.encode(), csrf_token.encode())


def begin_link_session(
    vault: Vault, purpose: str, record_id: UUID, path_id: str, expires_at: datetime | None = None
) -> LinkSession:
    """A new session for a record; ``path_id`` is the record's ID in the path."""
    random = os.urandom(_RANDOM_BYTES)
    end = b"" if expires_at is None else int(expires_at.timestamp()).to_bytes(_END_BYTES)
    return _visit(
        vault, purpose, path_id, random + vault.compute_mac(f"visit:{purpose}", record_id.bytes + random + end) + end
    )


def find_link_session(
    request: Request, vault: Vault, purpose: str, record_id: UUID, path_id: str
) -> LinkSession | None:
    """The session that the request's cookie proves, even if expired; None without a valid cookie."""
    raw = _decoded(request.cookies.get(_cookie(purpose, path_id), ""))
    random, signature, end = raw[:_RANDOM_BYTES], raw[_RANDOM_BYTES:_SIGNED_BYTES], raw[_SIGNED_BYTES:]
    if not vault.verify_mac(f"visit:{purpose}", record_id.bytes + random + end, signature):
        return None
    return _visit(vault, purpose, path_id, raw)


def is_same_origin(request: Request, origin: str | None) -> bool:
    """Whether a post came from this origin, by Sec-Fetch-Site or Origin."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return origin is not None and request.headers.get("origin") == origin


def is_speculative_request(request: Request) -> bool:
    """Whether the request is HEAD or a prefetch, which must have no effect."""
    purpose = request.headers.get("sec-purpose", request.headers.get("purpose", ""))
    return request.method == "HEAD" or "prefetch" in purpose


def _visit(vault: Vault, purpose: str, name: str, raw: bytes) -> LinkSession:
    csrf, end = vault.compute_mac(f"csrf:{purpose}", raw), raw[_SIGNED_BYTES:]
    until = datetime.fromtimestamp(int.from_bytes(end), UTC) if end else None
    return LinkSession(_cookie(purpose, name), _encoded(raw), _encoded(csrf), until)


def _cookie(purpose: str, name: str) -> str:
    return f"__Host-{purpose}-{name}"


def _encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return b""

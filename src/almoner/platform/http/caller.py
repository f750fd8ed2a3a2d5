"""The authenticated caller of a request, and the interface of authentication and rate limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol
from uuid import UUID

from almoner.kit.rates import RequestRate
from almoner.kit.records import statically_frozen_dataclass
from almoner.platform.database.transactions import Partner


class KeyKind(Enum):
    """The kinds of API key (settled 2); each route declares which one it needs."""

    NONE = "none"
    PUBLISHABLE = "publishable"
    SECRET = "secret"  # noqa: S105 (the kind, not a secret)
    SCIM = "scim"


NO_KEY = KeyKind.NONE
PUBLISHABLE = KeyKind.PUBLISHABLE
SECRET = KeyKind.SECRET

ALL_SCOPES = "*"


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated API key: its partner, kind and scopes. ``is_partner_paused``: calls are refused.

    ``partner_rate_limit``: the partner's own rate limit for this kind of key; None for the deployment's.
    """

    key_id: UUID
    partner: Partner
    kind: KeyKind
    scopes: frozenset[str]
    is_member: bool = False
    is_partner_paused: bool = False
    partner_rate_limit: RequestRate | None = None

    def satisfies_key_kind(self, required_kind: KeyKind) -> bool:
        """Whether this key may call a route for ``required_kind``; secret keys may call publishable ones, too."""
        return self.kind is required_kind or (required_kind is PUBLISHABLE and self.kind is SECRET)

    def has_scope(self, scope: str) -> bool:
        """Whether the key has the scope; ``*`` grants all scopes except those that must be granted explicitly."""
        return scope in self.scopes or (ALL_SCOPES in self.scopes and scope not in NAMED_ONLY)


PERSONAL = "donations:personal"
"""The scope of keys that may see who donors are; without it these members are null, and filters reject them.

See settled 11.
"""
SUPPORT_REFUNDS = "refunds:up_to_limit"
"""The scope of members with the support role instead of ``donations:write``; keys cannot have it."""
NAMED_ONLY = frozenset({"sandbox_clock", "scim_api", PERSONAL})
"""Scopes that ``*`` does not include (settled 2, 9 and 11)."""


@statically_frozen_dataclass
class RateLimitState:
    """The state of a rate limit, for the response headers: quota, window, remaining calls and reset."""

    policy: str
    quota: int
    window_seconds: int
    remaining: int
    reset_after_seconds: int
    retry_after_seconds: int | None


class AccessGuard(Protocol):
    """Authentication and rate limits, implemented by ``access.guard``."""

    async def authenticate(self, authorization: str | None, ip_address: str) -> Caller:
        """The caller behind the header. Raises Unauthorised, or RateExceeded after too many wrong keys."""
        ...

    def check_rate_limit(self, caller: Caller | None, ip_address: str) -> RateLimitState:
        """Count a call against its limits; ``retry_after_seconds`` is set if it is refused."""
        ...

    def record_key_use(self, caller: Caller, ip_address: str, route: str) -> None:
        """Record that the key was used; stored at most once a minute (K5)."""
        ...


Headers = Mapping[str, str]

"""Who calls: what the guard found out about a key, and the port through which the endpoint layer asks it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol
from uuid import UUID

from almoner.platform.database.transactions import Partner


class KeyKind(Enum):
    """The kinds of key of settled 2; a route declares which it takes."""

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
    """One authenticated key; or, with ``is_member``, who is signed in on our own pages: ``key_id`` is the member's."""

    key_id: UUID
    partner: Partner
    kind: KeyKind
    scopes: frozenset[str]
    is_member: bool = False

    def satisfies_key_kind(self, kind: KeyKind) -> bool:
        """Whether this key opens a route of ``kind``: a secret key opens publishable routes too (spec 5.4)."""
        return self.kind is kind or (kind is PUBLISHABLE and self.kind is SECRET)

    def has_scope(self, scope: str) -> bool:
        """Whether the key carries the scope; ``*`` stands for every scope that is not granted by name only."""
        return scope in self.scopes or (ALL_SCOPES in self.scopes and scope not in NAMED_ONLY)


PERSONAL = "donations:personal"
"""Scope of keys that see who donors are; without it these members are null, and no filter reads them (settled 11)."""
NAMED_ONLY = frozenset({"sandbox_clock", "scim_api", PERSONAL})
"""Scopes that ``*`` does not include (settled 2, 9 and 11)."""


@dataclass(frozen=True, slots=True)
class RateLimitState:
    """What the limiter answers: the policy, its quota and window in seconds, what is left, seconds until full."""

    policy: str
    quota: int
    window: int
    remaining: int
    reset: int
    retry_after: int | None


class AccessGuard(Protocol):
    """Authentication and rate limits, implemented by ``access.guard``."""

    async def authenticate(self, authorization: str | None, address: str) -> Caller:
        """The caller behind the header. Raises Unauthorised; RateExceeded for an address that guesses."""
        ...

    def check_rate_limit(self, caller: Caller | None, address: str) -> RateLimitState:
        """Count one call against the limits; ``retry_after`` is set when it is refused."""
        ...

    def record_use(self, caller: Caller, address: str, route: str) -> None:
        """Note that the key was used; written at most once a minute, outside the request's transaction (K5)."""
        ...


Headers = Mapping[str, str]

"""API keys (settled 2, K1), and the log of requests with them.

A secret is ``sk_live_`` and 32 random base62 characters and a 6-character base62 CRC32.
"""

import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple
from uuid import UUID

from almoner.kit.ids import created_at_of_id
from almoner.kit.rates import RequestRate, parse_rate

Kind = Literal["secret", "publishable", "scim"]

_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_CHARACTERS: Final = 32
_CHECK_CHARACTERS: Final = 6
_PREFIX: Final[dict[Kind, str]] = {"secret": "sk", "publishable": "pk", "scim": "scim"}
DEFAULT_OVERLAP: Final = timedelta(hours=24)
_LONGEST_OVERLAP: Final = timedelta(days=7)
KINDS: Final[tuple[Kind, ...]] = ("secret", "publishable", "scim")
MAX_BURST: Final = 1_000_000
"""Requests at once that a partner's own rate limit may allow."""

PUBLISHABLE_SCOPES: Final = frozenset(
    {
        "organisations:read",
        "registries:read",
        "activities:read",
        "categories:read",
        "gift_aid:write",
        "validation_submissions:write",
    }
)
"""The scopes that a publishable key may have (settled 2)."""

_SCIM_SCOPES: Final = frozenset({"scim_api"})
SCOPES: Final = frozenset(
    {
        "*",
        "activities:read",
        "agent_verifications:read",
        "agent_verifications:write",
        "categories:read",
        "categories:write",
        "disbursements:read",
        "donation_requests:read",
        "donation_sessions:read",
        "donation_sessions:write",
        "donation_subscriptions:read",
        "donation_subscriptions:write",
        "donations:personal",
        "donations:read",
        "donations:write",
        "gift_aid:write",
        "giving_links:read",
        "giving_links:write",
        "eligibility_subscriptions:read",
        "eligibility_subscriptions:write",
        "events:read",
        "monetary_donation_verifications:read",
        "monetary_donation_verifications:write",
        "monitoring_subscriptions:read",
        "monitoring_subscriptions:write",
        "organisations:read",
        "registries:read",
        "sandbox",
        "sandbox_clock",
        "scim_api",
        "users:read",
        "users:write",
        "validation_configurations:read",
        "validation_configurations:write",
        "validation_invites:read",
        "validation_invites:write",
        "validation_requests:read",
        "validation_requests:write",
        "validation_submissions:read",
        "validation_submissions:write",
        "webhooks:read",
        "webhooks:write",
    }
)
"""All scopes that routes require, ``*``, and the scope for donors' personal data.

A test compares them with the routes.
"""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key as stored; only its holder knows the secret.

    ``hint``: the last characters of the secret. ``is_partner_paused``, ``rate`` (the partner's own rate limit for this
    kind of key, if any): as of the key's authentication.
    """

    id: UUID
    partner_id: UUID
    kind: Kind
    name: str
    hint: str
    scopes: frozenset[str]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    last_used_route: str | None = None
    replaced_by: UUID | None = None
    is_partner_paused: bool = False
    rate: RequestRate | None = None

    @property
    def lifetime(self) -> timedelta | None:
        """The key's lifetime when it was created; None if it does not expire."""
        return None if self.expires_at is None or self.replaced_by else self.expires_at - self.created_at

    def is_usable(self, now: datetime) -> bool:
        """Whether the key is active at this real time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class NewApiKey(NamedTuple):
    """An API key that was just created, and its secret."""

    key: ApiKey
    secret: str


class UnknownScopes(ValueError):
    """No endpoint uses these scopes."""


class RotationOverlapTooLong(ValueError):
    """A rotated key may stay valid for at most seven days."""


def key_prefix(kind: Kind, *, sandbox: bool) -> str:
    """The prefix of a key's secret: ``sk_sandbox_``, ``pk_live_``, ``scim_live_`` ..."""
    return f"{_PREFIX[kind]}_{'sandbox' if sandbox else 'live'}_"


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(_BASE62[digit])
    return "".join(reversed(digits))


def _checksum(text: str) -> str:
    return _base62(zlib.crc32(text.encode()), _CHECK_CHARACTERS)


def generate_key_secret(kind: Kind, *, sandbox: bool) -> str:
    """Generate the secret of an API key."""
    return generate_secret(key_prefix(kind, sandbox=sandbox))


def generate_secret(prefix: str) -> str:
    """Generate a secret: 190 random bits and a checksum, so that scanners can tell fakes offline."""
    head = prefix + _base62(int.from_bytes(os.urandom(32)), _RANDOM_CHARACTERS)
    return head + _checksum(head)


def key_kind_of_secret(secret: str, *, sandbox: bool) -> Kind | None:
    """The kind of a well-formed key of this environment; None if its form, checksum or environment is wrong."""
    return next((kind for kind in _PREFIX if is_well_formed_secret(key_prefix(kind, sandbox=sandbox), secret)), None)


def is_well_formed_secret(prefix: str, text: str) -> bool:
    """Whether the text has the form and checksum of ``generate_secret``."""
    if not text.startswith(prefix) or len(text) != len(prefix) + _RANDOM_CHARACTERS + _CHECK_CHARACTERS:
        return False
    head, check = text[:-_CHECK_CHARACTERS], text[-_CHECK_CHARACTERS:]
    return all(c in _BASE62 for c in head[len(prefix) :]) and _checksum(head) == check


def parse_partner_rate_limit(text: str) -> RequestRate | None:
    """A partner's own rate limit, such as ``50/100``; None, for the deployment's, if empty. Raises ValueError."""
    rate = parse_rate(text) if text else None
    if rate is not None and rate.burst > MAX_BURST:
        raise ValueError(f"must have a burst of at most {MAX_BURST:,}")
    return rate


def rotation_overlap_end(now: datetime, overlap: timedelta) -> datetime:
    """When the old key stops working after a rotation. Raises RotationOverlapTooLong."""
    if not timedelta(0) <= overlap <= _LONGEST_OVERLAP:
        raise RotationOverlapTooLong(f"the old key can stay valid for 0 to {_LONGEST_OVERLAP.days} days, not {overlap}")
    return now + overlap


def ensure_known_scopes(requested_scopes: frozenset[str]) -> None:
    """Raises UnknownScopes if some requested scopes do not exist."""
    if strange := sorted(requested_scopes - SCOPES):
        raise UnknownScopes(f"unknown scope: {', '.join(strange)}. Choose from: {', '.join(sorted(SCOPES))}")


def scopes_for_new_key(kind: Kind, requested_scopes: frozenset[str]) -> frozenset[str]:
    """The scopes of a new key. Raises ValueError if this kind of key cannot have them."""
    if kind == "publishable":
        if not requested_scopes <= PUBLISHABLE_SCOPES:
            raise ValueError(
                f"a publishable key cannot have {', '.join(sorted(requested_scopes - PUBLISHABLE_SCOPES))}"
            )
        return requested_scopes or PUBLISHABLE_SCOPES
    if kind == "scim":
        if not requested_scopes <= _SCIM_SCOPES:
            raise ValueError(
                f"a SCIM key can only have scim_api, not {', '.join(sorted(requested_scopes - _SCIM_SCOPES))}"
            )
        return _SCIM_SCOPES
    return requested_scopes or frozenset({"*"})


REQUEST_RETENTION: Final = timedelta(days=14)
SEARCHED_REQUESTS: Final = 20_000
"""The maximum number of requests that one search or count reads; the next page continues from there."""

Outcome = Literal["succeeded", "failed"]
"""Succeeded: a status below 400."""


class ApiRequest(NamedTuple):
    """One request. ``route``: the declared path; ``path``: with IDs, if it contains nothing else.

    ``parameters``: query parameters that cannot hold personal data. ``network``: the caller's, cut to a /24 or
    /48.
    """

    partner_id: UUID
    request_id: UUID
    key_id: UUID
    method: str
    route: str
    path: str | None
    parameters: str | None
    status: int
    duration_ms: float
    error_code: str | None
    network: str | None

    @property
    def received_at(self) -> datetime:
        """When the request was received, from its ID."""
        return created_at_of_id(self.request_id)


@dataclass(frozen=True, slots=True)
class ApiRequestFilter:
    """The filters of the request log; None does not filter."""

    since: datetime | None = None
    before: datetime | None = None
    outcome: Outcome | None = None
    method: str | None = None
    route: str | None = None
    status: int | None = None
    error_code: str | None = None
    key_id: UUID | None = None
    request_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ApiRequestPage:
    """A page of requests, newest first. ``next_before_id``: the ID before which the next page begins, if any."""

    requests: list[ApiRequest]
    next_before_id: UUID | None


def parse_request_id(text: str) -> UUID | None:
    """Parse the identifier in a ``Request-Id`` header; None if it is not valid."""
    digits = text.removeprefix("req_")
    return UUID(digits) if len(digits) == 32 and set(digits) <= set("0123456789abcdef") else None


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """The number of requests of each key since several times. ``counted_since``: when counting started."""

    window_starts: Sequence[datetime]
    counts_by_key_id: Mapping[UUID, Sequence[int]]
    counted_since: datetime | None = None

    def counts_for_key(self, key_id: UUID) -> Sequence[int]:
        """The counts of one key, by time."""
        return self.counts_by_key_id.get(key_id, [0] * len(self.window_starts))

    @property
    def totals(self) -> Sequence[int]:
        """The counts of all keys together, by time."""
        return [
            sum(counts[position] for counts in self.counts_by_key_id.values())
            for position in range(len(self.window_starts))
        ]

    def is_complete_since(self, since: datetime) -> bool:
        """Whether all requests since that time are counted."""
        return self.counted_since is None or self.counted_since <= since

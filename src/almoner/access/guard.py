"""Authenticates API keys in the Authorization header and applies the rate limits of settled 8."""

import binascii
from base64 import b64decode
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from almoner.access.keys import service as keys
from almoner.kit.errors import RateExceeded, Unauthorised
from almoner.kit.rates import RequestRate
from almoner.kit.time import Clock
from almoner.platform.database.transactions import Database, Partner
from almoner.platform.http.caller import Caller, KeyKind, RateLimitState
from almoner.platform.outbound.addresses import client_network_for_rate_limit
from almoner.platform.ratelimit import RateLimit, RateLimiter

_TRUST_SECONDS = 0.5  # a revoked key stops working within a second everywhere (K4)
_GRACE_SECONDS = 0.25  # while one request looks a key up again, concurrent ones use the cached key this long
_NOTE_SECONDS = 60.0  # last use is written at most once a minute a key (K5)
_MOST_KEYS = 10_000


@dataclass(frozen=True, slots=True)
class RateLimits:
    """The deployment's rate limits for each kind of key: requests per second, and bursts (settled 8)."""

    secret: RateLimit
    publishable: RateLimit
    publishable_per_address: RateLimit
    invalid_keys: RateLimit
    scim: RateLimit

    def limit_for_key(self, kind: KeyKind, partner_rate: RequestRate | None) -> RateLimit:
        """The limit of a key; ``partner_rate``: the partner's own limit for this kind of key, if any."""
        publishable = self.publishable if kind is KeyKind.PUBLISHABLE else self.secret
        limit = self.scim if kind is KeyKind.SCIM else publishable
        return limit if partner_rate is None else RateLimit(limit.policy, partner_rate.per_second, partner_rate.burst)


class TooManyInvalidKeys(RateExceeded):
    """Too many invalid keys were sent from this network address."""

    message = "Too many different invalid keys from this address; wait for the time in the Retry-After header"


@dataclass(slots=True)
class _CachedKey:
    caller: Caller
    expires_at: datetime | None
    checked: float
    asked_again: bool = False

    def to_ask(self, now: float) -> bool:
        """Whether this caller must look the key up."""
        age = now - self.checked
        return age > _TRUST_SECONDS + _GRACE_SECONDS or (age > _TRUST_SECONDS and not self.asked_again)


class KeyGuard:
    """Authenticates API keys and limits their rate; remembers each key for half a second."""

    def __init__(self, db: Database, clock: Clock, limiter: RateLimiter, limits: RateLimits) -> None:
        self._db = db
        self._clock = clock
        self._limiter = limiter
        self._limits = limits
        self._known: OrderedDict[str, _CachedKey] = OrderedDict()
        self._wrong: OrderedDict[str, None] = OrderedDict()
        self._noted: dict[UUID, float] = {}
        self._uses: dict[UUID, tuple[UUID, datetime, str, str]] = {}

    async def authenticate(self, authorization: str | None, ip_address: str) -> Caller:
        """The caller behind an Authorization header: a bare key, ``Bearer <key>``, or HTTP Basic with the key as user.

        Raises Unauthorised; TooManyInvalidKeys if the address has sent too many invalid keys.
        """
        secret = parse_key_from_authorization(authorization)
        real_now = self._clock.real_now()
        known = self._known.get(secret)
        if known is None:
            self._lockout(secret, ip_address, real_now)
            known = await self._load_key(secret, ip_address, real_now)
        elif known.to_ask(real_now.timestamp()):
            known.asked_again = True
            known = await self._load_key(secret, ip_address, real_now)
        if known.expires_at is not None and real_now >= known.expires_at:
            raise Unauthorised("header.Authorization contains a key that has expired")
        return known.caller

    def _lockout(self, secret: str, ip_address: str, real_now: datetime) -> None:
        """Refuse unknown keys from an address that has sent too many; keys in use still work.

        Raises TooManyInvalidKeys.

        Repeating the same wrong key does not count, so that a program with an old key does not lock out its neighbours.
        """
        if secret not in self._wrong:
            wait = self._limiter.seconds_until_allowed(
                self._limits.invalid_keys, client_network_for_rate_limit(ip_address), real_now.timestamp()
            )
            if wait is not None:
                raise TooManyInvalidKeys(wait)

    def _note_wrong(self, secret: str, ip_address: str, real_now: datetime) -> None:
        if secret not in self._wrong:
            self._limiter.count_call(
                self._limits.invalid_keys, client_network_for_rate_limit(ip_address), real_now.timestamp()
            )
            self._wrong[secret] = None
            if len(self._wrong) > _MOST_KEYS:
                self._wrong.popitem(last=False)

    async def _load_key(self, secret: str, ip_address: str, real_now: datetime) -> _CachedKey:
        async with self._db.read() as tx:
            key = await keys.find_by_secret(tx, secret)
        if key is None:
            self._known.pop(secret, None)
            self._note_wrong(secret, ip_address, real_now)
            raise Unauthorised("header.Authorization does not contain a valid key")
        partner, paused = Partner(key.partner_id), key.is_partner_paused
        caller = Caller(
            key.id, partner, KeyKind(key.kind), key.scopes, is_partner_paused=paused, partner_rate_limit=key.rate
        )
        known = _CachedKey(caller, key.expires_at, real_now.timestamp())
        self._known[secret] = known
        if len(self._known) > _MOST_KEYS:
            self._known.popitem(last=False)
        return known

    def check_rate_limit(self, caller: Caller | None, ip_address: str) -> RateLimitState:
        """Count a call against its limit: by secret key, by publishable key and address, or by address alone."""
        now = self._clock.real_now().timestamp()
        limits, limiter, network = self._limits, self._limiter, client_network_for_rate_limit(ip_address)
        if caller is None:
            return limiter.count_call(limits.publishable_per_address, network, now)
        limit = limits.limit_for_key(caller.kind, caller.partner_rate_limit)
        if caller.kind is not KeyKind.PUBLISHABLE:
            return limiter.count_call(limit, caller.key_id, now)
        by_address = limiter.count_call(limits.publishable_per_address, (caller.key_id, network), now)
        if by_address.retry_after_seconds is not None:
            return by_address
        by_key = limiter.count_call(limit, caller.key_id, now)
        return (
            by_key if by_key.retry_after_seconds is not None or by_key.remaining < by_address.remaining else by_address
        )

    def record_key_use(self, caller: Caller, ip_address: str, route: str) -> None:
        """Buffer the use of a key, at most once a minute, until ``flush_key_uses``."""
        real_now = self._clock.real_now()
        if real_now.timestamp() - self._noted.get(caller.key_id, 0.0) >= _NOTE_SECONDS:
            self._noted[caller.key_id] = real_now.timestamp()
            self._uses[caller.key_id] = (caller.key_id, real_now, ip_address, route)

    async def flush_key_uses(self) -> None:
        """Store the remembered key uses; the server calls it every few seconds."""
        if self._uses:
            uses, self._uses = list(self._uses.values()), {}
            async with self._db.write() as tx:
                await keys.record_key_uses(tx, uses)


def parse_key_from_authorization(header: str | None) -> str:
    """The key in an Authorization header (settled 2). Raises Unauthorised."""
    if not header:
        raise Unauthorised("header.Authorization is required")
    scheme, _, rest = header.strip().partition(" ")
    match scheme.lower(), rest.strip():
        case "bearer", token if token:
            return token
        case "basic", credentials if credentials:
            try:
                user = b64decode(credentials, validate=True).decode("ascii").partition(":")[0]
            except (binascii.Error, UnicodeDecodeError):
                raise Unauthorised("header.Authorization is not well-formed HTTP Basic") from None
            return user
        case _, "":
            return scheme
        case _:
            raise Unauthorised(
                "header.Authorization must be the key, Bearer and the key, or HTTP Basic with the key as username"
            )

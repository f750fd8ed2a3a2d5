"""In-process rate limiting by GCRA (L1, L3), in real time.

Each server applies the full limit and shares its usage with the others once a second, through the database, so that
limits hold for the whole deployment. Until then, two servers may grant the same burst; the excess delays all later
calls.
"""

import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from almoner.platform.http.caller import RateLimitState

_MOST_KEYS: Final = 100_000
_ROUNDING: Final = 1e-6  # seconds since 1970 keep about 200 ns in a float

MOST_SHARED: Final = 1000
"""The maximum number of keys that a server shares with the others at a time."""

Slot = tuple[str, object]
"""A policy and the key that it counts."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A limit of ``rate`` calls a second, with bursts of ``burst``."""

    policy: str
    rate: float
    burst: int


class RateLimiter:
    """GCRA arrival times per policy and key; the oldest are dropped beyond 100,000.

    ``now``: seconds of one clock. If it steps back, or a limit is raised, nobody waits longer than the burst takes.
    """

    def __init__(self) -> None:
        self._arrivals: OrderedDict[Slot, float] = OrderedDict()
        self._used: dict[Slot, float] = {}  # seconds of intervals since the last exchange
        self._elsewhere: Mapping[bytes, float] = {}  # seconds ahead of ``_told_at``, by digest
        self._told_at = 0.0

    def seconds_until_allowed(self, limit: RateLimit, key: object, now: float) -> int | None:
        """Seconds until a call is allowed; None if it is allowed now. Counts nothing."""
        interval, tolerance = 1 / limit.rate, limit.burst / limit.rate
        over = self._arrival((limit.policy, key), now, tolerance) + interval - now - tolerance
        return max(1, math.ceil(over)) if over > _ROUNDING else None

    def count_call(self, limit: RateLimit, key: object, now: float) -> RateLimitState:
        """Count one call. A refused call costs nothing."""
        interval, tolerance = 1 / limit.rate, limit.burst / limit.rate
        slot = (limit.policy, key)
        arrival = self._arrival(slot, now, tolerance) + interval
        window = max(1, math.ceil(tolerance))
        if arrival - now > tolerance + _ROUNDING:
            wait = arrival - now - tolerance
            return RateLimitState(
                limit.policy,
                limit.burst,
                window,
                0,
                max(1, math.ceil(arrival - interval - now)),
                max(1, math.ceil(wait)),
            )
        self._arrivals[slot] = arrival
        self._arrivals.move_to_end(slot)
        if len(self._arrivals) > _MOST_KEYS:
            self._arrivals.popitem(last=False)
        if len(self._used) < MOST_SHARED or slot in self._used:
            self._used[slot] = self._used.get(slot, 0.0) + interval
        remaining = int((tolerance - (arrival - now)) / interval + _ROUNDING)
        return RateLimitState(limit.policy, limit.burst, window, remaining, math.ceil(arrival - now), None)

    def drain_usage(self) -> dict[Slot, float]:
        """The usage since the last call, to be shared with other servers."""
        used, self._used = self._used, {}
        return used

    def apply_shared_usage(self, usage_by_digest: Mapping[bytes, float], now: float) -> None:
        """Apply the usage of all servers."""
        self._elsewhere, self._told_at = usage_by_digest, now

    def _arrival(self, slot: Slot, now: float, tolerance: float) -> float:
        known = self._arrivals.get(slot, now)
        if known > now + tolerance:
            known = self._arrivals[slot] = now + tolerance  # the clock stepped back, or the limit was raised
        if self._elsewhere and (ahead := self._elsewhere.get(rate_limit_slot_digest(slot))) is not None:
            known = max(known, min(self._told_at, now) + ahead + self._used.get(slot, 0.0))
        return max(known, now)


def rate_limit_slot_digest(slot: Slot) -> bytes:
    """The digest that names a limit's key between servers."""
    return sha256(repr(slot).encode()).digest()[:16]

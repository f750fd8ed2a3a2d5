"""Rate limits in the process: GCRA, one timestamp per key (L1, L3). Real time, never the business clock.

Each server counts against the whole of every limit and tells the others what was used, once a second, through the
database: limits are whole wherever they are used. Until it is told, a server may grant a burst that another has granted
already; what was granted too much is waited for by all.
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
"""Keys that a server tells the others of at a time."""

Slot = tuple[str, object]
"""A policy and the key that it counts."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """``rate`` calls a second for ever, ``burst`` at once."""

    policy: str
    rate: float
    burst: int


class RateLimiter:
    """Theoretical arrival times per (policy, key); the oldest are forgotten beyond 100,000.

    ``now`` are seconds of one clock. When it steps back, nobody waits longer than the whole of a limit takes.
    """

    def __init__(self) -> None:
        self._arrivals: OrderedDict[Slot, float] = OrderedDict()
        self._used: dict[Slot, float] = {}  # seconds of intervals, since they were last told to the others
        self._elsewhere: Mapping[bytes, float] = {}  # seconds ahead of the moment of ``_told_at``, by digest
        self._told_at = 0.0

    def wait_seconds(self, limit: RateLimit, key: object, now: float) -> int | None:
        """Whole seconds until a call would be let through, None when it would be now; counts nothing."""
        interval, tolerance = 1 / limit.rate, limit.burst / limit.rate
        over = self._arrival((limit.policy, key), now, tolerance) + interval - now - tolerance
        return max(1, math.ceil(over)) if over > _ROUNDING else None

    def count_call(self, limit: RateLimit, key: object, now: float) -> RateLimitState:
        """Count one call at ``now``. A refused call costs nothing."""
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

    def take_used(self) -> dict[Slot, float]:
        """What was used since the last time: seconds of intervals, of at most a thousand keys."""
        used, self._used = self._used, {}
        return used

    def learn(self, ahead: Mapping[bytes, float], now: float) -> None:
        """Take over how far keys are ahead of ``now`` on all servers, by their digest: with all that was taken here."""
        self._elsewhere, self._told_at = ahead, now

    def _arrival(self, slot: Slot, now: float, tolerance: float) -> float:
        known = self._arrivals.get(slot, now)
        if known > now + 2 * tolerance:
            known = self._arrivals[slot] = now + tolerance  # the clock stepped back
        if self._elsewhere and (ahead := self._elsewhere.get(slot_digest(slot))) is not None:
            known = max(known, min(self._told_at, now) + ahead + self._used.get(slot, 0.0))
        return max(known, now)


def slot_digest(slot: Slot) -> bytes:
    """What servers call a key among each other."""
    return sha256(repr(slot).encode()).digest()[:16]

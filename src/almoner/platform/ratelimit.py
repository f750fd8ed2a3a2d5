"""Rate limits in the process: GCRA, one timestamp per key (L1, L3). Real time, never the business clock.

Each process takes an equal share of every limit, by the number of live servers that ``set_servers`` was last told.
"""

import math
from collections import OrderedDict
from dataclasses import dataclass

from almoner.platform.http.caller import RateLimitState

_MOST_KEYS = 100_000
_ROUNDING = 1e-6  # seconds since 1970 keep about 200 ns in a float


@dataclass(frozen=True, slots=True)
class RateLimit:
    """``rate`` calls a second for ever, ``burst`` at once."""

    policy: str
    rate: float
    burst: int


class RateLimiter:
    """Theoretical arrival times per (policy, key); the oldest are forgotten beyond 100,000."""

    def __init__(self) -> None:
        self._arrivals: OrderedDict[tuple[str, object], float] = OrderedDict()
        self._servers = 1

    def set_server_count(self, live: int) -> None:
        """How many servers share the limits now."""
        self._servers = max(1, live)

    def wait_seconds(self, limit: RateLimit, key: object, now: float) -> int | None:
        """Whole seconds until a call would be let through, None when it would be now; counts nothing."""
        interval = self._servers / limit.rate
        tolerance = interval * max(1, limit.burst // self._servers)
        over = max(self._arrivals.get((limit.policy, key), now), now) + interval - now - tolerance
        return max(1, math.ceil(over)) if over > _ROUNDING else None

    def count_call(self, limit: RateLimit, key: object, now: float) -> RateLimitState:
        """Count one call at ``now`` (seconds of a monotonic or wall clock). A refused call costs nothing."""
        interval = self._servers / limit.rate
        burst = max(1, limit.burst // self._servers)
        tolerance = interval * burst
        slot = (limit.policy, key)
        arrival = max(self._arrivals.get(slot, now), now) + interval
        window = max(1, math.ceil(tolerance))
        if arrival - now > tolerance + _ROUNDING:
            wait = arrival - now - tolerance
            return RateLimitState(
                limit.policy, burst, window, 0, max(1, math.ceil(arrival - interval - now)), max(1, math.ceil(wait))
            )
        self._arrivals[slot] = arrival
        self._arrivals.move_to_end(slot)
        if len(self._arrivals) > _MOST_KEYS:
            self._arrivals.popitem(last=False)
        remaining = int((tolerance - (arrival - now)) / interval + _ROUNDING)
        return RateLimitState(limit.policy, burst, window, remaining, math.ceil(arrival - now), None)

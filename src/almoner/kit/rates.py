"""Rates of requests, as settings, operators and rate limits state them."""

from typing import Final, NamedTuple

MAX_PER_SECOND: Final = 1_000_000
"""A rate is below this."""


class RequestRate(NamedTuple):
    """A limit: requests per second, and how many may come at once."""

    per_second: float
    burst: int

    @property
    def text(self) -> str:
        """``25/50``: the text that ``parse_rate`` reads."""
        return f"{self.per_second:.10g}/{self.burst}"


def parse_rate(text: str) -> RequestRate:
    """``25/50``: 25 per second, 50 at once. Raises ValueError."""
    per_second, _, burst = text.partition("/")
    try:
        rate = RequestRate(float(per_second), int(burst))
    except ValueError:
        rate = RequestRate(0, 0)
    if not (0 < rate.per_second < MAX_PER_SECOND and rate.burst >= 1):
        raise ValueError("must be a rate per second and a burst, such as 25/50")
    return rate

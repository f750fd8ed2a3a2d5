"""Counts of what waits for somebody."""

from datetime import datetime
from typing import NamedTuple


class WaitingCount(NamedTuple):
    """How many records wait, and since when the oldest of them has waited; None if none does."""

    total: int
    oldest_at: datetime | None

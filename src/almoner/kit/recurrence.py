"""Dates that come again: weekly, monthly, quarterly, yearly, on the day of the first. Pure.

Every date is counted from the anchor, never from the date before: the 31st is the last day of a shorter month, and the
31st again after it.
"""

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final, Literal

Frequency = Literal["weekly", "monthly", "quarterly", "yearly"]

_WEEK: Final = 7
_MONTHS: Final[dict[Frequency, int]] = {"monthly": 1, "quarterly": 3, "yearly": 12}


def nth_occurrence_date(anchor: date, frequency: Frequency, n: int) -> date:
    """The date that follows the anchor by ``n`` periods; the anchor itself is number 0."""
    if frequency == "weekly":
        return anchor + timedelta(days=_WEEK * n)
    months = anchor.year * 12 + anchor.month - 1 + _MONTHS[frequency] * n
    year, month = divmod(months, 12)
    return date(year, month + 1, min(anchor.day, monthrange(year, month + 1)[1]))


def next_occurrence_date(anchor: date, frequency: Frequency, after: date) -> date:
    """The first date later than ``after``; the anchor is no date of its own."""
    if frequency == "weekly":
        number = (after - anchor).days // _WEEK
    else:
        number = ((after.year - anchor.year) * 12 + after.month - anchor.month) // _MONTHS[frequency]
    number = max(number, 1)
    while (found := nth_occurrence_date(anchor, frequency, number)) <= after:
        number += 1
    return found


def local_time_to_utc(day: date, time_of_day: time, zone: tzinfo) -> datetime:
    """When clocks in ``zone`` show the time on this day: of two the first; of none, as much later as clocks jump."""
    return datetime.combine(day, time_of_day, zone).astimezone(UTC)

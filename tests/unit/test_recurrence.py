"""Dates that come again: the day of the first, the last day of shorter months, clocks that jump."""

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.kit.recurrence import Frequency, local_time_to_utc, next_occurrence_date, nth_occurrence_date

FREQUENCIES: tuple[Frequency, ...] = ("weekly", "monthly", "quarterly", "yearly")
MONTHS = {"monthly": 1, "quarterly": 3, "yearly": 12}
LONDON, NEW_YORK, LORD_HOWE = (ZoneInfo(name) for name in ("Europe/London", "America/New_York", "Australia/Lord_Howe"))
days = st.dates(date(2020, 1, 1), date(2040, 12, 31))


def test_the_31st_is_the_last_day_of_a_shorter_month_and_comes_back() -> None:
    found = [nth_occurrence_date(date(2024, 1, 31), "monthly", number).isoformat() for number in range(6)]
    assert found == ["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30", "2024-05-31", "2024-06-30"]
    leap = [nth_occurrence_date(date(2024, 2, 29), "yearly", number).isoformat() for number in range(5)]
    assert leap == ["2024-02-29", "2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29"]
    quarters = [nth_occurrence_date(date(2025, 11, 30), "quarterly", number).isoformat() for number in range(3)]
    assert quarters == ["2025-11-30", "2026-02-28", "2026-05-30"]


@given(days, st.sampled_from(["monthly", "quarterly", "yearly"]), st.integers(0, 300))
def test_every_period_has_one_date_on_the_day_of_the_first_or_its_last(
    anchor: date, frequency: Frequency, number: int
) -> None:
    found = nth_occurrence_date(anchor, frequency, number)
    assert (found.year - anchor.year) * 12 + found.month - anchor.month == MONTHS[frequency] * number
    assert found.day == min(anchor.day, monthrange(found.year, found.month)[1])


@given(days, st.sampled_from(FREQUENCIES), days)
def test_the_next_date_is_the_first_later_one(anchor: date, frequency: Frequency, after: date) -> None:
    found, number = next_occurrence_date(anchor, frequency, after), 1
    while nth_occurrence_date(anchor, frequency, number) <= after:
        number += 1
    assert found == nth_occurrence_date(anchor, frequency, number)
    assert found > max(after, anchor)


@pytest.mark.parametrize(
    ("day", "at", "zone", "expected"),
    [
        (date(2026, 3, 28), time(1, 30), LONDON, "2026-03-28T01:30"),
        (date(2026, 3, 29), time(1, 30), LONDON, "2026-03-29T01:30"),  # clocks go from 01:00 to 02:00: 02:30 there
        (date(2026, 3, 30), time(1, 30), LONDON, "2026-03-30T00:30"),
        (date(2026, 10, 25), time(1, 30), LONDON, "2026-10-25T00:30"),  # the first of two
        (date(2026, 11, 1), time(1, 30), NEW_YORK, "2026-11-01T05:30"),
        (date(2026, 10, 4), time(2, 15), LORD_HOWE, "2026-10-03T15:45"),  # half an hour
    ],
)
def test_moments_follow_the_clocks_of_the_zone(day: date, at: time, zone: ZoneInfo, expected: str) -> None:
    assert local_time_to_utc(day, at, zone) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@given(days, st.times(), st.sampled_from([LONDON, NEW_YORK, LORD_HOWE]))
def test_moments_of_days_keep_their_order_and_their_day(day: date, at: time, zone: ZoneInfo) -> None:
    moment, following = local_time_to_utc(day, at, zone), local_time_to_utc(day + timedelta(days=1), at, zone)
    assert moment.astimezone(zone).date() == day
    assert timedelta(hours=22) < following - moment < timedelta(hours=26)

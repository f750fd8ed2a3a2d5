"""Times on the wire."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.giving.accounting.monthly_reports.domain import month_bounds
from almoner.kit.time import (
    convert_day_to_start_timestamp,
    end_of_month,
    iso_timestamp,
    parse_calendar_day,
    parse_day_or_timestamp,
    parse_month,
    parse_timestamp,
)


def test_answers_show_milliseconds_and_z() -> None:
    assert iso_timestamp(datetime(2026, 1, 2, 3, 4, 5, 678_999, tzinfo=UTC)) == "2026-01-02T03:04:05.678Z"


@given(st.datetimes(timezones=st.just(UTC)))
def test_answers_show_any_moment_as_iso_8601_does(moment: datetime) -> None:
    assert iso_timestamp(moment) == moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9999, 1, 1)))  # noqa: DTZ001
def test_what_we_write_we_read(naive: datetime) -> None:
    moment = naive.replace(microsecond=naive.microsecond // 1000 * 1000, tzinfo=UTC)
    assert parse_timestamp(iso_timestamp(moment)) == moment


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("2026-05-06T07:08:09Z", 0),
        ("2026-05-06t07:08:09z", 0),
        ("2026-05-06T09:08:09+02:00", 0),
        ("2026-05-05T19:38:09.000-11:30", 0),
        ("2026-05-06T07:08:09.25Z", 250),
    ],
)
def test_any_rfc_3339_offset_is_read(text: str, offset: int) -> None:
    assert parse_timestamp(text) == datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC) + timedelta(milliseconds=offset)


@pytest.mark.parametrize(
    "text",
    ["", "2026-05-06", "2026-05-06T07:08:09", "2026-13-06T07:08:09Z", "2026-05-06 07:08:09Z", "20260506T070809Z",
     "2026-05-06T25:08:09Z", "٢٠٢٦-٠٥-٠٦T٠٧:٠٨:٠٩Z", "2026-05-06T07:08:09+2:00", "0001-01-01T00:00:00+23:59", "now"],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a date and time"):
        parse_timestamp(text)


def test_a_day_is_its_start_in_utc() -> None:
    assert parse_day_or_timestamp("2026-05-06") == datetime(2026, 5, 6, tzinfo=UTC)
    with pytest.raises(ValueError, match="must be a day of the calendar"):
        parse_day_or_timestamp("2026-02-30")


def test_a_plus_that_became_a_blank_in_a_query_string_is_one() -> None:
    found = parse_day_or_timestamp("2026-05-06T09:08:09 02:00")
    assert found == datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
    with pytest.raises(ValueError, match="must be a day such as"):
        parse_day_or_timestamp("2026-05-06 09:08:09 02:00")


@pytest.mark.parametrize(
    ("text", "zone", "after", "start"),
    [
        ("2026-03-02", "America/New_York", 0, "2026-03-02T05:00:00.000Z"),
        ("2026-03-02", "America/New_York", 1, "2026-03-03T05:00:00.000Z"),
        ("2026-07-01", "Europe/London", 0, "2026-06-30T23:00:00.000Z"),
        ("2026-03-02", "Pacific/Kiritimati", 0, "2026-03-01T10:00:00.000Z"),
        ("yesterday", "Europe/London", 0, "yesterday"),
        ("2026-02-30", "Europe/London", 1, "2026-02-30"),
        ("0001-01-01", "Asia/Tokyo", 0, "0001-01-01"),
        ("9999-12-31", "Europe/London", 1, "9999-12-31"),
    ],
)
def test_a_typed_day_starts_where_its_reader_is(text: str, zone: str, after: int, start: str) -> None:
    assert convert_day_to_start_timestamp(text, ZoneInfo(zone), days_later=after) == start


@pytest.mark.parametrize("text", ["9999-12", "0001-01", "2200-01", "1899-12", "2026-13", "2026", "2026-1", "", "x"])
def test_a_month_far_from_ours_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_month(text)
    with pytest.raises(ValueError, match=r"\w"):
        parse_calendar_day(f"{text}-31")


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Los_Angeles", "UTC"])
def test_the_first_and_last_months_that_are_read_have_bounds(zone: str) -> None:
    for text in ("1900-01", "2199-12"):
        begins, ends = month_bounds(parse_month(text), ZoneInfo(zone))
        assert timedelta(days=30) < ends - begins < timedelta(days=32)


def test_a_month_has_an_end_even_the_last() -> None:
    assert end_of_month(2028, 2) == datetime(2028, 2, 29, 23, 59, 59, tzinfo=UTC)
    assert end_of_month(9999, 12) == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)

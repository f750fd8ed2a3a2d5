"""Coverage of gift aid declarations against a plain model: every moment asked one by one (settled 4)."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.giving.gift_aid.declarations import domain as gift_aid_declarations_domain
from almoner.giving.gift_aid.declarations.domain import Declaration, Declarer

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
DECLARER = Declarer("Ms", "Ada", "Byron", "12", "St James's Square", "London", "United Kingdom", "SW1Y 4JH")
HOUR = timedelta(hours=1)
LAST = 48
"""Hours of the little world in which everything happens."""


def declaration(
    number: int, start: int = 0, end: int | None = None, cancelled: int | None = None, made: int = 0
) -> Declaration:
    """One whose moments are hours of the world."""

    def at(hour: int | None) -> datetime | None:
        return None if hour is None else NOW + hour * HOUR

    deleted = NOW if cancelled is not None else None
    begins = NOW + start * HOUR
    return Declaration(
        UUID(int=number), UUID(int=1), None, DECLARER, begins, at(end), at(cancelled), NOW + made * HOUR, deleted
    )


hours = st.integers(0, LAST)


@st.composite
def declarations(draw: st.DrawFn) -> list[Declaration]:
    """Some declarations with ends and cancellations before, in and after their spans."""
    made = []
    for number in range(draw(st.integers(0, 6))):
        start = draw(hours)
        end = draw(st.none() | st.integers(start + 1, LAST + 2))
        made.append(declaration(number, start, end, draw(st.none() | hours), draw(hours)))
    return made


def covers(one: Declaration, hour: int) -> bool:
    """By the words of the guide: from its start on, before its end, before its cancellation."""
    moment = NOW + hour * HOUR
    if moment < one.covers_from:
        return False
    if one.covers_to is not None and moment >= one.covers_to:
        return False
    return one.cancelled_from is None or moment < one.cancelled_from


@given(declarations())
def test_what_covers_a_gift_is_the_newest_that_a_plain_model_finds(made: list[Declaration]) -> None:
    for hour in range(LAST + 4):
        moment = NOW + hour * HOUR
        model = [one for one in made if covers(one, hour)]
        newest = max(model, key=lambda one: (one.created_at, one.id), default=None)
        assert gift_aid_declarations_domain.find_newest_covering_declaration(made, moment) == newest


@given(declarations(), hours)
def test_a_cancellation_takes_nothing_from_gifts_made_before_it(made: list[Declaration], hour: int) -> None:
    cancelled = [
        Declaration(
            one.id,
            one.partner_id,
            None,
            DECLARER,
            one.covers_from,
            one.covers_to,
            NOW + hour * HOUR,
            one.created_at,
            NOW,
        )
        for one in made
        if one.cancelled_from is None
    ]
    stored = [one for one in made if one.cancelled_from is None]
    for asked in range(LAST + 4):
        moment = NOW + asked * HOUR
        assert (gift_aid_declarations_domain.find_newest_covering_declaration(cancelled, moment) is not None) == (
            asked < hour and gift_aid_declarations_domain.find_newest_covering_declaration(stored, moment) is not None
        )


@pytest.mark.parametrize(
    ("now", "earliest"),
    [
        (NOW, datetime(2022, 3, 2, tzinfo=UTC)),
        (datetime(2028, 2, 29, 12, tzinfo=UTC), datetime(2024, 2, 29, tzinfo=UTC)),
        (datetime(2104, 2, 29, 12, tzinfo=UTC), datetime(2100, 2, 28, tzinfo=UTC)),
        (datetime(2026, 4, 5, 22, 59, tzinfo=UTC), datetime(2022, 4, 4, 23, tzinfo=UTC)),
        (datetime(2026, 4, 5, 23, 30, tzinfo=UTC), datetime(2022, 4, 5, 23, tzinfo=UTC)),
        (datetime(2027, 3, 27, 12, tzinfo=UTC), datetime(2023, 3, 26, 23, tzinfo=UTC)),
        (datetime(2027, 3, 27, 23, 30, tzinfo=UTC), datetime(2023, 3, 26, 23, 30, tzinfo=UTC)),
    ],
)
def test_the_past_four_years_begin_with_a_day_in_london(now: datetime, earliest: datetime) -> None:
    assert gift_aid_declarations_domain.earliest_covered_at(now) == earliest
    assert gift_aid_declarations_domain.find_period_problems(earliest, None, now) == []
    assert gift_aid_declarations_domain.find_period_problems(earliest - timedelta(microseconds=1), None, now) != []


def test_every_problem_of_a_span_is_named() -> None:
    assert gift_aid_declarations_domain.find_period_problems(
        NOW - timedelta(days=2000), NOW - timedelta(days=3000), NOW
    ) == [
        "body.coversFrom must not be more than four years ago",
        "body.coversTo must be after coversFrom",
    ]

"""W2, W3: when a failed delivery is tried again, and what an answer of the receiver leads to."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.webhooks.deliveries import domain as deliveries_domain
from almoner.webhooks.deliveries.domain import DeliveryAttempt, evaluate_attempt

FIRST = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def _attempt(number: int, at: datetime = FIRST, status: int | None = 500) -> DeliveryAttempt:
    return DeliveryAttempt(number, at, 12, status, None, None)


def _times(seed: int, retry_after: timedelta | None = None) -> list[datetime]:
    """When all attempts of a delivery that always fails begin."""
    chance = random.Random(seed)
    times = [FIRST]
    while due := evaluate_attempt(
        _attempt(len(times), times[-1]), FIRST, FIRST, retry_after, chance.random()
    ).next_attempt_at:
        times.append(due)
    return times


def test_w2_one_first_attempt_and_four_retries_within_the_windows_for_a_thousand_seeds() -> None:
    seen = set()
    for seed in range(1000):
        first, second, third, fourth, fifth = _times(seed)
        assert MINUTE <= second - first <= 1.1 * MINUTE
        assert 14 * MINUTE <= third - second <= 1.1 * 14 * MINUTE
        assert 165 * MINUTE <= fourth - third <= 1.1 * 165 * MINUTE
        assert 14 * HOUR <= fifth - first <= 14 * HOUR + 10 * MINUTE
        gaps = [second - first, third - second, fourth - third, fifth - fourth]
        assert gaps == sorted(gaps), "the gaps grow"
        seen.add(fifth)
    assert len(seen) > 900, "attempts of different deliveries are spread"


def test_w2_without_jitter_the_steps_are_exactly_those_published() -> None:
    waits = [
        deliveries_domain.next_retry_at(number, FIRST, FIRST + HOUR, None, 0.0)
        for number in range(1, deliveries_domain.MAX_ATTEMPTS + 1)
    ]
    assert waits == [
        FIRST + HOUR + MINUTE,
        FIRST + HOUR + 14 * MINUTE,
        FIRST + HOUR + 165 * MINUTE,
        FIRST + 14 * HOUR,
        None,
    ]


@pytest.mark.parametrize(
    ("asked", "waited"),
    [
        (timedelta(0), timedelta(seconds=60)),
        (timedelta(seconds=59), timedelta(seconds=60)),
        (timedelta(seconds=60), timedelta(seconds=60)),
        (timedelta(seconds=90), timedelta(seconds=90)),
        (timedelta(seconds=120), timedelta(seconds=120)),
        (timedelta(seconds=121), timedelta(seconds=120)),
        (timedelta(days=3), timedelta(seconds=120)),
        (None, timedelta(seconds=60)),
    ],
)
def test_w3_retry_after_counts_between_one_and_two_steps(asked: timedelta | None, waited: timedelta) -> None:
    assert deliveries_domain.next_retry_at(1, FIRST, FIRST, asked, 0.0) == FIRST + waited


@given(
    number=st.integers(1, 3),
    asked=st.none() | st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=30)),
    jitter=st.floats(0, 1),
)
def test_w3_no_answer_makes_a_step_shorter_or_more_than_doubles_it(
    number: int, asked: timedelta | None, jitter: float
) -> None:
    due = deliveries_domain.next_retry_at(number, FIRST, FIRST, asked, jitter)
    assert due is not None
    assert deliveries_domain.RETRY_DELAYS[number - 1] <= due - FIRST <= 2 * deliveries_domain.RETRY_DELAYS[number - 1]


@pytest.mark.parametrize("asked", [timedelta(0), timedelta(days=30)])
def test_w3_the_fourth_retry_does_not_follow_retry_after(asked: timedelta) -> None:
    assert deliveries_domain.next_retry_at(4, FIRST, FIRST + 4 * HOUR, asked, 0.0) == FIRST + 14 * HOUR


def test_w3_the_schedule_ends_at_14_hours_even_when_every_retry_is_put_off() -> None:
    assert _times(1, timedelta(days=1))[-1] - FIRST <= 14 * HOUR + 10 * MINUTE


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_w3_any_2xx_succeeds(status: int) -> None:
    assert evaluate_attempt(_attempt(1, status=status), FIRST, FIRST, None, 0.5) == deliveries_domain.AttemptEvaluation(
        "succeeded"
    )


@pytest.mark.parametrize("status", [None, 100, 199, 300, 301, 302, 304, 307, 308, 400, 401, 404, 429, 500, 503, 599])
def test_w3_everything_else_is_tried_again(status: int | None) -> None:
    verdict = evaluate_attempt(_attempt(1, status=status), FIRST, FIRST, None, 0.0)
    assert verdict == deliveries_domain.AttemptEvaluation("pending", FIRST + MINUTE)
    assert evaluate_attempt(_attempt(5, status=status), FIRST, FIRST, None, 0.0) == deliveries_domain.AttemptEvaluation(
        "failed"
    )


@pytest.mark.parametrize(
    ("number", "status", "due"),
    [(1, "pending", FIRST + MINUTE), (4, "pending", FIRST + 14 * HOUR), (5, "failed", None)],
)
def test_w3_410_suspends_and_is_else_tried_again_at_another_url(
    number: int, status: deliveries_domain.Status, due: datetime | None
) -> None:
    assert evaluate_attempt(
        _attempt(number, status=410), FIRST, FIRST, None, 0.0
    ) == deliveries_domain.AttemptEvaluation(status, due, suspends_subscription=True)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("120", timedelta(seconds=120)),
        (" 0 ", timedelta(0)),
        ("Mon, 02 Mar 2026 09:31:30 GMT", timedelta(seconds=90)),
        ("Mon, 02 Mar 2026 09:00:00 GMT", timedelta(0)),
        (None, None),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("9" * 10, None),
        ("Mon, 99 Foo 2026 09:31:30 GMT", None),
        ("Mon, 02 Mar 2026 09:31:30", None),
    ],
)
def test_w3_retry_after_is_seconds_or_a_date(header: str | None, wait: timedelta | None) -> None:
    assert deliveries_domain.parse_retry_after(header, FIRST) == wait


@given(st.text())
def test_w3_no_retry_after_header_breaks_the_reader(header: str) -> None:
    wait = deliveries_domain.parse_retry_after(header, FIRST)
    assert wait is None or wait >= timedelta(0)


@given(st.binary(max_size=3000))
def test_w9_at_most_1_kb_of_an_answer_is_kept(body: bytes) -> None:
    stored = deliveries_domain.truncate_response_body(body)
    assert (stored is None) == (body == b"")
    assert stored is None or (len(stored.encode()) <= 1000 and "\x00" not in stored)


def test_settled_11_nothing_is_tried_again_three_days_after_the_event() -> None:
    created = FIRST - timedelta(hours=71, minutes=30)
    late = evaluate_attempt(_attempt(1, status=500), created, FIRST, None, 0.0)
    assert late == deliveries_domain.AttemptEvaluation("failed")
    in_time = evaluate_attempt(_attempt(1, status=500), created + MINUTE, FIRST, None, 0.0)
    assert in_time == deliveries_domain.AttemptEvaluation("pending", FIRST + MINUTE)


def test_a_redirect_tells_where_it_leads_and_that_nobody_goes_there() -> None:
    told = deliveries_domain.describe_redirect_error(308, "https://hooks.example.com/new\x00\udcff" + "é" * 900)
    assert told is not None
    assert told.startswith("Redirects are not followed.")
    assert "https://hooks.example.com/new" in told
    assert len(told.encode()) <= 1000
    assert [
        deliveries_domain.describe_redirect_error(*one)
        for one in ((304, None), (200, "https://x.example"), (301, None))
    ] == [None] * 3

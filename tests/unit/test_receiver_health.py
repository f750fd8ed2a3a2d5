"""The breaker of a webhook receiver, and when its partner is warned or its subscription suspended (settled 11)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from almoner.webhooks.subscriptions.domain import AttemptLimits, AttemptOutcome, ReceiverHealth

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)


def answered(
    health: ReceiverHealth,
    at: datetime,
    *,
    ok: bool = False,
    took: timedelta = SECOND / 10,
    began: datetime | None = None,
) -> ReceiverHealth:
    """The health after an answer; business and real time are one here."""
    return health.after_attempt(AttemptOutcome(began or at, took, ok), at, at)


def failed(times: int, at: datetime = START, health: ReceiverHealth | None = None) -> ReceiverHealth:
    """After so many failures at one moment."""
    made = health or ReceiverHealth()
    for _ in range(times):
        made = answered(made, at)
    return made


def test_four_failures_in_a_row_pause_nothing_and_the_fifth_pauses_for_a_minute() -> None:
    assert failed(4).attempt_limits == AttemptLimits(4, 4, None)
    assert failed(5).attempt_limits == AttemptLimits(1, 1, START + 60 * SECOND)


def test_a_success_in_between_begins_the_count_again() -> None:
    health = answered(failed(4), START, ok=True)
    assert (health.failures, health.status, health.last_success_at) == (0, "healthy", START)
    assert failed(4, health=health).paused_until is None


def test_each_probe_that_fails_doubles_the_pause_up_to_half_an_hour() -> None:
    health, pauses = failed(5), []
    for _ in range(8):
        assert health.paused_until is not None
        now = health.paused_until
        health = answered(health, now)
        assert health.paused_until is not None
        pauses.append((health.paused_until - now).total_seconds())
    assert pauses == [120, 240, 480, 960, 1800, 1800, 1800, 1800]


def test_a_probe_that_succeeds_ends_the_pause() -> None:
    health = failed(5)
    assert health.paused_until is not None
    assert answered(health, health.paused_until, ok=True).attempt_limits == AttemptLimits(4, 32, None)


def test_answers_to_attempts_from_before_the_pause_do_not_lengthen_it() -> None:
    health = failed(5)
    late = answered(health, START + 15 * SECOND, began=START)
    assert (late.paused_until, late.pauses, late.failures) == (health.paused_until, 1, 6)


@pytest.mark.parametrize(("took", "burst"), [(SECOND, 32), (1.001 * SECOND, 4)])
def test_who_answers_within_a_second_may_get_more_at_once(took: timedelta, burst: int) -> None:
    health = answered(ReceiverHealth(), START, ok=True, took=took)
    assert health.attempt_limits == AttemptLimits(4, burst, None)
    assert answered(health, START).attempt_limits == AttemptLimits(4, 4, None)


def test_a_day_of_failures_alone_is_a_reason_to_warn_once() -> None:
    health = failed(1)
    assert health.required_action(START + DAY - SECOND) is None
    assert health.required_action(START + DAY) == "warn"
    assert replace(health, warned_at=START + DAY).required_action(START + 2 * DAY) is None


def test_five_days_with_failures_on_three_of_them_suspend() -> None:
    two_days = failed(1, START + DAY, failed(1))
    assert two_days.required_action(START + 6 * DAY) == "warn"
    three_days = failed(1, START + 2 * DAY, two_days)
    assert three_days.required_action(START + 5 * DAY - SECOND) == "warn"
    assert three_days.required_action(START + 5 * DAY) == "suspend"
    assert failed(9, START + 2 * DAY, two_days).failing_days == 3
    assert answered(three_days, START + 3 * DAY, ok=True).required_action(START + 9 * DAY) is None


def test_days_are_of_real_time_and_failing_since_is_of_business_time() -> None:
    ahead = START + 100 * DAY
    health = ReceiverHealth().after_attempt(AttemptOutcome(ahead, SECOND, succeeded=False), ahead, START)
    assert (health.failing_since, health.failing_since_real) == (ahead, START)
    assert health.required_action(START + DAY / 2) is None

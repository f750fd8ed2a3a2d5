"""GCRA (L1, L3): the rate over time, the burst at once, an honest Retry-After."""

import pytest

from almoner.platform.ratelimit import RateLimit, RateLimiter, rate_limit_slot_digest

LIMIT = RateLimit("secret", 25, 50)


def test_l1_burst_then_rate() -> None:
    limiter = RateLimiter()
    assert sum(limiter.count_call(LIMIT, "a", 0.0).retry_after_seconds is None for _ in range(60)) == 50
    # Three times the allowed load for a minute: what passes is the rate, to 1 %.
    passed = sum(limiter.count_call(LIMIT, "a", n / 75).retry_after_seconds is None for n in range(75, 75 * 61))
    assert abs(passed - 25 * 60) <= 25 * 60 * 0.02 + 25


def test_l3_a_call_after_retry_after_passes() -> None:
    limiter = RateLimiter()
    for _ in range(50):
        limiter.count_call(LIMIT, "a", 5.0)
    refused = limiter.count_call(LIMIT, "a", 5.0)
    assert refused.retry_after_seconds == 1
    assert limiter.count_call(LIMIT, "a", 5.0 + refused.retry_after_seconds).retry_after_seconds is None


def test_keys_and_policies_do_not_share() -> None:
    limiter = RateLimiter()
    for _ in range(50):
        limiter.count_call(LIMIT, "a", 0.0)
    assert limiter.count_call(LIMIT, "b", 0.0).retry_after_seconds is None
    assert limiter.count_call(RateLimit("address", 25, 50), "a", 0.0).retry_after_seconds is None


def test_headers_count_down() -> None:
    limiter = RateLimiter()
    assert [limiter.count_call(RateLimit("p", 1, 3), "a", 0.0).remaining for _ in range(4)] == [2, 1, 0, 0]


def test_what_other_servers_tell_counts_here_too_and_what_was_used_since_is_added() -> None:
    limiter = RateLimiter()
    slot = (LIMIT.policy, "a")
    for _ in range(10):
        limiter.count_call(LIMIT, "a", 0.0)
    sent = limiter.drain_usage()
    assert sent == {slot: pytest.approx(10 / LIMIT.rate)}
    limiter.count_call(LIMIT, "a", 0.0)
    limiter.apply_shared_usage({rate_limit_slot_digest(slot): 30 / LIMIT.rate}, 0.0)
    assert limiter.count_call(LIMIT, "a", 0.0).remaining == 50 - 30 - 1 - 1


def test_a_key_that_others_used_up_is_refused_at_its_first_call_here() -> None:
    limiter = RateLimiter()
    limiter.apply_shared_usage({rate_limit_slot_digest((LIMIT.policy, "a")): LIMIT.burst / LIMIT.rate}, 100.0)
    assert limiter.count_call(LIMIT, "a", 100.0).retry_after_seconds == 1
    assert limiter.count_call(LIMIT, "b", 100.0).retry_after_seconds is None
    assert limiter.count_call(LIMIT, "a", 101.0).retry_after_seconds is None


def test_a_clock_that_steps_back_keeps_nobody_out() -> None:
    limiter = RateLimiter()
    for _ in range(10):
        limiter.count_call(LIMIT, "a", 3600.0)
    assert limiter.count_call(LIMIT, "a", 0.0).retry_after_seconds == 1
    assert limiter.count_call(LIMIT, "a", 2.0).retry_after_seconds is None


def test_looking_at_a_limit_counts_nothing_and_says_what_a_call_would_hear() -> None:
    limiter = RateLimiter()
    slow = RateLimit("slow", 0.2, 3)
    for _ in range(3):
        for _look in range(5):
            assert limiter.seconds_until_allowed(slow, "a", 7.0) is None
        limiter.count_call(slow, "a", 7.0)
    assert limiter.seconds_until_allowed(slow, "a", 7.0) == limiter.count_call(slow, "a", 7.0).retry_after_seconds == 5
    assert limiter.seconds_until_allowed(slow, "a", 12.0) is None


@pytest.mark.parametrize("passed", [0.0, 3.0, 4.5, 5.5])
def test_a_raised_limit_is_not_held_back_by_what_the_lower_one_allowed(passed: float) -> None:
    limiter = RateLimiter()
    for _ in range(3):
        limiter.count_call(RateLimit("secret", 0.5, 3), "key", 0.0)
    raised = RateLimit("secret", 1_000, 1_000)
    waited = limiter.count_call(raised, "key", passed).retry_after_seconds
    assert waited is None or limiter.count_call(raised, "key", passed + 0.01).retry_after_seconds is None

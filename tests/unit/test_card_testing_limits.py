"""Decisions of the limits against card testing, to the moment (H6, H7, H11)."""

import contextlib
import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from almoner.giving.checkout.card_testing import domain as card_testing_domain
from almoner.giving.checkout.card_testing.domain import (
    BLOCK_DURATION,
    LOOSE_LIMITS,
    STRICT_LIMITS,
    BrowserFingerprint,
    EmailCode,
    EmailCodeCheckResult,
    EmailCodeRequired,
    RateLimited,
    RateLimitReason,
    RecentDeclines,
    SourceHistory,
    VelocityState,
    max_card_attempts,
)

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
MOMENT, SECOND, MINUTE, HOUR = (timedelta(microseconds=1), *(timedelta(seconds=n) for n in (1, 60, 3600)))
CALM = SourceHistory((), 0, None)
ID = UUID(int=1)


def sight(*seen: SourceHistory, **changed: object) -> VelocityState:
    """What is known of somebody: nothing, unless it is said."""
    known: dict[str, object] = {
        "address_attempts": (),
        "device_attempts": (),
        "device_known": True,
        "code_forced": False,
        "code_passed": False,
        **changed,
    }
    return VelocityState(seen or (CALM, CALM), **known)  # type: ignore[arg-type]


def declined(times: int, *, left_open: int = 0, at: datetime = NOW - MINUTE) -> SourceHistory:
    """A source whose cards were declined."""
    return SourceHistory((at,) * times, left_open, None)


def waits_until(seen: VelocityState, at: datetime = NOW) -> datetime:
    """When it may try again."""
    with pytest.raises(RateLimited) as wait:
        max_card_attempts(seen, STRICT_LIMITS, at)
    return wait.value.until


def test_h6_the_figures_are_those_of_the_requirement() -> None:
    assert (
        STRICT_LIMITS.ip_address_payments_per_minute,
        STRICT_LIMITS.ip_address_payments_per_hour,
        STRICT_LIMITS.device_payments_per_day,
    ) == (6, 20, 10)
    assert timedelta(minutes=30) == BLOCK_DURATION
    assert 10 * STRICT_LIMITS.source_card_attempts_per_hour <= 60


@pytest.mark.parametrize(
    ("seen", "tries"),
    [
        ((CALM, CALM), 3),
        ((declined(1), CALM), 3),
        ((declined(2), declined(2)), 3),
        ((declined(0, left_open=3), CALM), 1),
        ((CALM, declined(0, left_open=1)), 1),
        ((declined(2, left_open=3), CALM), 1),
    ],
)
def test_h6_what_a_calm_source_may_try_without_a_code(seen: tuple[SourceHistory, ...], tries: int) -> None:
    assert max_card_attempts(sight(*seen), STRICT_LIMITS, NOW) == tries


@pytest.mark.parametrize(
    ("seen", "tries"),
    [((declined(3), CALM), 3), ((declined(4), CALM), 2), ((CALM, declined(5)), 1), ((declined(3, left_open=1),), 1)],
)
def test_h6_three_declines_ask_for_a_code_and_a_code_lets_through(seen: tuple[SourceHistory, ...], tries: int) -> None:
    with pytest.raises(EmailCodeRequired):
        max_card_attempts(sight(*seen), STRICT_LIMITS, NOW)
    assert max_card_attempts(sight(*seen, code_passed=True), STRICT_LIMITS, NOW) == tries


@pytest.mark.parametrize("changed", [{"code_forced": True}, {"device_known": False}])
def test_h6_h7_an_attacked_partner_or_a_browser_without_cookie_asks_for_a_code(changed: dict[str, bool]) -> None:
    with pytest.raises(EmailCodeRequired):
        max_card_attempts(sight(**changed), STRICT_LIMITS, NOW)
    assert max_card_attempts(sight(**changed, code_passed=True), STRICT_LIMITS, NOW) == 3
    assert max_card_attempts(sight(**changed), LOOSE_LIMITS, NOW) == 5


def test_partners_tests_in_the_sandbox_are_not_held_up() -> None:
    busy = declined(5_000, left_open=500)
    assert max_card_attempts(sight(busy, busy, code_forced=True, device_known=False), LOOSE_LIMITS, NOW) == 5


def test_h6_a_used_up_budget_waits_even_with_a_code() -> None:
    at = NOW - timedelta(minutes=20)
    assert waits_until(sight(declined(6, at=at), code_passed=True)) == at + HOUR


def test_h6_a_source_with_open_payments_waits_until_the_oldest_ends_and_is_told_of_others() -> None:
    def wait(declines: int, declined_at: datetime, since: datetime | None) -> tuple[datetime, RateLimitReason]:
        later = tuple(declined_at + MOMENT * number for number in range(declines))
        seen = SourceHistory(later, 6 - declines, None, since)
        with pytest.raises(RateLimited) as raised:
            max_card_attempts(sight(seen, code_passed=True), STRICT_LIMITS, NOW)
        return raised.value.until, raised.value.why

    recent, old = NOW - MINUTE, NOW - timedelta(minutes=59)
    assert STRICT_LIMITS.open_payment_lifetime == timedelta(minutes=10)
    assert wait(0, NOW, recent) == (NOW + 9 * MINUTE, RateLimitReason.CROWDED)
    assert wait(3, recent, recent) == (NOW + 9 * MINUTE, RateLimitReason.CROWDED)
    assert wait(3, old, recent) == (NOW + MINUTE, RateLimitReason.DECLINED)
    assert wait(0, NOW, NOW - 11 * MINUTE) == (NOW + MINUTE, RateLimitReason.CROWDED), "it is overdue: being ended"


@pytest.mark.parametrize(
    ("begun", "most", "window"),
    [("address_attempts", 6, MINUTE), ("address_attempts", 20, HOUR), ("device_attempts", 10, 24 * HOUR)],
)
def test_h6_beginnings_are_limited_to_the_moment(begun: str, most: int, window: timedelta) -> None:
    first = NOW - window + MOMENT
    gap = (window - MOMENT) / most
    moments = tuple(first + gap * number for number in range(most))
    assert waits_until(sight(**{begun: moments})) == first + window
    assert max_card_attempts(sight(**{begun: moments}), STRICT_LIMITS, first + window) == 3
    assert max_card_attempts(sight(**{begun: moments[1:]}), STRICT_LIMITS, NOW) == 3


def test_h6_a_pause_ends_thirty_minutes_later_to_the_moment() -> None:
    paused = SourceHistory((), 0, NOW + BLOCK_DURATION)
    for seen in ((paused, CALM), (CALM, paused)):
        assert waits_until(sight(*seen, code_passed=True), NOW + BLOCK_DURATION - MOMENT) == NOW + BLOCK_DURATION
        assert max_card_attempts(sight(*seen), STRICT_LIMITS, NOW + BLOCK_DURATION) == 3


def test_h6_whoever_uses_up_the_budget_is_paused() -> None:
    visitor = BrowserFingerprint(b"a" * 16, b"d" * 16)
    for by_address, by_device, paused in (
        (5, 5, []),
        (6, 5, [b"a" * 16]),
        (5, 6, [b"d" * 16]),
        (6, 9, [b"a" * 16, b"d" * 16]),
    ):
        assert (
            card_testing_domain.sources_to_block(visitor, RecentDeclines(by_address, by_device, 0, 0), STRICT_LIMITS)
            == paused
        )
    assert card_testing_domain.sources_to_block(
        BrowserFingerprint(b"a" * 16, None), RecentDeclines(6, 6, 0, 0), STRICT_LIMITS
    ) == [b"a" * 16]


@pytest.mark.parametrize("seed", range(20))
def test_h6_no_order_of_payments_and_declines_gives_a_source_a_seventh_try_in_an_hour(seed: int) -> None:
    chance = random.Random(seed)
    now = NOW
    attempts: list[datetime] = []
    left_open: list[tuple[int, datetime]] = []
    for _ in range(400):
        now += timedelta(seconds=chance.randrange(600))
        left_open = [(left, until) for left, until in left_open if until > now]  # ended at the provider
        declines = tuple(moment for moment in attempts if moment > now - HOUR)
        seen = SourceHistory(declines, sum(left for left, _ in left_open), None)
        with contextlib.suppress(RateLimited):
            left_open.append(
                (
                    max_card_attempts(sight(seen, code_passed=True), STRICT_LIMITS, now),
                    now + STRICT_LIMITS.open_payment_lifetime,
                )
            )
        chance.shuffle(left_open)
        for _ in range(chance.randrange(4)):
            if left_open and left_open[-1][0]:
                attempts.append(now)
                left_open[-1] = (left_open[-1][0] - 1, left_open[-1][1])
        left_open = [one for one in left_open if one[0]]
    assert len(attempts) > 30
    assert (
        max(sum(start <= moment < start + HOUR for moment in attempts) for start in attempts)
        <= STRICT_LIMITS.source_card_attempts_per_hour
    )


@pytest.mark.parametrize(
    ("declines", "tries", "attacked"),
    [(30, 30, False), (31, 31, True), (31, 154, True), (31, 155, False), (100, 500, False), (101, 500, True)],
)
def test_h7_more_than_thirty_and_more_than_a_fifth(declines: int, tries: int, attacked: bool) -> None:
    assert card_testing_domain.is_under_attack(RecentDeclines(0, 0, declines, tries), STRICT_LIMITS) is attacked
    assert not card_testing_domain.is_under_attack(RecentDeclines(0, 0, declines, tries), LOOSE_LIMITS)


def code(**changed: object) -> EmailCode:
    """A code that was just sent."""
    known = {"expires_at": NOW + timedelta(minutes=10), "failed_attempts": 0, "spent": False, **changed}
    return EmailCode(ID, ID, b"e" * 16, b"", **known)  # type: ignore[arg-type]


@pytest.mark.parametrize("typed", ["012345", " 012 345 ", "012-345", "٠١٢٣٤٥", "０１２３４５"])
def test_h11_a_code_may_be_typed_as_people_do(typed: str) -> None:
    assert code().check_entered_code(typed, "012345", NOW) is EmailCodeCheckResult.RIGHT


def test_h11_what_becomes_of_a_typed_code() -> None:
    end = NOW + timedelta(minutes=10)
    assert (
        code().check_entered_code("", "012345", NOW)
        is code().check_entered_code("abc", "012345", NOW)
        is EmailCodeCheckResult.MISSING
    )
    assert code().check_entered_code("12345", "012345", NOW) is EmailCodeCheckResult.WRONG
    assert code(failed_attempts=4).check_entered_code("012345", "012345", end - MOMENT) is EmailCodeCheckResult.RIGHT
    for over in (code(failed_attempts=5), code(spent=True)):
        assert (
            over.check_entered_code("012345", "012345", NOW)
            is over.check_entered_code("1", "012345", NOW)
            is EmailCodeCheckResult.OVER
        )
    assert code().check_entered_code("012345", "012345", end) is EmailCodeCheckResult.OVER


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("no address", "no address"),
    ],
)
def test_h6_the_network_of_an_ipv6_address_is_one_source(address: str, source: str) -> None:
    assert card_testing_domain.truncate_ipv6_address_to_network(address) == source

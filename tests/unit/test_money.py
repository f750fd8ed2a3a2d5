"""Money: M8 (what is refused) and M9 (splits), over random values, and the currencies of countries."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from almoner.giving.checkout.hosted_page.service import default_currency
from almoner.kit.money import EXPONENTS, MAX_MINOR, Money, MoneyError, allocate, currency_exponent
from almoner.nonprofits.countries.domain import COUNTRIES

currencies = st.sampled_from(sorted(EXPONENTS))
amounts = st.integers(0, MAX_MINOR)


def test_m8_the_table_has_every_active_code_with_a_minor_unit() -> None:
    assert len(EXPONENTS) == 165
    counts = [sum(1 for digits in EXPONENTS.values() if digits == wanted) for wanted in (0, 2, 3, 4)]
    assert counts == [17, 139, 7, 2]
    assert [currency_exponent(code) for code in ("GBP", "JPY", "KWD", "RSD", "CLF", "XCG")] == [2, 0, 3, 2, 4, 2]


@pytest.mark.parametrize("code", ["", "gbp", "XXX", "XAU", "BGN", "ANG", "GBPX", " GBP"])
def test_m8_unknown_withdrawn_and_unitless_codes_are_refused(code: str) -> None:
    with pytest.raises(MoneyError):
        Money(1, code)


@given(st.one_of(st.floats(), st.booleans(), st.decimals(allow_nan=False), st.text(), st.none()), currencies)
def test_m8_only_whole_numbers_are_amounts(amount: object, currency: str) -> None:
    with pytest.raises(MoneyError):
        Money(amount, currency)  # type: ignore[arg-type]


@given(st.one_of(st.integers(max_value=-1), st.integers(min_value=MAX_MINOR + 1)), currencies)
def test_m8_amounts_outside_json_are_refused(amount: int, currency: str) -> None:
    with pytest.raises(MoneyError):
        Money(amount, currency)


@given(amounts, currencies, amounts, currencies)
def test_m8_currencies_never_mix(first: int, one: str, second: int, other: str) -> None:
    assume(one != other)
    left, right = Money(first, one), Money(second, other)
    for together in (left.__add__, left.__sub__, left.__lt__, left.__le__):
        with pytest.raises(MoneyError):
            together(right)
    assert left != right


@given(amounts, st.one_of(st.integers(), st.floats()), currencies)
def test_m8_money_does_not_go_with_bare_numbers(amount: int, number: float, currency: str) -> None:
    bare: Any = number
    for together in (Money(amount, currency).__add__, Money(amount, currency).__sub__, Money(amount, currency).__lt__):
        with pytest.raises(MoneyError):
            together(bare)


@given(amounts, amounts, currencies)
def test_m8_sums_and_differences_stay_within_bounds(first: int, second: int, currency: str) -> None:
    left, right = Money(first, currency), Money(second, currency)
    if first + second > MAX_MINOR:
        with pytest.raises(MoneyError):
            left + right
    else:
        assert left + right - right == left
    if second > first:
        with pytest.raises(MoneyError):
            left - right
    assert (left < right) is (first < second)
    assert (left <= right) is (first <= second)
    assert bool(left) is (first > 0)
    assert Money(1, left.currency)


weights_ = st.lists(st.integers(0, 10**6), min_size=1, max_size=30).filter(any)


@given(amounts, weights_, currencies)
def test_m9_parts_make_the_whole_and_none_is_off_by_more(amount: int, weights: list[int], currency: str) -> None:
    parts = allocate(Money(amount, currency), weights)
    assert sum(part.minor for part in parts) == amount
    assert {part.currency for part in parts} == {currency}
    total = sum(weights)
    for part, weight in zip(parts, weights, strict=True):
        assert abs(Fraction(amount * weight, total) - part.minor) < 1


@given(st.integers(0, 10**6), st.integers(1, 40))
def test_m9_equal_weights_give_the_odd_units_to_the_first(amount: int, count: int) -> None:
    parts = [part.minor for part in allocate(Money(amount, "GBP"), [1] * count)]
    assert parts == sorted(parts, reverse=True)
    assert max(parts) - min(parts) <= 1


def test_m9_the_largest_remainder_gets_the_odd_unit() -> None:
    assert [part.minor for part in allocate(Money(100, "JPY"), [1, 3, 3])] == [14, 43, 43]
    assert [part.minor for part in allocate(Money(5, "JPY"), [0, 3, 7])] == [0, 2, 3]


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1], [1.5], [True]])
def test_m9_weights_that_say_nothing_are_refused(weights: list[int]) -> None:
    with pytest.raises(MoneyError):
        allocate(Money(100, "GBP"), weights)


def test_the_currency_of_every_country_is_in_use() -> None:
    assert {one.currency for one in COUNTRIES.values()} - {None} <= EXPONENTS.keys()


@pytest.mark.parametrize(
    ("header", "currency"),
    [("bg-BG,bg;q=0.9", "EUR"), ("hr-HR", "EUR"), ("en-GB", "GBP"), ("ja-JP", "USD"), ("en", "USD")],
)
def test_the_page_begins_in_the_currency_of_the_donor_s_region_if_it_is_offered(header: str, currency: str) -> None:
    assert default_currency(("USD", "EUR", "GBP"), header) == currency

"""What a provider keeps, and the total that leaves a gift whole after it, exact over random values."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from almoner.giving.checkout.payments.domain import FeeSchedule
from almoner.kit.money import MAX_MINOR, Money, MoneyError

tariffs = st.builds(FeeSchedule, st.integers(0, 9_900), st.fixed_dictionaries({"USD": st.integers(0, 10_000)}))
gifts = st.builds(Money, st.integers(1, 10**12), st.sampled_from(["USD", "JPY", "KWD"]))
TEST = FeeSchedule(basis_points=250)


@pytest.mark.parametrize(("minor", "fee"), [(0, 0), (1, 0), (19, 0), (20, 1), (59, 1), (60, 2), (2500, 63), (2600, 65)])
def test_the_share_is_rounded_half_up(minor: int, fee: int) -> None:
    assert TEST.fee_for(Money(minor, "USD")) == Money(fee, "USD")


def test_the_fixed_part_is_that_of_the_currency() -> None:
    tariff = FeeSchedule(290, {"USD": 30})
    assert tariff.fee_for(Money(10_000, "USD")).minor == 320
    assert tariff.fee_for(Money(10_000, "EUR")).minor == 290
    assert tariff.fee_for(Money(12, "USD")).minor == 12  # at most all of it


@pytest.mark.parametrize(("gift", "total"), [(100, 103), (2500, 2564), (5000, 5128), (10_000, 10_256), (1, 1)])
def test_known_totals(gift: int, total: int) -> None:
    assert TEST.gross_up(Money(gift, "USD")) == Money(total, "USD")


@given(tariffs, gifts)
def test_m9_the_total_is_the_smallest_that_leaves_the_gift_whole(tariff: FeeSchedule, gift: Money) -> None:
    total = tariff.gross_up(gift)
    assert total - tariff.fee_for(total) == gift
    less = Money(total.minor - 1, total.currency)
    assert less - tariff.fee_for(less) < gift


@given(tariffs, st.integers(0, MAX_MINOR))
def test_a_fee_is_never_more_than_the_money(tariff: FeeSchedule, minor: int) -> None:
    assert tariff.fee_for(Money(minor, "USD")) <= Money(minor, "USD")


@given(st.integers(1, 9_999))
def test_a_total_above_the_largest_amount_is_refused(basis_points: int) -> None:
    tariff = FeeSchedule(basis_points)
    assume(tariff.fee_for(Money(MAX_MINOR, "USD")))
    with pytest.raises(MoneyError):
        tariff.gross_up(Money(MAX_MINOR, "USD"))


@pytest.mark.parametrize(("basis_points", "fixed"), [(-1, {}), (10_000, {}), (250, {"USD": -1})])
def test_what_is_no_tariff_is_refused(basis_points: int, fixed: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="less than the whole"):
        FeeSchedule(basis_points, fixed)

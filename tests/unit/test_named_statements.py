"""Statements whose values have names."""

import pytest

from almoner.platform.database.named import NamedParameterStatement


def test_a_name_that_stands_twice_is_one_value_and_a_cast_is_no_name() -> None:
    made = NamedParameterStatement("select :later::text, :now, :later where a::date = :day_of")
    assert made.sql == "select $1::text, $2, $1 where a::date = $3"
    assert made.ordered_arguments({"now": 2, "day_of": 3, "later": 1, "unused": 4}) == [1, 2, 3]


def test_a_value_that_is_not_given_is_an_error() -> None:
    with pytest.raises(KeyError, match="b"):
        NamedParameterStatement("select :a, :b").ordered_arguments({"a": 1})

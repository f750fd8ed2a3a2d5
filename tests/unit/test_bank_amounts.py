"""Numbers in bank files that are no amounts."""

from decimal import Decimal

import pytest

from almoner.giving.banking.bank_statements import movements


@pytest.mark.parametrize("number", ["1e9999999", "1e-9999999", "NaN", "-1"])
def test_m7_a_number_that_no_account_can_hold_is_no_amount(number: str) -> None:
    problem = movements.parse_minor_units_or_problem(Decimal(number), "EUR", f"{number} EUR")
    assert problem == f"{number} EUR is not a valid amount"

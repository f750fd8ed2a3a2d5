"""Stripe's amounts beside ours, and the settings of its account."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from almoner import settings
from almoner.adapters import stripe_currencies
from almoner.adapters.stripe_currencies import (
    THREE_DECIMAL_CURRENCIES,
    UNIT_FACTORS,
    CurrencyTableMismatch,
    UnsupportedAmount,
)
from almoner.kit.money import EXPONENTS, MAX_MINOR, Money
from almoner.settings import InvalidSettings

KEYS = {"stripe_secret_key": "sk_test_stub", "stripe_webhook_secret": "whsec_stub"}


def test_every_amount_of_an_offered_currency_can_be_told_exactly() -> None:
    assert {"USD", "EUR", "GBP", "JPY", "ISK", "UGX", "HUF", "TWD"} < UNIT_FACTORS.keys() <= EXPONENTS.keys()
    assert UNIT_FACTORS.keys().isdisjoint({"MGA", "IQD", "LYD", *THREE_DECIMAL_CURRENCIES})
    assert {code for code, factor in UNIT_FACTORS.items() if factor != 1} == {"ISK", "UGX"}


def test_a_currency_of_other_decimals_keeps_stripe_from_starting() -> None:
    stripe_currencies.check_currency_table()
    wrong = {**stripe_currencies.STRIPE_DECIMALS, "USD": 3, "ISK": 0, "XQQ": 2}
    with pytest.raises(CurrencyTableMismatch) as refused:
        stripe_currencies.check_currency_table(wrong)
    assert str(refused.value) == (
        "Stripe's table of currencies is not ours: USD has 3 decimals at Stripe and 2 here; "
        "XQQ has 2 decimals at Stripe and none here"
    )
    with pytest.raises(CurrencyTableMismatch, match="EUR has 2 decimals at Stripe and 4 here"):
        stripe_currencies.check_currency_table(local_exponents={**EXPONENTS, "EUR": 4})


@given(st.sampled_from(sorted(UNIT_FACTORS)), st.integers(0, MAX_MINOR))
def test_what_is_written_is_read_again(currency: str, minor: int) -> None:
    money = Money(minor, currency)
    assert stripe_currencies.from_stripe_amount(stripe_currencies.to_stripe_amount(money), currency.lower()) == money


@pytest.mark.parametrize(
    ("amount", "currency"),
    [(1050, "isk"), (1, "ugx"), (-1, "usd"), (MAX_MINOR + 1, "usd"), (10, "kwd"), (1, "xxx"), (1, ""), (5, "mga")],
)
def test_what_is_no_amount_of_ours_is_refused(amount: int, currency: str) -> None:
    with pytest.raises(UnsupportedAmount):
        stripe_currencies.from_stripe_amount(amount, currency)


@pytest.mark.parametrize("currency", ["KWD", "MGA", "IQD", "CLF"])
def test_what_cannot_be_told_is_not_written(currency: str) -> None:
    with pytest.raises(UnsupportedAmount):
        stripe_currencies.to_stripe_amount(Money(1000, currency))


def test_an_account_is_read_with_its_fee() -> None:
    account = settings.read_settings(**KEYS, stripe_fee="150 EUR:25 USD:30").stripe
    assert account is not None
    assert account == ("sk_test_stub", "whsec_stub", 150, {"EUR": 25, "USD": 30})
    assert settings.read_settings().stripe is None
    assert settings.read_settings().uses_test_provider
    assert not settings.read_settings(**KEYS).uses_test_provider


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"stripe_secret_key": "sk_test_stub"}, "ALMONER_STRIPE_WEBHOOK_SECRET must be set together"),
        ({"stripe_webhook_secret": "whsec_stub"}, "ALMONER_STRIPE_WEBHOOK_SECRET must be set together"),
        ({**KEYS, "stripe_secret_key": "pk_test_stub"}, "must be a secret or restricted key"),
        ({**KEYS, "stripe_secret_key": "sk_live_stub"}, "must be a test key here"),
        ({**KEYS, "environment": "production"}, "ALMONER_STRIPE_SECRET_KEY must be a live key here"),
        ({**KEYS, "stripe_webhook_secret": "secret"}, "must be the signing secret"),
        ({**KEYS, "stripe_fee": "1.5 %"}, "ALMONER_STRIPE_FEE"),
        ({**KEYS, "environment": "production", "stripe_api_url": "http://stub"}, "must begin with https://"),
    ],
)
def test_a_wrong_account_is_refused_at_start(given_: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidSettings, match=said) as refused:
        settings.read_settings(**given_)
    assert "stub" not in str(refused.value).replace("http://stub", "")


def test_keys_are_never_shown() -> None:
    shown = repr(settings.read_settings(**KEYS))
    assert "sk_test_stub" not in shown
    assert repr(SecretStr("x")) in shown

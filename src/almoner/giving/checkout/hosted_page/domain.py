"""Minimum, maximum and suggested amounts of each currency or session; pure.

The minimum, about one US dollar, discourages card testing and limits fees (H6). Suggestions are round numbers in each
currency.
"""

from dataclasses import dataclass
from typing import Final

from babel import Locale

from almoner.giving.checkout.sessions.domain import NO_OPTIONS, DonationOptions
from almoner.kit.money import currency_exponent
from almoner.platform.pages import numbers
from almoner.platform.pages.numbers import AmountProblem

_UNREADABLE: Final = {
    AmountProblem.EMPTY: "give.problem.amount.missing",
    AmountProblem.NOT_A_NUMBER: "give.problem.amount.not_a_number",
    AmountProblem.TOO_MANY_DECIMALS: "give.problem.amount.too_many_decimals",
    AmountProblem.TOO_LARGE: "give.problem.amount.too_large",
}
_MOST: Final = 100_000
"""The maximum donation on the page, as a multiple of the minimum."""

# Whole units: the minimum, then four suggestions.
_AMOUNTS: Final[dict[str, tuple[int, ...]]] = {
    "AED": (5, 50, 100, 250, 500),
    "BDT": (100, 500, 1_000, 2_500, 5_000),
    "BHD": (1, 5, 10, 20, 50),
    "BRL": (5, 30, 60, 120, 250),
    "CLP": (1_000, 5_000, 10_000, 25_000, 50_000),
    "COP": (4_000, 20_000, 50_000, 100_000, 200_000),
    "CZK": (25, 200, 500, 1_000, 2_000),
    "DKK": (10, 100, 200, 500, 1_000),
    "EGP": (50, 250, 500, 1_000, 2_500),
    "HKD": (10, 100, 200, 500, 1_000),
    "HUF": (400, 2_000, 5_000, 10_000, 20_000),
    "IDR": (15_000, 100_000, 250_000, 500_000, 1_000_000),
    "ILS": (5, 50, 100, 200, 500),
    "INR": (100, 500, 1_000, 2_500, 5_000),
    "IQD": (1_500, 10_000, 25_000, 50_000, 100_000),
    "ISK": (150, 1_000, 2_500, 5_000, 10_000),
    "JOD": (1, 5, 10, 20, 50),
    "JPY": (100, 1_000, 3_000, 5_000, 10_000),
    "KES": (150, 500, 1_000, 2_500, 5_000),
    "KRW": (1_000, 10_000, 30_000, 50_000, 100_000),
    "KWD": (1, 5, 10, 20, 50),
    "LBP": (100_000, 500_000, 1_000_000, 2_500_000, 5_000_000),
    "LKR": (300, 1_000, 2_500, 5_000, 10_000),
    "MAD": (10, 100, 200, 500, 1_000),
    "MXN": (20, 100, 250, 500, 1_000),
    "NGN": (1_500, 5_000, 10_000, 25_000, 50_000),
    "NOK": (10, 100, 200, 500, 1_000),
    "OMR": (1, 5, 10, 20, 50),
    "PHP": (60, 250, 500, 1_000, 2_500),
    "PKR": (300, 1_000, 2_500, 5_000, 10_000),
    "PLN": (5, 50, 100, 200, 500),
    "QAR": (5, 50, 100, 250, 500),
    "RON": (5, 50, 100, 200, 500),
    "RSD": (100, 1_000, 2_500, 5_000, 10_000),
    "SAR": (5, 50, 100, 250, 500),
    "SEK": (10, 100, 200, 500, 1_000),
    "THB": (40, 300, 500, 1_000, 2_500),
    "TND": (3, 20, 50, 100, 200),
    "TRY": (50, 250, 500, 1_000, 2_500),
    "TWD": (30, 300, 500, 1_000, 3_000),
    "TZS": (2_500, 10_000, 25_000, 50_000, 100_000),
    "UAH": (50, 200, 500, 1_000, 2_000),
    "UGX": (4_000, 20_000, 50_000, 100_000, 200_000),
    "VND": (25_000, 100_000, 250_000, 500_000, 1_000_000),
    "ZAR": (20, 100, 250, 500, 1_000),
}
_ABOUT_A_DOLLAR: Final = {
    1: "AUD BMD BND BSD CAD CHE CHF CHW EUR FKP GBP GIP KYD NZD PAB SGD SHP USD USN",
    2: "AWG AZN BAM BBD BZD FJD TOP XCG",
    3: "BYN GEL PEN WST XCD",
    5: "CNY LYD MYR PGK TMT TTD",
    10: "BOB BWP GHS GTQ MOP SBD SVC TJS",
    20: "ERN LSL MDL MVR NAD SCR STN SZL",
    25: "HNL SLE ZMW ZWG",
    50: "AFN DOP GMD MKD MRU MUR MZN NIO SRD UYU",
    100: "ALL BTN CRC CUP CVE DZD HTG KGS RUB SYP VUV XPF",
    200: "DJF ETB GYD JMD LRD NPR VES YER",
    500: "AMD KMF KZT SDG SOS XAF XOF",
    1_000: "AOA KPW",
    1_500: "ARS MWK RWF",
    2_500: "BIF CDF MMK",
    5_000: "KHR MGA MNT PYG SSP",
    10_000: "GNF UZS",
    20_000: "LAK",
    50_000: "IRR",
}
"""The currencies without suggestions of their own, by their minimum in whole units."""
_MINIMUMS: Final = {code: least for least, codes in _ABOUT_A_DOLLAR.items() for code in codes.split()}
CURRENCIES_OF_KNOWN_WORTH: Final = _AMOUNTS.keys() | _MINIMUMS.keys()
_SUGGESTED: Final = (10, 25, 50, 100)
"""The suggestions of these currencies, as multiples of the minimum."""


@dataclass(frozen=True, slots=True)
class DonationAmounts:
    """Minimum, maximum and suggested donation amounts of a currency."""

    currency: str
    minimum: int
    maximum: int
    suggested: tuple[int, ...]


def donation_amounts_for(currency: str, options: DonationOptions = NO_OPTIONS) -> DonationAmounts:
    """The amounts for a currency, within the bounds of the options. Raises MoneyError for an unknown currency."""
    unit: int = 10 ** currency_exponent(currency)
    least, *usual = (amount * unit for amount in _AMOUNTS.get(currency) or _usual_amounts(_MINIMUMS.get(currency, 1)))
    minimum = max(least, options.minimum or least)
    maximum = min(least * _MOST, options.maximum or least * _MOST)
    suggested = options.suggested or tuple(amount for amount in usual if minimum <= amount <= maximum)
    return DonationAmounts(currency, minimum, maximum, suggested or (minimum,))


def _usual_amounts(minimum: int) -> tuple[int, ...]:
    return minimum, *(minimum * times for times in _SUGGESTED)


def find_amount_problems(options: DonationOptions, currency: str) -> list[str]:
    """A sentence for each invalid amount in the options."""
    usual = donation_amounts_for(currency)
    minimum, maximum = options.minimum or usual.minimum, options.maximum or usual.maximum
    problems = []
    if minimum < usual.minimum:
        problems.append(f"body.minimum must be {usual.minimum} or more in {currency}")
    if maximum > usual.maximum:
        problems.append(f"body.maximum must be {usual.maximum} or less in {currency}")
    if minimum > maximum:
        problems.append(f"body.maximum must not be less than the minimum, {minimum}")
    if any(not minimum <= amount <= maximum for amount in options.suggested):
        problems.append(f"body.suggestedAmounts must be from {minimum} to {maximum} in {currency}")
    return problems


def parse_entered_amount_or_problem_key(entered: str, amounts: DonationAmounts, locale: Locale) -> int | str:
    """An entered amount in minor units, or the catalogue key of its problem."""
    minor = numbers.parse_amount(entered, amounts.currency, locale)
    if isinstance(minor, AmountProblem):
        return _UNREADABLE[minor]
    if minor < amounts.minimum:
        return "give.problem.amount.too_small"
    return minor if minor <= amounts.maximum else "give.problem.amount.too_large"

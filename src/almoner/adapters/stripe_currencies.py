"""Converts amounts between our minor units and Stripe's, which differ for some currencies.

Stripe's list of currencies and its special cases, as published 2026-10 (docs.stripe.com/currencies).
"""

from collections.abc import Mapping
from typing import Final

from almoner.kit.money import EXPONENTS, MAX_MINOR, Money

# The decimals of Stripe's amounts, some of which differ from ISO 4217.
_DECIMALS: Final = {
    0: "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF",
    2: (
        "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BWP BYN BZD CAD CDF CHF CNY COP "
        "CRC CVE CZK DKK DOP DZD EGP ETB EUR FJD FKP GBP GEL GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR ISK JMD KES "
        "KGS KHR KYD KZT LAK LBP LKR LRD LSL MAD MDL MKD MMK MNT MOP MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD "
        "PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SEK SGD SHP SLE SOS SRD STD SZL THB TJS TOP TRY TTD TWD "
        "TZS UAH UGX USD UYU UZS WST XCD XCG YER ZAR ZMW"
    ),
    3: "BHD JOD KWD OMR TND",
}
THREE_DECIMAL_CURRENCIES: Final = frozenset(_DECIMALS[3].split())
"""Currencies with three decimals; the last one must be 0."""


_OTHERWISE: Final = {"MGA": (0, 2), "ISK": (2, 0), "UGX": (2, 0)}
"""Known differences: decimals at Stripe and in ISO 4217."""
_GONE: Final = frozenset({"ANG", "BGN", "STD"})
"""Listed by Stripe, but no longer currencies."""
STRIPE_DECIMALS: Final = {code: decimals for decimals, codes in _DECIMALS.items() for code in codes.split()}


class CurrencyTableMismatch(RuntimeError):
    """Stripe's currency table differs from ours unexpectedly: amounts could be wrong by a factor of 100."""


def check_currency_table(
    stripe_exponents: Mapping[str, int] = STRIPE_DECIMALS, local_exponents: Mapping[str, int] = EXPONENTS
) -> None:
    """Check that the differences between both currency tables are the known ones.

    Raises CurrencyTableMismatch, naming all others.
    """
    wrong = [
        f"{code} has {decimals} decimals at Stripe and {local_exponents.get(code, 'none')} here"
        for code, decimals in sorted(stripe_exponents.items())
        if local_exponents.get(code) != decimals and _OTHERWISE.get(code) != (decimals, local_exponents.get(code))
        if code in local_exponents or code not in _GONE
    ]
    if wrong:
        raise CurrencyTableMismatch(f"Stripe's table of currencies is not ours: {'; '.join(wrong)}")


def _factors(ours: Mapping[str, int]) -> Mapping[str, int]:
    """The number of Stripe's units per minor unit, for currencies in which every amount can be converted.

    Left out are currencies that Stripe writes with fewer decimals than ISO 4217 has (MGA), accepts in steps only (KWD
    and the others of three decimals), and former currencies: no amount is ever rounded.
    """
    return {
        code: 10 ** (decimals - ours[code])
        for code, decimals in STRIPE_DECIMALS.items()
        if code in ours and code not in THREE_DECIMAL_CURRENCIES and decimals >= ours[code]
    }


UNIT_FACTORS: Final = _factors(EXPONENTS)


class UnsupportedAmount(ValueError):
    """An amount that cannot be converted exactly; the message says why."""


def to_stripe_amount(money: Money) -> int:
    """The amount in Stripe's units. Raises UnsupportedAmount."""
    if money.currency not in UNIT_FACTORS:
        raise UnsupportedAmount(f"Stripe does not take every amount of {money.currency}")
    return money.minor * UNIT_FACTORS[money.currency]


def from_stripe_amount(amount: int, currency: str) -> Money:
    """Convert an amount from Stripe; ``currency`` is in lower case. Raises UnsupportedAmount."""
    code = currency.upper()
    if code not in UNIT_FACTORS or amount % UNIT_FACTORS[code] or not 0 <= amount // UNIT_FACTORS[code] <= MAX_MINOR:
        raise UnsupportedAmount(f"{amount} {currency} is not a valid amount")
    return Money(amount // UNIT_FACTORS[code], code)

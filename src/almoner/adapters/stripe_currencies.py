"""Amounts as Stripe writes them: mostly our minor units, and where they are not, how they are told from each other.

Stripe's list of currencies and its special cases, as published 2026-10 (docs.stripe.com/currencies).
"""

from collections.abc import Mapping
from typing import Final

from almoner.kit.money import EXPONENTS, MAX_MINOR, Money

# Decimals of an amount at Stripe, which are not those of ISO 4217 everywhere.
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
IN_TENS: Final = frozenset(_DECIMALS[3].split())
"""The last of their three decimals must be 0."""


def _factors(ours: Mapping[str, int]) -> Mapping[str, int]:
    """How many of Stripe's units one minor unit of ours is, where every amount of ours is one of Stripe's.

    Left out are currencies that Stripe writes with fewer decimals than ISO 4217 has (MGA), takes in steps only (KWD and
    the others of three decimals), or that are no currencies any more: nothing is rounded, and so nothing is lost.
    """
    theirs = {code: decimals for decimals, codes in _DECIMALS.items() for code in codes.split()}
    return {
        code: 10 ** (decimals - ours[code])
        for code, decimals in theirs.items()
        if code in ours and code not in IN_TENS and decimals >= ours[code]
    }


FACTORS: Final = _factors(EXPONENTS)


class NoSuchAmount(ValueError):
    """An amount that cannot be told exactly; the message says why."""


def written(money: Money) -> int:
    """The amount as Stripe takes it. Raises NoSuchAmount."""
    if money.currency not in FACTORS:
        raise NoSuchAmount(f"Stripe does not take every amount of {money.currency}")
    return money.minor * FACTORS[money.currency]


def read(amount: int, currency: str) -> Money:
    """The money that Stripe shows; ``currency`` in its small letters. Raises NoSuchAmount."""
    code = currency.upper()
    if code not in FACTORS or amount % FACTORS[code] or not 0 <= amount // FACTORS[code] <= MAX_MINOR:
        raise NoSuchAmount(f"{amount} {currency} is no amount of money here")
    return Money(amount // FACTORS[code], code)

"""Money: whole minor units of one currency, with our own ISO 4217 table (settled 1, M8, M9).

CLDR's number of decimals differs from ISO 4217 for 13 currencies (RSD and IQD among them): CLDR is for display only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

MAX_MINOR: Final = 2**53 - 1
"""The largest amount: every JSON reader holds it exactly (M8)."""

# ISO 4217, list one of its maintenance agency (SIX), published 2026-01-01.
# The active codes with a minor unit; the 13 without one (metals, XXX and other units of account) are no money here.
_CODES_BY_EXPONENT: Final = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    2: (
        "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF "
        "CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL "
        "HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU "
        "MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR "
        "SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED "
        "VES WST XAD XCD XCG YER ZAR ZMW ZWG"
    ),
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}

EXPONENTS: Final = {code: exponent for exponent, codes in _CODES_BY_EXPONENT.items() for code in codes.split()}


class MoneyError(ValueError):
    """An amount or currency that is no money, or money of different currencies put together."""


def currency_exponent(currency: str) -> int:
    """Decimals of the currency's minor unit: 2 for GBP, 0 for JPY, 3 for KWD. Raises MoneyError for an unknown code."""
    try:
        return EXPONENTS[currency]
    except KeyError:
        raise MoneyError(f"{currency!r} is not an active ISO 4217 currency with a minor unit") from None


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in minor units, from 0 to 2^53-1: ``Money(1234, "GBP")`` is 12.34 pounds.

    Raises MoneyError for an amount that is no plain integer (a float or bool), negative or too large, and for an
    unknown currency. Money of one currency adds, subtracts and compares; nothing else does.
    """

    minor: int
    currency: str

    def __post_init__(self) -> None:
        if type(self.minor) is not int:
            raise MoneyError(
                f"an amount is a whole number of minor units, not {type(self.minor).__name__} {self.minor!r}"
            )
        if not 0 <= self.minor <= MAX_MINOR:
            raise MoneyError(f"an amount is from 0 to {MAX_MINOR} minor units, not {self.minor}")
        currency_exponent(self.currency)

    def __add__(self, other: "Money") -> "Money":
        return Money(self.minor + self._same(other).minor, self.currency)

    def __sub__(self, other: "Money") -> "Money":
        return Money(self.minor - self._same(other).minor, self.currency)

    def __lt__(self, other: "Money") -> bool:
        return self.minor < self._same(other).minor

    def __le__(self, other: "Money") -> bool:
        return self.minor <= self._same(other).minor

    def __bool__(self) -> bool:
        return self.minor > 0

    def _same(self, other: "Money") -> "Money":
        if not isinstance(other, Money):
            raise MoneyError(f"money goes with money, not with {type(other).__name__} {other!r}")
        if other.currency != self.currency:
            raise MoneyError(f"{self.currency} does not go with {other.currency}")
        return other


def format_amount(money: Money) -> str:
    """An amount such as ``1,234.50 GBP``, for emails in English."""
    return f"{Decimal(money.minor).scaleb(-currency_exponent(money.currency)):,f} {money.currency}"


def allocate(total_amount: Money, weights: Sequence[int]) -> list[Money]:
    """Split an amount by weights, exactly, by largest remainder.

    Equal remainders go to the earlier part, so that the same call always gives the same split. Raises MoneyError
    without weights, for a weight that is no plain integer or negative, and when all are zero.
    """
    if any(type(weight) is not int or weight < 0 for weight in weights):
        raise MoneyError("weights are whole numbers from 0")
    if (total := sum(weights)) == 0:
        raise MoneyError("at least one weight must be above 0")
    shares = [divmod(total_amount.minor * weight, total) for weight in weights]
    left = total_amount.minor - sum(share for share, _ in shares)
    largest = sorted(range(len(shares)), key=lambda place: -shares[place][1])[:left]
    return [Money(share + (place in largest), total_amount.currency) for place, (share, _) in enumerate(shares)]

"""Format and parse amounts in command output and files, as plain decimals with a currency code."""

import re
from decimal import Decimal
from typing import Final

import typer

from almoner.kit.money import EXPONENTS, MAX_MINOR, Money, currency_exponent

_AMOUNT: Final = re.compile(r"\d{1,16}(\.\d{1,4})?", re.ASCII)
_GROUPED: Final = re.compile(r"\d{1,3}(,\d{3})+(\.\d{1,4})?", re.ASCII)


def format_decimal(minor: int, currency: str) -> str:
    """Format an amount in minor units as a plain decimal: ``1234`` ``GBP`` becomes ``12.34``."""
    return f"{Decimal(minor).scaleb(-currency_exponent(currency)):,f}"


def format_amount(money: Money) -> str:
    """Format as ``12.34 GBP``."""
    return f"{format_decimal(money.minor, money.currency)} {money.currency}"


def parse_amount(text: str, currency: str) -> Money:
    """Parse an amount and a currency, such as ``12.34`` and ``GBP``, or as commands show it. Raises BadParameter."""
    if currency not in EXPONENTS:
        raise typer.BadParameter(f"{currency!r} is not an active ISO 4217 currency such as GBP")
    plain = text.replace(",", "") if _GROUPED.fullmatch(text) else text
    minor = Decimal(plain).scaleb(currency_exponent(currency)) if _AMOUNT.fullmatch(plain) else Decimal(0)
    if minor != int(minor) or not 1 <= minor <= MAX_MINOR:
        raise typer.BadParameter(
            f"{text!r} is not an amount in {currency} such as {Decimal(123456).scaleb(-currency_exponent(currency)):f}"
        )
    return Money(int(minor), currency)

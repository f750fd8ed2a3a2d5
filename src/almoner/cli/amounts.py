"""Money at the terminal and in files: plain decimals beside the currency's code, for people and for programs."""

from decimal import Decimal

from almoner.kit.money import Money, exponent


def decimal(minor: int, currency: str) -> str:
    """``1234`` ``GBP`` as ``12.34``; below zero with a minus."""
    return f"{Decimal(minor).scaleb(-exponent(currency)):,f}"


def amount(money: Money) -> str:
    """``12.34 GBP``."""
    return f"{decimal(money.minor, money.currency)} {money.currency}"

"""Parse amounts typed in the reader's language; ambiguous ones are refused."""

import re
import unicodedata
from enum import Enum
from functools import cache
from typing import Final

from babel import Locale, numbers

from almoner.kit import money

_MAX_TYPED: Final = 500
"""Longer than any amount with its currency; normalising many combining marks takes quadratic time."""
_SPACES: Final = " \u00a0\u202f\u2009"
_APOSTROPHES: Final = "'\u2019"
_INVISIBLE: Final = dict.fromkeys(map(ord, "\u200e\u200f\u061c\u2066\u2067\u2068\u2069\ufeff"))
_WIDE: Final = {code: unicodedata.normalize("NFKC", chr(code)) for code in (*range(0xFF01, 0xFF5F), 0xFFE1, 0xFFE5)}
"""Wide digits, separators and signs of East Asian keyboards."""

_WORDS: Final = {
    "CHF": ("Fr.", "Fr", "SFr."),
    "EUR": ("euros",),
    "ILS": ('ש"ח', "ש״ח", "ש''ח", "שח"),
    "JPY": ("円", "yen"),
    "PLN": ("zl",),
    "UAH": ("грн.", "грн"),
}
"""Common names of currencies besides CLDR's symbols and names."""


class AmountProblem(Enum):
    """Why an entered amount is invalid."""

    EMPTY = "empty"
    NOT_A_NUMBER = "not_a_number"
    TOO_MANY_DECIMALS = "too_many_decimals"
    TOO_LARGE = "too_large"


def parse_amount(entered: str, currency: str, locale: Locale) -> int | AmountProblem:
    """Minor units of a typed amount in the language's notation, or why it is invalid.

    Group separators must be where the language puts them; the currency's own sign, name or code may be before or after.
    A separator that the language does not use is a decimal one before one or two digits; before three it could be a
    group separator.
    """
    if len(entered) > _MAX_TYPED:
        return AmountProblem.NOT_A_NUMBER
    text = unicodedata.normalize("NFC", entered).translate(_INVISIBLE | _WIDE).strip()
    text = _without_currency(text, currency, locale)
    if not text:
        return AmountProblem.EMPTY
    decimal_mark, group_mark, foreign = _number_marks(text, locale)
    digits = re.sub(r"[.,][-\u2013\u2014]{1,2}$", "", "".join(_ascii_digit(character) for character in text))  # 10,-
    group = "" if group_mark is None else f"(?:{_similar_marks(group_mark)})"
    whole = rf"\d+|\d{{1,3}}(?:{group}\d{{3}})+" if group else r"\d+"
    if group and _groups_by_two(locale):
        whole += rf"|\d{{1,2}}(?:{group}\d{{2}})*{group}\d{{3}}"
    mark = rf"{re.escape(decimal_mark)}(?=\d*$)"
    if foreign is not None:
        mark += rf"|{re.escape(foreign)}(?=\d{{1,2}}$)"
    match = re.fullmatch(rf"(?P<whole>{whole})(?:(?:{mark})(?P<fraction>\d*))?", digits, re.ASCII)
    if match is None:
        return AmountProblem.NOT_A_NUMBER
    fraction = match["fraction"] or ""
    exponent = money.currency_exponent(currency)
    if len(fraction) > exponent:
        return AmountProblem.TOO_MANY_DECIMALS
    if len(digits) > 40:
        return AmountProblem.TOO_LARGE
    minor = int(re.sub(r"\D", "", match["whole"]) + fraction.ljust(exponent, "0"))
    return minor if minor <= money.MAX_MINOR else AmountProblem.TOO_LARGE


def _number_marks(text: str, locale: Locale) -> tuple[str, str | None, str | None]:
    """The decimal and the group separator of the text, and the one that the language does not use."""
    decimal_mark = numbers.get_decimal_symbol(locale)
    if (
        any("\u0660" <= c <= "\u0669" or "\u06f0" <= c <= "\u06f9" for c in text)
        or "\u066b" in text
        or "\u066c" in text
    ):
        return "\u066b", "\u066c", decimal_mark
    group_mark = numbers.get_group_symbol(locale)
    unused = next((mark for mark in ".," if mark not in (decimal_mark, group_mark)), None)
    return decimal_mark, None if group_mark == decimal_mark else group_mark, unused


def _similar_marks(mark: str) -> str:
    """A group separator with its look-alikes: keyboards have no narrow no-break space and no typographic apostrophe."""
    for family in (_SPACES, _APOSTROPHES):
        if mark in family:
            return "|".join(map(re.escape, family))
    return re.escape(mark)


def _groups_by_two(locale: Locale) -> bool:
    """Whether the language groups digits as 12,34,567 (lakh and crore)."""
    grouping: tuple[int, int] = locale.decimal_formats[None].grouping
    return grouping[1] == 2


def _ascii_digit(character: str) -> str:
    """The ASCII digit of a decimal digit in any script; other characters unchanged."""
    value = unicodedata.decimal(character, None)
    return character if value is None else str(value)


def _without_currency(text: str, currency: str, locale: Locale) -> str:
    """The number without the currency's own sign, name or code at either end."""
    for sign in sorted(_currency_signs(currency, locale), key=len, reverse=True):
        if text.lower().startswith(sign):
            return text[len(sign) :].strip()
        if text.lower().endswith(sign):
            return text[: -len(sign)].strip()
    return text


@cache
def _currency_signs(currency: str, locale: Locale) -> frozenset[str]:
    """All symbols, names and codes of the currency, in lower case."""
    narrow = numbers.get_currency_symbol(currency, "en")
    signs = {currency, narrow, numbers.get_currency_symbol(currency, locale), *_WORDS.get(currency, ())}
    signs |= {numbers.get_currency_name(currency, count, locale) for count in (None, 1, 2, 3, 5, 100)}
    if not narrow[-1].isalpha():
        signs |= {narrow[-1], currency[:2] + narrow[-1]}
    return frozenset(sign.translate(_INVISIBLE | _WIDE).strip().lower() for sign in signs)

"""Parse amounts typed in the reader's language; ambiguous ones are refused."""

import re
import unicodedata
from contextlib import suppress
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Final

from babel import Locale, UnknownLocaleError, numbers
from babel.core import get_global
from babel.languages import get_official_languages

from almoner.kit import money
from almoner.kit.text import clean_text

_MAX_TYPED: Final = 500
"""Longer than any amount with its currency; normalising many combining marks takes quadratic time."""
_SPACES: Final = " \u00a0\u202f\u2009"
_APOSTROPHES: Final = "'\u2019\u02bc\u2032\u00b4`"
_MARKLESS: Final = re.compile(
    rf"((?!0)\d{{1,3}}(?P<group>[{_SPACES}{_APOSTROPHES}])\d{{3}}(?:(?P=group)\d{{3}})*)([.,]\d{{1,2}})?", re.ASCII
)
"""Digit groups separated by spaces or apostrophes, which no language uses as a decimal separator."""
_MYRIADS: Final = re.compile(
    r"(?:(\d{1,4}(?:\.\d{1,4}(?=[\u4e07\u842c\ub9cc]\Z))?)[\u4e07\u842c\ub9cc])?(?:(\d)[\u5343\ucc9c](\d{3})?|(?<=[\u4e07\u842c\ub9cc])(\d{4})?)"
)
"""East Asian amounts such as 1\u4e075\u5343 or 1.5\u4e07 (15,000). Fewer digits behind the unit have two meanings:
people say 1\u4e075 for 15,000."""
_HAN_DIGITS: Final = dict(
    zip(map(ord, "\u3007\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d"), "0123456789", strict=True)
)
"""Digits in Han script, as in \u4e94\u5343 (5,000)."""
_NO_CENTS: Final = re.compile(r"[.,:][-\u2013\u2014=]{1,2}$|/[-=]$")
"""``10,-``, ``10:-``, ``10/-``."""
_WIDE: Final = {
    code: unicodedata.normalize("NFKC", chr(code)) for code in (*range(0xFF01, 0xFF5F), 0xFFE1, 0xFFE5, 0x20A8)
}
"""Wide digits, separators and signs of East Asian keyboards, and rupees in one sign."""
_OUTER_SPACE: Final = re.compile(rf"(?<!\d)[{_SPACES}]+(?!\d)")
"""A blank that parts no digits: ``F CFA`` is ``FCFA``."""

_WORDS: Final = {
    "AED": ("Dhs.", "Dhs", "Dh"),
    "BDT": ("Tk.", "Tk"),
    "CAD": ("C$", "Can$"),
    "CHF": ("Fr.", "Fr", "SFr."),
    "CNY": ("元", "元整", "块", "圆", "RMB"),
    "CZK": ("Kč", "Kc"),
    "DKK": ("kr.", "kr"),
    "EGP": ("LE",),
    "ETB": ("Br.", "Br"),
    "EUR": ("euros",),
    "HKD": ("元", "元正"),
    "HUF": ("Ft.", "Ft"),
    "IDR": ("Rp.", "Rp"),
    "ILS": ('ש"ח', "ש״ח", "ש''ח", "שח"),
    "INR": ("Rs.", "Rs"),
    "JPY": ("円", "円也", "yen"),
    "KRW": ("원", "원정"),
    "KWD": ("KD",),
    "LKR": ("Rs.", "Rs"),
    "MAD": ("Dhs.", "Dhs", "Dh"),
    "MYR": ("RM",),
    "MZN": ("MT",),
    "NGN": ("N",),
    "NOK": ("kr.", "kr"),
    "NPR": ("Rs.", "Rs"),
    "PKR": ("Rs.", "Rs"),
    "PLN": ("zl",),
    "RON": ("lei", "leu"),
    "RUB": ("руб.", "руб", "р."),
    "SAR": ("SR",),
    "SEK": ("kr.", "kr"),
    "SGD": ("S$",),
    "TRY": ("TL",),
    "TWD": ("元", "元整"),
    "UAH": ("грн.", "грн"),
    "VND": ("đ",),
    "XAF": ("F",),
    "XOF": ("F",),
}
"""Common names of currencies besides CLDR's symbols and names."""
_GROUPED_BY_TWO: Final = frozenset(("BDT", "INR", "LKR", "NPR", "PKR"))
"""Currencies whose amounts people write as 12,34,567 in English, too (lakh and crore)."""
_MULTIPLES: Final = frozenset("kmbt")
"""Letters that may be thousands, millions, billions or trillions behind a number: 5K, 2M."""
_EAST_ASIAN: Final = ("ja", "ko", "zh")
_SHORTEST_WORD: Final = 3
_COUNTS: Final = (None, 1, 2, 3, 5, 100)


class AmountProblem(Enum):
    """Why an entered amount is invalid."""

    EMPTY = "empty"
    NOT_A_NUMBER = "not_a_number"
    TOO_MANY_DECIMALS = "too_many_decimals"
    TOO_LARGE = "too_large"


def parse_amount(entered_text: str, currency: str, locale: Locale) -> int | AmountProblem:
    """Minor units of a typed amount in the language's notation, or why it is invalid.

    Group separators must be where the language puts them; the currency's own sign, name or code may be before or after.
    A separator that the language does not use is a decimal one before one or two digits; before three it could be a
    group separator. Blanks and apostrophes part groups in every language.
    """
    if len(entered_text) > _MAX_TYPED:
        return AmountProblem.NOT_A_NUMBER
    text = clean_text(entered_text).translate(_WIDE).strip()
    text = _without_currency(_OUTER_SPACE.sub("", text), currency, locale)
    if not text:
        return AmountProblem.EMPTY
    decimal_mark, group_mark, foreign = _number_marks(text, locale)
    digits = _NO_CENTS.sub("", "".join(_ascii_digit(character) for character in text))
    if parted := _MARKLESS.fullmatch(digits):
        digits = re.sub(r"\D", "", parted[1]) + (parted[3] or "").replace(".", decimal_mark).replace(",", decimal_mark)
    elif locale.language in _EAST_ASIAN:
        digits = _without_myriads(digits.translate(_HAN_DIGITS))
    group = "" if group_mark is None else f"(?:{_similar_marks(group_mark)})"
    whole = rf"\d+|(?!0)\d{{1,3}}(?:{group}\d{{3}})+" if group else r"\d+"
    if group and (_groups_by_two(locale) or currency in _GROUPED_BY_TWO):
        whole += rf"|(?!0)\d{{1,2}}(?:{group}\d{{2}})*{group}\d{{3}}"
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


def _without_myriads(digits: str) -> str:
    """The number of an amount in East Asian units; any other text unchanged."""
    if digits.isdecimal() or (parted := _MYRIADS.fullmatch(digits)) is None:
        return digits
    myriads = int(Decimal(parted[1] or 0) * 10_000)
    return str(myriads + int(parted[2] or 0) * 1_000 + int(parted[3] or parted[4] or 0))


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
    """The number without the currency's own signs, name or code at its ends, such as ``$25 USD`` or ``USD $25``.

    Letters such as ``K`` are signs only before the number: behind it, they may be thousands.
    """
    signs = sorted(_currency_signs(currency, locale), key=len, reverse=True)
    endings = [sign for sign in signs if sign not in _MULTIPLES]
    for _ in range(2):
        before = next((sign for sign in signs if text.lower().startswith(sign)), "")
        text = text[len(before) :].strip()
        behind = next((sign for sign in endings if text.lower().endswith(sign)), "")
        text = text[: len(text) - len(behind)].strip()
    return text


@cache
def _currency_signs(currency: str, locale: Locale) -> frozenset[str]:
    """All symbols, names and codes of the currency, in lower case and without blanks."""
    narrow = numbers.get_currency_symbol(currency, "en")
    signs = {currency, narrow, numbers.get_currency_symbol(currency, locale), *_WORDS.get(currency, ())}
    names = {numbers.get_currency_name(currency, count, one) for count in _COUNTS for one in (locale, "en")}
    signs |= names | {word for name in names for word in name.split() if len(word) >= _SHORTEST_WORD}
    if not narrow[-1].isalpha():
        signs |= {narrow[-1], currency[:2] + narrow[-1]}
    if narrow == currency:
        signs |= _signs_at_home(currency)
    plain = {"".join(clean_text(sign).translate(_WIDE).split()).lower() for sign in signs}
    return frozenset(plain | {sign.rstrip(".") for sign in plain}) - {""}


def _signs_at_home(currency: str) -> set[str]:
    """The symbols of a currency in the languages of the countries that have it, such as ₦ and Ksh."""
    found = set()
    for territory in get_global("territory_currencies"):
        if currency not in numbers.get_territory_currencies(territory):
            continue
        for language in get_official_languages(territory, regional=True):
            with suppress(UnknownLocaleError, ValueError):
                found.add(numbers.get_currency_symbol(currency, Locale.parse(f"{language}_{territory}")))
    return found

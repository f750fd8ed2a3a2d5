"""Formats money, dates and names in the reader's language (CLDR, with ISO 4217 decimals)."""

import copy
import math
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Final

from babel import Locale, dates, lists, numbers
from babel.core import get_global

from almoner.kit import money

_ZEROS: Final = {"arab": "\u0660", "arabext": "\u06f0", "beng": "\u09e6", "deva": "\u0966", "mymr": "\u1040"}
"""The zero of each language's native numbering system. Babel knows their separators but writes ASCII digits."""

_LETTER_BY_FIGURE: Final = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
"""Where CLDR requires a space between a currency code and an amount (currencySpacing). Babel omits this space."""


_SECONDS_AS_SUCH: Final = 50
"""Longer durations are given in minutes."""


def format_money(amount_minor: int, currency: str, locale: Locale, *, short: bool = False) -> str:
    """``1234`` ``GBP`` as ``£12.34``. ``short`` omits zero decimals (``£10``)."""
    digits = money.currency_exponent(currency)
    value = decimal_amount(amount_minor, currency)
    fraction = 0 if short and value == value.to_integral_value() else digits
    return _apply_pattern(locale.currency_formats["standard"], value, fraction, locale, currency)


def format_amount_without_currency(amount_minor: int, currency: str, locale: Locale) -> str:
    """The amount without a currency, as typed into a field: ``12,34`` in German."""
    digits = money.currency_exponent(currency)
    return _apply_pattern(locale.decimal_formats[None], decimal_amount(amount_minor, currency), digits, locale, None)


def decimal_amount(amount_minor: int, currency: str) -> Decimal:
    """Minor units as an exact decimal."""
    return Decimal(amount_minor).scaleb(-money.currency_exponent(currency))


def currency_symbol(currency: str, locale: Locale) -> str:
    """The currency's symbol in the language: ``$``, ``US$``, ``JPY``."""
    sign = numbers.get_currency_symbol(currency, locale)
    if locale.text_direction == "rtl" and any(unicodedata.bidirectional(character) == "L" for character in sign):
        return f"\u2066{sign}\u2069"  # otherwise the line would show US$ as $US
    return sign


def currency_name(currency: str, locale: Locale) -> str:
    """The currency's plural name in the language: ``US dollars``.

    Languages with several plural forms get the title form of the name, for sentences that put it after a colon.
    """
    declines = "few" in locale.plural_form.tags
    return numbers.get_currency_name(currency, count=None if declines else 100, locale=locale)


def format_percentage(fraction: float, locale: Locale) -> str:
    """A share in percent: ``2.9%``."""
    return localise_digits(numbers.format_percent(fraction, locale=locale, decimal_quantization=False), locale)


def format_days(count: int, locale: Locale) -> str:
    """A number of days: ``60 days``."""
    # Not units.format_unit, which finds no words if a language's long form equals its short one.
    days = dates.format_timedelta(timedelta(days=count), granularity="day", threshold=math.inf, locale=locale)
    return localise_digits(days, locale)


def format_day(day: date, locale: Locale) -> str:
    """``21 November 2026`` in the language."""
    return localise_digits(dates.format_date(day, "long", locale=locale), locale)


def format_month(month: date, locale: Locale) -> str:
    """``November 2026`` in the language."""
    return localise_digits(dates.format_skeleton("yMMMM", month, locale=locale), locale)


def format_timestamp(at: datetime, locale: Locale, zone: tzinfo = UTC) -> str:
    """``21 November 2026, 09:30 UTC`` in the language, as clocks show it in the zone."""
    local = at.astimezone(zone)
    date_and_time = str(locale.datetime_formats["long"]).format(
        dates.format_time(local.time(), "short", locale=locale), dates.format_date(local.date(), "long", locale=locale)
    )
    return localise_digits(f"{date_and_time} {_zone_at(local, locale)}", locale)


def _zone_at(local: datetime, locale: Locale) -> str:
    """The time zone as the language abbreviates it (``EST``, ``MEZ``), or in full; never as an offset such as -03."""
    own = local.tzname()
    names = (
        own if locale.language == "en" or own == "UTC" else "",
        dates.get_timezone_name(local, "short", locale=locale),
    )
    known = next((name for name in names if name and name.isalpha()), None)
    return known or dates.get_timezone_name(local.tzinfo, "long", locale=locale)


def format_short_timestamp(at: datetime, locale: Locale, zone: tzinfo = UTC) -> str:
    """``21 Nov 2026, 09:30`` in the language, for tables whose heading names the time zone."""
    local = at.astimezone(zone)
    date_and_time = str(locale.datetime_formats["medium"]).format(
        dates.format_time(local.time(), "short", locale=locale),
        dates.format_date(local.date(), "medium", locale=locale),
    )
    return localise_digits(date_and_time, locale)


def country_name(code: str, locale: Locale) -> str:
    """The name of a country (three letters) in the language; the code if it is unknown."""
    aliases = get_global("territory_aliases").get(code, [code])
    return str(locale.territories.get(aliases[0], code))


def language_name(tag: str, locale: Locale) -> str:
    """The name of a language in another one: ``German``."""
    return str(Locale.parse(tag, sep="-").get_display_name(locale))


def format_list(items: Sequence[str], locale: Locale) -> str:
    """Alternatives in a sentence: ``owner or finance``."""
    return lists.format_list(items, style="or", locale=locale)


def format_whole_number(number: int, locale: Locale) -> str:
    """``12,345`` in the language."""
    return localise_digits(numbers.format_decimal(number, locale=locale), locale)


def format_relative_time(age: timedelta, locale: Locale) -> str:
    """How long ago, or until when: ``3 hours ago``, ``in 2 days``."""
    past = max(age, timedelta(seconds=1)) if age > timedelta(seconds=-1) else age
    return localise_digits(dates.format_timedelta(-past, add_direction=True, locale=locale), locale)


def format_time_until(seconds: int, locale: Locale) -> str:
    """The time until the next attempt: ``in 3 seconds``, ``in 2 minutes``; rounded up."""
    whole = seconds if seconds < _SECONDS_AS_SUCH else -(-seconds // 60) * 60
    return format_relative_time(timedelta(seconds=-whole), locale)


def zone_name(zone: tzinfo, locale: Locale) -> str:
    """A time zone by its city, such as ``Berlin``; UTC unchanged."""
    if str(zone) in ("UTC", "Etc/UTC"):
        return "UTC"
    return dates.get_timezone_location(zone, locale=locale, return_city=True)


def is_family_name_first(locale: Locale) -> bool:
    """Whether the language puts the family name first (CLDR)."""
    return locale.language in ("hu", "ja", "ko", "vi", "zh")


def list_separator(locale: Locale) -> str:
    """The separator of list items in the language."""
    return {"ar": "، ", "ja": "、"}.get(locale.language, ", ")


def full_name(first_name: str, last_name: str, locale: Locale) -> str:
    """First and last name in the language's order."""
    return " ".join(
        name for name in ((last_name, first_name) if is_family_name_first(locale) else (first_name, last_name)) if name
    )


def greeting_name(first_name: str, last_name: str, locale: Locale) -> str:
    """The name to greet somebody by: the first name, or the family name where that comes first."""
    return (last_name or first_name) if is_family_name_first(locale) else (first_name or last_name)


def _apply_pattern(
    pattern: numbers.NumberPattern, value: Decimal, fraction: int, locale: Locale, currency: str | None
) -> str:
    exact = copy.copy(pattern)
    exact.frac_prec = (fraction, fraction)
    system = locale.default_numbering_system if locale.default_numbering_system in _ZEROS else "latn"
    text = exact.apply(value, locale, currency=currency, currency_digits=False, numbering_system=system)
    text = _LETTER_BY_FIGURE.sub("\u00a0", text)
    if currency is not None:
        text = text.replace(numbers.get_currency_symbol(currency, locale), currency_symbol(currency, locale))
    return localise_digits(text, locale)


def localise_digits(text: str, locale: Locale) -> str:
    """The text with its digits in the language's numbering system."""
    zero = _ZEROS.get(locale.default_numbering_system, "0")
    return text.translate({ord("0") + digit: chr(ord(zero) + digit) for digit in range(10)})

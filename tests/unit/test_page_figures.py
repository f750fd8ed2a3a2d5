"""Amounts as people type and read them (H9)."""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from babel import Locale, numbers
from hypothesis import given
from hypothesis import strategies as st

from almoner.kit import money
from almoner.platform.pages import formats
from almoner.platform.pages import numbers as figures
from almoner.platform.pages.numbers import AmountProblem

READ = [
    ("en", "USD", "25", 2500),
    ("en", "USD", "1,234.50", 123450),
    ("en", "USD", "1234.5", 123450),
    ("en", "USD", "$ 12", 1200),
    ("en", "USD", "12 usd", 1200),
    ("en-GB", "GBP", "£0.99", 99),
    ("en", "JPY", "5,000", 5000),
    ("de", "EUR", "1.234,50", 123450),
    ("de", "EUR", "1234,5 €", 123450),
    ("de-CH", "CHF", "1'234.50", 123450),
    ("de-CH", "CHF", "1’234.50", 123450),
    ("fr", "EUR", "1 234,50", 123450),
    ("fr", "EUR", "1\u202f234,50 €", 123450),
    ("hi", "INR", "12,34,567.00", 123456700),
    ("ar", "USD", "١٢٣", 12300),
    ("ar", "USD", "١٬٢٣٤٫٥٠", 123450),
    ("ar", "KWD", "1.500", 1500),
    ("ar", "USD", "\u200f1,234.50 US$", 123450),
    ("fa", "EUR", "۱۲٫۵", 1250),
    ("en", "KWD", "1.5", 1500),
    ("ja", "JPY", "1000円", 1000),
    ("ja", "JPY", "１，０００", 1000),
    ("ja", "JPY", "￥１０００", 1000),
    ("uk", "UAH", "100 грн", 10000),
    ("uk", "UAH", "100,50 грн.", 10050),
    ("uk", "UAH", "100 українських гривень", 10000),
    ("he", "ILS", '10 ש"ח', 1000),
    ("he", "ILS", "10 ש״ח", 1000),
    ("de", "EUR", "10 Euro", 1000),
    ("de", "EUR", "10,-", 1000),
    ("de", "EUR", "1.000,– €", 100000),
    ("nl", "EUR", "€ 10,-", 1000),
    ("de-CH", "CHF", "10,50", 1050),
    ("de-CH", "CHF", "10.-", 1000),
    ("de-CH", "CHF", "Fr. 10", 1000),
    ("de-CH", "CHF", "1'234,5", 123450),
    ("fr", "EUR", "12.50", 1250),
    ("ar-EG", "EGP", "١٢٣.٥", 12350),
    ("en", "USD", "10.", 1000),
    ("en", "USD", "US$10", 1000),
    ("en", "CAD", "CA$10", 1000),
    ("en", "USD", "90071992547409.91", money.MAX_MINOR),
    ("en", "USD", "1 000", 100000),
    ("de", "EUR", "1 000,50", 100050),
    ("de", "CHF", "1’000.50", 100050),
    ("de", "CHF", "25´000", 2500000),
    ("de", "CHF", "25 Franken", 2500),
    ("fr", "CHF", "25 francs", 2500),
    ("en", "USD", "25 dollars", 2500),
    ("en", "USD", "$25 USD", 2500),
    ("en", "USD", "USD $25", 2500),
    ("en", "USD", "\u202a2\u200b5\u202c", 2500),
    ("en", "CAD", "C$25", 2500),
    ("pt-BR", "BRL", "25 reais", 2500),
    ("pl", "PLN", "25 złotych", 2500),
    ("he", "ILS", "25 שקלים", 2500),
    ("ar", "USD", "25 دولار", 2500),
    ("en", "INR", "1,00,000", 10000000),
    ("en", "INR", "Rs. 500/-", 50000),
    ("en", "SEK", "100:- kr", 10000),
    ("nl", "EUR", "25,=", 2500),
    ("ja", "JPY", "1万5千円", 15000),
    ("ja", "JPY", "３万円", 30000),
    ("zh", "JPY", "1萬2345", 12345),
    ("ja", "JPY", "1万5千250", 15250),
    ("ko", "KRW", "2천500", 2500),
    ("ja", "JPY", "1.5万円", 15000),
    ("ja", "JPY", "五千円", 5000),
    ("ko", "KRW", "5만 원", 50000),
    ("zh", "CNY", "人民币100元", 10000),
    ("en", "NGN", "₦5,000", 500000),
    ("en", "KES", "Ksh 500/=", 50000),
    ("en", "GHS", "GH₵50", 5000),
    ("en", "ZAR", "R1 000,50", 100050),
    ("en", "ZMW", "K500", 50000),
    ("ru", "RUB", "500 руб.", 50000),
    ("ur", "PKR", "₨500", 50000),
    ("ar", "EGP", "٥٠٠ ج.م", 50000),
    ("ar", "SAR", "1,500 ر.س", 150000),
    ("fr", "XOF", "500 FCFA", 500),
    ("fr", "XOF", "5 000 F", 5000),
    ("fr", "MAD", "500 dh", 50000),
    ("es", "HNL", "500 L", 50000),
    ("en", "BDT", "Tk. 500", 50000),
    ("en", "ETB", "Br 500", 50000),
    ("fr", "USD", "10 $ US", 1000),
    ("vi", "VND", "500.000đ", 500000),
]

REFUSED = [
    ("en", "USD", "", AmountProblem.EMPTY),
    ("en", "USD", " $ ", AmountProblem.EMPTY),
    ("en", "USD", "abc", AmountProblem.NOT_A_NUMBER),
    ("en", "USD", "12,50", AmountProblem.NOT_A_NUMBER),
    ("en", "USD", "1,23,456", AmountProblem.NOT_A_NUMBER),
    ("en", "USD", "1.234.567", AmountProblem.NOT_A_NUMBER),
    ("en", "USD", "-5", AmountProblem.NOT_A_NUMBER),
    ("en", "USD", "1e5", AmountProblem.NOT_A_NUMBER),
    ("de", "EUR", "10.", AmountProblem.NOT_A_NUMBER),
    ("en", "USD", "1.-5", AmountProblem.NOT_A_NUMBER),
    ("en", "USD", "10-", AmountProblem.NOT_A_NUMBER),
    ("en", "CAD", "US$10", AmountProblem.NOT_A_NUMBER),
    ("en", "USD", "10\u00b2", AmountProblem.NOT_A_NUMBER),
    ("de-CH", "CHF", "1,234", AmountProblem.NOT_A_NUMBER),
    ("de-CH", "CHF", "1,2,3", AmountProblem.NOT_A_NUMBER),
    ("fr", "EUR", "1.234", AmountProblem.NOT_A_NUMBER),
    ("fr", "KWD", "1.500", AmountProblem.NOT_A_NUMBER),
    ("ar-EG", "EGP", "١.٢٣٤", AmountProblem.NOT_A_NUMBER),
    ("de", "USD", "10 Euro", AmountProblem.NOT_A_NUMBER),
    ("en", "CAD", "10 US dollars", AmountProblem.NOT_A_NUMBER),
    ("en", "USD", "1 00", AmountProblem.NOT_A_NUMBER),
    ("en", "USD", "1 000'000", AmountProblem.NOT_A_NUMBER),
    ("en", "JPY", "1万", AmountProblem.NOT_A_NUMBER),
    ("ja", "JPY", "1万5", AmountProblem.NOT_A_NUMBER),
    ("ko", "KRW", "2천5", AmountProblem.NOT_A_NUMBER),
    ("zh", "JPY", "1万5千25", AmountProblem.NOT_A_NUMBER),
    ("ja", "JPY", "１０．５", AmountProblem.TOO_MANY_DECIMALS),
    ("ja", "JPY", "1.5万5千", AmountProblem.NOT_A_NUMBER),
    ("en", "ZMW", "500K", AmountProblem.NOT_A_NUMBER),
    ("en", "LSL", "500M", AmountProblem.NOT_A_NUMBER),
    ("en", "KWD", "0,500", AmountProblem.NOT_A_NUMBER),
    ("de", "EUR", "0.500", AmountProblem.NOT_A_NUMBER),
    ("fr", "EUR", "0 500", AmountProblem.NOT_A_NUMBER),
    ("hi", "INR", "0,50,000", AmountProblem.NOT_A_NUMBER),
    ("en", "USD", ".5", AmountProblem.NOT_A_NUMBER),
    ("en", "USD", "12 EUR", AmountProblem.NOT_A_NUMBER),
    ("en", "USD", "1.234", AmountProblem.TOO_MANY_DECIMALS),
    ("de", "EUR", "12.50", AmountProblem.NOT_A_NUMBER),
    ("ar", "USD", "١٢,٥", AmountProblem.NOT_A_NUMBER),
    ("en", "JPY", "5.5", AmountProblem.TOO_MANY_DECIMALS),
    ("en", "USD", "90071992547409.92", AmountProblem.TOO_LARGE),
    ("en", "USD", "9" * 300, AmountProblem.TOO_LARGE),
]


@pytest.mark.parametrize(("language", "currency", "typed", "minor"), READ)
def test_h9_an_amount_is_read_in_the_languages_own_form(language: str, currency: str, typed: str, minor: int) -> None:
    assert figures.parse_amount(typed, currency, Locale.parse(language, sep="-")) == minor


@pytest.mark.parametrize(("language", "currency", "typed", "why"), REFUSED)
def test_h9_what_can_be_read_two_ways_is_refused(language: str, currency: str, typed: str, why: AmountProblem) -> None:
    assert figures.parse_amount(typed, currency, Locale.parse(language, sep="-")) is why


@given(
    minor=st.integers(0, money.MAX_MINOR),
    currency=st.sampled_from(sorted(money.EXPONENTS)),
    language=st.sampled_from(
        ["en", "en_GB", "de", "de_CH", "fr", "hi", "ar", "ar_EG", "fa", "pl", "sv", "pt_BR", "ja"]
    ),
)
def test_h9_what_is_shown_can_be_typed_back(minor: int, currency: str, language: str) -> None:
    locale = Locale.parse(language)
    assert (
        figures.parse_amount(formats.format_amount_without_currency(minor, currency, locale), currency, locale) == minor
    )
    assert figures.parse_amount(formats.format_money(minor, currency, locale), currency, locale) == minor


@given(
    whole=st.integers(1, 999),
    rest=st.integers(0, 999),
    mark=st.sampled_from(".,"),
    language=st.sampled_from(["en", "de", "de_CH", "fr", "it", "nl", "pl", "pt_BR", "ja", "ar_EG", "he", "uk", "es"]),
)
def test_h9_three_digits_are_a_group_only_where_the_language_groups_so(
    whole: int, rest: int, mark: str, language: str
) -> None:
    locale = Locale.parse(language)
    read = figures.parse_amount(f"{whole}{mark}{rest:03}", "EUR", locale)
    if mark == numbers.get_group_symbol(locale):
        assert read == (whole * 1000 + rest) * 100
    else:
        assert read in (AmountProblem.NOT_A_NUMBER, AmountProblem.TOO_MANY_DECIMALS)


@pytest.mark.parametrize(
    ("language", "currency", "minor", "shown"),
    [
        ("en", "RSD", 1250, "RSD\u00a012.50"),
        ("en", "IQD", 1500, "IQD\u00a01.500"),
        ("en", "JPY", 500, "¥500"),
        ("en", "KWD", 1500, "KWD\u00a01.500"),
        ("en", "USD", 123450, "$1,234.50"),
        ("de", "EUR", 123450, "1.234,50\u00a0€"),
        ("ar_EG", "EGP", 150, "\u200f١٫٥٠\u00a0ج.م.\u200f"),
    ],
)
def test_h9_iso_digits_win_over_cldrs(language: str, currency: str, minor: int, shown: str) -> None:
    assert formats.format_money(minor, currency, Locale.parse(language)) == shown


def test_h9_a_short_amount_never_drops_a_fraction_that_is_there() -> None:
    english = Locale("en")
    assert formats.format_money(2500, "USD", english, short=True) == "$25"
    assert formats.format_money(2550, "USD", english, short=True) == "$25.50"


@pytest.mark.parametrize(
    ("language", "first", "last", "full", "called"),
    [
        ("en", "Amina", "El-Sayed", "Amina El-Sayed", "Amina"),
        ("ja", "花子", "山田", "山田 花子", "山田"),
        ("ja", "花子", "", "花子", "花子"),
        ("en", "", "", "", ""),
    ],
)
def test_h9_names_stand_in_the_order_of_the_language(
    language: str, first: str, last: str, full: str, called: str
) -> None:
    locale = Locale(language)
    assert formats.full_name(first, last, locale) == full
    assert formats.greeting_name(first, last, locale) == called


@pytest.mark.parametrize(("currency", "signs"), [("USD", ("US$", "$")), ("CAD", ("CA$",)), ("AUD", ("AU$", "A$"))])
@pytest.mark.parametrize("language", ["ar", "ar_EG", "he"])
def test_h9_a_sign_with_letters_keeps_its_direction_from_right_to_left(
    language: str, currency: str, signs: tuple[str, ...]
) -> None:
    locale = Locale.parse(language)
    sign = formats.currency_symbol(currency, locale)
    assert sign in {f"\u2066{one}\u2069" if one[0].isalpha() else one for one in signs}
    assert formats.format_money(2564, currency, locale).count(sign) == 1
    assert formats.format_money(2564, currency, locale).count(sign.strip("\u2066\u2069")) == 1
    assert figures.parse_amount(formats.format_money(2564, currency, locale), currency, locale) == 2564


@pytest.mark.parametrize(
    ("language", "zone", "name"),
    [
        ("de", "Europe/Berlin", "MESZ"),
        ("en", "America/Sao_Paulo", "Brasilia Time"),
        ("ja", "America/New_York", "アメリカ東部時間"),
        ("ar", "Europe/Berlin", "توقيت وسط أوروبا"),
        ("fr", "UTC", "UTC"),
    ],
)
def test_h9_the_zone_of_a_moment_has_the_name_of_the_language(language: str, zone: str, name: str) -> None:
    at = datetime(2026, 3, 31, 23, 30, tzinfo=UTC)
    assert formats.format_timestamp(at, Locale.parse(language), ZoneInfo(zone)).endswith(f" {name}")


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("UTC", "March 31, 2026 at 11:30 PM UTC"),
        ("Europe/Berlin", "April 1, 2026 at 1:30 AM CEST"),
        ("America/New_York", "March 31, 2026 at 7:30 PM EDT"),
    ],
)
def test_h9_a_moment_is_shown_as_clocks_show_it_in_the_zone(zone: str, shown: str) -> None:
    at = datetime(2026, 3, 31, 23, 30, tzinfo=UTC)
    told = formats.format_timestamp(at, Locale.parse("en"), ZoneInfo(zone))
    assert re.sub(r"[\u202f\xa0]", " ", told).replace(", 2026, ", ", 2026 at ") == shown

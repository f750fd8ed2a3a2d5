"""Texts for banks: what is sent is in the characters that each of them takes."""

import re
import string
import unicodedata

import pytest

from almoner.kit.bank_text import UNCHANGED, non_sepa_characters, to_sepa_text

TAKEN = frozenset(string.ascii_letters + string.digits + "/-?:().,'+ ")


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("Example & Söhne", "Example + Sohne"),
        ("Straße des 17. Juni 3/4", "Strasse des 17. Juni 3-4"),
        ("Łódź Żółw Ærø Þór Đặng", "Lodz Zolw AEro THor Dang"),
        ("O’Brien “Aid”; a_b@c", "O'Brien 'Aid', a-b(at)c"),
        ("No\u00a0break\tand\u200b hidden", "No break and hidden"),
        ("ﬁne ½ №5 2²", "fine 1-2 No5 22"),
        ("Bread 🍞 Trust", "Bread Trust"),
        ("Ｆｕｌｌ", "Full"),
        ("Cafe\u0301", "Cafe"),
    ],
)
def test_m11_a_text_goes_to_the_bank_in_its_characters(text: str, sent: str) -> None:
    assert to_sepa_text(text) == sent
    assert to_sepa_text(sent) == sent.replace("/", "-")


def test_m11_nothing_else_ever_leaves_whatever_is_typed() -> None:
    for code in (*range(0x3000), *range(0xF900, 0x10000), *range(0x1F000, 0x1FB00)):
        one = chr(code)
        sent = to_sepa_text(f"a{one}b")
        assert set(sent) <= TAKEN
        assert sent != "ab" or non_sepa_characters(one) or unicodedata.category(one) in ("Mn", "Me", "Cf")


def test_texts_that_stay_as_they_are_are_found_by_a_pattern() -> None:
    """The database uses it to leave out most payees of a file."""
    for code in (*range(0x3000), *range(0xF900, 0x10000)):
        for text in (chr(code), f"a{chr(code)}b"):
            assert (re.search(UNCHANGED, text) is not None) <= (to_sepa_text(text) == text), ascii(text)
    for text in ("Relief Fund (Casper), Nr. 7 - O'Brien + Co: ?", "Weg"):
        assert re.search(UNCHANGED, text), text
    for text in (" Weg", "Weg ", "A  B", "3/4", "Söhne", "", "Weg\n"):
        assert not re.search(UNCHANGED, text), text


def test_what_banks_cannot_get_is_named_once() -> None:
    assert non_sepa_characters("北京 🍞🍞 Ada") == ["北", "京", "🍞"]
    assert to_sepa_text("a" * 69 + " b", 70) == "a" * 69

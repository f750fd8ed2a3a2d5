"""The scripts of letters, and letters that look like those of another script."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from anyascii import anyascii

_SUPPORTED: Final = frozenset(("LATIN", "CYRILLIC", "GREEK"))
COMPARED_BY_SOUND: Final = frozenset(
    "ARABIC HEBREW CJK IDEOGRAPHIC HANGUL HIRAGANA KATAKANA DEVANAGARI BENGALI GUJARATI GURMUKHI TAMIL TELUGU KANNADA "
    "MALAYALAM ORIYA THAI ARMENIAN GEORGIAN ETHIOPIC".split()
)
"""Compared by sound only, which finds most listed names but not all."""
_WORD: Final = re.compile(r"(?:[^\W\d_]|[\u0300-\u036f])+")
_LOOK_LATIN: Final = frozenset("АВЕЅІЈКМНОРСТУХаеѕіјорсухһԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧνορυ")
"""Cyrillic and Greek letters that look like Latin ones."""
_SHORTEST_DISGUISE: Final = 4
"""Shorter words that look Latin are short words and legal forms of their own language: ООО, НКО."""
_TURNED: Final = re.compile("LATIN (?:SMALL|CAPITAL) LETTER (?:TURNED|REVERSED|INVERTED|SIDEWAYS) ")
_TURNED_IN_USE: Final = frozenset("\u01dd\u018e")
"""Letters of African languages."""
_REGIONAL_LETTERS: Final = re.compile("[\U0001f1e6-\U0001f1ff]+")
"""Two of them show as a flag, one as a letter."""
_ADDED: Final = frozenset(("Mn", "Mc", "Me", "Sc", "Sk"))
"""Categories of marks and signs that hide in a word; romanised, some are letters or digits."""
_LETTERS: Final = frozenset(("Lu", "Ll", "Lt", "Lo", "Nl"))
_UNKNOWN: Final = frozenset(("Co", "Cn"))


@lru_cache(maxsize=8_192)
def scripts_of_character(character: str) -> frozenset[str]:
    """The Unicode scripts of a letter; empty if the character is not a letter."""
    return frozenset(filter(None, map(_script, unicodedata.normalize("NFKC", character))))


def _script(sign: str) -> str | None:
    category = unicodedata.category(sign)
    if category in _UNKNOWN:
        return "UNKNOWN"
    if category not in _LETTERS:
        return None
    return unicodedata.name(sign, "UNKNOWN").partition(" ")[0].partition("-")[0]


def find_unsupported_scripts(text: str) -> Iterator[str]:
    """The scripts of its letters that are not supported, as Unicode names them: ETHIOPIC."""
    if not text.isascii():
        for sign in dict.fromkeys(text):
            yield from scripts_of_character(sign) - _SUPPORTED


def has_lookalike_letters(name: str) -> bool:
    """Whether letters of one alphabet replace look-alikes of another, or something else replaces or alters letters.

    So in a word with letters of two alphabets, or a non-Latin word that looks Latin among Latin ones.
    """
    if name.isascii():
        return False
    if any(len(run) % 2 for run in _REGIONAL_LETTERS.findall(name)) or any(map(_alters_word, name, name[1:])):
        return True
    words = _WORD.findall(name)
    alphabets = [frozenset[str]().union(*map(scripts_of_character, word)) for word in words]
    if any(len(one) > 1 for one in alphabets):
        return True
    disguised = (
        one.isdisjoint({"LATIN"}) and len(word) >= _SHORTEST_DISGUISE and _LOOK_LATIN.issuperset(word)
        for word, one in zip(words, alphabets, strict=True)
    )
    return {"LATIN"} in alphabets and any(disguised)


def _alters_word(before: str, sign: str) -> bool:
    """Whether one of two adjacent characters makes another word of what people read: Ham\u20b3s, \u0265amas."""
    if before.isascii() and sign.isascii():
        return False
    if any(_TURNED.match(unicodedata.name(one, "")) and one not in _TURNED_IN_USE for one in (before, sign)):
        return True
    added, letter = (sign, before) if unicodedata.category(sign) in _ADDED else (before, sign)
    return (
        unicodedata.category(added) in _ADDED
        and not _SUPPORTED.isdisjoint(scripts_of_character(letter))
        and any(map(str.isalnum, anyascii(added)))
    )

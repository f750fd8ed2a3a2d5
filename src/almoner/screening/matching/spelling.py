"""Normalise text: any script to lower-case ASCII words, numbers to one form."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from anyascii import anyascii

from almoner.kit.text import replace_pictographs

_APOSTROPHES: Final = re.compile("['`\u2018\u2019\u02bb\u02bc\u02bd\u00b4]")
_NOT_A_WORD: Final = re.compile(r"[^a-z0-9]+")
_SIMPLE: Final = re.compile(r"[a-z0-9 ]*")
_OWNED: Final = re.compile(r"\b(?!(?:and|at|for|from|in|of|the|to) )([a-z]{2,}) s\b(?! [a-z]\b)")
"""``mother s``, but not ``of s florida``."""
_SPELT: Final = re.compile(r"\b[a-z](?: [a-z]\b)+")
_DOTTED: Final = re.compile(r"\b(?:[a-z]\.){2,}(?:[a-z]\b)?|\b[a-z]\.[a-z]\b(?!\.)")
_ONE_LETTER: Final = str.maketrans("ىیکأإآٱؤئة", "ييكااااويه")
"""Arabic letters with several spellings, and their Persian forms."""
_DIGIT: Final = re.compile(r"\d")
_NUMBERED: Final = re.compile(r"\b(?:no|nr|num|number) (?=\d)")
_GROUPED: Final = re.compile(
    r"(?<![0-9.,])[1-9][0-9]{0,2}([,.\u00a0\u202f\u2009])[0-9]{3}(?:\1[0-9]{3})*(?![0-9]|[.,][0-9])"
)
"""``10,000``, ``10.000``: groups of three digits."""
_COUNTED: Final = re.compile(r"\b(?>0*(?=\d))(\d++)(?:st|nd|rd|th)?\b")

_UNITS: Final = "one two three four five six seven eight nine ten eleven twelve".split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS: Final = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
_ROMAN: Final = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx".split()

_WORDS: Final = {
    **{word: number for number, word in enumerate(_UNITS, 1)},
    **{word: number for number, word in enumerate(_ORDINALS, 1)},
}
_TENFOLD: Final = {**{word: 20 + 10 * place for place, word in enumerate(_TENS)}, "fourty": 40}
_ROMAN_NUMBERS: Final = {numeral: str(number) for number, numeral in enumerate(_ROMAN, 1)}
_HUNDRED, _THOUSAND = 100, 1000
_MULTIPLES: Final = {"hundred": _HUNDRED, "thousand": _THOUSAND}
_NUMERALS: Final = frozenset((*_WORDS, *_TENFOLD, *_ROMAN, *_MULTIPLES))
_UNMISTAKABLE: Final = {numeral for numeral in _ROMAN if len(numeral) > 1}


def normalise_text(text: str) -> str:
    """Lower-case ASCII words with single spaces: ``Y.M.C.A. & Co (O'Brien)`` -> ``ymca and co obrien``."""
    found = text.lower()
    if not _SIMPLE.fullmatch(found) and _DIGIT.search(found):
        found = _GROUPED.sub(lambda number: number[0].replace(number[1], ""), found)
    if not found.isascii():
        found = anyascii(replace_pictographs(found).translate(_ONE_LETTER)).lower()
    if not _SIMPLE.fullmatch(found):
        found = _DOTTED.sub(lambda letters: letters[0].replace(".", "") + " ", found)
        found = _NOT_A_WORD.sub(" ", _APOSTROPHES.sub("", found.replace("&", " and ").replace("%", " per cent ")))
    words = found.split()
    found = " ".join(words)
    if "s" in words:
        found = _OWNED.sub(r"\1s", found)
    if min(map(len, words), default=0) == 1:
        found = _SPELT.sub(lambda run: run[0].replace(" ", ""), found)
    return found


def normalise_numerals(text: str) -> str:
    """Numbers in one form: ``No. 07`` and ``7th`` -> ``7``."""
    return _COUNTED.sub(r"\1", _NUMBERED.sub("", text)) if _DIGIT.search(text) else text


def convert_number_words_to_digits(words: Sequence[str]) -> list[str]:
    """Convert number words and Roman numerals to digits: ``forty four`` -> ``44``; single letters only at the end."""
    if _NUMERALS.isdisjoint(words):
        return [*words]
    found = _convert_below_hundred(words)
    for multiple, unit in _MULTIPLES.items():
        if multiple in found:
            found = _join_multiples(found, multiple, unit)
    return found


def _join_multiples(words: Sequence[str], multiple: str, unit: int) -> list[str]:
    """Join hundreds or thousands: ``1 hundred and 12`` -> ``112``, ``12 hundred`` -> ``1200``."""
    found: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word != multiple:
            found.append(word)
            continue
        number = unit * (int(found.pop()) if found and _is_below(found[-1], unit) else 1)
        if rest[:1] == ["and"] and _is_below(rest[1] if rest[1:] else "", unit):
            rest.pop(0)
        if rest and _is_below(rest[0], unit):
            number += int(rest.pop(0))
        found.append(str(number))
    return found


def _is_below(word: str, limit: int) -> bool:
    return word.isdigit() and int(word) < limit


def _convert_below_hundred(words: Sequence[str]) -> list[str]:
    found: list[str] = []
    tens = 0
    last = len(words) - 1
    for place, word in enumerate(words):
        if tens:
            follows = 0 < (unit := _WORDS.get(word, int(word) if word.isdigit() and len(word) == 1 else 0)) < 10
            found.append(str(tens + unit if follows else tens))
            tens = 0
            if follows:
                continue
        if word in _TENFOLD:
            tens = _TENFOLD[word]
        elif word in _WORDS:
            found.append(str(_WORDS[word]))
        elif word in _UNMISTAKABLE or (place == last > 0 and word in _ROMAN_NUMBERS):
            found.append(_ROMAN_NUMBERS[word])
        else:
            found.append(word)
    if tens:
        found.append(str(tens))
    return found


_SOUNDS: Final = tuple(
    tuple(pair.split(":"))
    for pair in "sch:s sh:s ch:k ph:f kh:k gh:g dh:d th:t zh:s ts:s tz:s ck:k qu:k q:k c:k x:ks z:s w:v j:g".split()
)
_MUTE: Final = str.maketrans("", "", "aeiouyh")
_DOUBLED: Final = re.compile(r"(.)\1+")


def collapse_doubled_letters(word: str) -> str:
    """The word with each run of one letter written once: ``hassan`` -> ``hasan``."""
    return _DOUBLED.sub(_first_group, word)


def _first_group(found: re.Match[str]) -> str:
    """The letter of a run. A function replaces in a third of the time that a template takes."""
    return found[1]


def compute_consonant_key(word: str) -> str:
    """What all Latin spellings of a word share: ``muhammad`` and ``mohamed`` -> ``mmd``."""
    for letters, sound in _SOUNDS:
        if letters in word:
            word = word.replace(letters, sound)
    word = collapse_doubled_letters(word[:1] + word[1:].translate(_MUTE))
    return "a" + word[1:] if word and word[0] in "aeiouy" else word


consonant_key: Final = lru_cache(maxsize=16_384)(compute_consonant_key)

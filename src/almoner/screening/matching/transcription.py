"""How well a Latin word transcribes one in another script: 0 to 1, letter by letter.

Each letter of the other script has its usual Latin transcriptions, and possible ones. Vowels that a script does not
write cost next to nothing; a written letter without a counterpart costs more.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from anyascii import anyascii

from almoner.screening.matching.arabic_article import shorten_abdul

_MAX_LETTERS: Final = 24
_UNITS: Final = re.compile("tch|sch|sh|zh|ch|kh|gh|th|dh|ph|dj|ts|tz|ck|ou|oo|ee|[a-zA-Z]")
_DOUBLED: Final = re.compile(r"([a-df-np-z])\1+")
_POSSIBLE_COST: Final = 0.3
_MISMATCH_COST: Final = 1.0
_VOWELS: Final = frozenset("a e i o u ou oo ee y".split())


class _Letter(NamedTuple):
    """A letter's usual and possible transcriptions, and the cost of leaving it out."""

    usual: frozenset[str]
    may: frozenset[str]
    mute: float


def _letters(table: str) -> Mapping[str, _Letter]:
    """Parse ``خ=kh k ch/h x=1``: letters, usual transcriptions, possible ones, and the cost of none."""
    found = {}
    for line in table.strip().splitlines():
        letters, latin, mute = line.strip().split("=")
        usual, _, may = latin.partition("/")
        for letter in letters:
            found[letter] = _Letter(frozenset(usual.split()), frozenset(may.split()), float(mute))
    return found


_ARABIC: Final = _letters("""
    اأإآٱ=a/e o i u=0.25
    ىة=a/e i t h=0.05
    عء=a/e i o u=0.05
    ئ=y i e/a=0.15
    ؤ=w o u/a=0.15
    ب=b/p v=1
    پ=p/b=1
    تط=t/th d=1
    ټ=t=1
    ث=th s t/z=1
    ج=j g dj/zh ch y dh c=1
    چ=ch c tch/j s sh tz=1
    ح=h/kh=0.35
    خ=kh k ch/h x j=0.9
    د=d/t dh=1
    ذ=dh d z/th=1
    رڑړ=r=1
    ز=z/s=1
    ژ=zh j z/s=1
    س=s c/z ts=1
    ش=sh ch s sch/=1
    ص=s/z=1
    ض=d dh z/th=1
    ظ=z dh d/th=1
    غ=gh g/k r=0.9
    ف=f ph/v p=1
    ڤڨ=v/f g=1
    ق=q k g c gh ck/kh=1
    كک=k c q ck/g ch kh=1
    گ=g/k gh=1
    ل=l=1
    م=m/n=1
    نں=n/m=1
    هھۀ=h/a e=0.2
    وۇۆۈۋ=w u o ou oo v/y=0.4
    يیې=y i e ee/j a=0.3
    ے=e y/i=0.1
    ٹ=t=1
    ډڈ=d=1
    ڭ=ng n/g=1
""")
_HEBREW: Final = _letters("""
    א=a/e i o u=0.05
    ע=a/e i o u=0.05
    ה=h/a e=0.15
    ב=b v/w=1
    ג=g/j gh=1
    ד=d/t=1
    ו=v w o u ou oo/=0.4
    ז=z/s=1
    ח=h ch kh/k=0.5
    ט=t/th=1
    י=y i j e ee/=0.3
    כך=k ch kh c/q h=1
    ל=l=1
    םמ=m/n=1
    ןנ=n/m=1
    ס=s c/z=1
    ףפ=p f ph/v=1
    ץצ=ts tz z/s c=1
    ק=k c q ck/=1
    ר=r=1
    ש=sh s/ch=1
    ת=t th/s=1
""")
_TABLES: Final = {"ARABIC": _ARABIC, "HEBREW": _HEBREW}
_ARTICLES: Final = {"ARABIC": ("ال", "وال", "لل"), "HEBREW": ("ה",)}
_ASPIRATES: Final = frozenset("هحھ")
_DIGRAPH_OF_H: Final = re.compile("(s|z|k|t|d|g)h")
"""Digraphs that the other script may write as two letters with an H: ISHAQ, AZHAR."""
_ASSIMILATED: Final = re.compile("(?<=..)ال(?=[تثدذرزسشصضطظلن].)")
"""An article within a word, assimilated to the next letter: SHAMSUDDIN, HAMDULLAH."""
_INSERTED: Final = {"h": 0.15, "y": 0.3, "w": 0.3}
_INSERTED_VOWEL: Final = 0.04
_SPELT_VOWEL: Final = 0.22
_LOOSE_VOWEL: Final = 0.12
_LOOSE: Final = frozenset(
    "KATAKANA HIRAGANA CJK HANGUL THAI DEVANAGARI BENGALI GUJARATI GURMUKHI TAMIL TELUGU KANNADA MALAYALAM "
    "ORIYA".split()
)
"""Scripts that write vowels which are not spoken, or leave out spoken ones."""
_MERGED: Final = {"l": "r", "v": "b", "th": "s"}
_MERGING: Final = frozenset(("KATAKANA", "HIRAGANA", "HANGUL", "CJK"))
"""Scripts that do not distinguish L and R, nor V and B."""
_LEADING_VOWEL: Final = re.compile("([\u0e40-\u0e44])([\u0e01-\u0e2e])")
"""Thai writes some vowels before the consonant that they follow."""
_PALATAL: Final = re.compile(r"(sh|ch|j)?iy(?=[aou])")
_RELATED_UNITS: Final = tuple(
    frozenset(kin.split())
    for kin in (
        "b p v", "f ph v p", "t d th dh", "s z ts c x th", "sh s ch sch zh j c",
        "ch c ts tch j dj zh", "k c q g kh gh ck x", "h kh gh", "l r", "m n", "w v u o ou", "y i j e ee", "g j dj",
    )
)  # fmt: skip


_EITHER: Final = {
    one[0]: frozenset(one[2:].split(","))
    for one in "K:k,g T:t,d P:p,b C:ch,j Z:ch,ts G:k,kh D:t,th F:p,ph S:s,sh O:o,u,ou U:u,oo I:i,ee".split()
}
"""Capital letters in a spelling: sounds that systems of romanisation write in either way, such as J and CH."""
_OPTIONAL: Final = {one.upper(): _Letter(frozenset((one,)), frozenset(), 0.0) for one in "eh"}
"""Capital letters that only some systems write: JEONG and JONG, WAH and WA."""


@lru_cache(maxsize=8_192)
def _by_itself(unit: str, vowel: float = _SPELT_VOWEL) -> _Letter:
    """A Latin unit of a romanised word, treated as a letter of its script."""
    if unit in _OPTIONAL:
        return _OPTIONAL[unit]
    usual = _EITHER.get(unit) or frozenset((unit,))
    if usual <= _VOWELS:
        return _Letter(usual, _VOWELS | {"w", "j"}, vowel)
    kin = frozenset[str]().union(*(one for one in _RELATED_UNITS if not one.isdisjoint(usual)))
    return _Letter(usual, kin, 0.2 if unit == "h" else 1.0)


@lru_cache(maxsize=65_536)
def _latin_units(word: str) -> tuple[str, ...]:
    return tuple(_UNITS.findall(_DOUBLED.sub(r"\1", word[:_MAX_LETTERS])))


@lru_cache(maxsize=16_384)
def _script_letters(text: str, script: str) -> tuple[_Letter, ...]:
    """The letters of a word, with their transcriptions."""
    table = _TABLES.get(script)
    if table is not None:
        return tuple(table[letter] for letter in text[:_MAX_LETTERS] if letter in table)
    text = _LEADING_VOWEL.sub(r"\2\1", text[:_MAX_LETTERS])
    romanised = "".join(filter(str.isalpha, anyascii(text).lower()))
    if script in _MERGING:
        romanised = _PALATAL.sub(lambda found: found[1] or "y", romanised)
    units = _latin_units(romanised)
    if script in _MERGING:
        units = tuple(_MERGED.get(unit, unit) for unit in units)
    return tuple(_by_itself(unit, _vowel_cost(script)) for unit in units)


def _vowel_cost(script: str) -> float:
    """The cost of a vowel that only one side has."""
    return _INSERTED_VOWEL if script in _TABLES else _LOOSE_VOWEL if script in _LOOSE else _SPELT_VOWEL


def _insertion(unit: str, vowel: float) -> float:
    if unit in _VOWELS:
        return vowel
    return _INSERTED.get(unit, _MISMATCH_COST)


def _cost(letters: Sequence[_Letter], units: Sequence[str], vowel: float) -> float:
    inserted = [_insertion(unit, vowel) for unit in units]
    row = [0.0]
    for one in inserted:
        row.append(row[-1] + one)
    for usual, may, mute in letters:
        above, row = row, [row[0] + mute]
        for place, unit in enumerate(units):
            change = 0.0 if unit in usual else _POSSIBLE_COST if unit in may else _MISMATCH_COST
            row.append(min(above[place] + change, above[place + 1] + mute, row[place] + inserted[place]))
    return row[-1]


def _likeness(letters: Sequence[_Letter], units: Sequence[str], vowel: float) -> float:
    size = max(2, sum(one.mute > _POSSIBLE_COST for one in letters), sum(unit not in _VOWELS for unit in units))
    return max(0.0, 1 - _cost(letters, units, vowel) / size)


@lru_cache(maxsize=32_768)
def compute_transcription_similarity(text: str, script: str, latin_text: str) -> float:
    """How well ``latin_text`` transcribes ``text``: 1 if each letter has its usual transcription."""
    spelt = [_latin_units(shorten_abdul(latin_text) if script == "ARABIC" else latin_text)]
    if script in _MERGING:
        spelt = [tuple(_MERGED.get(unit, unit) for unit in spelt[0])]
    elif script == "ARABIC" and not _ASPIRATES.isdisjoint(text) and _DIGRAPH_OF_H.search(latin_text):
        spelt.append(_latin_units(_DIGRAPH_OF_H.sub(r"\1-h", latin_text)))
    forms = [_script_letters(form, script) for form in _article_variants(text, script)]
    return max(_likeness(letters, units, _vowel_cost(script)) for letters in forms for units in spelt)


def _article_variants(text: str, script: str) -> Iterator[str]:
    """A word with and without its article, which Latin spellings write apart or joined."""
    yield text
    if script == "ARABIC" and (assimilated := _ASSIMILATED.sub("ا", text)) != text:
        yield assimilated
    for article in _ARTICLES.get(script, ()):
        if text.startswith(article) and len(text) > len(article) + 1:
            yield text[len(article) :]
    if script == "ARABIC" and text.startswith("عبدال"):
        yield f"عبد{text[5:]}"


@lru_cache(maxsize=32_768)
def compute_latin_sound_similarity(spelling: str, other_spelling: str) -> float:
    """How alike two Latin spellings sound: 1 if they are the same. The first may have letters of ``_EITHER``."""
    units = _UNITS.findall(other_spelling[:_MAX_LETTERS])
    return _likeness(tuple(map(_by_itself, _UNITS.findall(spelling[:_MAX_LETTERS]))), units, _SPELT_VOWEL)

"""How languages write foreign names in Latin letters: PRIGOZHIN is Prigoschin, Prigojine, Prigożyn, Prigozjin.

A word is rewritten from each convention to the English one, which the lists use, and reduced to what English spellings
share: Yevgeniy and Evgeni.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from almoner.screening.matching.spelling import collapse_doubled_letters

_REWRITTEN: Final = {sign: None for sign in range(128) if chr(sign) not in "ablmnr"}
_VOWELS: Final = re.compile("(?<!^)[aeiou]")
_VOWEL_RUN: Final = re.compile("[aeiou]+")
_CONSONANTS: Final = 3
_CONSONANTS_ALONE: Final = 4
"""The fewest consonants by which a name of one word is recognised."""
_SHORTEST: Final = 4
"""The fewest letters of a reduced word by which two words can be equal."""


def _pattern(table: str) -> re.Pattern[str]:
    """The foreign spellings of a table, longest first."""
    foreign = {pair.partition(":")[0] for pair in table.split()}
    return re.compile("|".join(sorted(foreign, key=lambda one: (-len(one), one))))


def _rewriter(table: str) -> Callable[[str], str]:
    """A function that rewrites a word by ``sch:sh w:v`` (foreign:English), longest first.

    ``$``: at the end of the word.
    """
    pairs, pattern = dict(pair.split(":") for pair in table.split()), _pattern(table)
    latin = {one.rstrip("$"): other for one, other in pairs.items()}
    return lambda word: pattern.sub(lambda found: latin[found[0]], word)


_GERMAN: Final = "schtsch:shch dsch:j tsch:ch sch:{} ch:kh w:v j:y z:ts"
_TABLES: Final = (
    _GERMAN.format("sh"),
    _GERMAN.format("zh"),
    "tch:ch dj:j gue:ge gui:gi guy:gy ch:sh j:zh ou:u ine$:in ene$:en ff$:v",
    "szcz:shch sz:sh cz:ch ch:kh w:v j:y c:ts",
    "szcz:shch sz:sh cz:ch ch:kh w:v j:y c:ts z:zh",
    "dzj:j tsj:ch sj:sh zj:zh oe:u ch:kh j:y w:v",
    "ch:kh j:y dz:j c:ts",
    "ch:kh j:y dz:j c:ch z:zh",
    "gue:ge gui:gi j:kh ll:l",
    "sci:shi sce:she gia:ja gio:jo giu:ju ghi:gi ghe:ge ci:chi ce:che",
)
"""In order: German (two rows: its SCH is SH or ZH), French, Polish, Dutch, Czech and Croatian, Spanish, Italian.

Polish, and Czech and Croatian, have a row with accents and one without.
"""
_CONVENTIONS: Final = tuple(map(_rewriter, _TABLES))
_MAY_BE_REWRITTEN: Final = _pattern(" ".join(_TABLES))
"""What any convention rewrites; half of all words have none of it."""
_ENGLISH: Final = _rewriter(
    "shch:S sh:S zh:Z tch:C ch:C kh:h gh:g dh:d th:t ph:f dj:J dzh:J j:J ts:c tz:c ck:k q:k x:ks z:s w:v ou:u oo:u "
    "ee:i y:i awoo:au awu:au"
)
_SOFTENED: Final = re.compile("(?<=[SC])o(?=v)")
"""A Russian ё, which lists write as E: GORBACHEV and GORBATSCHOW."""


def fold_english_spelling_variants(word: str) -> str:
    """What English spellings of a word share: ``yevgeniy`` and ``evgeni`` -> ``evgeni``."""
    found = collapse_doubled_letters(_ENGLISH(word)).replace("ie", "e").replace("io", "o")
    found = _SOFTENED.sub("e", found)
    return found[:-1] if found[-1:] == "h" else found


folded_english_spelling: Final = lru_cache(maxsize=16_384)(fold_english_spelling_variants)


def compute_consonant_skeleton(folded_word: str) -> str:
    """The consonants of a reduced word; a short word keeps its vowels, since its consonants alone are too common."""
    consonants = _VOWELS.sub("", folded_word)
    return consonants if len(consonants) >= _CONSONANTS else folded_word


@lru_cache(maxsize=16_384)
def possible_english_spellings(word: str) -> frozenset[str]:
    """The word in reduced English spelling, for each convention that it may be written in."""
    written = {word}
    if _MAY_BE_REWRITTEN.search(word):
        written.update(convention(word) for convention in _CONVENTIONS)
    return frozenset(one for one in map(fold_english_spelling_variants, written) if len(one) >= _SHORTEST)


@lru_cache(maxsize=32_768)
def _kept_letters(word: str) -> str:
    """The letters that no convention changes: words that differ in them need not be rewritten."""
    return collapse_doubled_letters(word.translate(_REWRITTEN))


@lru_cache(maxsize=32_768)
def _kept_consonants(word: str) -> str:
    """The consonants among the kept letters."""
    return collapse_doubled_letters(_kept_letters(word).replace("a", ""))


def may_be_same_word_across_languages(one: str, other: str) -> bool:
    """Whether two words may be spellings of one word in two languages."""
    if _kept_letters(one) != _kept_letters(other):
        return False
    return folded_english_spelling(one) in possible_english_spellings(other) or folded_english_spelling(
        other
    ) in possible_english_spellings(one)


def sounds_alike(one: str, other: str) -> bool:
    """Whether two words have the same consonants, four or more, and vowels in the same places: HESBOLA, HIZBALLAH."""
    listed = _skeleton(folded_english_spelling(other))
    enough = len(listed.replace("V", "")) >= _CONSONANTS_ALONE
    return enough and any(_skeleton(spelling) == listed for spelling in possible_english_spellings(one))


def _skeleton(reduced: str) -> str:
    return _VOWEL_RUN.sub("V", reduced.replace("z", "s"))


def find_spelling_pairs_differing_in_vowels(one: str, other: str) -> list[tuple[str, str]]:
    """Reduced spellings of two words that differ only in vowels after the first letter."""
    found: list[tuple[str, str]] = []
    if _kept_consonants(one) != _kept_consonants(other):
        return found
    for mine, foreign in ((folded_english_spelling(one), other), (folded_english_spelling(other), one)):
        sound = compute_consonant_skeleton(mine)
        if len(sound) < _CONSONANTS or (_VOWELS.search(sound) and _kept_letters(one) != _kept_letters(other)):
            continue  # too short, or too few consonants: the vowels differ
        found += [
            (mine, spelling)
            for spelling in possible_english_spellings(foreign)
            if compute_consonant_skeleton(spelling) == sound
        ]
    return found

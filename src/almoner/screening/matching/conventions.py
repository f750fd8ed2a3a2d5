"""How languages write foreign names in Latin letters: PRIGOZHIN is Prigoschin, Prigojine, Prigożyn, Prigozjin.

A word is rewritten from each convention to the English one, in which lists are written, and reduced to what spellings
in English share: Yevgeniy and Evgeni.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

_REWRITTEN: Final = re.compile("[^bmnr]")
_VOWELS: Final = re.compile("(?<!^)[aeiou]")
_CONSONANTS: Final = 3
_SHORTEST: Final = 4
"""Letters of a reduced word by which two are taken for one."""


def _rewriter(table: str) -> Callable[[str], str]:
    """``sch:sh w:v``: what a language writes, and what English does; the longest first. ``$``: at the end."""
    pairs = dict(pair.split(":") for pair in table.split())
    pattern = re.compile("|".join(sorted(pairs, key=lambda one: (-len(one), one))))
    latin = {one.rstrip("$"): other for one, other in pairs.items()}
    return lambda word: pattern.sub(lambda found: latin[found[0]], word)


_GERMAN: Final = "schtsch:shch dsch:j tsch:ch sch:{} ch:kh w:v j:y z:ts"
_CONVENTIONS: Final = tuple(
    map(
        _rewriter,
        (
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
        ),
    )
)
"""German (which has one spelling of SH and ZH), French, Polish (with and without accents), Dutch, Czech and Croatian
(so, too), Spanish, Italian."""
_ENGLISH: Final = _rewriter(
    "shch:S sh:S zh:Z tch:C ch:C kh:h gh:g dh:d th:t ph:f dj:J dzh:J j:J ts:c tz:c ck:k q:k x:ks z:s w:v ou:u oo:u "
    "ee:i y:i"
)
_DOUBLED: Final = re.compile(r"(.)\1+")


def _reduced(word: str) -> str:
    """What English spellings of a word share: ``yevgeniy`` and ``evgeni`` -> ``evgeni``."""
    found = _DOUBLED.sub(r"\1", _ENGLISH(word)).replace("ie", "e").replace("io", "o")
    return found[:-1] if found[-1:] == "h" else found


reduced_spelling: Final = lru_cache(maxsize=16_384)(_reduced)


def sound_of(reduced: str) -> str:
    """The consonants of a reduced word; short ones with their vowels, as others have the same."""
    consonants = _VOWELS.sub("", reduced)
    return consonants if len(consonants) >= _CONSONANTS else reduced


@lru_cache(maxsize=16_384)
def other_spellings(word: str) -> frozenset[str]:
    """A word as English would write it, reduced, if it is written by the convention of any language."""
    found = {reduced_spelling(word), *(_reduced(convention(word)) for convention in _CONVENTIONS)}
    return frozenset(one for one in found if len(one) >= _SHORTEST)


@lru_cache(maxsize=65_536)
def _kept_letters(word: str) -> str:
    """Letters that no convention writes otherwise: two words without the same ones need not be rewritten."""
    return _DOUBLED.sub(r"\1", _REWRITTEN.sub("", word))


def is_other_spelling(one: str, other: str) -> bool:
    """Whether two words may be one that two languages write otherwise."""
    if _kept_letters(one) != _kept_letters(other):
        return False
    return reduced_spelling(one) in other_spellings(other) or reduced_spelling(other) in other_spellings(one)


def similar_spellings(one: str, other: str) -> Iterator[tuple[str, str]]:
    """Reduced spellings of two words that differ in vowels alone, and not in the first letter."""
    if _kept_letters(one) != _kept_letters(other):
        return
    for mine, others in (
        (reduced_spelling(one), other_spellings(other)),
        (reduced_spelling(other), other_spellings(one)),
    ):
        sound = sound_of(mine)
        if len(sound) >= _CONSONANTS:
            yield from ((mine, spelling) for spelling in others if sound_of(spelling) == sound)

"""Words of names and of queries, in one form: ASCII, lower case, accents and other scripts transliterated."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from anyascii import anyascii

_APOSTROPHES: Final = re.compile(r"['`\u2018\u2019\u02bc]")
_NOT_A_WORD: Final = re.compile(r"[^a-z0-9]+")
_SIMPLE: Final = re.compile(r"[a-z0-9 ]*")

WEAK: Final = frozenset(
    "a an and at by co corp corporation for fund in inc incorporated limited llc ltd of on or the to with".split()
) - {"fund"}
"""Words that a name may lack and still be the one asked for: they rank, and do not exclude."""

MOST_WORDS: Final = 12
"""Words of a query that are looked up; further ones only rank."""

SHORTEST_PREFIX: Final = 3
"""Letters from which on the last word of a query may be unfinished."""

FEWEST_TO_SPARE_ONE: Final = 3

_ALIKE: Final = (
    ("saint", "st", "ste"),
    ("association", "assn", "assoc", "asso"),
    ("national", "natl", "nat"),
    ("international", "intl"),
    ("center", "centre", "ctr", "cntr"),
    ("foundation", "fdn", "fdtn", "fndn"),
    ("university", "univ"),
    ("society", "soc"),
    ("organization", "organisation", "org"),
    ("institute", "inst"),
    ("department", "dept"),
    ("government", "govt"),
    ("brothers", "bros"),
    ("mount", "mt"),
    ("fort", "ft"),
    ("committee", "cmte"),
    ("community", "comm", "cmnty"),
    ("american", "amer"),
    ("washington", "wash"),
    ("academy", "acad"),
    ("medicine", "med"),
    ("trust", "tr"),
    ("federation", "fed"),
    ("volunteer", "vol"),
    ("district", "dist"),
    ("hospital", "hosp"),
)
_ALTERNATIVES: Final[Mapping[str, tuple[str, ...]]] = {word: group for group in _ALIKE for word in group}


def words(text: str) -> list[str]:
    """``Crédit & Co. (O'Brien)`` -> ``credit and co obrien``."""
    plain = text.lower()
    if not plain.isascii():
        plain = anyascii(plain).lower()
    if not _SIMPLE.fullmatch(plain):
        plain = _NOT_A_WORD.sub(" ", _APOSTROPHES.sub("", plain.replace("&", " and ")))
    return plain.split()


def searchable(text: str | None) -> str:
    """The words with one blank between, as they are stored."""
    return " ".join(words(text)) if text else ""


@dataclass(frozen=True, slots=True)
class Query:
    """What a caller types, as words. ``needed`` are those that a result must have, each with its other spellings."""

    text: str
    words: tuple[str, ...]
    needed: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> "Query":
        """The words of a query; when it has weak ones only, those are needed."""
        found = tuple(words(text))
        strong = tuple(dict.fromkeys(word for word in found if word not in WEAK))
        return cls(" ".join(found), found, (strong or tuple(dict.fromkeys(found)))[:MOST_WORDS])

    def exact(self) -> str:
        """A tsquery: every needed word or another spelling of it; the last one may be unfinished."""
        return self.repaired({})

    def repaired(self, similar: Mapping[str, Sequence[str]]) -> str:
        """As ``exact``, with the dictionary's similar words beside each."""
        return " & ".join(self._spelt(similar))

    def all_but_one(self, similar: Mapping[str, Sequence[str]]) -> str | None:
        """As ``repaired``, for names that lack any one of the words; None with too few words to spare one."""
        spelt = self._spelt(similar)
        return _lacking_one(spelt) if len(spelt) >= FEWEST_TO_SPARE_ONE else None

    def _spelt(self, similar: Mapping[str, Sequence[str]]) -> list[str]:
        unfinished = self.words[-1] if self.words and len(self.words[-1]) >= SHORTEST_PREFIX else None
        groups = []
        for word in self.needed:
            spellings = dict.fromkeys((word, *_ALTERNATIVES.get(word, ()), *similar.get(word, ())))
            # Words are [a-z0-9]+ only, so that nothing in them can end the quotes.
            terms = [f"'{spelling}':*" if spelling == word == unfinished else f"'{spelling}'" for spelling in spellings]
            groups.append("(" + " | ".join(terms) + ")")
        return groups


def _lacking_one(groups: Sequence[str]) -> str:
    """All groups but any one, by halves: one is lacking on one side and none on the other."""
    if len(groups) == 1:
        return ""
    half = len(groups) // 2
    sides = []
    for whole, other in ((groups[:half], groups[half:]), (groups[half:], groups[:half])):
        lacking = _lacking_one(other)
        sides.append("(" + " & ".join([*whole, *([lacking] if lacking else [])]) + ")")
    return "(" + " | ".join(sides) + ")"

"""A name, read once: its words in one spelling, what each is worth, its legal forms. All comparisons are of these."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from almoner.screening.matching import tables
from almoner.screening.matching.spelling import counted, numbered, plain

Kind = Literal["word", "number", "year", "direction", "place"]

WEAK: Final = frozenset(
    "a al an and at by dba de del der des do du e el et for from fur in into la las le les los of on or s "
    "the to und van von with y".split()
)
"""Words that a name may lack and still be the same."""

_PHRASES: Final = {
    ("united", "states", "of", "america"): "usa",
    ("united", "states"): "usa",
    ("us",): "usa",
    ("health", "care"): "healthcare",
    ("non", "profit"): "nonprofit",
}
_DIRECTIONS: Final = {
    spelling: direction
    for direction in ("north", "south", "east", "west")
    for spelling in (direction, f"{direction}ern")
} | {
    spelling: first + second
    for first in ("north", "south")
    for second in ("east", "west")
    for spelling in (first + second, f"{first}{second}ern")
} | {one: one for one in ("upper", "lower")}  # fmt: skip
BRANCHES: Final = frozenset(
    "alumni auxiliary boosters booster endowment foundation friends fund guild pac ptas ptsa pta".split()
)
"""Words for a body beside another one: a school and its foundation are two."""
_OPEN: Final = (" of", " for", " and")
_FORMAL: Final = frozenset(("trust", "company", "corporation", "organization"))
_FORMAL_WEIGHT: Final = 0.15
_EVERYWHERE: Final = frozenset(("inc", "incorporated", "corp", "corporation", "llc", "ltd", "co"))
"""Legal forms wherever they stand: MOTHER THEODORE CORP III."""
_LONGEST_FORM: Final = 7
_LONGEST_PLACE: Final = 3
_NUMBER: Final = 0.9
_WORN: Final = 0.55
_YEARS: Final = range(1800, 2100)


class Tokens(NamedTuple):
    """Words that name, the kinds of legal forms that were around them, and all words but those without a blank."""

    words: tuple[str, ...]
    forms: frozenset[str]
    whole: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A name, read: ``words`` in one spelling and without weak ones, what each is worth and what it is.

    ``joined`` are the words without blanks, ``whole`` with weak ones, ``bearers`` says how many bodies of the master
    file bear the name, ``open`` that it ends as no name does, in OF, and so was cut; ``initials`` are of all its words,
    and of those that weigh.
    """

    name: str
    words: tuple[str, ...]
    weights: tuple[float, ...]
    kinds: tuple[Kind, ...]
    forms: frozenset[str]
    joined: str
    whole: str
    total: float
    bearers: int
    open: bool
    initials: tuple[str, str]


def _stripped(words: list[str], forms: set[str]) -> list[str]:
    """Legal forms at both ends are taken off as long as something is left."""
    known = tables.legal_forms()
    found = True
    while found and len(words) > 1:
        found = False
        for length in range(min(_LONGEST_FORM, len(words) - 1), 0, -1):
            if kind := known.get(tuple(words[-length:])):
                words, found = words[:-length], True
            elif kind := known.get(tuple(words[:length])):
                words, found = words[length:], True
            if kind:
                forms.add(kind)
                break
        if len(words) > 1 and words[-1] in ("the", "and"):
            words, found = words[:-1], True
    return words


def _phrased(words: Sequence[str]) -> list[str]:
    """Places and a few phrases of several words become one."""
    known = tables.places()
    found: list[str] = []
    place = 0
    while place < len(words):
        for length in range(min(4, len(words) - place), 0, -1):
            part = tuple(words[place : place + length])
            if one := _PHRASES.get(part) or (known.get(part) if length <= _LONGEST_PLACE else None):
                found.append(one)
                place += length
                break
        else:
            found.append(words[place])
            place += 1
    return found


def tokens(name: str) -> Tokens:
    """The words of a name in one spelling."""
    forms: set[str] = set()
    words = _stripped(counted(plain(name)).split(), forms)
    if not words:
        return Tokens((), frozenset(forms), "")
    words = _phrased(numbered(words))
    words = [words[0], *(word for word in words[1:] if word not in _EVERYWHERE)]
    short = tables.abbreviations()
    strong = [word for word in words if word not in WEAK] or words
    named = tuple(short.get(word, _DIRECTIONS.get(word, word)) for word in strong)
    return Tokens(named, frozenset(forms), "".join(words))


def _kind(word: str) -> Kind:
    if any(map(str.isdigit, word)):
        return "year" if word.isdigit() and int(word) in _YEARS else "number"
    if word in _DIRECTIONS:
        return "direction"
    return "place" if word in _place_words() else "word"


@lru_cache(maxsize=1)
def _place_words() -> frozenset[str]:
    return frozenset(tables.places().values())


@lru_cache(maxsize=200_000)
def _read(word: str) -> tuple[float, Kind]:
    kind = _kind(word)
    weight = tables.words().weight(word)
    if kind in ("number", "year"):
        weight = max(weight, _NUMBER)
    elif kind in ("direction", "place"):
        weight = max(weight, _WORN)
    return weight, kind


def _initials(words: Iterable[str]) -> str:
    return "".join(word[0] for word in words)


def prepare(name: str) -> Prepared:
    """Reads a name."""
    words, forms, whole = tokens(name)
    read = [_read(word) for word in words]
    weights = [weight for weight, _ in read]
    if len(words) > 1 and words[-1] in _FORMAL:
        weights[-1] = _FORMAL_WEIGHT
    written = plain(name)
    return Prepared(
        name,
        words,
        tuple(weights),
        tuple(kind for _, kind in read),
        forms,
        "".join(words),
        whole,
        sum(weights),
        tables.names().of.get(" ".join(words), 0),
        written.endswith(_OPEN),
        (_initials(written.split()), _initials(words)),
    )

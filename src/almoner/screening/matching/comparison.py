"""Two names, word by word: which agree, which nearly, which only one has, and what tells them apart."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from rapidfuzz.distance import OSA

from almoner.screening.matching.alignment import Alignment
from almoner.screening.matching.domain import Finding, Likeness, Part, Prepared
from almoner.screening.matching.words import BRANCHES

_VETOED: Final = 0.45
"""The most that names may have which are told apart by a number, a direction or a place."""
_ONE_NUMBERED: Final = 0.65
_OTHER_SIDE: Final[dict[Finding, Finding]] = {"asked_only": "listed_only", "listed_only": "asked_only"}
_COST_OF_LETTERS: Final = 2.0
_REPLACED: Final = 0.5
_OTHER_FORM: Final = 0.75
_STRICT: Final = frozenset(("LLC", "JSC", "LP", "LLP", "GP", "COOP"))
"""Kinds of legal form that do not turn into each other by carelessness."""
_BESIDE: Final = 0.8
"""The most that names may have of which one is of a body beside the other: a school and its foundation."""


def _worth(name: Prepared, places: tuple[int, ...] | list[int]) -> float:
    return sum(name.weights[place] for place in places)


def _vetoes(asked: Prepared, listed: Prepared, left: list[int], right: list[int]) -> tuple[Finding, ...]:
    """Numbers, directions and places that both have and that differ."""
    kinds: tuple[Finding, ...] = ("number", "direction", "place")
    found = [
        kind
        for kind in kinds
        if any(asked.kinds[one] == kind for one in left) and any(listed.kinds[one] == kind for one in right)
    ]
    years = [
        {name.words[one] for one in range(len(name.words)) if name.kinds[one] == "year"} for name in (asked, listed)
    ]
    if all(years) and years[0].isdisjoint(years[1]):
        found.append("number")
    return tuple(dict.fromkeys(found))


def _caps(asked: Prepared, listed: Prepared, left: list[int], right: list[int]) -> Iterator[tuple[Finding, float]]:
    """What one side alone has, and what makes another body of it though all else be the same."""
    if any(asked.kinds[one] == "number" for one in left) or any(listed.kinds[one] == "number" for one in right):
        yield "number", _ONE_NUMBERED
    if asked.forms & _STRICT and listed.forms & _STRICT and not asked.forms & listed.forms:
        yield "form", _OTHER_FORM


def _beside(asked: Prepared, listed: Prepared, alignment: Alignment) -> bool:
    mine = {asked.words[place] for place in alignment.left}
    theirs = {listed.words[place] for place in alignment.right}
    return (BRANCHES & mine) != (BRANCHES & theirs)


def _text(name: Prepared, places: tuple[int, ...]) -> str:
    return " ".join(name.words[place] for place in places)


def _bounded(asked: Prepared, listed: Prepared, same: Part) -> Likeness:
    capped = [Part(finding, most - 1.0) for finding, most in _caps(asked, listed, [], [])]
    return Likeness(1.0 + sum(part.points for part in capped), (same, *capped), (), asked.name, listed.name)


def _letters(asked: Prepared, listed: Prepared) -> float:
    """How alike two names are letter by letter: an eighth of the letters may be slips for three quarters.

    As they are written too, since a slip may hide that a word is short for another: TEVCH for TECH.
    """
    pairs = (asked.joined, listed.joined), (asked.whole, listed.whole)
    return 1 - _COST_OF_LETTERS * min(OSA.normalized_distance(*pair) for pair in pairs)


def compare(asked: Prepared, listed: Prepared, *, loose: bool = False) -> Likeness:
    """How alike two names are: the share of what their words are worth that agrees. The same either way round.

    ``loose``: something else speaks for them, so that more slips are forgiven, and letters count as well as words.
    """
    if asked.joined <= listed.joined:
        return _compared(asked, listed, loose=loose)
    turned = _compared(listed, asked, loose=loose)
    return replace(turned, parts=tuple(map(_turned, turned.parts)), asked=asked.name, listed=listed.name)


def _turned(part: Part) -> Part:
    return Part(_OTHER_SIDE.get(part.finding, part.finding), part.points, part.listed, part.asked)


def _compared(asked: Prepared, listed: Prepared, *, loose: bool) -> Likeness:
    total = asked.total + listed.total
    if not total:
        return Likeness(0.0, (), (), asked.name, listed.name)
    if asked.joined == listed.joined or asked.whole == listed.whole:
        return _bounded(asked, listed, Part("same", 1.0, asked.joined, listed.joined))
    alignment = Alignment(asked, listed, loose=loose)
    parts = []
    score = 0.0
    for finding, likeness, left, right in alignment.run():
        points = likeness * (_worth(asked, left) + _worth(listed, right)) / total
        score += points
        parts.append(Part(finding, points, _text(asked, left), _text(listed, right)))
    mine, theirs = alignment.left, alignment.right
    if score > _BESIDE and _beside(asked, listed, alignment):
        parts.append(Part("branch", _BESIDE - score))
        score = _BESIDE
    if mine and theirs:  # SAUDI ARABIAN OIL and SAUDI ARABIAN GAS: worse than a word that one of them lacks
        points = min(_REPLACED * min(_worth(asked, mine) / asked.total, _worth(listed, theirs) / listed.total), score)
        parts.append(Part("replaced", -points, _text(asked, tuple(mine)), _text(listed, tuple(theirs))))
        score -= points
    if loose and (letters := _letters(asked, listed)) > score:
        parts.append(Part("letters", letters - score, asked.joined, listed.joined))
        score = letters
    for finding, most in _caps(asked, listed, mine, theirs):
        if score > most:
            parts.append(Part(finding, most - score))
            score = most
    parts += [Part("asked_only", 0.0, asked=asked.words[place]) for place in mine]
    parts += [Part("listed_only", 0.0, listed=listed.words[place]) for place in theirs]
    vetoes = _vetoes(asked, listed, mine, theirs)
    if vetoes and score > _VETOED:
        parts.append(Part(vetoes[0], _VETOED - score))
        score = _VETOED
    return Likeness(score, tuple(parts), vetoes, asked.name, listed.name)

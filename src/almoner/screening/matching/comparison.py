"""Two names, word by word: which agree, which nearly, which only one has, and what tells them apart."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from rapidfuzz.distance import OSA

from almoner.screening.matching import tables
from almoner.screening.matching.domain import Finding, Likeness, Part
from almoner.screening.matching.words import BRANCHES, Prepared

_VETOED: Final = 0.45
"""The most that names may have which are told apart by a number, a direction or a place."""
_BESIDE: Final = 0.8
"""The most that names may have of which one is of a body beside the other: a school and its foundation."""
_MEANING: Final = 0.9
_TOGETHER: Final = 0.97
_INITIALS: Final = 0.75
_CUT: Final = 0.95
_KNOWN_TO_MANY: Final = 12
_ALIKE_AT_LEAST: Final = 0.72

Pair = tuple[Finding, float, tuple[int, ...], tuple[int, ...]]
"""What was found, how alike the words are, the places of the words on both sides."""


def alike(one: str, other: str) -> float:
    """How alike two words are that differ: 0 when they are other words, 0.97 for a plural."""
    if len(one) > len(other):
        one, other = other, one
    if other == one + "s" and len(one) > 3:
        return 0.97
    longest = len(other)
    slips = 1 if longest < 8 else 2 if longest < 12 else 3
    if len(one) < 4 or longest - len(one) > slips:
        return 0.0
    distance = OSA.distance(one, other, score_cutoff=slips)
    if distance > slips:
        return 0.0
    likeness = 1 - distance / longest
    counts = tables.words().of
    if counts.get(one, 0) >= _KNOWN_TO_MANY and counts.get(other, 0) >= _KNOWN_TO_MANY:
        return 0.0  # two words that exist: MISSION and MISSISSIPPI are no slips of each other
    return likeness if likeness >= _ALIKE_AT_LEAST else 0.0


class _Alignment:
    """Finds the words of two names that belong together, best first."""

    def __init__(self, asked: Prepared, listed: Prepared) -> None:
        self._asked, self._listed = asked, listed
        self.left = list(range(len(asked.words)))
        self.right = list(range(len(listed.words)))
        self.pairs: list[Pair] = []

    def run(self) -> list[Pair]:
        """All pairs."""
        self._same()
        self._cut()
        if self.left and self.right:
            self._together()
            self._meaning()
            self._spelling()
            self._initials()
        return self.pairs

    def _take(self, finding: Finding, likeness: float, left: tuple[int, ...], right: tuple[int, ...]) -> None:
        self.pairs.append((finding, likeness, left, right))
        self.left = [place for place in self.left if place not in left]
        self.right = [place for place in self.right if place not in right]

    def _same(self) -> None:
        where: dict[str, list[int]] = {}
        for place, word in enumerate(self._listed.words):
            where.setdefault(word, []).append(place)
        for place, word in enumerate(self._asked.words):
            if found := where.get(word):
                self._take("same", 1.0, (place,), (found.pop(0),))

    def _cut(self) -> None:
        """One side was cut off: all its words are the first of the other, the last one being half of a word or OF."""
        for mine, theirs, turned in ((self._asked, self._listed, False), (self._listed, self._asked, True)):
            ours, others = (self.right, self.left) if turned else (self.left, self.right)
            last = len(mine.words) - 1
            if not others or last < 1 or others[0] != min(others, default=0):
                continue
            half = ours == [last] and others[0] == last and theirs.words[last].startswith(mine.words[last])
            if half or (not ours and mine.open and others[0] == last + 1):
                rest = tuple(others)
                self._take("cut", _CUT, *((rest, tuple(ours)) if turned else (tuple(ours), rest)))
                return

    def _together(self) -> None:
        """One side writes as one word what is two on the other: GOOD WILL."""
        for mine, theirs, turned in ((self._asked, self._listed, False), (self._listed, self._asked, True)):
            ours, others = (self.right, self.left) if turned else (self.left, self.right)
            for first, second in list(pairwise(ours)):
                if second != first + 1:
                    continue
                word = mine.words[first] + mine.words[second]
                for place in others:
                    if theirs.words[place] == word or alike(theirs.words[place], word) > 0.9:
                        split, whole = (first, second), (place,)
                        self._take("together", _TOGETHER, *((whole, split) if turned else (split, whole)))
                        return

    def _meaning(self) -> None:
        senses = tables.senses()
        for place in tuple(self.left):
            if sense := senses.get(self._asked.words[place]):
                for other in self.right:
                    if senses.get(self._listed.words[other]) == sense:
                        self._take("meaning", _MEANING, (place,), (other,))
                        break

    def _spelling(self) -> None:
        found = [
            (likeness, place, other)
            for place in self.left
            for other in self.right
            if self._asked.kinds[place] == self._listed.kinds[other] == "word"
            or "place" in (self._asked.kinds[place], self._listed.kinds[other])
            if (likeness := alike(self._asked.words[place], self._listed.words[other]))
        ]
        for likeness, place, other in sorted(found, reverse=True):
            if place in self.left and other in self.right:
                self._take("spelling", likeness, (place,), (other,))

    def _initials(self) -> None:
        for mine, theirs, turned in ((self._asked, self._listed, False), (self._listed, self._asked, True)):
            ours, others = (self.right, self.left) if turned else (self.left, self.right)
            for place in ours:
                word = mine.words[place]
                if 2 < len(word) < 7 and len(others) >= len(word):
                    for run in _runs(others, len(word)):
                        if "".join(theirs.words[one][0] for one in run) == word:
                            self._take("initials", _INITIALS, *((run, (place,)) if turned else ((place,), run)))
                            return


def _runs(places: list[int], length: int) -> Iterator[tuple[int, ...]]:
    for start in range(len(places) - length + 1):
        yield tuple(places[start : start + length])


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


def _beside(asked: Prepared, listed: Prepared) -> bool:
    return (BRANCHES & set(asked.words)) != (BRANCHES & set(listed.words))


def _text(name: Prepared, places: tuple[int, ...]) -> str:
    return " ".join(name.words[place] for place in places)


def compare(asked: Prepared, listed: Prepared) -> Likeness:
    """How alike two names are: the share of what their words are worth that agrees."""
    total = asked.total + listed.total
    if not total:
        return Likeness(0.0, (), (), asked.name, listed.name)
    if asked.joined == listed.joined:
        return Likeness(1.0, (Part("same", 1.0, asked.joined, listed.joined),), (), asked.name, listed.name)
    alignment = _Alignment(asked, listed)
    parts = []
    score = 0.0
    for finding, likeness, left, right in alignment.run():
        points = likeness * (_worth(asked, left) + _worth(listed, right)) / total
        score += points
        parts.append(Part(finding, points, _text(asked, left), _text(listed, right)))
    mine, theirs = alignment.left, alignment.right
    if score > _BESIDE and _beside(asked, listed):
        parts.append(Part("branch", _BESIDE - score))
        score = _BESIDE
    parts += [Part("asked_only", 0.0, asked=asked.words[place]) for place in mine]
    parts += [Part("listed_only", 0.0, listed=listed.words[place]) for place in theirs]
    vetoes = _vetoes(asked, listed, mine, theirs)
    if vetoes and score > _VETOED:
        parts.append(Part(vetoes[0], _VETOED - score))
        score = _VETOED
    return Likeness(score, tuple(parts), vetoes, asked.name, listed.name)

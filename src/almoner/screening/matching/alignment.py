"""Which words of two names belong together: the same, a slip apart, of one meaning, written as one, initials, cut."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from rapidfuzz.distance import OSA

from almoner.screening.matching import tables
from almoner.screening.matching.domain import Finding
from almoner.screening.matching.words import Prepared

_MEANING: Final = 0.9
_TOGETHER: Final = 0.97
_INITIALS: Final = 0.75
_CUT: Final = 0.95
_OPEN: Final = 0.5
_SHORTENED: Final = 0.85
_KNOWN_TO_MANY: Final = 12
_ALIKE_AT_LEAST: Final = 0.6
_COST_OF_A_SLIP: Final = 1.0
_BOTH_KNOWN: Final = 0.7
_LONG: Final = 6
_LEAST_OF_A_WORD: Final = 4

Pair = tuple[Finding, float, tuple[int, ...], tuple[int, ...]]
"""What was found, how alike the words are, the places of the words on both sides."""


def alike(one: str, other: str) -> float:
    """How alike two words are that differ: 0 when they are other words, 0.97 for a plural."""
    if len(one) > len(other):
        one, other = other, one
    if other == one + "s" and len(one) > 3:
        return 0.97
    if len(one) >= _LEAST_OF_A_WORD and other.startswith(one[:3]) and _shortens(one, other):
        return 0.0 if _both_known(one, other) else _SHORTENED
    longest = len(other)
    slips = 1 if longest < 8 else 2 if longest < 12 else 3
    if len(one) < 4 or longest - len(one) > slips:
        return 0.0
    distance = OSA.distance(one, other, score_cutoff=slips)
    if distance > slips:
        return 0.0
    if _both_known(one, other):
        return _BOTH_KNOWN if distance == 1 and longest >= _LONG else 0.0
    likeness = 1 - _COST_OF_A_SLIP * distance / longest
    return likeness if likeness >= _ALIKE_AT_LEAST else 0.0


def _both_known(one: str, other: str) -> bool:
    """Two words that exist are seldom slips of each other: ACTION and AUCTION."""
    counts = tables.words().of
    return counts.get(one, 0) >= _KNOWN_TO_MANY and counts.get(other, 0) >= _KNOWN_TO_MANY


def _shortens(one: str, other: str) -> bool:
    """DEVELP for DEVELOPMENT: its letters in their order, and at least two letters fewer."""
    rest = iter(other)
    return len(one) + 2 <= len(other) and all(letter in rest for letter in one)


class Alignment:
    """Finds the words of two names that belong together, best first."""

    def __init__(self, asked: Prepared, listed: Prepared) -> None:
        self._asked, self._listed = asked, listed
        self.left = list(range(len(asked.words)))
        self.right = list(range(len(listed.words)))
        self.pairs: list[Pair] = []

    def run(self) -> list[Pair]:
        """All pairs."""
        self._same()
        self._told_twice()
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
        """One side was cut off in a word, or behind OF: what the other has from there on is not missing."""
        for mine, theirs, turned in ((self._asked, self._listed, False), (self._listed, self._asked, True)):
            ours, others = (self.right, self.left) if turned else (self.left, self.right)
            last = len(mine.words) - 1
            if not others or last < 1:
                continue
            half = mine.words[last]
            if ours == [last] and len(half) > 1:
                least = last if len(half) < _LEAST_OF_A_WORD else 0  # RA for RATON, if that is where it stands
                whole = next((one for one in others if one >= least and theirs.words[one].startswith(half)), None)
                if whole is not None and theirs.words[whole] != half + "s":
                    rest = tuple(one for one in others if one >= whole)
                    self._take("cut", _CUT, *((rest, (last,)) if turned else ((last,), rest)))
                    return
            if not ours and mine.open and others[0] == last + 1:
                rest = tuple(others)
                self._take("cut", _OPEN, *((rest, ()) if turned else ((), rest)))
                return

    def _told_twice(self) -> None:
        """A name with its own initials behind it tells nothing new by them."""
        for mine, turned in ((self._asked, False), (self._listed, True)):
            for place in self.right if turned else self.left:
                if len(mine.words[place]) > 2 and any(mine.words[place] in run for run in mine.initials):
                    self._take("initials", 1.0, *(((), (place,)) if turned else ((place,), ())))
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

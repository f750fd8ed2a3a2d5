"""Names that a name may be, found by their rare words, never by going through all of them.

Names that are alike share words worth half of each. So it is enough to look under the rarest words of a name, until
what is left of it is worth too little to make a likeness. A word with slips is found by its ends or by its consonants,
a word that is written as two by both together.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import OSA

from almoner.screening.matching.alignment import alike
from almoner.screening.matching.domain import Prepared
from almoner.screening.matching.spelling import consonants

LEAST: Final = 0.6
"""The least likeness that is found for certain."""
_SHARED: Final = LEAST / (2 - LEAST)
"""What words that both names have are worth at least, as a share of either."""
_RUN: Final = 3
_ROUNDING: Final = 0.25
_MOST_SLIPS: Final = 3
_REMEMBERED: Final = 100_000


class Index:
    """Listed names by their words. Numbers stand for names, in the order in which they were given."""

    def __init__(self, names: Iterable[Prepared]) -> None:
        self.names: Sequence[Prepared] = tuple(names)
        self._postings: dict[str, list[int]] = {}
        self._wholes: dict[str, list[int]] = {}
        self._near: dict[str, list[str]] = {}
        self._sounds: dict[str, list[str]] = {}
        self._similar: tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]] = ({}, {})
        for number, name in enumerate(self.names):
            for word in {*name.words, *_joined(name)}:
                self._postings.setdefault(word, []).append(number)
            self._wholes.setdefault(name.whole, []).append(number)
        for word in self._postings:
            self._sounds.setdefault(consonants(word), []).append(word)
            for part in dict.fromkeys(_parts(word)):
                self._near.setdefault(part, []).append(word)

    def candidates(self, asked: Prepared, *, loose: bool = False) -> list[int]:
        """The names that may be alike; ``loose``: as ``compare`` means it."""
        found = set(self._wholes.get(asked.whole, ()))
        words = [
            (weight, self._listed(word, loose=loose)) for word, weight in zip(asked.words, asked.weights, strict=True)
        ]
        known = sum(weight for weight, listed in words if listed)
        least = _SHARED * asked.total
        joined = [word for word in _joined(asked) if word in self._postings]
        if known >= least or joined:
            found.update(self._sharing(words, least))
            for word in joined:
                found.update(self._postings[word])
        return sorted(found)

    def _sharing(self, words: list[tuple[float, tuple[str, ...]]], least: float) -> Iterator[int]:
        """Names that hold enough of the words. Rare ones first: the last ones find nobody new."""
        shared: dict[int, float] = {}
        rest = sum(weight for weight, listed in words if listed)
        counted = [(sum(len(self._postings[word]) for word in listed), weight, listed) for weight, listed in words]
        for _, weight, listed in sorted(counted):
            numbers = {number for word in listed for number in self._postings[word]}
            if rest >= least:
                for number in numbers:
                    shared[number] = shared.get(number, 0.0) + weight
            else:
                for number in numbers & shared.keys():
                    shared[number] += weight
            rest -= weight if listed else 0.0
        for number, worth in shared.items():
            if worth >= least and worth >= _SHARED * self.names[number].total - _ROUNDING:
                yield number

    def _listed(self, word: str, *, loose: bool) -> tuple[str, ...]:
        """The word, and listed words that it may be a slip of."""
        similar = self._similar[loose]
        found = similar.get(word)
        if found is None:
            near = (other for other in self._near_to(word, loose=loose) if alike(word, other, loose=loose))
            found = (*((word,) if word in self._postings else ()), *sorted(near))
            if len(similar) < _REMEMBERED:
                similar[word] = found
        return found

    def _near_to(self, word: str, *, loose: bool) -> set[str]:
        near = set(self._sounds.get(consonants(word), ()))
        slips = _MOST_SLIPS + loose
        for part in _parts(word) if loose else _ends(word):
            if bucket := self._near.get(part):
                close = process.extract(word, bucket, scorer=OSA.distance, score_cutoff=slips, limit=None)
                near.update(one for one, *_ in close)
        near.discard(word)
        return near


def _joined(name: Prepared) -> Iterator[str]:
    for one, other in pairwise(name.words):
        yield one + other


def _parts(word: str) -> list[str]:
    """Runs of three letters, its beginning and its end being letters too."""
    padded = f"<{word}>"
    return [padded[start : start + _RUN] for start in range(len(padded) - _RUN + 1)]


def _ends(word: str) -> list[str]:
    """The runs of which a word with few slips keeps one as a rule."""
    parts = _parts(word)
    return [parts[1], parts[-2]] if len(parts) > _RUN + 1 else parts

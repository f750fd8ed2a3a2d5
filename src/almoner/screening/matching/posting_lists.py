"""Numbers by what they stand under, packed."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate


class PostingLists:
    """Numbers by what they stand under. Packed into one array: a list for each would be most of the memory."""

    __slots__ = ("_numbers", "_places", "_starts")

    def __init__(self, pairs: Callable[[], Iterable[tuple[str, int]]]) -> None:
        self._places: dict[str, int] = {}
        counts = array("I")
        for key, _ in pairs():
            place = self._places.setdefault(key, len(counts))
            if place == len(counts):
                counts.append(0)
            counts[place] += 1
        self._starts = array("I", accumulate(counts, initial=0))
        self._numbers = array("I", bytes(counts.itemsize * self._starts[-1]))
        ends = self._starts[:-1]
        for key, number in pairs():
            place = self._places[key]
            self._numbers[ends[place]] = number
            ends[place] += 1

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __getitem__(self, key: str) -> Sequence[int]:
        """None at all where nothing stands under it."""
        place = self._places.get(key)
        return () if place is None else self._numbers[self._starts[place] : self._starts[place + 1]]

    def count(self, key: str) -> int:
        """How many stand under it."""
        place = self._places.get(key)
        return 0 if place is None else self._starts[place + 1] - self._starts[place]

    def keys(self) -> Iterable[str]:
        """What they stand under, in the order in which it was met."""
        return self._places

"""Compact lists of numbers by key, and compact lists of words."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby
from typing import Final

_MOST_SHORT: Final = 0xFFFF
_SHORT_HASH: Final = 0xFFFFFFFF
_HASH_BITS: Final = 32


def _short_numbers(numbers: Sequence[int]) -> "array[int]":
    """The numbers, in two bytes each if they fit."""
    return array("H" if max(numbers, default=0) <= _MOST_SHORT else "I", numbers)


class PostingLists:
    """Memory-efficient lists of numbers by key.

    Keys are stored as hashes: the last 32 bits in ascending order, within buckets by the bits before. Two keys with the
    same bits (once in many millions of lists) share their numbers; callers compare the names found anyway.
    """

    __slots__ = ("_buckets", "_hashes", "_mask", "_numbers", "_starts")

    def __init__(self, pairs: Iterable[tuple[str, int]]) -> None:
        places: dict[int, int] = {}
        under, numbers = array("I"), array("I")
        for key, number in pairs:
            under.append(places.setdefault(hash(key), len(places)))
            numbers.append(number)
        self._mask = (1 << max(0, len(places).bit_length() - 2)) - 1
        sizes = array("I", bytes(4 * (self._mask + 1)))
        ranks = array("I", bytes(4 * len(places)))
        hashes = array("I")
        for (bucket, short), same in groupby(sorted(places, key=self._bucket_and_hash), self._bucket_and_hash):
            for hashed in same:
                ranks[places[hashed]] = len(hashes)
            sizes[bucket] += 1
            hashes.append(short)
        self._hashes = hashes[:]  # without the room for further ones
        self._buckets = array("I", accumulate(sizes, initial=0))
        """Per bucket, the position of its first key."""
        counts = array("I", bytes(4 * len(hashes)))
        for place in under:
            counts[ranks[place]] += 1
        self._starts = array("I", accumulate(counts, initial=0))
        ends = self._starts[:-1]
        self._numbers = _short_numbers(numbers)
        for place, number in zip(under, numbers, strict=True):
            rank = ranks[place]
            self._numbers[ends[rank]] = number
            ends[rank] += 1

    def _bucket_and_hash(self, hashed: int) -> tuple[int, int]:
        return hashed >> _HASH_BITS & self._mask, hashed & _SHORT_HASH

    def _place(self, key: str) -> int:
        """The position of the key; -1 if it is missing."""
        hashed = hash(key)  # as in ``_bucket_and_hash``: many are looked up for each name
        bucket, short = hashed >> _HASH_BITS & self._mask, hashed & _SHORT_HASH
        end = self._buckets[bucket + 1]
        place = bisect_left(self._hashes, short, self._buckets[bucket], end)
        return place if place < end and self._hashes[place] == short else -1

    def __contains__(self, key: str) -> bool:
        return self._place(key) >= 0

    def __getitem__(self, key: str) -> Sequence[int]:
        """The numbers of a key; empty if it is missing."""
        place = self._place(key)
        return () if place < 0 else self._numbers[self._starts[place] : self._starts[place + 1]]

    def find_positions_in_range(self, key: str, range_start: int, range_end: int) -> Sequence[int]:
        """The numbers under a key from ``range_start`` to before ``range_end``; they were given in ascending order."""
        if (place := self._place(key)) < 0:
            return ()
        start, end = self._starts[place], self._starts[place + 1]
        begin = bisect_left(self._numbers, range_start, start, end)
        return self._numbers[begin : bisect_left(self._numbers, range_end, begin, end)]

    def count_positions(self, key: str) -> int:
        """Count the numbers of a key."""
        place = self._place(key)
        return 0 if place < 0 else self._starts[place + 1] - self._starts[place]


class PackedWords(Sequence[str]):
    """Words stored in one string."""

    __slots__ = ("_starts", "_text")

    def __init__(self, words: Sequence[str]) -> None:
        self._text = "".join(words)
        self._starts = array("I", accumulate(map(len, words), initial=0))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> str:  # type: ignore[override]
        if number >= len(self):
            raise IndexError(number)
        return self._text[self._starts[number] : self._starts[number + 1]]

    def get_words(self, positions: Iterable[int]) -> list[str]:
        """The words with these numbers."""
        text, starts = self._text, self._starts
        return [text[starts[number] : starts[number + 1]] for number in positions]

"""Find listed names that may match a name by its rare words, without comparing all of them.

Similar names share words worth at least ``_MIN_SHARED_WEIGHT`` of the weight of each. So the rarest words of a name
are looked up until the rest weighs too little for a match. A misspelt word is found by its ends or its consonants, a
word written as two by the joined pair.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import OSA

from almoner.kit import abbreviations
from almoner.screening.matching import conventions, tables
from almoner.screening.matching.alignment import MIN_WORD_LENGTH, max_edit_distance, word_similarity
from almoner.screening.matching.domain import PreparedName, SoundedName
from almoner.screening.matching.posting_lists import PackedWords, PostingLists
from almoner.screening.matching.sound_comparison import latin_words
from almoner.screening.matching.sound_index import SoundIndex
from almoner.screening.matching.spelling import read_consonant_key

MIN_LIKENESS: Final = 0.6
"""The likeness from which every listed name is found."""
_MIN_SHARED_WEIGHT: Final = MIN_LIKENESS / (2 - MIN_LIKENESS)
"""The least share of each name's weight that the shared words have."""
_TRIGRAM_LENGTH: Final = 3
_ROUNDING: Final = 0.25
_MAX_TYPOS: Final = 3
_CACHE_SIZE: Final = 16_384
"""How many words the cache of similar listed words holds."""


class NameIndex:
    """An index of listed names by their words. Names are identified by their position.

    It does not store the names. ``text_of`` returns a name as written.
    """

    def __init__(self, names: Iterable[PreparedName], text_of: Callable[[int], str], *, persons: bool = False) -> None:
        self._persons = persons
        self._totals, lengths = array("f"), array("B")
        wholes: list[tuple[str, int]] = []
        sounds: list[tuple[int, SoundedName]] = []
        met: set[str] = set()

        def read() -> Iterator[tuple[str, int]]:
            for number, name in enumerate(names):
                self._totals.append(name.total)
                lengths.append(len(latin_words(name)))
                wholes.extend(
                    (whole, number) for whole in {name.joined_all, name.joined_without_form or name.joined_all}
                )
                if name.sounds is not None:
                    sounds.append((number, name.sounds))
                words = {*name.words, *_joined_pairs(name)}
                met.update(words)
                yield from ((word, number) for word in words)

        self._postings = PostingLists(read())
        self._wholes = PostingLists(wholes)
        words = sorted(met, key=lambda word: (len(word), word))
        self._words = PackedWords(words)
        longest = len(words[-1]) if words else 0
        self._longer = [bisect_left(words, length, key=len) for length in range(longest + 2)]
        """Per length, the position of the first word of at least that many letters."""
        self._sounds = PostingLists((read_consonant_key(word), number) for number, word in enumerate(words))
        self._written = PostingLists(
            (conventions.sound_of(conventions.reduced_spelling(word)), number) for number, word in enumerate(words)
        )
        self._near = PostingLists(
            (part, number) for number, word in enumerate(words) for part in dict.fromkeys(_trigrams(word))
        )
        self._in_other_scripts = SoundIndex(sounds, lengths, text_of, self._words, self._postings)
        self._listed = lru_cache(maxsize=_CACHE_SIZE)(self._similar_listed_words)

    def find_candidates(self, searched_name: PreparedName, *, loose: bool = False) -> list[int]:
        """The positions of listed names that share enough words with the searched name."""
        found = set(self._wholes[searched_name.joined_all])
        if searched_name.joined_without_form:
            found.update(self._wholes[searched_name.joined_without_form])
        words = [
            (weight, self._listed(word, loose))
            for word, weight in zip(searched_name.words, searched_name.weights, strict=True)
        ]
        known = sum(weight for weight, listed in words if listed)
        least = _MIN_SHARED_WEIGHT * searched_name.total
        joined = [word for word in _joined_pairs(searched_name) if word in self._postings]
        if known >= least or joined:
            found.update(self._names_sharing_words(words, least))
            for word in joined:
                found.update(self._postings[word])
        found.update(self._in_other_scripts.find_candidates(searched_name))
        return sorted(found)

    def _names_sharing_words(self, words: list[tuple[float, tuple[str, ...]]], least: float) -> Iterator[int]:
        """Positions of names that contain enough of the words. Rare words first: the last ones add no new names."""
        shared: dict[int, float] = {}
        rest = sum(weight for weight, listed in words if listed)
        counted = [(sum(map(self._postings.count, listed)), weight, listed) for weight, listed in words]
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
            if worth >= least and worth >= _MIN_SHARED_WEIGHT * self._totals[number] - _ROUNDING:
                yield number

    def _similar_listed_words(self, word: str, loose: bool, /) -> tuple[str, ...]:
        """The word if it is listed, and listed words that it may be a misspelling of."""
        near = {other for other in self._similar_words(word, loose=loose) if word_similarity(word, other, loose=loose)}
        near.update(other for other in abbreviations.other_spellings(word) if other in self._postings)
        if self._persons:
            near.update(other for other in tables.nicknames().get(word, ()) if other in self._postings)
        return (*((word,) if word in self._postings else ()), *sorted(near))

    def _similar_words(self, word: str, *, loose: bool) -> set[str]:
        """Listed words that sound the same or are within the edit distance of ``word_similarity``."""
        shortest, most = MIN_WORD_LENGTH - loose, _MAX_TYPOS + loose
        if len(word) < shortest:
            return set()
        near = set(self._words.select(self._sounds[read_consonant_key(word)]))
        for spelling in conventions.other_spellings(word) if loose else ():
            near.update(self._words.select(self._written[conventions.sound_of(spelling)]))
        first, last = (
            self._first_of_length(max(shortest, len(word) - most)),
            self._first_of_length(len(word) + most + 1),
        )
        found: set[int] = set()
        for part in _trigrams(word) if loose else _end_trigrams(word):
            bucket = self._near[part]
            found.update(bucket[bisect_left(bucket, first) : bisect_left(bucket, last)])
        by_typos: dict[int, list[int]] = {}
        for length, numbers in self._by_length(found):
            typos = max_edit_distance(max(length, len(word)), loose=loose)
            by_typos.setdefault(max(typos, abs(length - len(word))), []).extend(numbers)  # a shortened word
        for typos, numbers in by_typos.items():
            some = self._words.select(numbers)
            near.update(
                one for one, *_ in process.extract(word, some, scorer=OSA.distance, score_cutoff=typos, limit=None)
            )
        near.discard(word)
        return near

    def _by_length(self, found: Iterable[int]) -> Iterator[tuple[int, list[int]]]:
        """(length, word numbers): groups words by length; word numbers ascend with it."""
        numbers, first = sorted(found), 0
        while first < len(numbers):
            length = bisect_right(self._longer, numbers[first]) - 1
            last = bisect_left(numbers, self._first_of_length(length + 1), first)
            yield length, numbers[first:last]
            first = last

    def _first_of_length(self, length: int) -> int:
        return self._longer[min(length, len(self._longer) - 1)]


def _joined_pairs(name: PreparedName) -> Iterator[str]:
    for one, other in pairwise(name.words):
        yield one + other


def _trigrams(word: str) -> list[str]:
    """Runs of three letters; the beginning and end of the word count as letters."""
    padded = f"<{word}>"
    return [padded[start : start + _TRIGRAM_LENGTH] for start in range(len(padded) - _TRIGRAM_LENGTH + 1)]


def _end_trigrams(word: str) -> list[str]:
    """The runs at the ends, one of which a word with few typos usually keeps."""
    parts = _trigrams(word)
    return [parts[1], parts[-2]] if len(parts) > _TRIGRAM_LENGTH + 1 else parts

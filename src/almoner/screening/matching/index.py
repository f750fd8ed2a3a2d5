"""Find listed names that may match a name by its rare words, without comparing all of them.

Similar names share words worth at least ``_MIN_SHARED_WEIGHT`` of the weight of each. So the rarest words of a name
are looked up until the rest weighs too little for a match. A misspelt word is found by its ends or its consonants, a
word written as two by the joined pair.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import OSA

from almoner.kit import abbreviations
from almoner.screening.matching import conventions, tables
from almoner.screening.matching.alignment import (
    MIN_WORD_LENGTH,
    max_edit_distance,
    word_similarity,
)
from almoner.screening.matching.arabic_article import possible_spellings_joined_by_article
from almoner.screening.matching.domain import PhoneticName, PreparedName
from almoner.screening.matching.posting_lists import PackedWords, PostingLists
from almoner.screening.matching.sound_comparison import positions_of_words_comparable_by_sound
from almoner.screening.matching.sound_index import SoundIndex
from almoner.screening.matching.spelling import compute_consonant_key

MIN_LIKENESS: Final = 0.6
"""The likeness from which every listed name is found."""
_MIN_SHARED_WEIGHT: Final = MIN_LIKENESS / (2 - MIN_LIKENESS)
"""The least share of each name's weight that the shared words have."""
_TRIGRAM_LENGTH: Final = 3
_ROUNDING: Final = 0.25
_MAX_TYPOS: Final = 3
_MOST_MISSPELT: Final = 16
"""The maximum number of words of a name whose misspellings are searched."""
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
        sounds: list[tuple[int, PhoneticName]] = []
        met: set[str] = set()

        def read() -> Iterator[tuple[str, int]]:
            for number, name in enumerate(names):
                self._totals.append(name.total_weight)
                lengths.append(len(positions_of_words_comparable_by_sound(name)))
                wholes.extend(
                    (whole, number)
                    for whole in {
                        name.joined_words_with_stop_words,
                        name.joined_words_without_legal_form or name.joined_words_with_stop_words,
                    }
                )
                if name.phonetic_name is not None:
                    sounds.append((number, name.phonetic_name))
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
        self._sounds = PostingLists((compute_consonant_key(word), number) for number, word in enumerate(words))
        self._written = PostingLists(
            (conventions.compute_consonant_skeleton(conventions.fold_english_spelling_variants(word)), number)
            for number, word in enumerate(words)
        )
        self._near = PostingLists(
            (part, number) for number, word in enumerate(words) for part in dict.fromkeys(_trigrams(word))
        )
        self._in_other_scripts = SoundIndex(sounds, lengths, text_of, self._words, self._postings)
        self._listed = lru_cache(maxsize=_CACHE_SIZE)(self._similar_listed_words)

    def find_candidate_name_positions(
        self, searched_name: PreparedName, *, allow_more_typos: bool = False
    ) -> list[int]:
        """The positions of listed names that share enough words with the searched name.

        A name of one word is searched in every spelling: nothing else of it could agree. Of a very long name, words are
        searched as spelt: looking for misspellings of each would take long.
        """
        found = set(self._wholes[searched_name.joined_words_with_stop_words])
        if searched_name.joined_words_without_legal_form:
            found.update(self._wholes[searched_name.joined_words_without_legal_form])
        joined = [word for word in _joined_pairs(searched_name) if word in self._postings]
        for word in joined:
            found.update(self._postings[word])
        least, allow_more_typos = (
            _MIN_SHARED_WEIGHT * searched_name.total_weight,
            allow_more_typos or len(searched_name.words) == 1,
        )
        listed = self._exact_word if len(searched_name.words) > _MOST_MISSPELT else self._listed
        words = [
            (*listed(word, allow_more_typos), weight)
            for word, weight in zip(searched_name.words, searched_name.word_weights, strict=True)
        ]
        words += self._words_joined_by_article(searched_name, listed)
        if joined or sum(weight for count, _, weight in words if count) >= least:
            found.update(self._names_sharing_words(words, least))
        found.update(self._in_other_scripts.find_candidate_name_positions(searched_name))
        return sorted(found)

    def _names_sharing_words(self, words: list[tuple[int, tuple[str, ...], float]], least: float) -> Iterator[int]:
        """Positions of names that contain enough of the words. Rare words first: the last ones add no new names."""
        shared: dict[int, float] = {}
        rest = sum(weight for count, _, weight in words if count)
        for count, listed, weight in sorted(words, key=itemgetter(0, 2, 1)):
            if rest < least and not shared:
                return
            numbers = {number for word in listed for number in self._postings[word]}
            if rest >= least:
                for number in numbers:
                    shared[number] = shared.get(number, 0.0) + weight
            else:
                for number in numbers & shared.keys():
                    shared[number] += weight
            rest -= weight if count else 0.0
        for number, worth in shared.items():
            if worth >= least and worth >= _MIN_SHARED_WEIGHT * self._totals[number] - _ROUNDING:
                yield number

    def _words_joined_by_article(
        self, name: PreparedName, similar: Callable[[str, bool], tuple[int, tuple[str, ...]]]
    ) -> Iterator[tuple[int, tuple[str, ...], float]]:
        """Listed words that join two of the name with the Arabic article: NOUREDDINE for NUR AL-DIN."""
        for place, (first, second) in enumerate(pairwise(name.words)):
            if not (forms := possible_spellings_joined_by_article(name.joined_words_with_stop_words, first, second)):
                continue
            if found := dict.fromkeys(word for form in forms for word in similar(form, False)[1]):
                yield (
                    sum(map(self._postings.count_positions, found)),
                    (*found,),
                    sum(name.word_weights[place : place + 2]),
                )

    def _exact_word(self, word: str, _loose: bool, /) -> tuple[int, tuple[str, ...]]:
        count = self._postings.count_positions(word)
        return count, (word,) if count else ()

    def _similar_listed_words(self, word: str, loose: bool, /) -> tuple[int, tuple[str, ...]]:
        """How many names contain them; the word if it is listed, and listed words that it may be a misspelling of."""
        near = {
            other
            for other in self._similar_words(word, loose=loose)
            if word_similarity(word, other, allow_more_typos=loose)
        }
        near.update(other for other in abbreviations.other_spellings(word) if other in self._postings)
        if self._persons:
            near.update(other for other in tables.nicknames_by_name().get(word, ()) if other in self._postings)
        listed = (*((word,) if word in self._postings else ()), *sorted(near))
        return sum(map(self._postings.count_positions, listed)), listed

    def _similar_words(self, word: str, *, loose: bool) -> set[str]:
        """Listed words that sound the same or are within the edit distance of ``word_similarity``."""
        shortest, most = MIN_WORD_LENGTH - loose, _MAX_TYPOS + loose
        if len(word) < shortest:
            return set()
        near = set(self._words.get_words(self._sounds[compute_consonant_key(word)]))
        for spelling in conventions.possible_english_spellings(word) if loose else ():
            near.update(self._words.get_words(self._written[conventions.compute_consonant_skeleton(spelling)]))
        first, last = (
            self._first_of_length(max(shortest, len(word) - most)),
            self._first_of_length(len(word) + most + 1),
        )
        found: set[int] = set()
        for part in _trigrams(word) if loose else _end_trigrams(word):
            found.update(self._near.find_positions_in_range(part, first, last))
        some = self._words.get_words(found)
        close = process.extract(word, some, scorer=OSA.distance, score_cutoff=most, limit=None)
        allowed = _max_typos(len(word), most, loose=loose)
        near.update(other for other, typos, _ in close if typos <= allowed[len(other)])
        near.discard(word)
        return near

    def _first_of_length(self, length: int) -> int:
        return self._longer[min(length, len(self._longer) - 1)]


@lru_cache(maxsize=256)
def _max_typos(length: int, most: int, *, loose: bool) -> dict[int, int]:
    """The edit distance allowed from a word of this length, by the length of the other, which may be shortened."""
    lengths = range(length - most, length + most + 1)
    return {
        other: max(max_edit_distance(max(length, other), allow_more_typos=loose), abs(length - other))
        for other in lengths
    }


def _joined_pairs(name: PreparedName) -> Iterator[str]:
    for one, other in pairwise(name.words):
        yield one + other


def _trigrams(word: str) -> list[str]:
    """Runs of three letters; the beginning and end of the word count as letters."""
    padded = f"<{word}>"
    return [padded[start : start + _TRIGRAM_LENGTH] for start in range(len(padded) - _TRIGRAM_LENGTH + 1)]


def _end_trigrams(word: str) -> list[str]:
    """The runs at the ends, one of which a word with few typos usually keeps."""
    return [word[:_TRIGRAM_LENGTH], word[-_TRIGRAM_LENGTH:]] if len(word) > _TRIGRAM_LENGTH + 1 else _trigrams(word)

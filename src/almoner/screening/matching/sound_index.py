"""Find listed names in another script than the searched name by the sound of their words.

The index of Latin names is built on the first search in another script, which most processes never do. Listed names in
other scripts are few, and every search looks for them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise, product
from math import log2
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from almoner.screening.matching import tables
from almoner.screening.matching.domain import PhoneticName, PreparedName
from almoner.screening.matching.posting_lists import PostingLists
from almoner.screening.matching.sound_comparison import (
    MIN_LIKENESS,
    SHORTEST_NEAR,
    coarse_forms,
    compute_coarse_spellings_of_latin_name,
    compute_max_possible_similarity,
    is_within_one_letter_of_any,
    positions_of_words_comparable_by_sound,
)
from almoner.screening.matching.sounds import MOST_WORDS, compute_latin_sound_keys, merge_l_and_r

_MOST_COMPARED: Final = 160
"""The maximum number of names that are compared with a searched name: those that share the most words."""
_NEAR_SOUND_WEIGHT: Final = 0.6
"""The weight of a word that sounds nearly the same, relative to one that sounds the same."""
_LONG_SPELLING: Final = 7
_LONGEST_PAIR: Final = 12
"""The maximum number of letters of two words that may be one in another script: ABD AL-RAHMAN."""
_CACHE_SIZE: Final = 16_384


class SoundIndex:
    """An index of listed names by sound. ``foreign``: those in non-Latin scripts.

    ``lengths``: how many significant words each listed name has. ``words``: all words of listed names. ``postings``:
    the names by word.
    """

    def __init__(
        self,
        foreign: Sequence[tuple[int, PhoneticName]],
        lengths: Sequence[int],
        text_of: Callable[[int], str],
        words: Sequence[str],
        postings: PostingLists,
    ) -> None:
        self._lengths, self._text_of, self._latin, self._words = lengths, text_of, words, postings
        self._foreign = {number: len(sounds.word_sound_keys) for number, sounds in foreign}
        """The number of words of each name in a non-Latin script."""
        keyed = [(key, number) for number, sounds in foreign for keys in _with_joined(sounds) for key in sorted(keys)]
        self._foreign_keys = tuple(dict.fromkeys(key for key, _ in keyed))
        self._by_foreign_key = PostingLists(dict.fromkeys(keyed))
        self._near_foreign = PostingLists(
            (part, place)
            for place, key in enumerate(self._foreign_keys)
            for part in dict.fromkeys(_key_and_deletions(key))
        )
        self._foreign_spellings = PostingLists(
            (spelling, number) for number, sounds in foreign for spelling in sounds.coarse_spellings
        )
        self._has_foreign_spellings = any(sounds.coarse_spellings for _, sounds in foreign)
        self._sounding_foreign = lru_cache(maxsize=_CACHE_SIZE)(self._find_sounding_like)
        self._similar: dict[tuple[str, bool], tuple[list[str], list[str]]] = {}

    def find_candidate_name_positions(self, searched_name: PreparedName) -> Iterable[int]:
        """The positions of names in another script that may be alike."""
        if searched_name.phonetic_name is not None:
            return self._find_in_latin(searched_name.phonetic_name)
        return self._find_in_other_scripts(searched_name) if self._foreign else ()

    def _find_in_other_scripts(self, searched_name: PreparedName) -> Iterator[int]:
        """Positions of names in another script that may share enough words to match."""
        places = positions_of_words_comparable_by_sound(searched_name)
        words, weights = (
            [searched_name.words[place] for place in places],
            [searched_name.word_weights[place] for place in places],
        )
        least, total = min(2, len(words)), sum(weights)
        good = []
        for number, met in self._possible_words(words, weights, total).items():
            count = met.bit_count()
            if count >= least:
                worth = sum([weight for place, weight in enumerate(weights) if met >> place & 1])
                bound = compute_max_possible_similarity(worth, total, count, self._foreign[number])
                if bound >= MIN_LIKENESS:
                    good.append((bound, number))
        for _, number in sorted(good, reverse=True)[:_MOST_COMPARED]:
            yield number
        if self._has_foreign_spellings:
            for form in coarse_forms(searched_name.name):
                yield from self._foreign_spellings[form]

    def _possible_words(self, words: Sequence[str], weights: Sequence[float], total: float) -> dict[int, int]:
        """Which words each name in another script may contain, as a bit mask.

        Rare words first: the last add no new names.

        Two adjacent words may be one word there.
        """
        met: dict[int, int] = {}
        rest, least = total, MIN_LIKENESS / (2 - MIN_LIKENESS) * total
        last = len(words) - 1
        for place in sorted(range(len(words)), key=weights.__getitem__, reverse=True):
            found = [(1 << place, words[place])]
            if rest >= least:
                pairs = ((first, words[first] + words[first + 1]) for first in (place - 1, place) if 0 <= first < last)
                found += [(3 << first, pair) for first, pair in pairs if len(pair) <= _LONGEST_PAIR]
            elif not met:
                break
            for bits, word in found:
                for number in self._sounding_foreign(word):
                    if rest >= least or number in met:
                        met[number] = met.get(number, 0) | bits
            rest -= weights[place]
        return met

    def _find_sounding_like(self, word: str, /) -> tuple[int, ...]:
        """Positions of names in another script with a word that sounds like a Latin word."""
        keys = compute_latin_sound_keys(word)
        keys |= set(map(merge_l_and_r, keys))
        near = {place for key in keys for part in _key_and_deletions(key) for place in self._near_foreign[part]}
        close = (
            other for other in (self._foreign_keys[place] for place in near) if is_within_one_letter_of_any(other, keys)
        )
        return tuple({number for other in close for number in self._by_foreign_key[other]})

    def _find_in_latin(self, sounds: PhoneticName) -> Iterator[int]:
        counts: Counter[int] = Counter()
        worths: dict[int, float] = {}
        total = 0.0
        for size, same, numbers in self._names_by_word(sounds):
            worth = size / log2(len(numbers) + 2)
            total += worth if size == 1 else 0.0
            for number in numbers:
                counts[number] += size
                worths[number] = worths.get(number, 0.0) + (worth if number in same else worth * _NEAR_SOUND_WEIGHT)
        least, each = min(2, len(sounds.word_sound_keys)), total / len(sounds.word_sound_keys)
        good = (
            (worths[number] * 2 / (total + each * self._lengths[number]), number)
            for number, count in counts.items()
            if count >= least
        )
        for _, number in sorted(good, reverse=True)[:_MOST_COMPARED]:
            yield number
        for spelling in sounds.coarse_spellings:
            yield from self._spellings.numbers[spelling]
        if sounds.coarse_spellings:
            forms = self._spellings.keys
            for spelling in sorted(sounds.coarse_spellings)[:8]:
                if len(spelling) >= _LONG_SPELLING:
                    near = process.extract(spelling, forms, scorer=Levenshtein.distance, score_cutoff=1, limit=None)
                    for form, *_ in near:
                        yield from self._spellings.numbers[form]

    def _names_by_word(self, sounds: PhoneticName) -> Iterator[tuple[int, set[int], set[int]]]:
        """(number of words, positions of names with them, positions of names that may), per word and joined pair."""
        exact = len(sounds.word_sound_keys) >= MOST_WORDS  # a longer name was cut off
        single = dict(zip(sounds.word_texts, sounds.word_sound_keys, strict=True))
        meanings = [(1, keys, tables.find_translations(text)) for text, keys in single.items()]
        joined = [(2, keys, frozenset[str]()) for keys in _with_joined(sounds)[len(sounds.word_sound_keys) :]]
        for size, keys, meant in (*meanings, *joined):
            found = [self._words_near(key, merges=sounds.merges_l_and_r, exact=exact) for key in keys]
            same = self._names_of(meant.union(*(same for same, _ in found)))
            yield size, same, same | self._names_of({word for _, near in found for word in near})

    def _names_of(self, words: Iterable[str]) -> set[int]:
        return {number for word in words for number in self._words[word]}

    def _words_near(self, key: str, *, merges: bool, exact: bool) -> tuple[list[str], list[str]]:
        """Latin words with this sound key, and those whose key differs by one letter unless ``exact``."""
        if exact:
            return (self._merged_keys if merges else self._keys).words_of((key,)), []
        found = self._similar.get((key, merges))
        if found is None:
            known = self._merged_keys if merges else self._keys
            near: dict[str, None] = {}
            if len(key) >= SHORTEST_NEAR - 1:
                close = process.extract(
                    key, known.keys, scorer=Levenshtein.distance, score_cutoff=1, limit=None,
                )  # fmt: skip
                near = {one: None for one, *_ in close if one != key and max(len(one), len(key)) >= SHORTEST_NEAR}
            found = known.words_of((key,)), known.words_of(near)
            if len(self._similar) < _CACHE_SIZE:
                self._similar[key, merges] = found
        return found

    @cached_property
    def _keys(self) -> "_KeysOfWords":
        return _KeysOfWords(self._latin, compute_latin_sound_keys)

    @cached_property
    def _merged_keys(self) -> "_KeysOfWords":
        return _KeysOfWords(self._latin, lambda word: frozenset(map(merge_l_and_r, compute_latin_sound_keys(word))))

    @cached_property
    def _spellings(self) -> "_KeysOfWords":
        """Coarse spellings of the names in Latin letters."""
        texts = ["" if number in self._foreign else self._text_of(number) for number in range(len(self._lengths))]
        return _KeysOfWords(texts, compute_coarse_spellings_of_latin_name)


class _KeysOfWords:
    """An index of words by key. ``keys``: all keys."""

    def __init__(self, words: Sequence[str], keys_of: Callable[[str], Iterable[str]]) -> None:
        keyed = [(key, number) for number, word in enumerate(words) for key in keys_of(word)]
        self.keys = tuple(dict.fromkeys(key for key, _ in keyed))
        self.numbers = PostingLists(keyed)
        self._words = words

    def words_of(self, keys: Iterable[str]) -> list[str]:
        """The words with any of these keys."""
        return [self._words[number] for key in keys for number in self.numbers[key]]


def _with_joined(sounds: PhoneticName) -> list[frozenset[str]]:
    """The keys of each word, then those of each joined pair of adjacent words."""
    pairs = pairwise(sorted(keys)[:2] for keys in sounds.word_sound_keys)
    return [*sounds.word_sound_keys, *(frozenset(map("".join, product(one, other))) for one, other in pairs)]


def _key_and_deletions(key: str) -> Iterator[str]:
    """The key itself, and the key without each one letter: keys that differ by one letter share one of these."""
    yield key
    if len(key) >= SHORTEST_NEAR - 1:
        for place in range(len(key)):
            yield key[:place] + key[place + 1 :]

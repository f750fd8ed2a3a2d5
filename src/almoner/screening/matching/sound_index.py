"""Names in different scripts that may be one, found by how their words sound.

What is needed for names in Latin letters is made when somebody is first asked for in another script: most processes
never are. Names that a list has in other scripts are few, and are looked for by everybody.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise, product
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from almoner.screening.matching import tables
from almoner.screening.matching.domain import PreparedName, SoundedName
from almoner.screening.matching.posting_lists import PostingLists
from almoner.screening.matching.sound_comparison import SHORTEST_NEAR, coarse_forms, latin_words
from almoner.screening.matching.sounds import latin_keys, merged

_MOST_COMPARED: Final = 80
"""Names that are compared with one that is asked for: those that share the most words."""
_LONG_SPELLING: Final = 7
_REMEMBERED: Final = 20_000


class SoundIndex:
    """Listed names by their sounds. ``words``: of all of them, each with the numbers of the names that have it."""

    def __init__(self, names: Sequence[PreparedName], words: PostingLists) -> None:
        self._names = names
        self._words = words
        self._foreign = [(number, name.sounds) for number, name in enumerate(names) if name.sounds is not None]
        self._foreign_keys = PostingLists(
            lambda: (
                (part, number)
                for number, sounds in self._foreign
                for part in {part for keys in _with_joined(sounds) for key in keys for part in _around(key)}
            )
        )
        self._foreign_spellings = PostingLists(
            lambda: ((spelling, number) for number, sounds in self._foreign for spelling in sounds.spellings)
        )
        self._similar: dict[tuple[str, bool], list[str]] = {}

    def find_candidates(self, asked: PreparedName) -> Iterable[int]:
        """The names in another script that may be alike."""
        if asked.sounds is not None:
            return self._find_latin(asked.sounds)
        return self._find_foreign(asked) if self._foreign else ()

    def _find_foreign(self, asked: PreparedName) -> Iterator[int]:
        hits: Counter[int] = Counter()
        words = [asked.words[place] for place in latin_words(asked)]
        for word in (*words, *map("".join, pairwise(words))):
            keys = {part for key in latin_keys(word) for one in (key, merged(key)) for part in _around(one)}
            hits.update({number for key in keys for number in self._foreign_keys[key]})
        for number, count in hits.most_common(_MOST_COMPARED):
            if count > 1 or len(words) == 1:
                yield number
        for form in coarse_forms(asked.name):
            yield from self._foreign_spellings[form]

    def _find_latin(self, sounds: SoundedName) -> Iterator[int]:
        hits: Counter[int] = Counter()
        joined = _with_joined(sounds)[len(sounds.words) :]
        for place, keys in enumerate(sounds.words):
            words = {word for key in keys for word in self._words_near(key, merges=sounds.merges)}
            words |= tables.translations().get(sounds.texts[place], frozenset())
            hits.update({number for word in words for number in self._words[word]})
        for keys in joined:
            words = {word for key in keys for word in self._words_near(key, merges=sounds.merges)}
            for number in {number for word in words for number in self._words[word]}:
                hits[number] += 2
        least = min(2, len(sounds.words))
        asked = len(sounds.words)
        good = (
            (count * 2 / (asked + len(self._names[number].words)), number)
            for number, count in hits.items()
            if count >= least
        )
        for _, number in sorted(good, reverse=True)[:_MOST_COMPARED]:
            yield number
        for spelling in sounds.spellings:
            yield from self._spellings[spelling]
        if sounds.spellings:
            forms = list(self._spellings.keys())
            for spelling in sorted(sounds.spellings)[:8]:
                if len(spelling) >= _LONG_SPELLING:
                    near = process.extract(spelling, forms, scorer=Levenshtein.distance, score_cutoff=1, limit=None)
                    for form, *_ in near:
                        yield from self._spellings[form]

    def _words_near(self, key: str, *, merges: bool) -> list[str]:
        """Words in Latin letters that have this key, or one that is a letter away."""
        found = self._similar.get((key, merges))
        if found is None:
            known = self._merged_keys if merges else self._keys
            near = {key: None}
            if len(key) >= SHORTEST_NEAR - 1:
                close = process.extract(
                    key, self._distinct_merged if merges else self._distinct, scorer=Levenshtein.distance,
                    score_cutoff=1, limit=None,
                )  # fmt: skip
                near |= {one: None for one, *_ in close if max(len(one), len(key)) >= SHORTEST_NEAR}
            found = [self._latin[number] for one in near for number in known[one]]
            if len(self._similar) < _REMEMBERED:
                self._similar[key, merges] = found
        return found

    @cached_property
    def _latin(self) -> Sequence[str]:
        return tuple(self._words.keys())

    @cached_property
    def _keys(self) -> PostingLists:
        return self._by_key(latin_keys)

    @cached_property
    def _merged_keys(self) -> PostingLists:
        return self._by_key(lambda word: frozenset(map(merged, latin_keys(word))))

    def _by_key(self, keys_of: Callable[[str], frozenset[str]]) -> PostingLists:
        return PostingLists(lambda: ((key, number) for number, word in enumerate(self._latin) for key in keys_of(word)))

    @cached_property
    def _distinct(self) -> Sequence[str]:
        return tuple(self._keys.keys())

    @cached_property
    def _distinct_merged(self) -> Sequence[str]:
        return tuple(self._merged_keys.keys())

    @cached_property
    def _spellings(self) -> PostingLists:
        return PostingLists(
            lambda: (
                (form, number)
                for number, name in enumerate(self._names)
                if name.sounds is None
                for form in coarse_forms(name.name)
            )
        )


def _with_joined(sounds: SoundedName) -> list[frozenset[str]]:
    """The keys of each word, and then of each two that may be written as one."""
    pairs = pairwise(sorted(keys)[:2] for keys in sounds.words)
    return [*sounds.words, *(frozenset(map("".join, product(one, other))) for one, other in pairs)]


def _around(key: str) -> Iterator[str]:
    """The key, and what is left of it without one letter: two keys that are one letter apart share one of these."""
    yield key
    if len(key) >= SHORTEST_NEAR - 1:
        for place in range(len(key)):
            yield key[:place] + key[place + 1 :]

"""Pair the words of two names: equal, misspelt, synonyms, written as one, initials, cut off."""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

from rapidfuzz.distance import OSA

from almoner.kit import abbreviations
from almoner.screening.matching import tables
from almoner.screening.matching.arabic_article import possible_spellings_joined_by_article
from almoner.screening.matching.conventions import (
    find_spelling_pairs_differing_in_vowels,
    may_be_same_word_across_languages,
)
from almoner.screening.matching.domain import Finding, PreparedName
from almoner.screening.matching.spelling import consonant_key, normalise_text

_SYNONYM_LIKENESS: Final = 0.9
_MIN_JOINED_SIMILARITY: Final = 0.9
_JOINED_LIKENESS: Final = 0.97
_INITIALS_LIKENESS: Final = 0.75
_INITIAL_LIKENESS: Final = 0.8
_NICKNAME_LIKENESS: Final = 0.9
_TRUNCATED_LIKENESS: Final = 0.95
_OPEN_ENDED_LIKENESS: Final = 0.5
_SHORTENED_LIKENESS: Final = 0.85
_BOTH_KNOWN_LIKENESS: Final = 0.7
_LONG_WORD_LETTERS: Final = 6
_PHONETIC_LIKENESS: Final = 0.88
_OTHER_SPELLING_LIKENESS: Final = 0.95
_MIN_SOUND_LETTERS: Final = 3
_MIN_LETTER_SIMILARITY: Final = 0.58
_LONG_ENOUGH_FOR_TWO: Final = 8
_LONG_ENOUGH_FOR_THREE: Final = 12
_SHORTEST_TRUNCATED: Final = 18
_MOST_OMITTED: Final = 3
"""How many letters fewer than the usual form a word joined by the Arabic article may have."""
_MISSPELT_KINDS: Final = ({"word"}, {"word", "place"})
_UMLAUT: Final = re.compile("(?<=[aou])e|(?<=a)a")
_INITIALS: Final = re.compile(r"\b(\w)\. ?-?(\w)\.")
_UMLAUT_LIKENESS: Final = 0.98
_MOST_UNMATCHED: Final = 30
"""The maximum number of words without an equal one that are still compared: names that differ more are never alike."""
MIN_WORD_LENGTH: Final = 4
"""The shortest word that can be a typo of another one."""

AlignedWords = tuple[Finding, float, tuple[int, ...], tuple[int, ...]]
"""(finding, likeness, positions of the searched words, positions of the listed words)."""


def word_similarity(one: str, other: str, *, allow_more_typos: bool = False) -> float:
    """How alike two different words are: 0 for unrelated words, 0.97 for a plural.

    An umlaut may be written as two letters: JUGEND FÜR MÜNCHEN, MUENCHEN.

    ``allow_more_typos``: allow one typo more, and typos between two known words, because other evidence says that the
    two are the same.
    """
    if len(one) > len(other):
        one, other = other, one
    if one[:1] == other[:1] and _without_umlauts(one) == _without_umlauts(other):
        return _UMLAUT_LIKENESS
    if len(one) < MIN_WORD_LENGTH - allow_more_typos:
        return 0.0
    if other == one + "s":
        return 0.97
    known = tables.organisation_name_word_frequencies()
    usual, strange = known.is_known_word(one), not known.is_known_word(other)
    if (strange or not usual) and may_be_same_word_across_languages(one, other):
        return _OTHER_SPELLING_LIKENESS
    if not usual and not strange and other.startswith(one[:3]) and _is_shortened(one, other):
        return _SHORTENED_LIKENESS
    both = (
        usual and not strange and not allow_more_typos
    )  # known words are rarely typos of each other: ACTION and AUCTION
    typos = (
        (1 if len(other) >= _LONG_WORD_LETTERS else 0)
        if both
        else max_edit_distance(len(other), allow_more_typos=allow_more_typos)
    )
    distance = OSA.distance(one, other, score_cutoff=typos)
    if both:
        return _BOTH_KNOWN_LIKENESS if distance <= typos else 0.0
    return 1 - distance / len(other) if distance <= typos else _phonetic_similarity(one, other)


@lru_cache(maxsize=32_768)
def _without_umlauts(word: str) -> str:
    """The word with each umlaut written as one letter."""
    return _UMLAUT.sub("", word)


def max_edit_distance(longer_word_length: int, *, allow_more_typos: bool) -> int:
    """The edit distance allowed between two words, by the length of the longer one."""
    typos = 1 if longer_word_length < _LONG_ENOUGH_FOR_TWO else 2 if longer_word_length < _LONG_ENOUGH_FOR_THREE else 3
    return typos + (allow_more_typos and longer_word_length > MIN_WORD_LENGTH)


def _phonetic_similarity(one: str, other: str) -> float:
    """The likeness of two spellings of one foreign word: MUHAMMAD, MOHAMED; HISBOLLAH, HIZBALLAH. 0 if they are not."""
    if len(other) < _LONG_WORD_LETTERS:
        return 0.0
    if one[0] == other[0] and OSA.normalized_similarity(one, other) >= _MIN_LETTER_SIMILARITY:
        sound = consonant_key(one)
        if len(sound) >= _MIN_SOUND_LETTERS and sound == consonant_key(other):
            return _PHONETIC_LIKENESS
    pairs = find_spelling_pairs_differing_in_vowels(one, other)
    alike = pairs and any(OSA.normalized_similarity(*pair) >= _MIN_LETTER_SIMILARITY for pair in pairs)
    return _PHONETIC_LIKENESS if alike else 0.0


def _is_two_initials(word: str, name: str) -> bool:
    """Whether a word is two initials, as written: J. A. Smith, J.-A. Smith."""
    return len(word) == len("ja") and any(normalise_text("".join(pair)) == word for pair in _INITIALS.findall(name))


def _is_shortened(one: str, other: str) -> bool:
    """Whether ``one`` has letters of ``other`` in their order, at least two fewer: DEVELP for DEVELOPMENT."""
    rest = iter(other)
    return len(one) + 2 <= len(other) and all(letter in rest for letter in one)


@lru_cache(maxsize=32_768)
def _is_joined_form(word: str, forms: tuple[str, ...]) -> bool:
    """Whether a word is one of these forms, however it is spelt."""
    if len(word) + _MOST_OMITTED < len(forms[0]):
        return False
    return any(
        word == form
        or may_be_same_word_across_languages(word, form)
        or word_similarity(word, form) >= _PHONETIC_LIKENESS
        for form in forms
    )


class WordAligner:
    """Pairs the words of two names, the best matches first."""

    def __init__(
        self, searched_name: PreparedName, listed: PreparedName, *, loose: bool = False, persons: bool = False
    ) -> None:
        self._asked, self._listed, self._loose, self._persons = searched_name, listed, loose, persons
        self.left = list(range(len(searched_name.words)))
        self.right = list(range(len(listed.words)))
        self.pairs: list[AlignedWords] = []

    def align_words(self) -> list[AlignedWords]:
        """Return all pairs of aligned words."""
        self._match_equal()
        self._match_abbreviated()
        self._match_repeated()
        self._match_truncated()
        if max(len(self.left), len(self.right)) > _MOST_UNMATCHED:
            return self.pairs
        if self.left and self.right:
            self._match_joined()
            self._match_joined_by_article()
            if self._persons:
                self._match_first_names()
            else:
                self._match_synonyms()
            self._match_misspelt()
            self._match_initials()
        return self.pairs

    def _pair_words(self, finding: Finding, likeness: float, left: tuple[int, ...], right: tuple[int, ...]) -> None:
        self.pairs.append((finding, likeness, left, right))
        self.left = [place for place in self.left if place not in left]
        self.right = [place for place in self.right if place not in right]

    def _match_equal(self) -> None:
        where: dict[str, list[int]] = {}
        for place, word in enumerate(self._listed.words):
            where.setdefault(word, []).append(place)
        same = {place: found.pop(0) for place, word in enumerate(self._asked.words) if (found := where.get(word))}
        other_words = {*same.values()}
        self.pairs += [("same", 1.0, (place,), (other,)) for place, other in same.items()]
        self.left = [place for place in self.left if place not in same]
        self.right = [place for place in self.right if place not in other_words]

    def _match_abbreviated(self) -> None:
        """Pair a word with a word that it may abbreviate: COMM is short for COMMUNITY and for COMMITTEE."""
        for place in tuple(self.left):
            word = self._asked.words[place]
            for other in self.right:
                if abbreviations.may_be_same_word(word, self._listed.words[other]):
                    self._pair_words("same", 1.0, (place,), (other,))
                    break

    def _match_truncated(self) -> None:
        """Pair the end of a truncated name with the rest of the other: cut off within a word, or behind OF.

        A truncated name is long, all that is left of it agrees, and it covers more than half of the other name.
        """
        for mine, other, turned in ((self._asked, self._listed, False), (self._listed, self._asked, True)):
            ours, others = (self.right, self.left) if turned else (self.left, self.right)
            last = len(mine.words) - 1
            if not others or last < 1 or len(mine.name) < _SHORTEST_TRUNCATED:
                continue
            agreed = max((one for one in range(len(other.words)) if one not in others), default=-1)
            likeness, whole = _OPEN_ENDED_LIKENESS, others[0] if not ours and mine.is_truncated else -1
            if ours == [last] and len(mine.words[last]) > 1:
                likeness, half = _TRUNCATED_LIKENESS, mine.words[last]
                least = last if len(half) < MIN_WORD_LENGTH else last - 1  # RA for RATON, if it is at the same position
                whole = next((one for one in others if one >= least and other.words[one].startswith(half)), -1)
            rest = tuple(one for one in others if one >= whole)
            if whole > agreed and sum(other.word_weights[one] for one in rest) <= other.total_weight / 2:
                self._pair_words("cut", likeness, *((rest, tuple(ours)) if turned else (tuple(ours), rest)))
                return

    def _match_repeated(self) -> None:
        """Ignore a name's own initials behind it: they add nothing."""
        for mine, turned in ((self._asked, False), (self._listed, True)):
            for place in (self.right if turned else self.left) if mine.acronyms else ():
                if mine.words[place] in mine.acronyms:
                    self._pair_words("initials", 1.0, *(((), (place,)) if turned else ((place,), ())))
                    return

    def _match_joined(self) -> None:
        """Pair a word with two that the other name writes apart: GOODWILL and GOOD WILL."""
        for mine, other_name, turned in ((self._asked, self._listed, False), (self._listed, self._asked, True)):
            ours, others = (self.right, self.left) if turned else (self.left, self.right)
            for first, second in list(pairwise(ours)):
                if second != first + 1:
                    continue
                word = mine.words[first] + mine.words[second]
                for place in others:
                    other = other_name.words[place]
                    if other == word or (
                        len(other) > _LONG_ENOUGH_FOR_TWO and word_similarity(other, word) >= _MIN_JOINED_SIMILARITY
                    ):
                        split, whole = (first, second), (place,)
                        self._pair_words("together", _JOINED_LIKENESS, *((whole, split) if turned else (split, whole)))
                        return

    def _match_joined_by_article(self) -> None:
        """Pair a word with two that the other name writes with the Arabic article: NOUREDDINE and NUR AL-DIN."""
        for mine, other_name, turned in ((self._asked, self._listed, False), (self._listed, self._asked, True)):
            ours, others = (self.right, self.left) if turned else (self.left, self.right)
            for first, second in pairwise(ours):
                if second != first + 1 or not (
                    together := possible_spellings_joined_by_article(
                        mine.joined_words_with_stop_words, mine.words[first], mine.words[second]
                    )
                ):
                    continue
                for place in others:
                    if _is_joined_form(other_name.words[place], together):
                        split, whole = (first, second), (place,)
                        self._pair_words("together", _JOINED_LIKENESS, *((whole, split) if turned else (split, whole)))
                        return

    def _match_synonyms(self) -> None:
        senses = tables.canonical_word_by_synonym()
        for place in tuple(self.left):
            if sense := senses.get(self._asked.words[place]):
                for other in self.right:
                    if senses.get(self._listed.words[other]) == sense:
                        self._pair_words("meaning", _SYNONYM_LIKENESS, (place,), (other,))
                        break

    def _match_first_names(self) -> None:
        """Pair short forms and initials of first names: JON and JOHN; K. and KARIM."""
        short = tables.nicknames_by_name()
        for place in tuple(self.left):
            word = self._asked.words[place]
            for other in self.right:
                listed = self._listed.words[other]
                if listed in short.get(word, ()):
                    self._pair_words("nickname", _NICKNAME_LIKENESS, (place,), (other,))
                    break
                if 1 in (len(word), len(listed)) and word[0] == listed[0]:
                    self._pair_words("initial", _INITIAL_LIKENESS, (place,), (other,))
                    break

    def _match_misspelt(self) -> None:
        found = [
            (likeness, place, other)
            for place in self.left
            for other in self.right
            if {self._asked.word_kinds[place], self._listed.word_kinds[other]}
            in _MISSPELT_KINDS  # not two places: NORTH DAKOTA
            if (
                likeness := word_similarity(
                    self._asked.words[place], self._listed.words[other], allow_more_typos=self._loose
                )
            )
        ]
        for likeness, place, other in sorted(found, reverse=True):
            if place in self.left and other in self.right:
                self._pair_words("spelling", likeness, (place,), (other,))

    def _match_initials(self) -> None:
        for mine, other, turned in ((self._asked, self._listed, False), (self._listed, self._asked, True)):
            ours, others = (self.right, self.left) if turned else (self.left, self.right)
            initials = "".join(other.words[place][0] for place in others)
            for place in ours:
                word = mine.words[place]
                if (2 < len(word) < 7 or (self._persons and _is_two_initials(word, mine.name))) and (
                    start := initials.find(word)
                ) >= 0:
                    run = tuple(others[start : start + len(word)])
                    self._pair_words("initials", _INITIALS_LIKENESS, *((run, (place,)) if turned else ((place,), run)))
                    return

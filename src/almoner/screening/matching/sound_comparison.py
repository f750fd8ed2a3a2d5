"""Compare two names in different scripts by the sound of their words.

One word is weak evidence, since many words sound alike: two must agree, or a whole name of syllables.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

from rapidfuzz.distance import Levenshtein

from almoner.screening.matching import tables
from almoner.screening.matching.domain import NameSimilarity, PhoneticName, PreparedName, ScorePart
from almoner.screening.matching.sounds import LATIN_STOPS, latin_keys, merge_l_and_r
from almoner.screening.matching.spelling import normalise_text
from almoner.screening.matching.syllables import compute_coarse_name_spelling, compute_syllabic_spelling_similarity
from almoner.screening.matching.transcription import compute_transcription_similarity

SHORTEST_NEAR: Final = 3
"""The fewest letters of a key that may differ from another in one letter."""
MIN_LIKENESS: Final = 0.65
"""The likeness from which every name is found: flagged from 0.7, and an equal country adds 0.05."""
_MIN_TRANSCRIPTION: Final = 0.7
"""The least transcription likeness of two words that count as the same."""
_MISMATCH_WEIGHT: Final = 0.5
"""The extra weight of a letter that does not agree between scripts."""
_TRANSLATED: Final = 0.93
_TRANSLATED_LETTERS: Final = 3
_MIN_SPELLING_LIKENESS: Final = 0.95
"""The least likeness of a name of syllables: one other sound makes another name."""
_MIN_LONG_NAME_WORDS: Final = 4
_UNMATCHED: Final = 0.8
_REPLACED: Final = 0.5
_IN_BRACKETS: Final = re.compile(r"\(([A-Z]{2,6})\)")
_MIN_WORDS: Final = 2
_MIN_LETTERS: Final = 4
_USUAL_TRANSCRIPTION: Final = 0.92
"""The likeness from which all letters of a word count as transcribed in the usual way."""
_LONG_KEY: Final = 5


class _Pair(NamedTuple):
    """Words that may be the same: ``letters`` of a sound key agree; ``left`` and ``right`` are their positions."""

    likeness: float
    letters: int
    left: tuple[int, ...]
    right: tuple[int, ...]
    is_translation: bool = False


def positions_of_words_comparable_by_sound(name: PreparedName) -> list[int]:
    """The positions of words that a spelling in another script has too: no articles, initials or acronyms."""
    short = {*name.acronyms, *_shortened_names(name)}
    kept = [
        place
        for place, word in enumerate(name.words)
        if word not in LATIN_STOPS and len(word) > 1 and word not in short
    ]
    return kept or list(range(len(name.words)))


def _shortened_names(name: PreparedName) -> Iterator[str]:
    """Abbreviations of the name in brackets: HAQQANI NETWORK (HQN)."""
    for short in _IN_BRACKETS.findall(name.name) if "(" in name.name else ():
        rest = iter("".join(word for word in name.words if word != short.lower()))
        if all(letter in rest for letter in short.lower()):
            yield short.lower()


def _spelt_words(name: str) -> list[list[str]]:
    """The words of a Latin name; if it is long, also without its first or last word, a foreign given name."""
    words = [word for word in normalise_text(name).split() if word.isalpha()]
    return [words] if len(words) < _MIN_LONG_NAME_WORDS else [words, words[1:], words[:-1]]


def compute_coarse_spellings_of_latin_name(name: str) -> frozenset[str]:
    """Coarse spellings of a name in Latin letters."""
    return frozenset(compute_coarse_name_spelling(words) for words in _spelt_words(name) if words)


coarse_forms: Final = lru_cache(maxsize=4_096)(compute_coarse_spellings_of_latin_name)


def compute_max_possible_similarity(
    matched_weight: float, total_weight: float, matched_count: int, unmatched_count: int
) -> float:
    """The highest possible likeness of a Latin name and a name in another script.

    ``matched_weight``: the weight of the Latin words that may agree, of ``total_weight``; ``matched_count`` is their
    number. ``unmatched_count``: the number of words of the other name. One Latin word may be two words of the other
    name.
    """
    left_over, right_over = _UNMATCHED * max(0, unmatched_count - matched_count - 1), total_weight - matched_weight
    replaced = 2 * _REPLACED * min(left_over, right_over)
    return (2 * matched_weight - replaced) / (2 * matched_weight + left_over + right_over) if total_weight else 0.0


def compare_sounds(non_latin_name: PreparedName, latin_name: PreparedName) -> NameSimilarity:
    """How alike a name in another script and one in Latin letters sound."""
    sounds = non_latin_name.phonetic_name
    assert sounds is not None, "it is in another script"
    if spelt := _spelling_likeness(sounds, latin_name):
        part = ScorePart("sound", spelt, non_latin_name.name, latin_name.name)
        return NameSimilarity(spelt, (part,), (), non_latin_name.name, latin_name.name)
    places = positions_of_words_comparable_by_sound(latin_name)
    texts, weights = [latin_name.words[place] for place in places], [latin_name.word_weights[place] for place in places]
    pairs = _best_pairs(_possible_pairs(sounds, texts))
    paired = sum(len(pair.left) for pair in pairs)
    pairs += _form_pairs(sounds, texts, pairs)
    enough = _agree_enough(pairs, len(sounds.word_sound_keys), len(texts), syllabic=bool(sounds.coarse_spellings))
    if not enough or _is_homophone_beside_translations(pairs, latin_name, places):
        return NameSimilarity(0.0, (), (), non_latin_name.name, latin_name.name)
    matched = [sum(weights[one] for one in pair.right) for pair in pairs]
    left_over, right_over = _UNMATCHED * (len(sounds.word_sound_keys) - paired), sum(weights) - sum(matched)
    total = 2 * sum(matched) + left_over + right_over
    parts = []
    for pair, worth in zip(pairs, matched, strict=True):
        points = 2 * (pair.likeness - _MISMATCH_WEIGHT * (1 - pair.likeness)) * worth / total
        left, right = " ".join(sounds.word_texts[one] for one in pair.left), " ".join(texts[one] for one in pair.right)
        parts.append(ScorePart("sound", points, left, right))
    score = sum(part.points for part in parts)
    if left_over and right_over:
        points = min(score, 2 * _REPLACED * min(left_over, right_over) / total)
        parts.append(ScorePart("replaced", -points))
        score -= points
    return NameSimilarity(score, tuple(parts), (), non_latin_name.name, latin_name.name)


def either_contains_other_by_sound(
    non_latin_name: PreparedName, latin_name: PreparedName, min_matched_weight: float
) -> bool:
    """Whether one name has all words of the other, in the usual transcription: people omit names of their fathers.

    ``min_matched_weight``: the least weight of the Latin words that agree. A name in another script may only have more
    words between its first and its last.
    """
    sounds, places = non_latin_name.phonetic_name, positions_of_words_comparable_by_sound(latin_name)
    if sounds is None or sounds.coarse_spellings:
        return False
    pairs = _best_pairs(_possible_pairs(sounds, [latin_name.words[place] for place in places]))
    if len(pairs) < _MIN_WORDS or any(pair.likeness < _USUAL_TRANSCRIPTION for pair in pairs):
        return False
    left = {place for pair in pairs for place in pair.left}
    right = {place for pair in pairs for place in pair.right}
    if sum(latin_name.word_weights[places[place]] for place in right) < min_matched_weight:
        return False
    last = len(sounds.word_sound_keys) - 1
    return len(left) > last or (len(right) == len(places) and {0, last} <= left)


def _form_pairs(sounds: PhoneticName, texts: Sequence[str], pairs: Sequence[_Pair]) -> list[_Pair]:
    """Pair an unpaired word with a legal form of the same meaning on the other side."""
    left = {*range(len(texts))}.difference(*(pair.right for pair in pairs)) if sounds.legal_forms and pairs else ()
    return [
        _Pair(_TRANSLATED, _TRANSLATED_LETTERS, (), (place,), is_translation=True)
        for place in left
        if texts[place] in sounds.legal_forms
    ][:1]


def _agree_enough(pairs: Sequence[_Pair], sounded: int, latin: int, *, syllabic: bool) -> bool:
    """Whether enough words and letters agree: fewer suffice if no word is left over and all are transcribed as usual.

    In names of syllables, which are compared as spelt, a single word needs more letters.
    """
    words, letters = sum(len(pair.left) for pair in pairs), sum(pair.letters for pair in pairs)
    usual = all(pair.likeness >= _USUAL_TRANSCRIPTION for pair in pairs)
    if letters >= _MIN_LETTERS and (words >= _MIN_WORDS or (words < len(pairs) and usual)):
        return True
    if syllabic or not usual:
        return words == sounded == latin == 1 and letters >= _LONG_KEY
    whole = bool(pairs) and words == sounded and sum(len(pair.right) for pair in pairs) == latin
    return whole and letters >= _MIN_LETTERS - (words >= _MIN_WORDS)


def _is_homophone_beside_translations(pairs: Sequence[_Pair], latin_name: PreparedName, places: Sequence[int]) -> bool:
    """Whether ordinary words sound alike beside translated ones, and a proper name of the Latin name is missing.

    A translation keeps proper names and translates ordinary words: NOBLE of SOCIETY FOR THE NOBLE NAJMA is not Nobel.
    """
    agreeing = {places[place] for pair in pairs for place in pair.right}
    sounding = {places[place] for pair in pairs if not pair.is_translation for place in pair.right}
    words = latin_name.words
    if not sounding or sounding == agreeing or not all(tables.is_ordinary_word(words[place]) for place in sounding):
        return False
    return any(
        latin_name.word_kinds[place] == "word" and not tables.is_ordinary_word(words[place])
        for place in places
        if place not in agreeing
    )


def _spelling_likeness(sounds: PhoneticName, latin: PreparedName) -> float:
    """How well the Latin name spells a name of syllables; 0 if it does not."""
    if not sounds.coarse_spellings:
        return 0.0
    name = "".join(sounds.word_texts)
    spelt = [words for words in _spelt_words(latin.name) if len(words) >= _MIN_WORDS]
    alike = max((compute_syllabic_spelling_similarity(name, words) for words in spelt), default=0.0)
    return alike if alike >= _MIN_SPELLING_LIKENESS else 0.0


@lru_cache(maxsize=65_536)
def _latin(word: str, *, merges: bool) -> frozenset[str]:
    keys = latin_keys(word)
    return frozenset(map(merge_l_and_r, keys)) if merges else keys


def _best_pairs(found: Iterable[_Pair]) -> list[_Pair]:
    """The pairs that explain most: the most alike first, or two words for one first."""
    pairs = sorted(found, key=lambda pair: (-pair.likeness, -pair.letters, pair.left, pair.right))
    joined_first = sorted(pairs, key=lambda pair: -len(pair.left) - len(pair.right))
    return max(map(_disjoint_pairs, (pairs, joined_first)), key=_explained)


def _explained(pairs: Iterable[_Pair]) -> float:
    return sum(pair.likeness * (len(pair.left) + len(pair.right)) for pair in pairs)


def _disjoint_pairs(ordered: Iterable[_Pair]) -> list[_Pair]:
    pairs: list[_Pair] = []
    left: set[int] = set()
    right: set[int] = set()
    for pair in ordered:
        if left.isdisjoint(pair.left) and right.isdisjoint(pair.right):
            left.update(pair.left)
            right.update(pair.right)
            pairs.append(pair)
    return pairs


def _possible_pairs(sounds: PhoneticName, texts: Sequence[str]) -> Iterator[_Pair]:
    """Words of both names that may be the same: by sound, by translation, or written as two on one side."""
    keys = [_latin(text, merges=sounds.merges_l_and_r) for text in texts]
    for place, mine in enumerate(sounds.word_sound_keys):
        meant = tables.find_translations(sounds.word_texts[place])
        for other, listed in enumerate(keys):
            if texts[other] in meant:
                yield _Pair(_TRANSLATED, _TRANSLATED_LETTERS, (place,), (other,), is_translation=True)
            elif letters := _shared_letters(mine, listed):
                yield from _transcribed(sounds, texts, letters, (place,), (other,))
    yield from _joined_pairs(sounds, texts, keys)


def _joined_pairs(sounds: PhoneticName, texts: Sequence[str], keys: Sequence[frozenset[str]]) -> Iterator[_Pair]:
    for place in range(len(sounds.word_sound_keys) - 1):
        joined = _joined_keys(sounds.word_sound_keys[place], sounds.word_sound_keys[place + 1])
        for other, listed in enumerate(keys):
            if letters := _shared_letters(joined, listed):
                yield from _transcribed(sounds, texts, letters, (place, place + 1), (other,))
    for other in range(len(keys) - 1):
        joined = _joined_keys(keys[other], keys[other + 1])
        for place, mine in enumerate(sounds.word_sound_keys):
            if letters := _shared_letters(joined, mine):
                yield from _transcribed(sounds, texts, letters, (place,), (other, other + 1))


def _transcribed(
    sounds: PhoneticName, texts: Sequence[str], letters: int, left: tuple[int, ...], right: tuple[int, ...]
) -> Iterator[_Pair]:
    text, latin = "".join(sounds.word_texts[one] for one in left), "".join(texts[one] for one in right)
    likeness = compute_transcription_similarity(text, sounds.script, latin)
    if likeness >= _MIN_TRANSCRIPTION:
        yield _Pair(likeness, letters, left, right)


def _shared_letters(one: frozenset[str], other: frozenset[str]) -> int:
    """How many letters of a sound key two words share; their keys may differ by one letter."""
    if shared := one & other:
        return max(map(len, shared))
    for mine, listed in product(one, other):
        if max(len(mine), len(listed)) >= SHORTEST_NEAR and Levenshtein.distance(mine, listed, score_cutoff=1) <= 1:
            return min(len(mine), len(listed))
    return 0


def is_within_one_letter_of_any(key: str, known_keys: Collection[str]) -> bool:
    """Whether a key is one of these keys or differs by one letter."""
    return key in known_keys or any(
        max(len(key), len(other)) >= SHORTEST_NEAR and Levenshtein.distance(key, other, score_cutoff=1) <= 1
        for other in known_keys
    )


def _joined_keys(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    found = (first + second for first, second in product(sorted(one)[:4] or ("",), sorted(other)[:4] or ("",)))
    return frozenset(key.replace("-", "") for key in found)

"""Compare two names word by word, with the reasons for the score."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from rapidfuzz.distance import OSA

from almoner.screening.matching.alignment import WordAligner
from almoner.screening.matching.domain import Finding, NameSimilarity, PreparedName, ScorePart
from almoner.screening.matching.sound_comparison import compare_sounds
from almoner.screening.matching.words import BRANCH_WORDS

_MAX_VETOED: Final = 0.45
"""The highest score of two names whose numbers, directions or places differ."""
_MAX_ONE_NUMBERED: Final = 0.65
_OTHER_SIDE: Final[dict[Finding, Finding]] = {"asked_only": "listed_only", "listed_only": "asked_only"}
_LETTER_COST: Final = 2.0
_MAX_HOMOPHONES: Final = 0.9
"""The highest score of two names that are equal only in Latin letters."""
_UNAMBIGUOUS_SCRIPTS: Final = frozenset(("CYRILLIC", "GREEK"))
"""Scripts whose romanisation keeps different names apart."""
_REPLACED_WORD_COST: Final = 0.5
_MAX_OTHER_FORM: Final = 0.75
_DISTINCT_FORMS: Final = frozenset(("LLC", "JSC", "LP", "LLP", "GP", "COOP", "FOUNDATION", "ASSOCIATION"))
"""Legal forms that are not confused by carelessness."""
_FORM_WORDS: Final = {"FOUNDATION": "foundation", "ASSOCIATION": "association", "CO": "county"}
"""What a legal form can be in the other name, as an English word or unabbreviated: STICHTING X and X FOUNDATION."""
_MAX_BRANCH: Final = 0.8
"""The highest score of an organisation and one beside it: a school and its foundation."""


def _total_weight(name: PreparedName, places: tuple[int, ...] | list[int]) -> float:
    return sum(name.word_weights[place] for place in places)


def _find_vetoes(
    searched_name: PreparedName, listed: PreparedName, left: list[int], right: list[int]
) -> tuple[Finding, ...]:
    """The kinds of number, direction and place words that both names have and that differ."""
    kinds: tuple[Finding, ...] = ("number", "direction", "place")
    both = {searched_name.word_kinds[one] for one in left}.intersection(listed.word_kinds[one] for one in right)
    found = [kind for kind in kinds if kind in both]
    years = [
        {word for word, kind in zip(name.words, name.word_kinds, strict=True) if kind == "year"}
        for name in (searched_name, listed)
    ]
    if all(years) and years[0].isdisjoint(years[1]):
        found.append("number")
    return tuple(dict.fromkeys(found))


def _score_caps(
    searched_name: PreparedName, listed: PreparedName, left: list[int], right: list[int]
) -> Iterator[tuple[Finding, float]]:
    """(finding, highest score) of differences that make it another organisation though everything else is equal."""
    if any(searched_name.word_kinds[one] == "number" for one in left) or any(
        listed.word_kinds[one] == "number" for one in right
    ):
        yield "number", _MAX_ONE_NUMBERED
    if (
        searched_name.legal_forms & _DISTINCT_FORMS
        and listed.legal_forms & _DISTINCT_FORMS
        and not searched_name.legal_forms & listed.legal_forms
    ):
        yield "form", _MAX_OTHER_FORM


def _differs_in_branch(searched_name: PreparedName, listed: PreparedName, alignment: WordAligner) -> bool:
    mine = {searched_name.words[place] for place in alignment.left}
    other = {listed.words[place] for place in alignment.right}
    return (BRANCH_WORDS & mine) != (BRANCH_WORDS & other)


def _text(name: PreparedName, places: tuple[int, ...]) -> str:
    return " ".join(name.words[place] for place in places)


def _identical_likeness(searched_name: PreparedName, listed: PreparedName, same: ScorePart) -> NameSimilarity:
    capped = [ScorePart(finding, most - 1.0) for finding, most in _score_caps(searched_name, listed, [], [])]
    return NameSimilarity(
        1.0 + sum(part.points for part in capped), (same, *capped), (), searched_name.name, listed.name
    )


def _is_same(searched_name: PreparedName, listed: PreparedName) -> bool:
    if (
        searched_name.joined_words == listed.joined_words
        or searched_name.joined_words_with_stop_words == listed.joined_words_with_stop_words
    ):
        return True
    return (
        searched_name.joined_words_without_legal_form != ""
        and searched_name.joined_words_without_legal_form == listed.joined_words
    ) or (
        listed.joined_words_without_legal_form != ""
        and listed.joined_words_without_legal_form == searched_name.joined_words
    )


def _letter_similarity(searched_name: PreparedName, listed: PreparedName) -> float:
    """How alike two names are letter by letter: 0.75 if an eighth of the letters differ.

    Compared as written too, since a typo can hide that a word is an abbreviation: TEVCH for TECH.
    """
    pairs = (
        (searched_name.joined_words, listed.joined_words),
        (searched_name.joined_words_with_stop_words, listed.joined_words_with_stop_words),
    )
    return 1 - _LETTER_COST * min(OSA.normalized_distance(*pair) for pair in pairs)


def compare_names(
    searched_name: PreparedName,
    listed_name: PreparedName,
    *,
    allow_more_typos: bool = False,
    are_person_names: bool = False,
) -> NameSimilarity:
    """How alike two names are: the weighted share of words that agree; symmetric.

    ``allow_more_typos``: other evidence says that they are the same: more typos are allowed, and letters count as well
    as words. ``are_person_names``: words may be short forms of first names, and single letters their initials.
    """
    whole, other = searched_name, listed_name
    if searched_name.legal_forms != listed_name.legal_forms:
        searched_name, listed_name = (
            _without_translated_form(searched_name, listed_name),
            _without_translated_form(listed_name, searched_name),
        )
    if (searched_name.phonetic_name is None) == (listed_name.phonetic_name is None):
        found = _compare_letters(searched_name, listed_name, loose=allow_more_typos, persons=are_person_names)
        return _limit_homophones(found) if _has_other_letters(searched_name, listed_name) else found
    sounded = compare_sounds(whole, other) if whole.phonetic_name else _swap(compare_sounds(other, whole), whole, other)
    foreign = searched_name.phonetic_name or listed_name.phonetic_name
    if foreign is not None and not foreign.spells_all_sounds:
        return sounded
    return max(
        _compare_letters(searched_name, listed_name, loose=allow_more_typos, persons=are_person_names),
        sounded,
        key=lambda one: one.score,
    )


def _has_other_letters(searched_name: PreparedName, listed: PreparedName) -> bool:
    """Whether two names in one script differ in letters that may romanise alike: 玉林 and 榆林, תל and טל."""
    mine, other = searched_name.phonetic_name, listed.phonetic_name
    if mine is None or other is None or mine.script != other.script or mine.script in _UNAMBIGUOUS_SCRIPTS:
        return False
    return mine.sorted_letters != other.sorted_letters


def _limit_homophones(found: NameSimilarity) -> NameSimilarity:
    if found.score <= _MAX_HOMOPHONES:
        return found
    part = ScorePart("letters", _MAX_HOMOPHONES - found.score, found.searched_name, found.listed_name)
    return replace(found, score=_MAX_HOMOPHONES, parts=(*found.parts, part))


def _compare_letters(
    searched_name: PreparedName, listed: PreparedName, *, loose: bool, persons: bool
) -> NameSimilarity:
    if searched_name.joined_words <= listed.joined_words:
        return _compare(searched_name, listed, loose=loose, persons=persons)
    return _swap(_compare(listed, searched_name, loose=loose, persons=persons), searched_name, listed)


def _swap(turned: NameSimilarity, searched_name: PreparedName, listed: PreparedName) -> NameSimilarity:
    return replace(
        turned, parts=tuple(map(_swap_sides, turned.parts)), searched_name=searched_name.name, listed_name=listed.name
    )


def _without_translated_form(name: PreparedName, other: PreparedName) -> PreparedName:
    """The name without a last word that means the legal form of the other name."""
    same = {_FORM_WORDS[kind] for kind in other.legal_forms - name.legal_forms if kind in _FORM_WORDS}
    if len(name.words) < 2 or name.words[-1] not in same:
        return name
    last = name.words[-1]
    return replace(
        name,
        words=name.words[:-1],
        word_weights=name.word_weights[:-1],
        word_kinds=name.word_kinds[:-1],
        joined_words=name.joined_words.removesuffix(last),
        joined_words_with_stop_words=name.joined_words_with_stop_words.removesuffix(last),
        total_weight=name.total_weight - name.word_weights[-1],
        joined_words_without_legal_form="",
    )


def _swap_sides(part: ScorePart) -> ScorePart:
    return ScorePart(_OTHER_SIDE.get(part.finding, part.finding), part.points, part.listed, part.asked)


def _compare(searched_name: PreparedName, listed: PreparedName, *, loose: bool, persons: bool) -> NameSimilarity:
    total = searched_name.total_weight + listed.total_weight
    if not total:
        return NameSimilarity(0.0, (), (), searched_name.name, listed.name)
    if _is_same(searched_name, listed):
        return _identical_likeness(
            searched_name, listed, ScorePart("same", 1.0, searched_name.joined_words, listed.joined_words)
        )
    alignment = WordAligner(searched_name, listed, loose=loose, persons=persons)
    parts = []
    score = 0.0
    for finding, likeness, left, right in alignment.align_words():
        points = likeness * (_total_weight(searched_name, left) + _total_weight(listed, right)) / total
        score += points
        parts.append(ScorePart(finding, points, _text(searched_name, left), _text(listed, right)))
    mine, other = alignment.left, alignment.right
    if score > _MAX_BRANCH and _differs_in_branch(searched_name, listed, alignment):
        parts.append(ScorePart("branch", _MAX_BRANCH - score))
        score = _MAX_BRANCH
    if mine and other:  # SAUDI ARABIAN OIL and SAUDI ARABIAN GAS: worse than a missing word
        points = min(
            _REPLACED_WORD_COST
            * min(
                _total_weight(searched_name, mine) / searched_name.total_weight,
                _total_weight(listed, other) / listed.total_weight,
            ),
            score,
        )
        parts.append(ScorePart("replaced", -points, _text(searched_name, tuple(mine)), _text(listed, tuple(other))))
        score -= points
    if loose and (letters := _letter_similarity(searched_name, listed)) > score:
        parts.append(ScorePart("letters", letters - score, searched_name.joined_words, listed.joined_words))
        score = letters
    for finding, most in _score_caps(searched_name, listed, mine, other):
        if score > most:
            parts.append(ScorePart(finding, most - score))
            score = most
    parts += [ScorePart("asked_only", 0.0, asked=searched_name.words[place]) for place in mine]
    parts += [ScorePart("listed_only", 0.0, listed=listed.words[place]) for place in other]
    vetoes = _find_vetoes(searched_name, listed, mine, other)
    if vetoes and score > _MAX_VETOED:
        parts.append(ScorePart(vetoes[0], _MAX_VETOED - score))
        score = _MAX_VETOED
    return NameSimilarity(score, tuple(parts), vetoes, searched_name.name, listed.name)

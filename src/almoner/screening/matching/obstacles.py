"""Decide which names can be compared: those whose letters are all of a supported script, and more than one word."""

from collections.abc import Iterable

from almoner.screening.matching.domain import PersonScreeningObstacle, ScreeningObstacle
from almoner.screening.matching.scripts import COMPARED_BY_SOUND, find_unsupported_scripts, has_lookalike_letters
from almoner.screening.matching.words import prepare_name, words_without_numbers


def find_screening_obstacle(names: Iterable[str]) -> ScreeningObstacle | None:
    """Why these names cannot all be compared; None if they can."""
    given = list(names)
    scripts = {script for name in given for script in find_unsupported_scripts(name)}
    if scripts:
        return "script_uncertain" if scripts <= COMPARED_BY_SOUND else "script_not_supported"
    if any(has_lookalike_letters(name) or _is_one_foreign_word(name) for name in given):
        return "script_uncertain"
    return None if given and all(any(map(str.isalnum, name)) for name in given) else "no_words"


def find_person_screening_obstacle(name: str) -> PersonScreeningObstacle | None:
    """Why a person's name cannot be compared; None if it can."""
    return find_screening_obstacle([name]) or ("single_name" if _is_single_name(name) else None)


def _is_single_name(name: str) -> bool:
    """Whether a person's name is one word: AL-HADDAD, but not AL HADDAD, nor VAN NGUYEN."""
    return len(words_without_numbers(prepare_name(name, is_person=True))) == 1


def _is_one_foreign_word(name: str) -> bool:
    """Whether a name is one Cyrillic or Greek word, which a list may spell otherwise or translate: ХЕЗБОЛЛА, БАЗА 1."""
    if name.isascii():
        return False
    prepared = prepare_name(name)
    words = words_without_numbers(prepared)
    return prepared.phonetic_name is not None and len(words) == 1 and words[0] not in name.lower()

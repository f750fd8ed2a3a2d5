"""Compare submitted values with registered values. The comparison marks differences and look-alike letters."""

import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

from markupsafe import Markup, escape

from almoner.console.readings import Romanisation, romanise_text
from almoner.kit.scripts import unicode_scripts_in_text
from almoner.validation.decisions.reviews.domain import ValueComparison

_LONGEST: Final = 2000
_MOST_LISTED: Final = 12
_NAMED: Final = 8
_COUNTRY_LABELS: Final = ("Countries", "Country")
_SAME_LETTERS: Final = "match, apart from spaces and punctuation"
_OTHER_SCRIPT: Final = "in different scripts: compare the transliteration"
_CLOSE: Final = 0.7
"""From this similarity on, differing letters are marked instead of whole words."""
_MOST_LETTERS: Final = 300
"""The longest text whose letters are compared: the time grows with the square of its length."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One row of a comparison.

    ``listed``: the values in the register, best match first. ``agrees``: whether one of them equals the stated value.
    ``note``: how they compare, where neither a match nor a marked difference says it. ``reading``, ``listed_reading``:
    the stated and the listed value in Latin letters, if needed. ``letters``: look-alike characters with their code
    points.
    """

    label: str
    stated: Markup
    listed: Sequence[Markup]
    more: int
    agrees: bool
    note: str
    reading: Romanisation | None
    listed_reading: Romanisation | None
    letters: Sequence[str]


def build_comparison_rows(comparisons: Sequence[ValueComparison], country: str | None = None) -> list[ComparisonRow]:
    """Build the rows for compared values. ``country``: of the record, if no compared value says it."""
    named = next((one for one in comparisons if one.label in _COUNTRY_LABELS), None)
    countries = ({country} if country else set(), {country} if country else set())
    if named is not None:
        countries = set((named.stated or "").split()), set(" ".join(named.listed).split())
    texts = [one.stated for one in comparisons if one.stated], [text for one in comparisons for text in one.listed]
    return [_build_row(one, countries, texts) for one in comparisons]


def _build_row(
    comparison: ValueComparison, countries: tuple[set[str], set[str]], texts: tuple[list[str], list[str]]
) -> ComparisonRow:
    stated = (comparison.stated or "")[:_LONGEST]
    listed = [one[:_LONGEST] for one in comparison.listed]
    nearest = sorted(listed, key=lambda one: -_closeness(stated, one)) if stated else listed
    best = nearest[0] if nearest else ""
    agrees = bool(stated) and _folded(stated) == _folded(best)
    fold = _FOLDS.get(comparison.label.rpartition(": ")[2].lower(), _folded)
    note = _note(stated, best, fold) if stated and best and not agrees else ""
    odd = frozenset(_odd_letters(stated))
    ours, others = _highlight(stated, odd), escape(best)
    if stated and best and not agrees and not note:
        ours, others = _marked(stated, best, odd, fold)
    return ComparisonRow(
        comparison.label,
        ours,
        [others, *(escape(one) for one in nearest[1:_MOST_LISTED])] if nearest else [],
        max(0, len(nearest) - _MOST_LISTED),
        agrees,
        note,
        romanise_text(stated, countries[0], texts[0]),
        romanise_text(best, countries[1], texts[1]),
        describe_suspicious_characters(stated),
    )


def _note(stated: str, listed: str, fold: Callable[[str], str]) -> str:
    """Why the differences between two values are not marked. An empty string if they are."""
    if fold is not _folded and fold(stated) and fold(stated) == fold(listed):
        return _SAME_LETTERS
    ours, others = unicode_scripts_in_text(stated), unicode_scripts_in_text(listed)
    return _OTHER_SCRIPT if ours and others and ours.isdisjoint(others) else ""


def describe_suspicious_characters(text: str) -> list[str]:
    """Invisible characters, and letters of a different script from the rest of the text, with their names."""
    hidden = [letter for letter in text if _is_hidden(letter)]
    return [_letter_name(letter) for letter in dict.fromkeys([*hidden, *_odd_letters(text)])][:_NAMED]


def _is_hidden(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cf", "Cc", "Co", "Cn")


def _odd_letters(text: str) -> list[str]:
    """The letters of a different script from most letters of the text."""
    by_script: dict[str, list[str]] = {}
    for letter in text:
        if not _is_hidden(letter) and (found := unicode_scripts_in_text(letter)):
            by_script.setdefault(next(iter(found)), []).append(letter)
    usual = max(by_script, key=lambda script: len(by_script[script]), default="")
    return [letter for script, letters in by_script.items() if script != usual for letter in letters]


def _letter_name(letter: str) -> str:
    shown = f" “{letter}”" if letter.isprintable() else ""
    return f"U+{ord(letter):04X}{shown} {unicodedata.name(letter, 'unnamed').lower()}"


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _bare(text: str) -> str:
    """The text without spaces and punctuation, and with case folded."""
    return "".join(one for one in _folded(text) if unicodedata.category(one)[0] not in "PZ")


def _bare_parts(text: str) -> str:
    """The same, but digits stay apart: FLAT 1, 12 HIGH ST is not FLAT 11, 2 HIGH ST."""
    parts = "".join(" " if unicodedata.category(one)[0] in "PZ" else one for one in _folded(text)).split()
    return "".join(
        f" {one}" if before[-1:].isdigit() and one[0].isdigit() else one for before, one in pairwise(["", *parts])
    )


_FOLDS: Final[Mapping[str, Callable[[str], str]]] = {
    "name": _bare_parts,
    "address": _bare_parts,
    "number": _bare,
    "numbers": _bare,
}
"""How values are compared whose spaces and punctuation mean nothing, by label. In websites and emails, they do."""


def _closeness(one: str, other: str) -> float:
    return SequenceMatcher(None, _folded(one), _folded(other), autojunk=False).quick_ratio()


def _highlight(text: str, odd: Collection[str]) -> Markup:
    """The text with the letters of another script marked."""
    return Markup("").join(Markup("<mark>{}</mark>").format(one) if one in odd else escape(one) for one in text)


def _marked(stated: str, listed: str, odd: Collection[str], fold: Callable[[str], str]) -> tuple[Markup, Markup]:
    """Split both values into words, and mark the words, or letters of them, that the other value does not contain."""
    ours, others = stated.split(), listed.split()
    matcher = SequenceMatcher(None, [fold(one) for one in ours], [fold(one) for one in others], autojunk=False)
    left, right = [], []
    for what, i, j, k, m in matcher.get_opcodes():
        mine, other = " ".join(ours[i:j]), " ".join(others[k:m])
        parts = [(what == "equal", mine, other)] if what == "equal" else _letter_differences(mine, other)
        if mine:
            left.append(Markup("").join(_stated_part(equal, one, odd) for equal, one, _ in parts))
        if other:
            right.append(Markup("").join(_listed_part(equal, one) for equal, _, one in parts))
    return Markup(" ").join(left), Markup(" ").join(right)


def _letter_differences(mine: str, other: str) -> list[tuple[bool, str, str]]:
    """The parts of two texts, each with whether it is equal: one part if the texts are not similar, or long.

    Texts with combining marks stay whole, because a mark is not shown correctly without its letter.
    """
    combining = any(unicodedata.category(one)[0] == "M" for one in mine + other)
    if combining or max(len(mine), len(other)) > _MOST_LETTERS:
        return [(False, mine, other)]
    letters, against = [one.casefold() for one in mine], [one.casefold() for one in other]
    matcher = SequenceMatcher(None, letters, against, autojunk=False)
    if matcher.ratio() < _CLOSE:
        return [(False, mine, other)]
    return [(what == "equal", mine[i:j], other[k:m]) for what, i, j, k, m in matcher.get_opcodes()]


def _stated_part(equal: bool, text: str, odd: Collection[str]) -> Markup:
    shown = _highlight(text, odd)
    return (
        shown if equal or not text else Markup('<del><span class="unseen">only stated: </span>{}</del>').format(shown)
    )


def _listed_part(equal: bool, text: str) -> Markup:
    return (
        escape(text)
        if equal or not text
        else Markup('<ins><span class="unseen">only listed: </span>{}</ins>').format(text)
    )

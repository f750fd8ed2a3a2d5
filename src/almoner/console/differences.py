"""Compare submitted values with registered values. The comparison marks differences and look-alike letters."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from markupsafe import Markup, escape

from almoner.console.readings import Romanisation, romanise_text
from almoner.kit.scripts import unicode_scripts_in_text
from almoner.validation.decisions.reviews.domain import ValueComparison

_LONGEST: Final = 2000
_MOST_LISTED: Final = 12
_NAMED: Final = 8
_COUNTRY_LABELS: Final = ("Countries", "Country")


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One row of a comparison.

    ``listed``: the values in the register, best match first. ``agrees``: whether one of them equals the stated value.
    ``reading``, ``listed_reading``: the stated and the listed value in Latin letters, if needed. ``letters``:
    look-alike characters with their code points.
    """

    label: str
    stated: Markup
    listed: Sequence[Markup]
    more: int
    agrees: bool
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
    ours, others = _marked(stated, best) if stated and best and not agrees else (escape(stated), escape(best))
    return ComparisonRow(
        comparison.label,
        ours,
        [others, *(escape(one) for one in nearest[1:_MOST_LISTED])] if nearest else [],
        max(0, len(nearest) - _MOST_LISTED),
        agrees,
        romanise_text(stated, countries[0], texts[0]),
        romanise_text(best, countries[1], texts[1]),
        describe_suspicious_characters(stated),
    )


def describe_suspicious_characters(text: str) -> list[str]:
    """Invisible characters, and letters of a different script from the rest of the text, with their names."""
    by_script: dict[str, list[str]] = {}
    hidden: list[str] = []
    for letter in text:
        if unicodedata.category(letter) in ("Cf", "Cc", "Co", "Cn"):
            hidden.append(letter)
        elif found := unicode_scripts_in_text(letter):
            by_script.setdefault(next(iter(found)), []).append(letter)
    usual = max(by_script, key=lambda script: len(by_script[script]), default="")
    odd = [letter for script, letters in by_script.items() if script != usual for letter in letters]
    return [_letter_name(letter) for letter in dict.fromkeys([*hidden, *odd])][:_NAMED]


def _letter_name(letter: str) -> str:
    shown = f" “{letter}”" if letter.isprintable() else ""
    return f"U+{ord(letter):04X}{shown} {unicodedata.name(letter, 'unnamed').lower()}"


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _closeness(one: str, other: str) -> float:
    return SequenceMatcher(None, _folded(one), _folded(other), autojunk=False).quick_ratio()


def _marked(stated: str, listed: str) -> tuple[Markup, Markup]:
    """Split both values into words, and mark the words that the other value does not contain."""
    ours, others = stated.split(), listed.split()
    matcher = SequenceMatcher(None, [_folded(one) for one in ours], [_folded(one) for one in others], autojunk=False)
    left, right = [], []
    for what, i, j, k, m in matcher.get_opcodes():
        mine, other = " ".join(ours[i:j]), " ".join(others[k:m])
        if what == "equal":
            left.append(escape(mine))
            right.append(escape(other))
            continue
        if mine:
            left.append(Markup('<del><span class="unseen">only stated: </span>{}</del>').format(mine))
        if other:
            right.append(Markup('<ins><span class="unseen">only listed: </span>{}</ins>').format(other))
    return Markup(" ").join(left), Markup(" ").join(right)

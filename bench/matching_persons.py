"""Persons known only by name, like applicants: how many are flagged, and how many are found.

Names of nobody in particular: random combinations of given names and surnames of couples after whom organisations in
the master file are named; and new combinations of listed persons' given names and surnames, the hardest there are.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from almoner.screening.matching.words import prepare_name
from almoner.screening.screenings.domain import SubjectDetails
from almoner.screening.screenings.indexing import ScreeningIndex
from almoner.screening.watchlists.domain import WatchlistEntry
from bench.matching_lists import compared, of
from bench.matching_screening import found, master_file
from bench.matching_slips import KINDS

SEED: Final = 20261122
NAMES: Final = 5_000
_COUPLE: Final = re.compile(
    r"(?:THE )?([A-Z]{3,}) (?:[A-Z] )?(?:AND|&) ([A-Z]{3,}) (?:[A-Z] )?([A-Z]{3,}) (?:FAMILY |CHARITABLE )*"
    r"(?:FOUNDATION|TRUST|FUND|FDN)\b"
)


def _common(rng: random.Random) -> list[str]:
    """Common names from the master file."""
    given: Counter[str] = Counter()
    surnames: dict[str, None] = {}
    for row in master_file():
        if couple := _COUPLE.match(row["NAME"]):
            given.update(couple.group(1, 2))
            surnames[couple[3]] = None
    first, last = [name for name, count in given.items() if count > 1], list(surnames)
    return _distinct(f"{rng.choice(first)} {rng.choice(last)}" for _ in range(NAMES))


def _recombined(persons: Sequence[WatchlistEntry], rng: random.Random) -> list[str]:
    """New combinations of listed persons' names, without listed ones."""
    texts = [[name.text for name in one.listed.names] for one in persons]
    parts = [names[0].split(",", 1) for names in texts if "," in names[0]]
    listed = {_words(name) for names in texts for name in names}
    made = (f"{rng.choice(parts)[1].strip()} {rng.choice(parts)[0].strip()}" for _ in range(NAMES))
    return [name for name in _distinct(made) if _words(name) not in listed]


def _distinct(names: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _words(name: str) -> tuple[str, ...]:
    return tuple(sorted(prepare_name(name).words))


def _flagged(held: ScreeningIndex, names: Sequence[str]) -> float:
    return sum(bool(held.find_hits(SubjectDetails("person", (name,)))) for name in names) / len(names)


def _recall(
    held: ScreeningIndex, persons: Sequence[WatchlistEntry], share: float, *, placed: bool
) -> dict[str, tuple[int, int]]:
    """(found, searched) for every variant; ``placed``: the nonprofit is in the list's country of the person."""
    rng = random.Random(SEED)
    counted: dict[str, tuple[int, int]] = {}
    for one in persons:
        for listed in one.listed.names:
            for form, change in KINDS.items() if rng.random() < share else ():
                name = change(listed.text, rng)
                good = found(held, one, "person", name, one.listed.countries if placed else ())
                single = "one word" if len(prepare_name(listed.text).words) < 2 else "more words"
                for group in (form, "weak" if listed.kind == "weak_alias" else "strong", single, "all"):
                    right, asked = counted.get(group, (0, 0))
                    counted[group] = right + good, asked + 1
    return counted


def measure(share: float) -> list[str]:
    """Both, in Markdown."""
    rng, held, persons = random.Random(SEED), compared(), of("person")
    lines = [
        "### Persons by their names alone, as applicants are compared",
        "",
        "| names | of | flagged |",
        "|---|---|---|",
    ]
    for title, names in (("common ones", _common(rng)), ("of listed persons, recombined", _recombined(persons, rng))):
        lines.append(f"| {title} | {len(names):,} | {_flagged(held, names):.2%} |")
    alone, placed = (_recall(held, persons, share, placed=where) for where in (False, True))
    lines += [
        "",
        "| listed names found again | of | by the name alone | of a nonprofit in their country |",
        "|---|---|---|---|",
    ]
    for form, (right, asked) in alone.items():
        there = placed[form]
        lines.append(f"| {form} | {asked:,} | {right / asked:.2%} | {there[0] / there[1]:.2%} |")
    return lines

"""Persons of whom nothing but the name is known, as applicants are: how many are flagged, how many found again.

Names of nobody in particular: given names and surnames of couples after whom bodies of the master file are called, put
together at random; and given names and surnames of listed persons put together anew, the hardest there are.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from almoner.screening.matching.domain import Entry, Subject
from almoner.screening.matching.screening import Watchlist, match, subject
from almoner.screening.matching.words import prepare
from bench.matching_lists import Listed
from bench.matching_screening import master_file
from bench.matching_slips import KINDS

SEED: Final = 20261122
NAMES: Final = 5_000
_COUPLE: Final = re.compile(
    r"(?:THE )?([A-Z]{3,}) (?:[A-Z] )?(?:AND|&) ([A-Z]{3,}) (?:[A-Z] )?([A-Z]{3,}) (?:FAMILY |CHARITABLE )*"
    r"(?:FOUNDATION|TRUST|FUND|FDN)\b"
)


def _applicant(name: str, countries: Sequence[str] = ()) -> Subject:
    return replace(subject([name], countries), unplaced=True)


def _common(rng: random.Random) -> list[str]:
    """Names as they are common in the master file."""
    given: Counter[str] = Counter()
    surnames: dict[str, None] = {}
    for row in master_file():
        if found := _COUPLE.match(row["NAME"]):
            given.update(found.group(1, 2))
            surnames[found[3]] = None
    first, last = [name for name, count in given.items() if count > 1], list(surnames)
    return _distinct(f"{rng.choice(first)} {rng.choice(last)}" for _ in range(NAMES))


def _recombined(persons: Sequence[Listed], rng: random.Random) -> list[str]:
    """Names of listed persons put together anew, without those that are listed."""
    parts = [name.split(",", 1) for one in persons for name, _ in one.names[:1] if "," in name]
    listed = {_words(name) for one in persons for name, _ in one.names}
    made = (f"{rng.choice(parts)[1].strip()} {rng.choice(parts)[0].strip()}" for _ in range(NAMES))
    return [name for name in _distinct(made) if _words(name) not in listed]


def _distinct(names: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _words(name: str) -> tuple[str, ...]:
    return tuple(sorted(prepare(name).words))


def _flagged(watched: Watchlist, names: Sequence[str]) -> float:
    return sum(bool(watched.matches(_applicant(name))) for name in names) / len(names)


def _recall(watched: Watchlist, persons: Sequence[Listed], share: float, *, placed: bool) -> dict[str, tuple[int, int]]:
    """(found, asked) of every form; ``placed``: the nonprofit is where the list says that the person is."""
    rng = random.Random(SEED)
    of = {entry.id: place for place, entry in enumerate(watched.entries)}
    found: dict[str, tuple[int, int]] = {}
    for one in persons:
        for name, weak in one.names:
            for form, change in KINDS.items() if rng.random() < share else ():
                sought = _applicant(change(name, rng), sorted(one.countries) if placed else ())
                entry = watched.entries[of[one.id]]
                good = _is_found(watched, sought, of[one.id], entry)
                single = "one word" if len(prepare(name).words) < 2 else "more words"
                for group in (form, "weak" if weak else "strong", single, "all"):
                    right, asked = found.get(group, (0, 0))
                    found[group] = right + good, asked + 1
    return found


def _is_found(watched: Watchlist, sought: Subject, number: int, entry: Entry) -> bool:
    names = watched.candidates(sought).get(number)
    return names is not None and match(sought, entry, names, home=watched.home).flagged


def measure(entries: Sequence[Listed], share: float) -> list[str]:
    """Both, in Markdown."""
    rng = random.Random(SEED)
    persons = [one for one in entries if one.person]
    watched = Watchlist((one.entry() for one in persons), home=["united states"])
    lines = [
        "### Persons by their names alone, as applicants are compared",
        "",
        "| names | of | flagged |",
        "|---|---|---|",
    ]
    for title, names in (("common ones", _common(rng)), ("of listed persons, recombined", _recombined(persons, rng))):
        lines.append(f"| {title} | {len(names):,} | {_flagged(watched, names):.2%} |")
    alone, placed = (_recall(watched, persons, share, placed=where) for where in (False, True))
    lines += [
        "",
        "| listed names found again | of | by the name alone | of a nonprofit in their country |",
        "|---|---|---|---|",
    ]
    for form, (right, asked) in alone.items():
        there = placed[form]
        lines.append(f"| {form} | {asked:,} | {right / asked:.2%} | {there[0] / there[1]:.2%} |")
    return lines

"""Watchlists: how many listed names are found, how many organisations are flagged, how fast, in how much memory.

Everything is screened as in the service: ``ScreeningIndex.find_hits`` over what its own readers read.
"""

import csv
import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

import psutil

from almoner.adapters.watchlist_values import parse_country_code
from almoner.screening.matching.domain import Party
from almoner.screening.matching.domain import PreparedEntry as Compared
from almoner.screening.matching.watchlist_matcher import match_entry, prepare_subject
from almoner.screening.matching.words import prepare_name
from almoner.screening.screenings import programmes
from almoner.screening.screenings.domain import SubjectDetails, WatchlistHit
from almoner.screening.screenings.indexing import ScreeningIndex
from almoner.screening.watchlists.domain import SubjectKind, WatchlistEntry
from bench.matching_lists import SHARED, compared, of
from bench.matching_slips import KINDS

SEED: Final = 20261122
HOME: Final = "USA"
EVIDENCE: Final = {"country", "identifier", "street"}
CORES: Final = 2
_KEPT: Final = ("EIN", "NAME", "STREET", "CITY", "STATE", "ZIP")
ASKED_FROM: Final = ("the list's country", "or its programme's", f"or {HOME}")
"""The country of the organisation with a listed name; the last two apply if the list states no country."""

Row = dict[str, str]
Flagged = tuple[str, str, float, bool]


def master_file() -> Iterator[Row]:
    """The rows of all its parts that are available."""
    for path in sorted((SHARED / "us_irs_bmf" / "2026-04-13").glob("*.csv")):
        with path.open(newline="") as lines:
            yield from csv.DictReader(lines)


def places(entry: WatchlistEntry) -> list[tuple[str, ...]]:
    """The countries of an organisation with the name of an entry, in each way of ``ASKED_FROM``."""
    reported = entry.listed.countries
    concerned = tuple(sorted(programmes.countries_of_sanctions_programmes(entry.listed.programmes)))
    return [reported, reported or concerned or (HOME,), reported or (HOME,)]


def found(held: ScreeningIndex, entry: WatchlistEntry, kind: SubjectKind, name: str, countries: Sequence[str]) -> bool:
    """Whether an entry is among the flagged ones."""
    hits = held.find_hits(SubjectDetails(kind, (name,), countries))
    return any((one.list, one.entry_key) == (entry.list, entry.listed.key) for one in hits)


def recall(share: float) -> list[str]:
    """Every listed name and its variants, with and without the list's countries."""
    rng, held = random.Random(SEED), compared()
    right: list[Counter[str]] = [Counter() for _ in ASKED_FROM]
    asked: Counter[str] = Counter()
    for entry in of("organisation"):
        ways = places(entry)
        for listed in entry.listed.names:
            for form, change in KINDS.items() if rng.random() < share else ():
                name = change(listed.text, rng)
                once = {way: found(held, entry, "organisation", name, way) for way in set(ways)}
                reported = "weak" if listed.kind == "weak_alias" else "strong"
                placed = "listed with a country" if entry.listed.countries else "listed without a country"
                for group in (form, reported, placed, "**all**"):
                    asked[group] += 1
                    for way, counted in zip(ways, right, strict=True):
                        counted[group] += once[way]
    head = f"| names of bodies | of | {' | '.join(ASKED_FROM)} |"
    lines = [head, "|---|---|---|---|---|"]
    for group, count in asked.items():
        lines.append(f"| {group} | {count:,} | {' | '.join(f'{one[group] / count:.2%}' for one in right)} |")
    return lines


def asked_of(row: Row) -> SubjectDetails:
    """An organisation of the master file as monitoring screens it: with its number, address and country."""
    country = HOME if row["STATE"] else parse_country_code(row["CITY"]) or HOME
    address = Party((), row["STREET"], row["CITY"], row["STATE"], row["ZIP"], country)
    return SubjectDetails("organisation", (row["NAME"],), (country,), (row["EIN"],), address)


def _flagged(short: bool, rows: list[Row]) -> tuple[int, float, float, int, list[Flagged]]:
    """(bodies, seconds, those of the processor, MB, flagged: name, listed name, score, has anything but the name)."""
    held = compared(short=short)
    started, worked = time.perf_counter(), time.process_time()
    flagged = [
        (row["NAME"], one.listed_name, one.score, _supported(one))
        for row in rows
        for one in held.find_hits(asked_of(row))
    ]
    seconds, worked = time.perf_counter() - started, time.process_time() - worked
    return len(rows), seconds, worked, psutil.Process().memory_info().rss // 2**20, flagged


def _supported(hit: WatchlistHit) -> bool:
    return any(part.finding in EVIDENCE and part.points > 0 for part in hit.parts)


def _halves(rows: Sequence[Row]) -> Iterator[list[Row]]:
    for half in range(CORES):
        yield list(rows[half::CORES])


def register(count: int | None, *, short: bool = False) -> list[str]:
    """The organisations of the master file against all lists, or the short ones, on two cores."""
    rows = [{key: row[key] for key in _KEPT} for row in islice(master_file(), count)]
    texts = [listed.text for one in of("organisation", short=short) for listed in one.listed.names]
    listed = {prepare_name(text).joined_words_with_stop_words for text in texts}
    bare = [row for row in rows if prepare_name(row["NAME"]).joined_words_with_stop_words in listed]
    context = multiprocessing.get_context("spawn")
    with context.Pool(CORES) as pool:
        parts = pool.map(partial(_flagged, short), _halves(rows))
    flagged = [one for *_, some in parts for one in some]
    alone = [one for one in flagged if not one[3]]
    speed = sum(done / seconds for done, seconds, *_ in parts)
    undisturbed, load = sum(done / worked for done, _, worked, *_ in parts), os.getloadavg()[0]
    memory = max(mebibytes for *_, mebibytes, _ in parts)
    organisations = len({one[0] for one in flagged})
    exactly = sum(any(one[0] == row["NAME"] for one in flagged) for row in bare)
    lines = [
        f"- {len(rows):,} bodies of the master file against {len(texts):,} names of bodies on the lists",
        f"- {speed:,.0f} bodies/s on {CORES} cores at a load of {load:.1f}; {undisturbed:,.0f} by processor time",
        f"- {memory} MB in each process, which holds the lists of persons too, and its half of the bodies",
        f"- flagged: {organisations}, {1e4 * organisations / len(rows):.2f} in 10,000; by the name alone: {len(alone)}",
        f"- with the very name of one on a list, legal forms aside: {len(bare)}, of them flagged: {exactly}",
    ]
    shown = sorted(flagged, key=lambda one: -one[2])[:30]
    return [*lines, "", *(f"  - {name} ~ {other}: {score:.2f}" for name, other, score, _ in shown)]


def aliases() -> list[str]:
    """OFAC's aliases against the main names alone: what strings alone can match."""
    with (SHARED / "benchmarks" / "ofac_aliases.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    lines_out = ["| aliases | of | with the country | without |", "|---|---|---|---|"]
    groups: dict[str, list[tuple[bool, bool]]] = {}
    for row in rows:
        entry = Compared("one", (row["primary_name"],), frozenset(("elsewhere",)))
        known = match_entry(prepare_subject([row["alias"]], ["elsewhere"]), entry).requires_review
        unknown = match_entry(prepare_subject([row["alias"]]), entry).requires_review
        groups.setdefault(row["alias_type"], []).append((known, unknown))
    for kind, found in sorted(groups.items()):
        shares = [sum(one[side] for one in found) / len(found) for side in (0, 1)]
        lines_out.append(f"| {kind} | {len(found):,} | {shares[0]:.1%} | {shares[1]:.1%} |")
    return lines_out


def speed(count: int, *, short: bool) -> list[str]:
    """Organisations against all lists, for ``make bench``."""
    if not SHARED.exists():
        return ["- not measured: the watchlists are not at hand"]
    return register(count, short=short)


def measure(share: float, count: int | None) -> list[str]:
    """All measurements."""
    return [
        "### Listed names found again, in other forms",
        "",
        *recall(share),
        "",
        "### Bodies of the register against the lists",
        "",
        *register(count),
        "",
        "### Aliases of OFAC by the principal name alone",
        "",
        *aliases(),
    ]

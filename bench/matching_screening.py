"""Watch lists: how many listed names are found again, how many bodies are flagged, how fast, in how much memory."""

import csv
import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import psutil

from almoner.screening.matching.domain import Subject
from almoner.screening.matching.screening import Watchlist, match, subject
from almoner.screening.matching.words import prepare
from bench.matching_lists import SHARED, Listed, country, lists
from bench.matching_slips import KINDS

SEED: Final = 20261122
HOME: Final = "united states"
EVIDENCE: Final = {"country", "identifier", "street"}
CORES: Final = 2


Row = dict[str, str]
Flagged = tuple[str, str, float, bool]


def master_file() -> Iterator[Row]:
    """The rows of all its parts that are at hand."""
    for path in sorted((SHARED / "us_irs_bmf" / "2026-04-13").glob("*.csv")):
        with path.open(newline="") as lines:
            yield from csv.DictReader(lines)


def watchlist(entries: Sequence[Listed], *, persons: bool) -> Watchlist:
    """One list of all entries of a kind."""
    return Watchlist((one.entry() for one in entries if one.person == persons), home=[HOME])


def _found(watched: Watchlist, sought: Subject, entry: int) -> bool:
    names = watched.candidates(sought).get(entry)
    return names is not None and match(sought, watched.entries[entry], names, home=watched.home).flagged


def recall(entries: Sequence[Listed], share: float) -> list[str]:
    """Every name of the lists, and each in other forms, with the countries that the list gives."""
    lines = ["| names of | form | of | found |", "|---|---|---|---|"]
    both: Counter[str] = Counter()
    for kind, persons in (("bodies", False), ("persons", True)):
        rng = random.Random(SEED)
        watched = watchlist(entries, persons=persons)
        places = {entry.id: place for place, entry in enumerate(watched.entries)}
        right: Counter[str] = Counter()
        asked: Counter[str] = Counter()
        for one in entries:
            for name, weak in one.names if one.person == persons else ():
                for form, change in KINDS.items() if rng.random() < share else ():
                    sought = subject([change(name, rng)], one.countries)
                    told = "strong" if not weak else "weak"
                    good = _found(watched, sought, places[one.id])
                    for group in (form, told, "all"):
                        asked[group] += 1
                        right[group] += good
        lines += [f"| {kind} | {form} | {asked[form]:,} | {right[form] / asked[form]:.2%} |" for form in asked]
        both["asked"] += asked["all"]
        both["right"] += right["all"]
    return [*lines, f"| both | **all** | {both['asked']:,} | **{both['right'] / both['asked']:.2%}** |"]


def _body(row: Row) -> Subject:
    here = HOME if row["STATE"] else country(row["CITY"])
    return subject([row["NAME"]], [here] if here else [])


def _flagged(work: tuple[list[Listed], list[Row]]) -> tuple[int, float, float, int, list[Flagged]]:
    """(bodies, seconds, those of the processor, MB, flagged: name, listed name, score, has anything but the name)."""
    entries, rows = work
    watched = watchlist(entries, persons=False)
    begun, worked = time.perf_counter(), time.process_time()
    found = []
    for row in rows:
        for one in watched.matches(_body(row)):
            supported = any(part.finding in EVIDENCE and part.points > 0 for part in one.parts)
            found.append((row["NAME"], one.listed, one.score, supported))
    seconds, worked = time.perf_counter() - begun, time.process_time() - worked
    return len(rows), seconds, worked, psutil.Process().memory_info().rss // 2**20, found


def _halves(rows: Sequence[Row]) -> Iterator[list[Row]]:
    for half in range(CORES):
        yield list(rows[half::CORES])


def register(entries: Sequence[Listed], count: int | None) -> list[str]:
    """The bodies of the master file against all lists, on two cores."""
    rows = [{key: row[key] for key in ("NAME", "STATE", "CITY")} for row in islice(master_file(), count)]
    listed = {prepare(name).whole for one in entries if not one.person for name, _ in one.names}
    bare = [row for row in rows if prepare(row["NAME"]).whole in listed]
    context = multiprocessing.get_context("spawn")
    with context.Pool(CORES) as pool:
        parts = pool.map(_flagged, [(list(entries), half) for half in _halves(rows)])
    found = [one for *_, flagged in parts for one in flagged]
    alone = [one for one in found if not one[3]]
    speed = sum(done / seconds for done, seconds, *_ in parts)
    undisturbed, load = sum(done / worked for done, _, worked, *_ in parts), os.getloadavg()[0]
    memory = max(mebibytes for *_, mebibytes, _ in parts)
    names = sum(len(one.names) for one in entries if not one.person)
    flagged = len({one[0] for one in found})
    exactly = sum(any(one[0] == row["NAME"] for one in found) for row in bare)
    lines = [
        f"- {len(rows):,} bodies of the master file against {names:,} names of bodies on the lists",
        f"- {speed:,.0f} bodies/s on {CORES} cores at a load of {load:.1f}; {undisturbed:,.0f} by processor time",
        f"- {memory} MB in each process, its half of the bodies in it",
        f"- flagged: {flagged}, {1e4 * flagged / len(rows):.2f} in 10,000; by the name alone: {len(alone)}",
        f"- with the very name of one on a list, legal forms aside: {len(bare)}, of them flagged: {exactly}",
    ]
    shown = sorted(found, key=lambda one: -one[2])[:30]
    return [*lines, "", *(f"  - {name} ~ {other}: {score:.2f}" for name, other, score, _ in shown)]


def aliases() -> list[str]:
    """Aliases of OFAC against the principal name alone: what strings can know of each other."""
    with (SHARED / "benchmarks" / "ofac_aliases.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    lines_out = ["| aliases | of | with the country | without |", "|---|---|---|---|"]
    groups: dict[str, list[tuple[bool, bool]]] = {}
    for row in rows:
        entry = Listed("one", person=False, names=[(row["primary_name"], False)], countries={"elsewhere"}).entry()
        known = match(subject([row["alias"]], ["elsewhere"]), entry).flagged
        unknown = match(subject([row["alias"]]), entry).flagged
        groups.setdefault(row["alias_type"], []).append((known, unknown))
    for kind, found in sorted(groups.items()):
        shares = [sum(one[side] for one in found) / len(found) for side in (0, 1)]
        lines_out.append(f"| {kind} | {len(found):,} | {shares[0]:.1%} | {shares[1]:.1%} |")
    return lines_out


def speed(count: int = 20_000) -> list[str]:
    """Bodies against all lists, for ``make bench``."""
    if not SHARED.exists():
        return ["- not measured: the watch lists are not at hand"]
    return register(lists(), count)


def measure(share: float, count: int | None) -> list[str]:
    """All of it."""
    entries = lists()
    return [
        "### Listed names found again, in other forms",
        "",
        *recall(entries, share),
        "",
        "### Bodies of the register against the lists",
        "",
        *register(entries, count),
        "",
        "### Aliases of OFAC by the principal name alone",
        "",
        *aliases(),
    ]

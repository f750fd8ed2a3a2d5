"""Watchlists in the service: importing the real files, screening organisations against all of them, and updates.

``python -m bench.screening --write`` puts the figures into docs/evidence/screening.md. ``bench.matching`` measures how
well names are told apart.
"""

import argparse
import asyncio
import csv
import gc
import gzip
import multiprocessing
import os
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final
from uuid import UUID

import psutil

from almoner import wiring
from almoner.platform.database.transactions import Database, Tx
from almoner.screening.matching.domain import Party
from almoner.screening.screenings import service as screenings
from almoner.screening.screenings.domain import ScreenedSubject, SubjectDetails
from almoner.screening.screenings.indexing import ScreeningIndex, index_entry, prepare_subject_details
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists import flows as watchlists_flows
from almoner.screening.watchlists.domain import WatchlistImport
from almoner.settings import Settings
from almoner.sources import WATCHLIST_SOURCES
from almoner.validation.ongoing.matches import service as matches
from bench import bodies, machine
from bench.matching_lists import AFTER, BEFORE, SHARED, others, sdn, version
from bench.matching_lists import read_lists as entries_of_all
from bench.stage import database

REPORT: Final = Path(__file__).parents[1] / "docs" / "evidence" / "screening.md"
CORES: Final = 2
MEBIBYTE: Final = 2**20
NOTES: Final = (
    "Watchlists as the service loads and holds them. Repeat with `python -m bench.screening --write`; the lists lie",
    "beside the repository. How well names are told apart, recall and flagged bodies: [matching](matching.md). Aims:",
    "at least 12,000 bodies/s by processor time on two cores, at most 0.7 kB of memory for each listed name; from",
    "2024-05-01 to 2024-05-03 exactly 7 in and 8 out. On a machine where others work, the figure by processor time",
    "tells what is left when they stop.",
)
_AT_ONCE: Final = 1_000
BEGINNING: Final = 400
_WARMED: Final = 5_000


def _asked(row: bodies.Row) -> SubjectDetails:
    """An organisation as monitoring screens it."""
    city, state = row["CITY"], row["STATE"]
    country = "USA" if state else "GBR"
    address = Party((), street=row["STREET"], city=city, state=state, postcode=row["ZIP"], country=country)
    return SubjectDetails("organisation", (row["NAME"],), (country,), (row["EIN"],), address)


def _bodies(count: int) -> Iterator[bodies.Row]:
    needed = ("EIN", "NAME", "STREET", "CITY", "STATE", "ZIP")
    rows = (row for path in bodies.paths() for row in _rows(path))
    for row in islice(rows, count):
        yield {name: row[name] for name in needed}


def _rows(path: Path) -> Iterator[bodies.Row]:
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as lines:
        yield from csv.DictReader(lines)


async def _load(
    db: Database, code: str, files: Sequence[Path], *, force: bool = False
) -> tuple[WatchlistImport, float]:
    started = time.perf_counter()
    made = await watchlists_flows.import_watchlist(db, WATCHLIST_SOURCES[code], files, force=force)
    return made, time.perf_counter() - started


async def _loaded(db: Database, *, short: bool) -> list[str]:
    """Import the lists, the SDN list in two versions; or the short ones."""
    lines = ["| list | entries | in | out | changed | aside | s |", "|---|---|---|---|---|---|---|"]
    given = [] if short else [("ofac-sdn", sdn(BEFORE)), ("ofac-sdn", sdn(AFTER))]
    given += others(short=short).items()
    for code, files in given:
        made, seconds = await _load(db, code, files)
        counts = (made.entries, made.added, made.removed, made.changed, made.rejected)
        lines.append(f"| {code} {made.version_label} | {' | '.join(f'{one:,}' for one in counts)} | {seconds:.1f} |")
    return lines


def _compare(work: tuple[Settings, int, int]) -> tuple[int, float, float, float, int, int]:
    """(organisations, seconds to index, seconds, processor seconds, bytes, bytes of the lists)."""
    return asyncio.run(_comparing(*work))


async def _comparing(settings: Settings, count: int, half: int) -> tuple[int, float, float, float, int, int]:
    services = await wiring.build_services(settings)
    try:
        for row in _bodies(min(_WARMED, count)):  # the tables of words are needed whatever is listed
            prepare_subject_details(_asked(row))
        before = psutil.Process().memory_info().rss
        screener, begun = Screener(), time.perf_counter()
        lists = await screener.reload_index(services.db)
        held = time.perf_counter() - begun
        gc.collect()
        holding = psutil.Process().memory_info().rss - before
        done, seconds, worked = 0, 0.0, 0.0
        rows = islice(_bodies(count), half, None, CORES)
        while some := [_asked(row) for row in islice(rows, _AT_ONCE)]:
            done, begun, started = done + len(some), time.perf_counter(), time.process_time()
            for asked in some:
                lists.find_hits(asked)
            seconds, worked = seconds + time.perf_counter() - begun, worked + time.process_time() - started
        return done, held, seconds, worked, psutil.Process().memory_info().rss, holding
    finally:
        await services.close()


def _speed(settings: Settings, count: int) -> list[str]:
    with multiprocessing.get_context("spawn").Pool(CORES) as pool:
        parts = pool.map(_compare, [(settings, count, half) for half in range(CORES)])
    clock = sum(done / seconds for done, _, seconds, *_ in parts)
    processor, load = sum(done / worked for done, _, _, worked, *_ in parts), os.getloadavg()[0]
    holding = max(holding for *_, holding in parts)
    done = sum(done for done, *_ in parts)
    return [
        f"- {done:,} bodies of the master file, each with its number, address and country, against all lists",
        f"- {clock:,.0f} bodies/s on {CORES} cores at a load of {load:.1f}; {processor:,.0f} by processor time",
        f"- {max(used for *_, used, _ in parts) / MEBIBYTE:.0f} MiB in each process, which holds the whole service",
        f"- {holding / MEBIBYTE:.1f} MiB came with the lists, with what reading them has left free",
        f"- the lists are held {max(held for _, held, *_ in parts):.1f} s after a start",
    ]


def _memory(*, short: bool) -> list[str]:
    """The memory of the lists, read from their files as the service reads them from its database."""
    for row in _bodies(BEGINNING if short else _WARMED):
        prepare_subject_details(_asked(row))
    gc.collect()
    tracemalloc.start()
    entries = entries_of_all(short=short)
    names, codes = sum(len(one.listed.names) for one in entries), dict.fromkeys(one.list for one in entries)
    stored = [one for one in map(index_entry, entries) if one is not None]
    del entries
    held = ScreeningIndex(stored, [version(code) for code in codes])
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    each = used / names / 1e3
    return [
        f"- {used / MEBIBYTE:.1f} MiB are held of {len(held.versions)} lists: {each:.2f} kB for each of {names:,} names"
    ]


async def _update(db: Database, count: int, *, short: bool) -> list[str]:
    """Watched organisations and a new version: how many are screened again, and how long that takes."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = ([_beginning(name, Path(folder))] if short else sdn(name) for name in (BEFORE, AFTER))
        return await _updated(db, count, before, after)


def _beginning(name: str, folder: Path) -> Path:
    """The first entries of a day's SDN list."""
    made = folder / name
    made.write_text("".join(sdn(name)[0].read_text().splitlines(keepends=True)[:BEGINNING]))
    return made


async def _updated(db: Database, count: int, before: Sequence[Path], after: Sequence[Path]) -> list[str]:
    screener, partner = Screener(), await _partner(db)
    loaded, _ = await _load(db, "ofac-sdn", before, force=True)
    for number, row in enumerate(_bodies(count), 1):
        who = ScreenedSubject("organisation", UUID(int=number), partner)
        await screener.run_with_current_watchlists(db, partial(_look, screener, who, _asked(row)))
    made, _ = await _load(db, "ofac-sdn", after)
    started = time.perf_counter()
    async with db.read() as tx:
        found = list(await screenings.list_subject_ids_affected_by_import(tx, made.id))
        fresh, seen = await screenings.build_import_index(tx, made.id), UUID(int=0)
        while True:
            some, last = await screenings.find_next_subject_ids_with_hits(tx, fresh, seen)
            found += some
            if last is None:
                break
            seen = last
    seconds = time.perf_counter() - started
    moved = f"{made.added} in, {made.removed} out, {made.changed} changed"
    again = f"of {count:,} watched bodies {len(set(found))} are compared again, found in {seconds:.1f} s"
    return [f"- from {loaded.version_label} to {made.version_label}, {moved}: {again}"]


async def _look(screener: Screener, who: ScreenedSubject, asked: SubjectDetails, tx: Tx) -> None:
    await matches.screen(tx, screener, who, asked, monitor=True)


async def _partner(db: Database) -> UUID:
    async with db.write() as tx:
        made = tx.new_id()
        await tx.execute("insert into partner (id, name, created_at) values ($1, 'Bench', $2)", made, tx.now)
        return made


async def _inside(settings: Settings, count: int | None, *, short: bool = False) -> list[str]:
    services = await wiring.build_services(settings)
    try:
        return await (_loaded(services.db, short=short) if count is None else _update(services.db, count, short=short))
    finally:
        await services.close()


def measure(count: int = 20_000, watched: int = 2_000, *, short: bool = False) -> list[str]:
    """All figures, in Markdown; ``short`` uses short lists, and only the start of the long one."""
    if not SHARED.exists():
        return ["- not measured: the watchlists are not at hand"]
    with database() as complete:
        lines = ["### Lists", "", *asyncio.run(_inside(complete, None, short=short)), "", "### Comparing", ""]
        lines += [*_speed(complete, count), *_memory(short=short), "", "### An update", ""]
        return [*lines, *asyncio.run(_inside(complete, watched, short=short))]


def main() -> None:
    """Measure and print; write if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bodies", type=int, default=100_000)
    parser.add_argument("--watched", type=int, default=5_000)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    head = ["# Screening", "", *NOTES, "", "## Measured", ""]
    head += [f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC.", "", *(f"- {fact}" for fact in machine.facts("18")), ""]
    report = "\n".join([*head, *measure(given.bodies, given.watched), ""])
    print(report)
    if given.write:
        REPORT.write_text(report)


if __name__ == "__main__":
    main()

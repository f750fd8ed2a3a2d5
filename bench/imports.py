"""Importing a register (read, stage, check, compare, merge) beside COPY of the same parsed rows into the same tables.

``ALMONER_REGISTER_FILES`` names a folder with ``us_irs_bmf``, which has a folder for each month (``2026-03-09``, ...);
without it the shipped sample of one month is imported. ``python -m bench.imports 1`` runs each once, for millions of
rows (``bench.bodies`` writes them). COPY writes what the import stored, organisations and entries, into the emptied
tables with all their indexes and triggers.
"""

import asyncio
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import asyncpg

from almoner import wiring
from almoner.nonprofits.registers import flows as registers_flows
from almoner.settings import Settings
from almoner.sources import REGISTER_SOURCES
from bench import bodies
from bench.scale import BRIEF, FULL, Scale
from bench.stage import SAMPLE, database, sample

SOURCE = "irs-bmf"
FILES = os.environ.get("ALMONER_REGISTER_FILES")
MEBIBYTE = 2**20
FIRST, SMALL, LATER, BACK, COPY = (
    "`almoner registers import`, first load",
    "`almoner registers import` of a small file beside it",
    "`almoner registers import`, a month later",
    "`almoner registers rollback` of that (its rows)",
    "COPY of the parsed rows",
)
SMALL_ROWS, SMALL_STATE, SMALL_FIRST_NUMBER, SMALL_DAY = 22, "NM", 990_000_000, "2026-04-13"
TABLES = ("organisation", "register_entry")
CLONED = """
    select column_name from information_schema.columns where table_name = $1 and is_generated = 'NEVER'
        and is_identity = 'NO'
    order by ordinal_position
"""


def states() -> list[list[Path]]:
    """The files of each version of the register, oldest first."""
    if FILES is None:
        return [SAMPLE]
    months = sorted((Path(FILES) / "us_irs_bmf").glob("20*-*-*"))
    return [sorted(month.glob("*.csv*")) for month in months]


async def _import(complete: Settings, files: Sequence[Path]) -> tuple[int, float]:
    services = await wiring.build_services(complete)
    try:
        source = REGISTER_SOURCES[SOURCE]
        started = time.perf_counter()
        if files:
            load = await registers_flows.import_files(services.db, source, files, force=True)
        else:
            load = await registers_flows.roll_back_newest_import(services.db, source)
        return load.rows, time.perf_counter() - started
    finally:
        await services.close()


def _measured(complete: Settings, files: Sequence[Path]) -> tuple[int, float, int]:
    """(rows, seconds, peak memory in bytes) of an import in this process, or of a rollback without files."""
    rows, seconds = asyncio.run(_import(complete, files))
    return rows, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def imported(complete: Settings, files: Sequence[Path]) -> tuple[int, float, int]:
    """Like ``_measured``, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measured, complete, files).result()


async def _export(dsn: str, folder: Path) -> dict[str, list[str]]:
    """What an import stored, as files for COPY; returns the columns of each table."""
    owner = await asyncpg.connect(dsn)
    tables = {}
    for table in TABLES:
        tables[table] = [row[0] for row in await owner.fetch(CLONED, table)]
        query = f"select {', '.join(tables[table])} from {table} order by id"
        await owner.copy_from_query(query, output=folder / table, format="binary")
    await owner.close()
    return tables


async def _copy(dsn: str, folder: Path, tables: Mapping[str, Sequence[str]]) -> float:
    """COPY it into the empty tables of another database; returns the seconds."""
    owner = await asyncpg.connect(dsn)
    started = time.perf_counter()
    for table, columns in tables.items():
        await owner.copy_to_table(table, source=folder / table, columns=columns, format="binary")
    seconds = time.perf_counter() - started
    await owner.close()
    return seconds


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows per second of each step, and the peak memory of its process."""

    rows: dict[str, int]
    paces: dict[str, float]
    peak: int


def _run(first: Sequence[Path], later: Sequence[Path]) -> _Run:
    """Import the first version, the next one, and roll it back; then COPY what the first one stored."""
    rows: dict[str, int] = {}
    paces: dict[str, float] = {}
    peak = 0
    with tempfile.TemporaryDirectory(prefix="almoner-bench-") as name:

        def take(step: str, files: Sequence[Path]) -> None:
            nonlocal peak
            rows[step], seconds, used = imported(complete, files)
            paces[step], peak = rows[step] / seconds, max(peak, used)

        with database() as complete:
            take(FIRST, first)
            tables = asyncio.run(_export(complete.owner_dsn, Path(name)))
            small = Path(name) / f"small-{SMALL_DAY}.csv"
            bodies.write_state(SMALL_ROWS, small, SMALL_STATE, SMALL_FIRST_NUMBER)
            take(SMALL, [small])
            if later:
                take(LATER, later)
                take(BACK, ())
        with database() as complete:
            rows[COPY] = rows[FIRST]
            paces[COPY] = rows[FIRST] / asyncio.run(_copy(complete.owner_dsn, Path(name), tables))
    return _Run(rows, paces, peak)


def _line(name: str, rows: int, paces: Sequence[float], bare: float) -> str:
    middle = statistics.median(paces)
    return f"| {name} | {rows:,} | {middle:,.0f} ({min(paces):,.0f}-{max(paces):,.0f}) | {middle / bare:.2f} |"


def measure(scale: Scale) -> list[str]:
    """A Markdown table: medians with the range."""
    first, *others = states()[-2:]
    names = {path.name for path in first}
    later = [path for path in others[0] if path.name in names] if others else []
    with sample(scale) as beginnings:
        if scale is BRIEF:
            first, later = beginnings, []
        runs = [_run(first, later) for _ in range(scale.repeat)]
    bare = statistics.median(run.paces[COPY] for run in runs)
    lines = ["| the register of the IRS | rows | rows/s | x COPY |", "|---|---|---|---|"]
    lines += [_line(step, runs[0].rows[step], [run.paces[step] for run in runs], bare) for step in runs[0].rows]
    return [*lines, "", f"- peak memory of the importing process: {max(run.peak for run in runs) / MEBIBYTE:.0f} MiB"]


if __name__ == "__main__":
    print("\n".join(measure(replace(FULL, repeat=int(sys.argv[1])) if len(sys.argv) > 1 else FULL)))

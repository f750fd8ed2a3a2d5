"""Import of a register (read, guard, merge, provenance) beside COPY of the same parsed rows into the same table."""

import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg

import almoner
from almoner import migrations, settings, wiring
from almoner.cli import local
from almoner.nonprofits.registers import flows
from almoner.settings import Settings

SAMPLE = sorted((Path(almoner.__file__).parent / "samples" / "us_irs_bmf").rglob("*.csv.gz"))
SOURCE = "irs-bmf"
EMPTY = (
    "truncate organisation, organisation_word, register_load, register_part, register_file, register_quarantine cascade"
)
CLONED = """
    select column_name from information_schema.columns where table_name = 'organisation' and is_generated = 'NEVER'
    order by ordinal_position
"""


async def _import(complete: Settings) -> tuple[int, float]:
    house = await wiring.open_house(complete)
    try:
        started = time.perf_counter()
        load = await flows.import_files(house.db, wiring.REGISTER_SOURCES[SOURCE], SAMPLE)
        return load.rows, time.perf_counter() - started
    finally:
        await house.close()


async def _copy(owner: "asyncpg.Connection[Any]") -> float:
    """COPY what the import stored into the emptied table."""
    columns = [row[0] for row in await owner.fetch(CLONED)]
    rows = [tuple(row) for row in await owner.fetch(f"select {', '.join(columns)} from organisation order by id")]
    await owner.execute(EMPTY)
    started = time.perf_counter()
    await owner.copy_records_to_table("organisation", records=rows, columns=columns)
    return time.perf_counter() - started


async def _rounds(complete: Settings, repeat: int) -> list[str]:
    owner = await asyncpg.connect(complete.owner_dsn)
    imported, copied, rows = [], [], 0
    for _ in range(repeat):
        rows, seconds = await _import(complete)
        imported.append(rows / seconds)
        copied.append(rows / await _copy(owner))
    await owner.close()
    ours, bare = statistics.median(imported), statistics.median(copied)
    return [
        f"| {rows:,} rows of the IRS register | rows/s | x COPY |",
        "|---|---|---|",
        f"| `almoner registers import` | {ours:,.0f} ({min(imported):,.0f}-{max(imported):,.0f}) | {ours / bare:.2f} |",
        f"| COPY of the parsed rows | {bare:,.0f} ({min(copied):,.0f}-{max(copied):,.0f}) | 1.00 |",
    ]


@contextmanager
def database() -> Iterator[Settings]:
    """A migrated, empty database on a server of its own."""
    folder = Path(tempfile.mkdtemp(prefix="almoner-bench-"))
    folder.chmod(0o755)  # PostgreSQL's account must reach it when root measures
    try:
        with local.completed(settings.read(data_dir=folder)) as complete:
            migrations.migrate(complete.owner_dsn)
            yield complete
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(repeat: int) -> list[str]:
    """A table in Markdown; ``repeat`` runs of each in turn, medians with the range."""
    with database() as complete:
        return asyncio.run(_rounds(complete, repeat))


if __name__ == "__main__":
    print("\n".join(measure(3)))

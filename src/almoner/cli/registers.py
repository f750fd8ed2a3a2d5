"""``almoner registers``: loading the registers of nonprofits, and what was loaded."""

import asyncio
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from almoner.cli.access import table
from almoner.cli.database import with_database
from almoner.kit.time import iso
from almoner.nonprofits.registers import flows
from almoner.nonprofits.registers.domain import Load, Progress
from almoner.platform.db import Database
from almoner.wiring import REGISTER_SOURCES

commands = typer.Typer(help="The registers of nonprofits.", no_args_is_help=True)

_SAMPLE: Final = Path(__file__).parents[1] / "samples" / "us_irs_bmf" / "2026-04-13"
_SAMPLE_SOURCE: Final = "irs-bmf"
_SHOW_EVERY_SECONDS: Final = 0.2


@commands.command("import")
def import_register(
    source: Annotated[str, typer.Argument(help=f"The format: {', '.join(REGISTER_SOURCES)}.")],
    files: Annotated[list[Path], typer.Argument(help="Files as published, or compressed with gzip.", exists=True)],
    as_of: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="The day of the data; else the one in a file's or folder's name."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Load files that shrank or are older than what is loaded.")
    ] = False,
) -> None:
    """Load the files of one register as one snapshot: all of them or, when something is wrong, nothing."""
    if source not in REGISTER_SOURCES:
        raise typer.BadParameter(f"{source!r} is not a format of a register: use one of {', '.join(REGISTER_SOURCES)}")
    day = as_of.replace(tzinfo=UTC) if as_of else None

    async def load(database: Database) -> Load:
        return await flows.import_files(
            database, REGISTER_SOURCES[source], files, as_of=day, force=force, report=reporter()
        )

    began = time.monotonic()
    _tell(with_database(load), time.monotonic() - began)


@commands.command("list")
def list_registers(limit: Annotated[int, typer.Option(min=1, help="How many loads to show.")] = 50) -> None:
    """List the loads, newest first: what came from where, and what it changed."""
    loads = with_database(lambda database: flows.list_loads(database, limit))
    titles = ("registry", "data of", "loaded at", "rows", "added", "changed", "gone", "aside", "files")
    table(titles, map(_row, loads))


def _row(load: Load) -> tuple[object, ...]:
    moments = (f"{load.data_as_of:%Y-%m-%d}", iso(load.loaded_at))
    counts = (load.rows, load.added, load.changed, load.gone, load.quarantined)
    return (load.registry_code, *moments, *counts, " ".join(file.name for file in load.files))


async def load_samples(database: Database, stop: asyncio.Event) -> None:
    """Load the shipped sample into a sandbox that has no register; given up when ``stop`` is set."""
    if await flows.list_loads(database, 1):
        return
    typer.echo("Loading the register sample (IRS, DC and WY, 2026-04-13)")
    source = REGISTER_SOURCES[_SAMPLE_SOURCE]
    began = time.monotonic()
    loading = asyncio.create_task(
        flows.import_files(database, source, sorted(_SAMPLE.glob("*.csv.gz")), report=reporter())
    )
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({loading, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if loading.done():
        _tell(loading.result(), time.monotonic() - began)
    else:
        loading.cancel()
        await asyncio.wait({loading})


def reporter() -> Callable[[Progress], None]:
    """Shows progress on a terminal, on one line, and nothing elsewhere."""
    shown = 0.0

    def report(progress: Progress) -> None:
        nonlocal shown
        if not sys.stdout.isatty() or time.monotonic() - shown < _SHOW_EVERY_SECONDS:
            return
        shown = time.monotonic()
        left = f", {progress.seconds_left:.0f} s left" if progress.seconds_left is not None else ""
        pace = f"{progress.rows:,} rows, {progress.rows_per_second:,.0f} rows/s, {progress.share:.0%}"
        text = f"{progress.stage}: {pace}{left}"
        typer.echo(f"\r  {text:<76}", nl=False)

    return report


def _tell(load: Load, seconds: float) -> None:
    if sys.stdout.isatty():
        typer.echo("\r" + " " * 78 + "\r", nl=False)
    if load.status == "unchanged":
        typer.echo("These files are loaded already: nothing to do.")
        return
    typer.echo(
        f"Loaded {load.rows:,} rows of {load.registry_code} as of {load.data_as_of:%Y-%m-%d}: {load.added:,} added, "
        f"{load.changed:,} changed, {load.gone:,} gone, {load.quarantined:,} put aside; "
        f"{seconds:.1f} s, {load.rows / max(seconds, 0.001):,.0f} rows/s."
    )

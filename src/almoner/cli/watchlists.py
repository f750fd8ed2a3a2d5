"""``almoner watchlists``: import the watchlists that organisations and agents are screened against."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from almoner.cli import outputs
from almoner.cli.caller import build_administrator_check
from almoner.cli.database import database_command, run_with_database
from almoner.cli.progress import ProgressLine
from almoner.cli.tables import Part, Table
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Database, Tx
from almoner.screening.watchlists import flows as watchlists_flows
from almoner.screening.watchlists import service as watchlists
from almoner.screening.watchlists.domain import WatchlistImport, WatchlistVersion
from almoner.sources import WATCHLIST_SOURCES, get_watchlist_source

commands = typer.Typer(
    help="Import sanctions and other watchlists.",
    no_args_is_help=True,
)

_SAMPLE: Final = Path(__file__).parents[1] / "samples" / "ofac_sdn" / "2024-05-03"
_SAMPLE_SOURCE: Final = "ofac-sdn-sample"

Source = Annotated[str, typer.Argument(help=f"Watchlist: {', '.join(WATCHLIST_SOURCES)}.")]


@commands.command("import")
def import_list(
    source: Source,
    places: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files from the publisher (.zip is accepted), or folders.", exists=True),
    ],
    published: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            help="Publication date of the list. Default: the date in the list or in the file name.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Import the list even if it is much smaller or older than the current version."),
    ] = False,
) -> None:
    """Import a new version of a watchlist.

    Either all files are imported or none are. Earlier versions are kept, and importing the same files again changes
    nothing. When you import a complete list, its sample list is retired. Files that look damaged are rejected: the
    current version stays in use, `almoner watchlists status` shows the reason, and the exit status is 1.
    """
    reader = get_watchlist_source(source)
    retired: list[str] = []
    day = published.replace(tzinfo=UTC) if published else None
    line = ProgressLine()

    def reading(entries: int) -> None:
        line.show(f"reading: {entries:,} entries")

    async def load(database: Database) -> WatchlistImport:
        who = await build_administrator_check(database)
        async with database.write() as tx:
            await who(tx)  # check the operator before the import, and again at the end

        async def record(tx: Tx, done: WatchlistImport) -> None:
            officer = await who(tx)
            if done.status == "refused":
                reasons = "; ".join(done.reasons)[:2000]
                await officer.record_audit_entry(tx, DEPLOYMENT, "watchlist.refused", done.list, reasons=reasons)
                return
            if done.list != reader.code:
                await officer.record_audit_entry(tx, DEPLOYMENT, "watchlist.retired", done.list, entries=done.removed)
                retired.append(done.list)
                return
            version, entries = done.version_label, done.entries
            await officer.record_audit_entry(
                tx, DEPLOYMENT, "watchlist.imported", done.list, version=version, entries=entries, forced=force
            )

        return await watchlists_flows.import_watchlist(
            database, reader, places, published_at=day, force=force, on_progress=reading, record_audit=record
        )

    typer.echo(f"{reader.title}. Licence: {reader.licence}.")
    if reader.is_format_unverified:
        typer.echo("The import format of this watchlist has never been tested on a real file. Check the imported data.")
    started = time.monotonic()
    try:
        loaded = run_with_database(load)
    finally:
        line.clear()
    _print_summary(loaded, time.monotonic() - started)
    for part in retired:
        typer.echo(f"{part} is retired: {reader.code} contains all of its entries, and past decisions still apply.")


@commands.command("retire")
def retire_list(source: Source) -> None:
    """Retire a watchlist that is withdrawn or no longer used.

    A retired list no longer flags anyone and no longer counts as loaded for its categories. Previous versions of the
    list are kept. To use a retired list again, import it.
    """
    reader = get_watchlist_source(source)

    async def retire(database: Database) -> WatchlistImport:
        who = await build_administrator_check(database)
        async with database.write() as tx:
            officer = await who(tx)
            retired = await watchlists_flows.retire_watchlist(tx, reader.code)
            await officer.record_audit_entry(tx, DEPLOYMENT, "watchlist.retired", reader.code, entries=retired.removed)
            return retired

    retired = run_with_database(retire)
    typer.echo(f"{reader.code} is retired: {retired.removed:,} entries removed.")


@commands.command("status")
@database_command
async def show_status(database: Database) -> list[Part]:
    """Show the version and the last import of each watchlist.

    If no list of a category is loaded, screening never returns a clear result for that category. A list is unverified
    if its import format has never been tested on a real file.
    """
    async with database.snapshot() as tx:
        versions, refused = await watchlists.list_current_versions(tx), await watchlists.list_latest_refused_imports(tx)
    titles = (
        "list", "version", "published", "retrieved", "sha256", "categories", "entries", "added", "removed", "changed",
        "rejected", "verified", "licence",
    )  # fmt: skip
    parts: list[Part] = [Table(titles, [_status_row(one) for one in versions])]
    for one in refused:
        files = " ".join(file.name for file in one.files)
        parts.append(f"Rejected at {iso_timestamp(one.loaded_at)}: {one.list}, {files}")
        parts += [f"  - {reason}" for reason in one.reasons]
    if refused:
        parts.append(
            "Download these files again and import them. If the files are correct although they look damaged, use "
            "`import --force`."
        )
    return parts


async def load_sample_watchlist(database: Database) -> None:
    """Load the included sample list into a sandbox that has no watchlists yet."""
    async with database.read() as tx:
        if await watchlists.list_imports(tx, None, 1):
            return
    typer.echo("Loading the watchlist sample (OFAC SDN, organisations only, 2024-05-03)")
    started = time.monotonic()
    _print_summary(
        await watchlists_flows.import_watchlist(database, get_watchlist_source(_SAMPLE_SOURCE), [_SAMPLE]),
        time.monotonic() - started,
    )


def _status_row(one: WatchlistVersion) -> tuple[object, ...]:
    load = one.load
    moments = (f"{load.published_at:%Y-%m-%d}" if load.published_at else "-", f"{load.retrieved_at:%Y-%m-%d}")
    counts = (load.entries, load.added, load.removed, load.changed, load.rejected)
    verified = "unverified" if one.unverified else "yes"
    categories = " ".join(load.categories)
    return (one.code, one.version_label, *moments, load.sha256.hex(), categories, *counts, verified, one.licence)


def _print_summary(load: WatchlistImport, seconds: float) -> None:
    if load.status == "unchanged":
        typer.echo("These files are already imported, so nothing has changed.")
        return
    typer.echo(
        f"Loaded {load.entries:,} entries of {load.list}, version {load.version_label}: {load.added:,} added, "
        f"{load.removed:,} removed, {load.changed:,} changed, {load.rejected:,} rejected; {seconds:.1f} s."
    )
    for problem in load.problems:
        outputs.echo(f"Rejected: {problem}")
    if more := load.rejected - len(load.problems):
        typer.echo(f"Rejected: {more:,} more")
    if load.kept:
        typer.echo(
            f"Kept {load.kept:,} entries unchanged. Either the rows of these entries were rejected, or the entries "
            "are missing and may belong to a rejected row without a readable number. If no rejected row belongs to "
            "these entries, use --force."
        )

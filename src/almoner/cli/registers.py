"""``almoner registers``: import registers of nonprofits, compare imports and roll them back."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import typer

from almoner import settings
from almoner.cli.caller import build_administrator_check
from almoner.cli.database import database_command, run_with_database, transaction_command
from almoner.cli.progress import ProgressLine
from almoner.cli.tables import MAX_ROWS, FieldList, Limit, Part, Table, print_output
from almoner.kit.ids import RecordIdCodec
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers import service as registers
from almoner.nonprofits.registers.domain import (
    ImportProgress,
    ImportRefused,
    NumberDifference,
    RegisterImport,
    RegisterImportQuarantined,
    SourceStatus,
)
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.outbound import fetching
from almoner.platform.outbound.fetching import FetchProgress
from almoner.sources import REGISTER_SOURCES, get_register_source

commands = typer.Typer(help="Import and roll back registers of nonprofits.", no_args_is_help=True)

_SAMPLES: Final = Path(__file__).parents[1] / "samples"
_SAMPLE_FILES: Final = {
    "irs-bmf": ("us_irs_bmf/2026-04-13", "IRS, DC and WY"),
    "ccni": ("gb_ccni/2025-04-05", "Charity Commission for Northern Ireland, excerpt"),
}
"""The folder and the title of the included sample file of each source."""
_LOAD: Final = "registerload"
_SHOWN: Final = 10
_Rejected = Sequence[tuple[str, int, str, str]]

Source = Annotated[str, typer.Argument(help=f"Source: {', '.join(REGISTER_SOURCES)}, or a mapping file (.toml).")]


@commands.command("import")
def import_register(
    source: Source,
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH|URL...", help="Files from the publisher (.gz and .zip are accepted), folders or https URLs."
        ),
    ],
    as_of: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Date of the data. Default: the date in the files or in a file name."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Import the files even if they look damaged, incomplete or older than the current data."
        ),
    ] = False,
) -> None:
    """Import a register.

    Either all files are imported or none are. If the command is interrupted, run it again to continue. Importing the
    same files again changes nothing. If the files look damaged, the import is quarantined: the current data stays in
    use, `almoner registers status` shows the reason, and the exit status is 1.
    """
    reader = get_register_source(source)
    day = as_of.replace(tzinfo=UTC) if as_of else None
    folder = settings.read_settings().registers_folder / reader.code
    line = ProgressLine()

    async def load(database: Database) -> RegisterImport:
        who = await build_administrator_check(database)
        async with database.write() as tx:
            officer = await who(tx)  # check the operator before the minutes of work, and again at the end
            if (entered := await registers_flows.create_declared_registry(tx, reader)) is not None:
                named = {"name": entered.name, "country": entered.country_code, "by": reader.code}
                await officer.record_audit_entry(tx, DEPLOYMENT, "registry.added", entered.code, **named)
        paths, fetched = await fetching.resolve_files(database, folder, places, _fetching(line))

        async def record(tx: Tx, loaded: RegisterImport) -> None:
            await registers.record_fetched_files(tx, loaded.id, fetched)
            officer = await who(tx)
            if loaded.status == "quarantined":
                await officer.record_audit_entry(
                    tx, DEPLOYMENT, "register.quarantined", loaded.source, reasons="; ".join(loaded.reasons)[:2000]
                )
                return
            data_of = f"{loaded.data_as_of:%Y-%m-%d}"
            await officer.record_audit_entry(
                tx, DEPLOYMENT, "register.imported", loaded.registry_code, data_of=data_of, forced=force
            )

        return await registers_flows.import_files(
            database, reader, paths, as_of=day, force=force, on_progress=_loading(line), record_audit=record
        )

    async def load_with_rejections(database: Database) -> tuple[RegisterImport, _Rejected]:
        try:
            loaded = await load(database)
        except RegisterImportQuarantined as refused:
            print_output(_unread_parts(refused.load, await _rejected(database, refused.load)))
            raise
        return loaded, await _rejected(database, loaded)

    started = time.monotonic()
    try:
        loaded, rejected = run_with_database(load_with_rejections)
    finally:
        line.clear()
    _print_summary(loaded, time.monotonic() - started)
    print_output(_unread_parts(loaded, rejected))


async def _rejected(database: Database, load: RegisterImport) -> _Rejected:
    async with database.read() as tx:
        return await registers.list_rejected_rows(tx, load.id, _SHOWN)


@commands.command("show")
@transaction_command
async def show_load(
    tx: Tx, load: Annotated[str, typer.Argument(help="Import ID, from `almoner registers list`.")]
) -> list[Part]:
    """Show the rows and values that an import could not read.

    The command also lists the organisations that were left unchanged because of these rows and values.
    """
    named = tx.ids.decode(_LOAD, load)
    found = await registers.find_import(tx, named) if named else None
    if found is None:
        raise ImportRefused(f"there is no import {load!r}: see `almoner registers list`")
    return [
        f"{found.source}, data of {found.data_as_of:%Y-%m-%d}: {found.status}, {found.rows:,} rows",
        *_unread_parts(found, await registers.list_rejected_rows(tx, found.id, _SHOWN)),
    ]


@commands.command("list")
@transaction_command
async def list_registers(tx: Tx, limit: Limit = 50) -> Table:
    """List imports, newest first.

    The status of an import is loaded, quarantined (the files looked damaged and were not used) or rolled_back. The
    `added`, `changed` and `removed` columns count registration numbers. `minor` counts registration numbers for which
    only ignored columns changed, such as the tax period. `rejected` counts rows that could not be read, and `ignored`
    counts optional values that could not be read. `kept` counts registration numbers that were left unchanged because
    rows or values could not be read. For details, run `almoner registers show`. `ambiguous` counts links between
    registration numbers that are not clear enough to merge organisations. A source is unverified if its import format
    has never been tested on a real file. Requests that rely on an unverified source are always reviewed by a person.
    """
    loads, unverified = await registers.list_imports(tx, limit), await registers.list_unverified_sources(tx)
    titles = (
        "import", "source", "status", "data of", "loaded at", "rows", "added", "changed", "minor", "removed",
        "rejected", "ignored", "kept", "ambiguous", "verified", "files",
    )  # fmt: skip
    return Table(titles, [_row(tx.ids, load, verified=load.source not in unverified) for load in loads])


def _row(ids: RecordIdCodec, load: RegisterImport, *, verified: bool) -> tuple[object, ...]:
    moments = (f"{load.data_as_of:%Y-%m-%d}", iso_timestamp(load.loaded_at))
    counts = (
        load.rows,
        load.added,
        load.changed,
        load.ignored_changes,
        load.removed,
        load.quarantined,
        _unread(load),
        load.carried_over,
        load.ambiguous,
    )
    names = (
        f"rolls back {ids.encode(_LOAD, load.rolls_back)}"
        if load.rolls_back
        else " ".join(file.name for file in load.files)
    )
    return (
        ids.encode(_LOAD, load.id),
        load.source,
        load.status,
        *moments,
        *counts,
        "yes" if verified else "unverified",
        names,
    )


@commands.command("status")
@transaction_command
async def show_status(tx: Tx) -> list[Part]:
    """Show the age of each register's data, and any quarantined imports.

    A source is unverified if its import format has never been tested on a real file. Requests that rely on an
    unverified source are always reviewed by a person.
    """
    sources = await registers.list_sources(tx)
    titles = (
        "source", "registry", "data of", "age", "oldest", "parts", "rows", "active", "last import", "quarantined",
        "verified",
    )  # fmt: skip
    parts: list[Part] = [Table(titles, [_status_row(one, tx.now) for one in sources])]
    for one in sources:
        for quarantined in one.quarantined_imports:
            import_name = tx.ids.encode(_LOAD, quarantined.import_id)
            parts.append(
                f"In quarantine since {iso_timestamp(quarantined.quarantined_at)}: {import_name} of {one.source}"
            )
            parts += [f"  - {reason}" for reason in quarantined.reasons]
    if any(one.quarantined_imports for one in sources):
        parts.append(
            "Download these files again and import them. If the files are correct although they look damaged, use "
            "`import --force`."
        )
    return parts


def _status_row(one: SourceStatus, now: datetime) -> tuple[object, ...]:
    age = f"{(now - one.data_as_of).days} d" if one.data_as_of else "-"
    days = [f"{day:%Y-%m-%d}" if day else "-" for day in (one.data_as_of, one.oldest_data_as_of)]
    active = one.active_organisation_count if one.lists_organisations else "-"
    verified = "unverified" if one.is_format_unverified else "yes"
    loaded = iso_timestamp_or_none(one.loaded_at) or "-"
    counts = (one.part_count, one.row_count, active, loaded, len(one.quarantined_imports))
    return (one.source, one.registry_code, days[0], age, days[1], *counts, verified)


@commands.command("diff")
@database_command
async def show_difference(
    database: Database,
    old: Annotated[str, typer.Argument(help="Import ID, from `almoner registers list`, or a date such as 2026-03-09.")],
    new: Annotated[str, typer.Argument(help="The later import of the same source: its ID or a date.")],
    source: Annotated[str | None, typer.Option(help="Source of the imports. Required if you compare dates.")] = None,
    rows: Annotated[
        int,
        typer.Option(
            min=0,
            max=MAX_ROWS,
            help="Maximum number of changed registration numbers to list, with organisation names.",
        ),
    ] = 0,
) -> list[Part]:
    """Compare two imports of a source, or two dates.

    The command shows how many registration numbers were added, removed or changed. `moved` counts registration numbers
    that are now in another part of the register, such as another state. `minor` counts registration numbers for which
    only ignored columns changed. A table shows the number of changes in each column.
    """
    async with database.snapshot() as tx:
        before = await registers.resolve_import(tx, source, _load_id_or_date(tx, old))
        after = await registers.resolve_import(tx, source, _load_id_or_date(tx, new))
        own = REGISTER_SOURCES.get(before.source)
        ignored = own.ignored_columns if own else await registers.list_ignored_columns(tx, before.source)
        difference, differing_numbers = await registers.compare_imports(tx, before, after, ignored, rows)
    counts = (
        ("added", difference.added),
        ("removed", difference.removed),
        ("changed", difference.changed),
        ("moved", difference.moved),
        ("renamed", difference.renamed),
        ("minor", difference.ignored_changes),
    )
    parts: list[Part] = [
        f"{before.source}: {before.data_as_of:%Y-%m-%d} to {after.data_as_of:%Y-%m-%d}",
        FieldList([(name, f"{count:,}") for name, count in counts]),
    ]
    if difference.columns:
        parts.append(Table(("column", "numbers"), list(difference.columns.items())))
    if differing_numbers:
        parts.append(Table(("number", "change", "from", "to", "name"), [_different(row) for row in differing_numbers]))
    return parts


def _load_id_or_date(tx: Tx, given: str) -> UUID | datetime:
    if (load_id := tx.ids.decode(_LOAD, given)) is not None:
        return load_id
    try:
        return datetime.strptime(given, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise ImportRefused(
            f"{given!r} is not an import ID or a date: for import IDs, see `almoner registers list`"
        ) from None


def _different(row: NumberDifference) -> tuple[object, ...]:
    names = " -> ".join(dict.fromkeys(name for name in (row.old_name, row.new_name) if name))
    return (row.number, row.change_kind, row.old_part or "-", row.new_part or "-", names)


@commands.command("rollback")
def roll_back(source: Source) -> None:
    """Roll back the newest import of a source.

    The changes are undone, and organisations that the import added become inactive. Nothing is deleted: both the import
    and the rollback stay in the history, and you can import the files again.
    """
    reader = get_register_source(source)

    async def undo(database: Database) -> RegisterImport:
        who = await build_administrator_check(database)

        async def record(tx: Tx, made: RegisterImport) -> None:
            assert made.rolls_back is not None
            officer = await who(tx)
            taken_back = tx.ids.encode(_LOAD, made.rolls_back)
            await officer.record_audit_entry(tx, DEPLOYMENT, "register.rolled_back", made.source, taken_back=taken_back)

        return await registers_flows.roll_back_newest_import(database, reader, record)

    made = run_with_database(undo)
    typer.echo(
        f"Rolled back the newest import of {made.source}. The data is now as of {made.data_as_of:%Y-%m-%d}: "
        f"{made.added:,} restored, {made.changed:,} changed back, {made.removed:,} made inactive."
    )


async def load_sample_registers(database: Database) -> None:
    """Load the included sample data into a sandbox that has no registers yet."""
    loaded = {load.source for load in await registers_flows.list_imports(database)}
    if loaded - _SAMPLE_FILES.keys():
        return
    for code, (folder, name) in _SAMPLE_FILES.items():
        if code not in loaded:
            typer.echo(f"Loading the register sample ({name}, {folder.partition('/')[2]})")
            started, line = time.monotonic(), ProgressLine()
            files = sorted((_SAMPLES / folder).glob("*.csv.gz"))
            load = await registers_flows.import_files(
                database, REGISTER_SOURCES[code], files, on_progress=_loading(line)
            )
            line.clear()
            _print_summary(load, time.monotonic() - started)


def _loading(line: ProgressLine) -> Callable[[ImportProgress], None]:
    def report(progress: ImportProgress) -> None:
        left = f", {progress.seconds_left:.0f} s left" if progress.seconds_left is not None else ""
        pace = f"{progress.rows_read:,} rows, {progress.rows_per_second:,.0f} rows/s, {progress.share_done:.0%}"
        line.show(f"{progress.stage}: {pace}{left}")

    return report


def _fetching(line: ProgressLine) -> Callable[[FetchProgress], None]:
    def report(progress: FetchProgress) -> None:
        of = f" of {progress.total_bytes / 1e6:,.0f}" if progress.total_bytes else ""
        line.show(f"fetching {progress.name}: {progress.received_bytes / 1e6:,.0f}{of} MB")

    return report


def _unread(load: RegisterImport) -> int:
    return sum(column["rows"] for column in load.unreadable_values.values())


def _unread_parts(load: RegisterImport, rejected: _Rejected) -> list[Part]:
    """Tables of rejected rows, ignored values, and the organisations that were not updated because of either."""
    parts: list[Part] = [f"Note: {note}." for note in load.notes]
    if load.quarantined:
        parts.append(f"Rejected {load.quarantined:,} rows that could not be read:")
        for name, line, reason, content in rejected:
            parts.append(f"  {name} line {line}: {reason}{f' ({content})' if content else ''}")
        if load.quarantined > len(rejected):
            parts.append(f"  and {load.quarantined - len(rejected):,} more.")
    if load.carried_over:
        parts.append(
            f"Kept {load.carried_over:,} registration numbers unchanged. Either the rows with these numbers were "
            "rejected, or the numbers are missing and may belong to a rejected row without a readable number. If no "
            "rejected row belongs to these numbers, use --force."
        )
    if load.unreadable_values:
        parts.append(f"Ignored {_unread(load):,} values that could not be read:")
    for column, found in sorted(load.unreadable_values.items(), key=lambda item: (-item[1]["rows"], item[0])):
        examples = "; ".join(f"{name} line {line}: {value}" for name, line, value in found["examples"])
        parts.append(f"  {column}: {found['rows']:,} ({examples})")
    return parts


def _print_summary(load: RegisterImport, seconds: float) -> None:
    if load.status == "unchanged":
        typer.echo("These files are already imported, so nothing has changed.")
        return
    typer.echo(
        f"Loaded {load.rows:,} rows of {load.source} as of {load.data_as_of:%Y-%m-%d}: {load.added:,} added, "
        f"{load.changed:,} changed, {load.ignored_changes:,} with minor changes, {load.removed:,} removed, "
        f"{load.quarantined:,} rejected; "
        f"{seconds:.1f} s, {load.rows / max(seconds, 0.001):,.0f} rows/s."
    )
    if load.ambiguous:
        typer.echo(
            f"{load.ambiguous:,} links of {load.source} are ambiguous and were not used to merge organisations: "
            "they give one organisation several numbers in the same register."
        )

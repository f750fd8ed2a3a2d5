"""``almoner run``: the whole sandbox in one command (architecture 6)."""

import asyncio
import multiprocessing
import socket
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import asyncpg
import typer
import uvloop

from almoner import migrations
from almoner.cli import demo, local, logs, outputs, registers, watchlists
from almoner.cli.allocation import limit_memory_arenas
from almoner.cli.database import run_with_open_database
from almoner.cli.serve import create_stop_and_skip_drain_events, open_server_sockets, prepare_settings, run_process
from almoner.cli.terminal import exit_with_error_message
from almoner.platform.database.copy_detection import DatabaseCopyCheckResult
from almoner.platform.database.transactions import Database, advisory_lock
from almoner.platform.observability.log_lines import LogLineWriter
from almoner.platform.observability.telemetry import Telemetry
from almoner.settings import InvalidSettings, Settings
from almoner.wiring import Services, build_services

_PATIENCE_SECONDS: Final = 120.0
_LOOK_SECONDS: Final = 0.05
_BANNER: Final = """
Almoner is running (press Ctrl-C to stop).

Open
  {baseUrl}  leads to the documentation, the dashboard, the mailbox and the operator console

Keys
  secret           {secretKey}
  publishable      {publishableKey}
  second partner   {secondSecretKey}  (takes GBP)

Try
  curl -s -H 'Authorization: {secretKey}' '{baseUrl}/v1/organisations?query=food+bank&countryCode=USA'

All addresses, keys and logins for the pages are in {file}. The log is {log}.
"""


def run() -> None:
    """Run the complete sandbox on this machine.

    Starts the database, the API, a worker, the hosted pages and the test payment provider. On its first start, Almoner
    loads sample data from two registers and creates two demo partners. Later starts keep the data and take only a few
    seconds. Press Ctrl-C to stop everything. If ALMONER_DATABASE_URL is not set, an embedded PostgreSQL server is used.
    """
    started = time.monotonic()
    outputs.ignore_output_errors()
    limit_memory_arenas()
    given = prepare_settings("server and worker")
    if not given.sandbox:
        raise InvalidSettings(
            [
                (
                    "`almoner run` is only for the sandbox. If ALMONER_ENVIRONMENT is production, run `almoner serve` "
                    "and `almoner worker` instead."
                )
            ]
        )
    sockets, provider_sockets = open_server_sockets(given)
    with local.settings_with_embedded_database(given) as complete:
        _prepare_apart(given, complete, file := given.data_dir.resolve() / "sandbox.json")
        log = given.data_dir.resolve() / "almoner.log"
        with logs.LogFile(log) as log_file:
            lines = LogLineWriter(log_file.write)
            logs.configure_logging(lines, complete.log_level)
            uvloop.run(_live(given, complete, sockets, provider_sockets, Telemetry(lines), file, log, started))
    typer.echo("Stopped.")


def _prepare_apart(settings: Settings, complete: Settings, file: Path) -> None:
    """Prepare the sandbox in a separate process, so that 50 MB of memory are freed afterwards."""
    preparing = multiprocessing.Process(target=_prepare, args=(settings, complete, file))
    preparing.start()
    try:
        preparing.join()
    finally:
        preparing.terminate()
        preparing.join()
    if preparing.exitcode:
        raise typer.Exit(max(preparing.exitcode, 1))


def _prepare(settings: Settings, complete: Settings, file: Path) -> None:
    with exit_with_error_message():
        if settings.database_url is not None:
            asyncio.run(_ensure_app_role(complete.owner_dsn))
        migrations.migrate(complete.owner_dsn, report=lambda step: typer.echo(f"database: applied {step}"))
        asyncio.run(run_with_open_database(complete, partial(_prepare_content, complete, file)))


async def _prepare_content(complete: Settings, file: Path, db: Database, _: DatabaseCopyCheckResult) -> None:
    async with advisory_lock(complete.dsn, "almoner run"):
        await registers.load_sample_registers(db)
        await watchlists.load_sample_watchlist(db)
        local.write_private_json(file, await demo.build_sandbox_json(db, demo.read_sandbox_json(file)))


async def _ensure_app_role(owner_dsn: str) -> None:
    """Create the database role of the service if it is missing in an external database.

    The role needs no login if the service connects as the owner of the tables.
    """
    connection = await asyncpg.connect(owner_dsn)
    try:
        if not await connection.fetchval(
            "select exists (select from pg_roles where rolname = $1)", migrations.APP_ROLE
        ):
            with suppress(asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):  # another start created it
                await connection.execute(f"create role {migrations.APP_ROLE} nologin")
    except asyncpg.InsufficientPrivilegeError:
        return  # `migrate` says what an administrator must do
    finally:
        await connection.close()


async def _live(
    settings: Settings,
    complete: Settings,
    sockets: list[socket.socket],
    provider_sockets: list[socket.socket],
    telemetry: Telemetry,
    file: Path,
    log: Path,
    start: float,
) -> None:
    stop, _ = create_stop_and_skip_drain_events()
    services = await build_services(complete, telemetry=telemetry)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(local.keep_embedded_database_running(settings, stop))
            group.create_task(run_process(services, "server and worker", stop, sockets, provider_sockets))
            await _until_ready(services, stop)
            _show_banner(services, demo.read_sandbox_json(file), file, log, time.monotonic() - start)
    finally:
        await services.close()


async def _until_ready(services: Services, stop: asyncio.Event) -> None:
    """Wait until the service is ready.

    The first start takes longer, because the events that the first imports created must be dispatched.
    """
    patience = time.monotonic() + _PATIENCE_SECONDS
    while not stop.is_set() and time.monotonic() < patience:
        if not [wrong for check in services.checks.values() if (wrong := await check())]:
            return
        await asyncio.sleep(_LOOK_SECONDS)


def _show_banner(services: Services, sandbox: dict[str, Any], file: Path, log: Path, seconds: float) -> None:
    typer.echo(_BANNER.format(**sandbox, file=_short(file), log=_short(log)))
    if (copy := services.db.deployment.identity.copy) is not None:
        typer.echo(copy.message)
    if (notice := services.disk_space_monitor.low_space_warning) is not None:
        typer.echo(notice)
    typer.echo(f"Ready after {seconds:.1f} s.")


def _short(file: Path) -> str:
    """Format a path, relative to the current folder if possible."""
    here = Path.cwd()
    return str(file.relative_to(here)) if file.is_relative_to(here) else str(file)

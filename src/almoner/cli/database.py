"""Open the database, and run commands in transactions."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Annotated, Any, Final, TypeVar

import typer

from almoner import migrations, settings
from almoner.backends import build_storage
from almoner.cli import local
from almoner.cli.tables import Output, print_output
from almoner.kit.time import SystemClock
from almoner.platform import business_clock
from almoner.platform.business_clock import BusinessClock
from almoner.platform.database import copy_detection, key_check, transactions
from almoner.platform.database.copy_detection import DatabaseCopyCheckResult
from almoner.platform.database.transactions import Database, Tx
from almoner.settings import Settings, build_deployment

Result = TypeVar("Result")
Body = Callable[..., Awaitable[Output]]
"""The body of a command.

Its arguments are the values from the decorator and from the command line. It returns the output.
"""

_JSON: Final = inspect.Parameter(
    "as_json",
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    default=False,
    annotation=Annotated[bool, typer.Option("--json", help="Print JSON.")],
)


def build_typer_command(
    function: Body, supplied_argument_count: int, run: Callable[[Body], Output]
) -> Callable[..., None]:
    """Build a Typer command from ``function``.

    ``run`` supplies the first ``supplied_argument_count`` arguments of ``function``. The result is printed after
    ``run`` has finished, so that uncommitted changes are never reported as done.
    """
    signature = inspect.signature(function, eval_str=True)
    parameters = [*list(signature.parameters.values())[supplied_argument_count:], _JSON]

    @wraps(function)
    def command(as_json: bool, **typed: Any) -> None:
        print_output(run(lambda *supplied: function(*supplied, **typed)), as_json=as_json)

    command.__signature__ = signature.replace(parameters=parameters, return_annotation=None)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def database_command(function: Body) -> Callable[..., None]:
    """Declare a command ``body(database, ...)`` that opens its own transactions."""
    return build_typer_command(function, 1, run_with_database)


def transaction_command(function: Body) -> Callable[..., None]:
    """Declare a command ``body(tx, ...)`` that runs in one transaction."""
    return build_typer_command(function, 1, run_in_transaction)


def run_with_database(function: Callable[[Database], Awaitable[Result]]) -> Result:
    """Run a function that opens its own transactions.

    Raises MigrationRefused if the database has a different schema version.
    """

    async def inside(database: Database, _: DatabaseCopyCheckResult) -> Result:
        return await function(database)

    return run_with_database_copy_check(inside)


def run_with_database_copy_check(function: Callable[[Database, DatabaseCopyCheckResult], Awaitable[Result]]) -> Result:
    """Like ``run_with_database``, but also passes to the function whether the database is a restored copy."""
    with local.settings_with_embedded_database(settings.read_settings()) as complete:
        return asyncio.run(run_with_open_database(complete, function))


def run_in_transaction(function: Callable[[Tx], Awaitable[Result]]) -> Result:
    """Run a function in one database transaction."""

    async def inside(database: Database) -> Result:
        async with database.write() as tx:
            return await function(tx)

    return run_with_database(inside)


async def run_with_open_database(
    completed_settings: Settings, function: Callable[[Database, DatabaseCopyCheckResult], Awaitable[Result]]
) -> Result:
    """Open the configured database and pass it to a function, together with whether the database is a restored copy."""
    (await migrations.connect_and_read_state(completed_settings.dsn)).ensure_usable()
    clock = BusinessClock(SystemClock())
    database = await transactions.open_database(
        completed_settings.dsn, build_deployment(completed_settings, clock), pool_size=1
    )
    try:
        await key_check.ensure_master_key(database)
        found = await copy_detection.detect_database_copy_for_command(
            database, build_storage(completed_settings), completed_settings.dsn
        )
        # A sandbox's clock may be ahead of real time; commands use that time, too.
        async with database.read() as tx:
            clock.advance_to_offset((await business_clock.read_offset(tx)).ahead_by)
        return await function(database, found)
    finally:
        await database.close()

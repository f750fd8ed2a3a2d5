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
from almoner.platform.database.copy_detection import CopyFinding
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


def declare_command(body: Body, given: int, run: Callable[[Body], Output]) -> Callable[..., None]:
    """Build a Typer command from ``body``.

    ``run`` supplies the first ``given`` arguments of ``body``. The result is printed after ``run`` has finished, so
    that uncommitted changes are never reported as done.
    """
    signature = inspect.signature(body, eval_str=True)
    parameters = [*list(signature.parameters.values())[given:], _JSON]

    @wraps(body)
    def command(as_json: bool, **typed: Any) -> None:
        print_output(run(lambda *supplied: body(*supplied, **typed)), as_json=as_json)

    command.__signature__ = signature.replace(parameters=parameters, return_annotation=None)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def with_database(body: Body) -> Callable[..., None]:
    """Declare a command ``body(database, ...)`` that opens its own transactions."""
    return declare_command(body, 1, run_with_database)


def in_transaction(body: Body) -> Callable[..., None]:
    """Declare a command ``body(tx, ...)`` that runs in one transaction."""
    return declare_command(body, 1, run_in_transaction)


def run_with_database(use: Callable[[Database], Awaitable[Result]]) -> Result:
    """Run a function that opens its own transactions.

    Raises MigrationRefused if the database has a different schema version.
    """

    async def inside(database: Database, _: CopyFinding) -> Result:
        return await use(database)

    return run_with_database_state(inside)


def run_with_database_state(use: Callable[[Database, CopyFinding], Awaitable[Result]]) -> Result:
    """Like ``run_with_database``, but also passes to the function whether the database is a restored copy."""
    with local.complete_settings(settings.read_settings()) as complete:
        return asyncio.run(use_database(complete, use))


def run_in_transaction(use: Callable[[Tx], Awaitable[Result]]) -> Result:
    """Run a function in one database transaction."""

    async def inside(database: Database) -> Result:
        async with database.write() as tx:
            return await use(tx)

    return run_with_database(inside)


async def use_database(complete: Settings, use: Callable[[Database, CopyFinding], Awaitable[Result]]) -> Result:
    """Open the configured database and pass it to a function, together with whether the database is a restored copy."""
    (await migrations.state(complete.dsn)).refuse_unless_usable()
    clock = BusinessClock(SystemClock())
    database = await transactions.open_database(complete.dsn, build_deployment(complete, clock), size=1)
    try:
        await key_check.ensure_master_key(database)
        found = await copy_detection.inspect_for_command(database, build_storage(complete), complete.dsn)
        # A sandbox's clock may be ahead of real time; commands use that time, too.
        async with database.read() as tx:
            clock.set_offset((await business_clock.read_offset(tx)).ahead)
        return await use(database, found)
    finally:
        await database.close()

"""The database's form: one chain of revisions, applied by the owner of the tables before the service starts.

``versions`` holds plain SQL, one file for each revision; the first runs the files of ``baseline``. The server asks only
for the state, which needs no Alembic.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import asyncpg

APP_ROLE = "almoner_app"
_FOLDER = Path(__file__).parent
REVISIONS = tuple(sorted(file.name.partition("_")[0] for file in (_FOLDER / "versions").glob("r[0-9]*_*.py")))


class MigrationRefused(Exception):
    """The database cannot be brought to this form; the message says what to do."""


@dataclass(frozen=True, slots=True)
class State:
    """The database's revision (None: empty) beside the newest that this code knows."""

    revision: str | None

    @property
    def verdict(self) -> Literal["current", "behind", "newer"]:
        """How database and code stand to each other."""
        if self.revision is not None and self.revision not in REVISIONS:
            return "newer"
        return "current" if self.revision == REVISIONS[-1] else "behind"

    def refuse_unless_current(self) -> None:
        """Raises MigrationRefused unless code and database fit."""
        if self.verdict == "newer":
            raise MigrationRefused(
                f"The database is at revision {self.revision}, newer than this version of Almoner, which ends at "
                f"{REVISIONS[-1]}: start the version that migrated it, or use another database."
            )
        if self.verdict == "behind":
            raise MigrationRefused(
                f"The database is at revision {self.revision or 'none'} and this version of Almoner needs "
                f"{REVISIONS[-1]}: run `almoner migrate`."
            )


async def read_state(connection: "asyncpg.Connection[asyncpg.Record]") -> State:
    """The state of the database behind a connection of either role."""
    if await connection.fetchval("select to_regclass('public.alembic_version') is null"):
        return State(None)
    return State(await connection.fetchval("select version_num from alembic_version"))


async def state(dsn: str) -> State:
    """The state of a database. Raises OSError or asyncpg.PostgresError when it cannot be reached."""
    connection = await asyncpg.connect(dsn)
    try:
        return await read_state(connection)
    finally:
        await connection.close()


def migrate(owner_dsn: str, *, tell: Callable[[str], None] | None = None) -> State:
    """Bring the database to the newest revision; ``tell`` hears the name of each. Not for use inside an event loop.

    Raises MigrationRefused when the database is newer than the code or the role of the service is missing.
    """
    from alembic import command
    from alembic.config import Config

    before = asyncio.run(_prepare(owner_dsn))
    if before.verdict == "behind":
        config = Config()
        config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
        config.attributes.update(dsn=owner_dsn, tell=tell)
        command.upgrade(config, "head")
    return asyncio.run(state(owner_dsn))


async def _prepare(owner_dsn: str) -> State:
    connection = await asyncpg.connect(owner_dsn)
    try:
        found = await read_state(connection)
        if found.verdict == "newer":
            found.refuse_unless_current()
        if not await connection.fetchval("select exists (select from pg_roles where rolname = $1)", APP_ROLE):
            raise MigrationRefused(
                f"The role {APP_ROLE}, which the service connects as, does not exist; as an administrator run: "
                f"create role {APP_ROLE} login password '...'"
            )
        return found
    finally:
        await connection.close()

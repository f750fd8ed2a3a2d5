"""The database's form: one chain of revisions, applied by the owner of the tables before the service starts.

``versions`` holds plain SQL, one file for each revision; the first runs the files of ``baseline``. The server asks only
for the state, which needs no Alembic.
"""

import asyncio
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import asyncpg

APP_ROLE = "almoner_app"
_FOLDER = Path(__file__).parent
BASELINE = tuple(sorted((_FOLDER / "baseline").glob("*.sql")))
_BASELINE_SHA256 = hashlib.sha256(b"".join(file.read_bytes() for file in BASELINE)).hexdigest()
BASELINE_REVISION = f"r0001_{_BASELINE_SHA256[:12]}"
"""Named by its content: it is rewritten until 0.1.0 is released, and a database made by another one must be refused."""
_LATER = sorted(file.name.partition("_")[0] for file in (_FOLDER / "versions").glob("r[0-9]*_*.py"))[1:]
REVISIONS = (BASELINE_REVISION, *_LATER)
_BEFORE_0_1_0 = re.compile(r"\d{4}a?|r0001(_[0-9a-f]{12})?")
"""Revisions from before the baseline of this version; their tables are not carried over."""


class MigrationRefused(Exception):
    """The database cannot be brought to this form; the message says what to do."""


@dataclass(frozen=True, slots=True)
class State:
    """The database's revision (None: empty) beside the newest that this code knows."""

    revision: str | None

    @property
    def verdict(self) -> Literal["current", "behind", "newer", "before 0.1.0"]:
        """How database and code stand to each other."""
        if self.revision is None or self.revision in REVISIONS:
            return "current" if self.revision == REVISIONS[-1] else "behind"
        return "before 0.1.0" if _BEFORE_0_1_0.fullmatch(self.revision) else "newer"

    @property
    def refusal(self) -> str | None:
        """Why code and database do not fit, and what to do; None when they do."""
        if self.verdict == "before 0.1.0":
            return (
                f"The database is at revision {self.revision}, from before Almoner 0.1.0, and cannot be carried over: "
                "start with an empty one (`almoner clean` removes that of a sandbox), which `almoner registers import` "
                "fills again."
            )
        if self.verdict == "newer":
            return (
                f"The database is at revision {self.revision}, newer than this version of Almoner, which ends at "
                f"{REVISIONS[-1]}: start the version that migrated it, or use another database."
            )
        if self.verdict == "behind":
            return (
                f"The database is at revision {self.revision or 'none'} and this version of Almoner needs "
                f"{REVISIONS[-1]}: run `almoner migrate`."
            )
        return None

    def refuse_unless_current(self) -> None:
        """Raises MigrationRefused unless code and database fit."""
        if (refusal := self.refusal) is not None:
            raise MigrationRefused(refusal)


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

    Raises MigrationRefused when the database is newer than the code or from before 0.1.0, or the role of the service is
    missing.
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
        if found.verdict in ("newer", "before 0.1.0"):
            found.refuse_unless_current()
        if not await connection.fetchval("select exists (select from pg_roles where rolname = $1)", APP_ROLE):
            raise MigrationRefused(
                f"The role {APP_ROLE}, which the service connects as, does not exist; as an administrator run: "
                f"create role {APP_ROLE} login password '...'"
            )
        return found
    finally:
        await connection.close()

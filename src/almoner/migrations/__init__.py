"""The database's form: one chain of revisions, applied by the owner of the tables before the service starts.

``versions`` holds plain SQL, one file for each revision; the first runs the files of ``baseline``. The server asks only
for the state, which needs no Alembic.
"""

import asyncio
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import asyncpg

from almoner.platform.database import programs, session_settings

APP_ROLE = "almoner_app"
_FOLDER = Path(__file__).parent
BASELINE = tuple(sorted((_FOLDER / "baseline").glob("*.sql")))
_BASELINE_SHA256 = hashlib.sha256(b"".join(file.read_bytes() for file in BASELINE)).hexdigest()
BASELINE_REVISION = f"r0001_{_BASELINE_SHA256[:12]}"
"""Named by its content: it is rewritten until 0.1.0 is released, and a database made by another one must be refused."""
_LATER = sorted(file.name.partition("_")[0] for file in (_FOLDER / "versions").glob("r[0-9]*_*.py"))[1:]
REVISIONS = (BASELINE_REVISION, *_LATER)
_OLDEST_USABLE_REVISION = "r0012"
"""This code works over a database at this revision or a later one: raised by a release that reads what it adds."""
_OLDEST_COMPATIBLE_REVISION = BASELINE_REVISION
"""Code that ends at this revision or a later one works over the newest: raised by a release that takes away."""
COMPATIBLE_REVISIONS = REVISIONS[REVISIONS.index(_OLDEST_COMPATIBLE_REVISION) :]
"""Kept in the database by ``migrate``, so that older code knows that it may go on."""
STATE_QUERY = """
select version_num as revision, array(select revision from compatible_revision) as compatible from alembic_version
"""
_CONNECT_SECONDS = 15
_BEFORE_0_1_0 = re.compile(r"\d{4}a?|r0001(_[0-9a-f]{12})?")
"""Revisions from before the baseline of this version; their tables are not carried over."""


class MigrationRefused(Exception):
    """The database cannot be migrated; the message says what to do."""


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """The database's revision (None: empty) beside the newest that this code knows.

    ``compatible``: the newest revisions of the code that works over the database, as it says itself.
    ``missing_settings``: what sessions of this role lack.
    """

    revision: str | None
    compatible: frozenset[str] = frozenset()
    missing_settings: tuple[str, ...] = ()

    @property
    def compatibility(self) -> Literal["current", "compatible", "behind", "newer", "before 0.1.0"]:
        """Whether the database and the code fit together."""
        if self.revision is None:
            return "behind"
        if self.revision in REVISIONS:
            if self.revision == REVISIONS[-1]:
                return "current"
            usable = REVISIONS.index(self.revision) >= REVISIONS.index(_OLDEST_USABLE_REVISION)
            return "compatible" if usable else "behind"
        if _BEFORE_0_1_0.fullmatch(self.revision):
            return "before 0.1.0"
        return "compatible" if REVISIONS[-1] in self.compatible else "newer"

    @property
    def is_upgradable(self) -> bool:
        """Whether this code can bring the database further."""
        return self.revision is None or self.revision in REVISIONS[:-1]

    @property
    def refusal_message(self) -> str | None:
        """Why code and database do not fit, and what to do; None when they do."""
        if self.compatibility == "before 0.1.0":
            return (
                f"The database is at revision {self.revision}, from before Almoner 0.1.0, and cannot be carried over: "
                "start with an empty one (`almoner clean` removes that of a sandbox), which `almoner registers import` "
                "fills again."
            )
        if self.compatibility == "newer":
            return (
                f"The database is at revision {self.revision}, newer than this version of Almoner, which ends at "
                f"{REVISIONS[-1]}: start the version that migrated it, or use another database."
            )
        if self.compatibility == "behind":
            return (
                f"The database is at revision {self.revision or 'none'} and this version of Almoner needs "
                f"{REVISIONS[-1]}: run `almoner migrate`."
            )
        return None

    def ensure_usable(self) -> None:
        """Raises MigrationRefused unless code and database fit."""
        if (refusal := self.refusal_message) is not None:
            raise MigrationRefused(refusal)

    def ensure_servable(self) -> None:
        """Raises MigrationRefused, for a server or worker also where sessions lack a setting."""
        self.ensure_usable()
        if self.missing_settings:
            raise MigrationRefused(
                f"Sessions of the database lack settings ({'; '.join(self.missing_settings)}): run `almoner migrate` "
                "as the owner of the database, and remove other values of the role (`alter role ... reset ...`)."
            )


async def ensure_supported_server(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Raises MigrationRefused for a server that is too old, or that takes no writes."""
    version = connection.get_server_version().major
    if not programs.OLDEST <= version <= programs.NEWEST:
        raise MigrationRefused(
            f"The database is PostgreSQL {version}, and Almoner needs {programs.OLDEST} to {programs.NEWEST}: "
            "use a server of such a version."
        )
    row = await connection.fetchrow(
        "select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as read_only,"
        " current_setting('server_encoding') as encoding"
    )
    assert row is not None
    if row["encoding"] != "UTF8":
        raise MigrationRefused(
            f"The database has the encoding {row['encoding']}, in which not every name can be stored: create one with "
            "encoding 'UTF8' template template0."
        )
    if row["standby"]:
        raise MigrationRefused(
            "The database server is a hot stand-by, which takes no writes: connect to the primary server. With several "
            "addresses, add ?target_session_attrs=read-write to the URL, so that the primary is found."
        )
    if row["read_only"]:
        raise MigrationRefused(
            "The database is read-only (default_transaction_read_only is on): turn this off for the role and the "
            "database."
        )


async def read_state(connection: "asyncpg.Connection[asyncpg.Record]") -> DatabaseState:
    """The state of the database behind a connection of either role."""
    if await connection.fetchval("select to_regclass('public.alembic_version') is null"):
        return DatabaseState(None)
    if await connection.fetchval("select to_regclass('public.compatible_revision') is null"):
        return DatabaseState(await connection.fetchval("select version_num from alembic_version"))
    found = await connection.fetchrow(STATE_QUERY)
    return DatabaseState(None) if found is None else DatabaseState(found["revision"], frozenset(found["compatible"]))


async def connect_and_read_state(dsn: str) -> DatabaseState:
    """The state of a database. Raises OSError or asyncpg.PostgresError when it cannot be reached."""
    connection = await asyncpg.connect(dsn, timeout=_CONNECT_SECONDS)
    try:
        await ensure_supported_server(connection)
        found = await read_state(connection)
        if found.revision is None:
            return found
        return replace(found, missing_settings=tuple(await session_settings.list_missing_session_settings(connection)))
    finally:
        await connection.close()


def migrate(owner_dsn: str, *, report: Callable[[str], None] | None = None) -> DatabaseState:
    """Migrate the database to the newest revision; ``report``: called with the name of each step.

    Raises MigrationRefused when the database is newer than the code or from before 0.1.0, or the role of the service is
    missing.
    """
    from alembic import command
    from alembic.config import Config

    before = asyncio.run(_prepare(owner_dsn))
    if before.is_upgradable:
        config = Config()
        config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
        config.attributes.update(dsn=owner_dsn, tell=report)
        command.upgrade(config, "head")
    asyncio.run(_keep_session_settings(owner_dsn))
    return asyncio.run(connect_and_read_state(owner_dsn))


async def _keep_session_settings(owner_dsn: str) -> None:
    """Those that are missing; for the database, since its owner may not change another role."""
    connection = await asyncpg.connect(owner_dsn)
    try:
        if await session_settings.list_missing_session_settings(connection):
            await session_settings.apply_session_settings(connection)
    except asyncpg.InsufficientPrivilegeError:
        commands = "; ".join(await session_settings.session_setting_statements(connection))
        raise MigrationRefused(
            "The role of ALMONER_OWNER_DATABASE_URL does not own the database, and cannot keep the settings of its "
            f"sessions; as an administrator run: {commands}"
        ) from None
    finally:
        await connection.close()


async def _prepare(owner_dsn: str) -> DatabaseState:
    connection = await asyncpg.connect(owner_dsn, timeout=_CONNECT_SECONDS)
    try:
        await ensure_supported_server(connection)
        found = await read_state(connection)
        if found.compatibility in ("newer", "before 0.1.0"):
            found.ensure_usable()
        if not await connection.fetchval("select exists (select from pg_roles where rolname = $1)", APP_ROLE):
            raise MigrationRefused(
                f"The role {APP_ROLE}, which the service connects as, does not exist; as an administrator run: "
                f"create role {APP_ROLE} login password '...'"
            )
        if found.is_upgradable:
            await _refuse_unless_owner(connection, new=found.revision is None)
        return found
    finally:
        await connection.close()


async def _refuse_unless_owner(connection: "asyncpg.Connection[asyncpg.Record]", *, new: bool) -> None:
    """Raises MigrationRefused for a role that cannot make the tables, or does not own those that there are."""
    row = await connection.fetchrow(
        "select current_user as role, has_schema_privilege('public', 'create') as may_create"
    )
    assert row is not None
    owner = (
        None
        if new
        else await connection.fetchval(
            "select relowner::regrole::text from pg_class where oid = 'public.alembic_version'::regclass"
            " and not pg_has_role(relowner, 'member')"
        )
    )
    if row["may_create"] and owner is None:
        return
    raise MigrationRefused(
        f"The role {row['role']} cannot change the tables"
        + (f", which belong to {owner}" if owner else ", as it may create none in the schema public")
        + ": set ALMONER_OWNER_DATABASE_URL to the URL of this database for its owner."
    )

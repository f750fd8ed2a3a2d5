"""The database checks of `almoner check`: rights, settings, clock, master key. Changes nothing."""

import hmac
from dataclasses import dataclass
from typing import Final

import asyncpg

from almoner.kit.time import Clock
from almoner.platform.crypto import Vault
from almoner.platform.database.key_check import master_key_check_value

_CONNECTIONS_LEFT: Final = 5


@dataclass(frozen=True, slots=True)
class DatabaseReport:
    """The findings about a database. ``missing_rights``: tables on which the role has no rights."""

    version: str
    role: str
    is_owner: bool
    missing_rights: tuple[str, ...]
    encoding: str
    max_connections: int
    clock_difference_seconds: float
    master_key_matches: bool | None


async def inspect_database(dsn: str, vault: Vault, clock: Clock) -> DatabaseReport:
    """Check a migrated database.

    Raises OSError or asyncpg.PostgresError. ``clock_difference_seconds``: the difference between its clock and ours.
    ``master_key_matches``: None if no process has stored a check value yet.
    """
    connection = await asyncpg.connect(dsn)
    try:
        before = clock.real_now()
        row = await connection.fetchrow(
            """
            select current_setting('server_version') as version, current_user as role, clock_timestamp() as now,
                pg_has_role(c.relowner, 'member') as is_owner, current_setting('server_encoding') as encoding,
                current_setting('max_connections')::integer as max_connections,
                array(
                    select relname::text from pg_class
                    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relpersistence = 'p'
                        and not has_table_privilege(oid, 'select, insert, update, delete') order by relname
                ) as missing_rights
            from pg_class c where c.oid = 'public.alembic_version'::regclass
            """
        )
        after = clock.real_now()
        assert row is not None
        stored = await connection.fetchval("select value from master_key_check")
    finally:
        await connection.close()
    return DatabaseReport(
        row["version"],
        row["role"],
        row["is_owner"],
        tuple(row["missing_rights"]),
        row["encoding"],
        row["max_connections"],
        (row["now"] - before - (after - before) / 2).total_seconds(),
        None if stored is None else hmac.compare_digest(stored, master_key_check_value(vault)),
    )


def has_enough_connections(report: DatabaseReport, pool_size: int) -> bool:
    """Whether the server has enough connections for a pool of this size, commands and another process."""
    return report.max_connections >= pool_size + _CONNECTIONS_LEFT

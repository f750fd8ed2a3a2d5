"""Settings that every session of the service needs: stored with the database, so that a pooler can be used.

Poolers refuse or forget settings that a client sends when it connects. ``almoner migrate`` stores them with the
database, and each process checks them at startup.
"""

from typing import Final

import asyncpg

SESSION_SETTINGS: Final = {
    "jit": "off",  # compiling takes longer than any of our statements
    "idle_in_transaction_session_timeout": "10min",  # a stalled process does not hold its locks longer
    "pg_trgm.similarity_threshold": "0.2",  # the similarity of a word with two typos is that low
    "work_mem": "16MB",  # the rows of a common word fit into one bitmap, without rechecks
}
_COMPARED: Final = """
select current_setting('jit') as jit, current_setting('pg_trgm.similarity_threshold', true) as similarity,
    current_setting('idle_in_transaction_session_timeout') as idle, current_setting('work_mem') as memory,
    pg_size_bytes(current_setting('work_mem')) >= pg_size_bytes($1) as has_memory
"""


async def list_missing_session_settings(connection: "asyncpg.Connection[asyncpg.Record]") -> list[str]:
    """The settings that sessions of this role lack in this database, as `name is value, not value`."""
    found = await connection.fetchrow(_COMPARED, SESSION_SETTINGS["work_mem"])
    assert found is not None
    compared = {
        "jit": (found["jit"], found["jit"] == "off"),
        "idle_in_transaction_session_timeout": (found["idle"], found["idle"] != "0"),
        "pg_trgm.similarity_threshold": (found["similarity"] or "0.3", found["similarity"] == "0.2"),
        "work_mem": (found["memory"], found["has_memory"]),
    }
    return [f"{name} is {value}, not {SESSION_SETTINGS[name]}" for name, (value, fits) in compared.items() if not fits]


async def apply_session_settings(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Store the settings with the database. Raises asyncpg.InsufficientPrivilegeError if the role does not own it."""
    for statement in await session_setting_statements(connection):
        await connection.execute(statement)


async def session_setting_statements(connection: "asyncpg.Connection[asyncpg.Record]") -> list[str]:
    """The statements that the owner of the database must run."""
    await connection.fetchval("select show_limit()")  # loads pg_trgm, so that its settings are known
    name = await connection.fetchval("select quote_ident(current_database())")
    return [f"alter database {name} set {setting} = '{value}'" for setting, value in SESSION_SETTINGS.items()]

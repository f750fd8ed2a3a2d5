"""How Alembic runs the revisions: over asyncpg, each in a transaction of its own, one migration at a time."""

import asyncio
from typing import Any, cast

import asyncpg
from alembic import context
from alembic.ddl.postgresql import PostgresqlImpl
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool
from sqlalchemy.util import await_only

from almoner.migrations import APP_ROLE, COMPATIBLE_REVISIONS, REVISIONS

# A migration waits briefly for its locks, since all writers queue behind it, and never runs unnoticed for hours. A
# revision that needs longer says `set local statement_timeout` itself.
_LIMITS = "set local lock_timeout = '5s'; set local statement_timeout = '10min'"
_ONE_AT_A_TIME = "select pg_try_advisory_lock(hashtext('almoner migrate'))"
_TURN_SECONDS = 0.2
_COMPATIBLE = """
with outdated as (delete from compatible_revision where revision <> all($1::text[]))
insert into compatible_revision select unnest($1::text[]) on conflict do nothing
"""


class PlainSql(PostgresqlImpl):
    """Runs the text of a revision as it is: several statements, colons and percent signs are no parameters."""

    __dialect__ = "postgresql"

    def execute(self, sql: Any, execution_options: dict[str, Any] | None = None) -> None:
        """Run a text through the driver's simple protocol, anything else as Alembic does."""
        if not isinstance(sql, str):
            super().execute(sql, execution_options)
            return
        if self.connection is None:
            raise RuntimeError("revisions run on a connection; there is no output of SQL to a file")
        self.connection.exec_driver_sql("select 1")  # SQLAlchemy begins the transaction with its first statement
        driver = self.connection.connection.driver_connection
        # What runs outside of a transaction (CREATE INDEX CONCURRENTLY) waits for others and holds up nobody.
        limits = f"{_LIMITS}; " if driver.is_in_transaction() else ""  # type: ignore[union-attr]
        await_only(driver.execute(limits + sql))  # type: ignore[union-attr]


def _apply(connection: Any) -> None:
    tell = context.config.attributes.get("tell")

    def on_version_apply(step: Any, **_others: Any) -> None:
        if tell is not None:
            tell(f"{step.up_revision_id} {step.up_revision.doc}")

    # Asked again and again: an index that is built CONCURRENTLY waits for every statement that is under way, also for
    # one that would wait here.
    while not connection.exec_driver_sql(_ONE_AT_A_TIME).scalar():
        connection.commit()
        await_only(asyncio.sleep(_TURN_SECONDS))
    connection.commit()
    context.configure(
        connection=connection, transaction_per_migration=True, on_version_apply=cast("Any", on_version_apply)
    )
    with context.begin_transaction():
        context.run_migrations()
    connection.exec_driver_sql(f"grant select on alembic_version to {APP_ROLE}")
    if context.get_head_revision() == REVISIONS[-1]:  # tests bring chains of their own
        connection.exec_driver_sql(_COMPATIBLE, (list(COMPATIBLE_REVISIONS),))
    connection.commit()


async def _run() -> None:
    dsn = context.config.attributes["dsn"]
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(dsn), poolclass=NullPool
    )
    try:
        async with engine.connect() as connection:
            await connection.run_sync(_apply)
    finally:
        await engine.dispose()


asyncio.run(_run())

"""Make the database refuse to write a row."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from tests.support.database import TestDatabase

_REFUSE = """
create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
create trigger refuse before {event} on {table} for each row when ({when}) execute function refuse()
"""


@asynccontextmanager
async def refusing(database: TestDatabase, event: str, table: str, when: str) -> AsyncIterator[None]:
    """Refuse an ``insert`` or ``update`` of rows of a table during the block."""
    owner = await asyncpg.connect(database.owner_dsn)
    try:
        await owner.execute(_REFUSE.format(event=event, table=table, when=when))
        yield
        await owner.execute("drop function refuse() cascade")
    finally:
        await owner.close()

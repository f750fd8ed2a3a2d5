"""A service with an empty database, reused by one test after another.

Starting one is quick, but in a new database every statement is planned and every catalogue read again, which takes most
of a short test. So one service stays, and what a test left is removed: rows, moved clocks, log lines, heads of the
audit chains, documents.
"""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import permutations
from pathlib import Path
from typing import Final, NamedTuple

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

from tests.support import card_numbers
from tests.support.service import Service

# Rows created by migrations and the service's start are saved, and restored if a test changed them. The row of the
# deployment stays as it is: if another transaction wrote it, the database would count as restored from a dump.
_TABLES: Final = """
select t.oid::regclass::text as name, string_agg(quote_ident(a.attname), ', ') as columns
from pg_class t join pg_attribute a on a.attrelid = t.oid
where t.relnamespace in ('public'::regnamespace, 'provider_test'::regnamespace) and t.relkind = 'r'
    and t.oid <> 'deployment'::regclass and a.attnum > 0 and a.attgenerated = '' and not a.attisdropped
group by t.oid
"""


class Table(NamedTuple):
    """A table of the service, its columns, and whether rows of it were saved."""

    name: str
    columns: str
    saved: bool

    @property
    def kept(self) -> str:
        """Where its rows were saved."""
        return f'kept."{self.name}"'

    @property
    def changed(self) -> str:
        """The condition that tells whether a test has left something here."""
        if not self.saved:
            return f"exists (select from {self.name})"
        new, gone = (f"table {one} except table {other}" for one, other in permutations((self.name, self.kept)))
        return f"exists (({new}) union all ({gone}))"

    @property
    def emptying(self) -> str:
        """Removes what it left."""
        into, rows = f"{self.name} ({self.columns})", f"select {self.columns} from {self.kept}"
        restored = f"; insert into {into} overriding system value {rows}" if self.saved else ""
        return f"delete from {self.name}{restored}"


class Emptied:
    """A service that is emptied after each use."""

    def __init__(
        self,
        service: Service,
        superuser: "asyncpg.Connection[asyncpg.Record]",
        tables: Sequence[Table],
        changed: "PreparedStatement[asyncpg.Record]",
        texts: Mapping[str, str],
    ) -> None:
        self._service = service
        self._superuser = superuser
        self._tables = tables
        self._changed = changed
        self._texts = texts

    @asynccontextmanager
    async def used(self) -> AsyncIterator[Service]:
        """The service, emptied."""
        yield self._service
        await self._service.services.api_requests.flush()  # else the next test would find them
        changed = [self._tables[place] for place in await self._changed.fetchval()]
        texts = {one.name: self._texts[one.name] for one in changed if one.name in self._texts}
        found = [*await card_numbers.in_tables(self._superuser, texts), *card_numbers.in_lines(self._service.lines)]
        if changed:
            await self._superuser.execute("; ".join(one.emptying for one in changed))
        self._remove_files()
        self._service.lines.clear()
        self._service.clock.set_back()
        assert found == [], f"card numbers: {found}"

    def _remove_files(self) -> None:
        """Heads, and documents with what lies in their trash; the storage still knows whose it is."""
        settings = self._service.services.settings
        documents = Path(settings.documents_url or os.devnull)
        for left in (*settings.audit_heads_folder.iterdir(), *documents.glob("??/*"), *documents.glob("trash/*/*")):
            left.unlink()


@asynccontextmanager
async def emptied(service: Service) -> AsyncIterator[Emptied]:
    """Save the service's initial state."""
    superuser = await asyncpg.connect(
        service.database.server.superuser_url(service.database.name), statement_cache_size=1000
    )
    try:
        await superuser.execute("set session_replication_role = replica")  # without foreign keys and triggers
        await service.drain()  # a sweeper creates its rows once, with its first sweep
        await superuser.execute("update schedule set last_run_at = null where last_run_at < now() + interval '1 year'")
        tables = await _save(superuser)
        conditions = ", ".join(f"case when {one.changed} then {place} end" for place, one in enumerate(tables))
        changed = await superuser.prepare(f"select array_remove(array[{conditions}], null)")
        texts = await card_numbers.text_columns(superuser)
        yield Emptied(service, superuser, tables, changed, texts)
    finally:
        await superuser.close()


async def _save(superuser: "asyncpg.Connection[asyncpg.Record]") -> list[Table]:
    """Keep the rows that every test begins with."""
    await superuser.execute("create schema kept")
    tables = []
    for name, columns in await superuser.fetch(_TABLES):
        saved = await superuser.fetchval(f"select exists (select from {name})")
        tables.append(table := Table(name, columns, saved))
        if saved:
            await superuser.execute(f"create table {table.kept} as table {name}")
    return tables

"""A service with an empty database, reused by one test after another.

Starting one is quick, but in a new database every statement is planned and every catalogue read again, which takes most
of a short test. So one service stays, and what a test left is removed: rows, moved clocks, log lines, heads of the
audit chains, documents.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import asyncpg

from tests.support import card_numbers
from tests.support.service import Service

# Rows created by migrations and the service's start are saved, and restored if a test changed them. The row of the
# deployment stays as it is: if another transaction wrote it, the database would count as restored from a dump.
_REMEMBER: Final = """
do $$
declare
    name text;
    filled boolean;
begin
    create schema kept;
    create table kept.columns (name text primary key, columns text);
    for name in
        select t.oid::regclass::text from pg_class t
        where t.relnamespace in ('public'::regnamespace, 'provider_test'::regnamespace) and t.relkind = 'r'
    loop
        execute format('select exists (select from %s)', name) into filled;
        if filled then
            execute format('create table kept.%I as table %s', name, name);
            insert into kept.columns select name, string_agg(quote_ident(attname), ', ')
            from pg_attribute where attrelid = name::regclass and attnum > 0 and attgenerated = '' and not attisdropped;
        end if;
    end loop;
end $$
"""
_EMPTY: Final = """
do $$
declare
    name text;
    same text;
    changed boolean;
begin
    for name, same in
        select t.oid::regclass::text, c.columns
        from pg_class t left join kept.columns c on c.name = t.oid::regclass::text
        where t.relnamespace in ('public'::regnamespace, 'provider_test'::regnamespace) and t.relkind = 'r'
            and pg_relation_size(t.oid) > 0 and t.oid <> 'deployment'::regclass
    loop
        if same is null then
            execute format('delete from %s', name);
            continue;
        end if;
        execute format('select exists ((table %s except table kept.%I) union all (table kept.%I except table %s))',
            name, name, name, name) into changed;
        if changed then
            execute format('delete from %s', name);
            execute format('insert into %s (%s) overriding system value select %s from kept.%I',
                name, same, same, name);
        end if;
    end loop;
end $$
"""


class Emptied:
    """A service that is emptied after each use."""

    def __init__(self, service: Service, superuser: "asyncpg.Connection[asyncpg.Record]") -> None:
        self._service = service
        self._superuser = superuser

    @asynccontextmanager
    async def used(self) -> AsyncIterator[Service]:
        """The service, emptied."""
        yield self._service
        found = [*await card_numbers.seen_by(self._superuser), *card_numbers.in_lines(self._service.lines)]
        await self._superuser.execute(_EMPTY)
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
    superuser = await asyncpg.connect(service.database.server.superuser_url(service.database.name))
    try:
        await superuser.execute("set session_replication_role = replica")  # without foreign keys and triggers
        await service.drain()  # a sweeper creates its rows once, with its first sweep
        await superuser.execute("update schedule set last_run_at = null where last_run_at < now() + interval '1 year'")
        await superuser.execute(_REMEMBER)
        yield Emptied(service, superuser)
    finally:
        await superuser.close()

"""A start reads what search reads, where the database's server can, and waits for it no longer than it may."""

import asyncpg

from almoner.nonprofits.organisations import flows as organisations_flows
from almoner.nonprofits.organisations import store_index as organisations_store_index
from tests.support import factories
from tests.support.database import TestDatabase
from tests.support.service import serving


async def test_what_search_reads_is_read_by_the_service_where_the_server_can(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        await factories.nonprofit(service, name="Quokka Haven")
        async with service.db.read() as tx:
            assert await organisations_store_index.warm_search_cache(tx) == 0  # nobody added the extension
        connection = await asyncpg.connect(service.database.server.superuser_url(service.database.name))
        await connection.execute("create extension pg_prewarm")
        parts = (
            "('organisation_search'::regclass), ('organisation_search_words'), ('organisation_search_term_variants')"
        )
        least = await connection.fetchval(f"select sum(pg_relation_size(part)) from (values {parts}) found (part)")
        async with service.db.read() as tx:
            everything = await organisations_store_index.warm_search_cache(tx)
        await connection.execute("set effective_cache_size = '8kB'")  # no room for what a page of results is made of
        found = await connection.fetchval("select prewarm_search()")
        parts = "('organisation'::regclass), ('organisation_pkey'), ('register_entry_current')"
        shown = await connection.fetchval(f"select sum(pg_relation_size(part)) from (values {parts}) shown (part)")
        await connection.close()
        assert found >= least > 0
        assert everything - found >= shown > 0
        await organisations_flows.warm_search_cache(service.db)
        await organisations_flows.warm_search_cache(
            service.db, timeout_seconds=0
        )  # a disk that is too slow is nobody's trouble


async def test_nobody_else_may_have_it_read(empty_database: TestDatabase) -> None:
    connection = await asyncpg.connect(empty_database.server.superuser_url(empty_database.name))
    try:
        reported = await connection.fetchval(
            "select array_agg(grantee::regrole::text order by 1) from pg_proc, aclexplode(proacl) "
            "where proname = 'prewarm_search' and grantee <> proowner"
        )
    finally:
        await connection.close()
    assert reported == ["almoner_app"]

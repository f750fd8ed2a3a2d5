"""Search reads what the organisations are, whatever was done to its tables."""

import asyncpg

from almoner.nonprofits.organisations import flows as organisations_flows
from almoner.nonprofits.organisations.checks import checks
from almoner.nonprofits.organisations.flows import ReindexReport
from almoner.platform.observability import selfcheck
from tests.support import factories
from tests.support.client import data
from tests.support.database import TestDatabase
from tests.support.service import serving


async def test_what_search_reads_is_mended_and_what_is_right_is_not_touched(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        one, other, third = [
            await factories.nonprofit(service, name=f"Quokka {name}") for name in ("Haven", "Harbour", "Hill")
        ]
        api = service.client((await service.tenant()).publishable)
        connection = await asyncpg.connect(service.database.server.superuser_url(service.database.name))
        await connection.execute("delete from organisation_search where name = 'quokka haven'")
        await connection.execute("update organisation_search set active = false where name = 'quokka harbour'")
        await connection.execute("delete from organisation_search_term where word = 'quokka'")
        await connection.execute("insert into organisation_search_term values ('nobody', 3)")
        broken = await selfcheck.run_selfcheck(service.db, checks)
        assert {finding.check.name for finding in broken.findings} == {
            "organisations.search_index_matches",
            "organisations.search_word_counts_match",
        }
        organisations = await connection.fetchval("select count(*) from organisation")
        untouched = "select ctid::text from organisation_search where name = 'quokka hill'"
        before = await connection.fetchval(untouched)
        assert await organisations_flows.reindex_organisations(service.db, batch_size=2) == ReindexReport(
            organisations, 2, 2
        )
        assert await connection.fetchval(untouched) == before
        assert (await selfcheck.run_selfcheck(service.db, checks)).findings == ()
        assert await organisations_flows.reindex_organisations(service.db) == ReindexReport(organisations, 0, 0)
        found = {row["id"] for row in data(await api.get("/v1/organisations", query="quokka"))}
        assert found == {one, other, third}
        await api.close()
        await connection.close()

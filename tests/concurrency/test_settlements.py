"""Imports of reports beside other work: what the database ends, so that another may pass, is done again (M4)."""

import asyncpg
import pytest

from almoner.giving.accounting.settlements import flows as settlements_flows
from almoner.giving.accounting.settlements.domain import ImportInterrupted
from tests.support import books, factories
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.payouts import uuid_of
from tests.support.reports import imported, report
from tests.support.service import Service, serving

# A sequence counts on when a transaction is rolled back.
IN_THE_WAY = """
create sequence passed;
grant usage on passed to almoner_app;
create function let_pass() returns trigger language plpgsql as $$
begin
    if nextval('passed') <= {} then raise exception 'let pass' using errcode = '{}'; end if;
    return null;
end $$;
create trigger let_pass after insert on settlement_line for each statement execute function let_pass();
"""


async def plant(service: Service, sql: str) -> None:
    connection = await asyncpg.connect(service.database.server.superuser_url(service.database.name))
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


async def payment_of(service: Service, api: Client) -> str:
    made = await factories.donation(service, api)
    async with service.db.read() as tx:
        return str(
            await tx.fetchval(
                "select provider_payment from payment p join donation d on d.payment_id = p.id where d.id = $1",
                uuid_of(service, "donation", made["id"]),
            )
        )


@pytest.mark.parametrize("code", ["40P01", "40001"])
async def test_m4_an_import_that_let_others_pass_goes_on(empty_database: TestDatabase, code: str) -> None:
    async with serving(empty_database) as service:
        api = service.client((await service.tenant()).secret)
        content = report(("payment", await payment_of(service, api), 25.0, 1.0))
        await plant(service, IN_THE_WAY.format(settlements_flows.MAX_ATTEMPTS - 1, code))
        assert (await imported(service, content, "test")).matched_count == 1
        assert await books.balanced(service)
        await api.close()


async def test_m4_an_import_that_never_passes_says_how_to_go_on(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        api = service.client((await service.tenant()).secret)
        content = report(("payment", await payment_of(service, api), 25.0, 1.0))
        await plant(service, IN_THE_WAY.format(settlements_flows.MAX_ATTEMPTS, "40P01"))
        with pytest.raises(ImportInterrupted, match="import the file again"):
            await imported(service, content, "test")
        assert (await imported(service, content, "test")).matched_count == 1
        await api.close()

"""What search reads of an organisation is written twice: by the triggers, and by the check and the mending."""

import re

import asyncpg

from almoner.nonprofits.organisations import store_index as organisations_store_index
from tests.support.database import TestDatabase


def plain(sql: str) -> str:
    return re.sub(r"\s+", "", sql)


async def test_the_triggers_write_what_the_check_compares(empty_database: TestDatabase) -> None:
    connection = await asyncpg.connect(empty_database.owner_dsn)
    try:
        trigger = await connection.fetchval("select prosrc from pg_proc where proname = 'update_search_index'")
        columns = await connection.fetchval(
            "select array_agg(attname::text order by attnum) from pg_attribute "
            "where attrelid = 'organisation_search'::regclass and attnum > 0 and not attisdropped"
        )
    finally:
        await connection.close()
    written = re.findall(r"select(o\.id,.*?)fromnew_rowso", plain(trigger))
    expected = plain(organisations_store_index.EXPECTED_VALUES)
    assert written == [expected, f"{expected})"]  # of what is new, and of what changed
    assert plain(organisations_store_index.SEARCH_COLUMNS) == ",".join(columns)
    assert f"({','.join(columns)})=(selecto.id," in plain(trigger)


async def test_every_column_that_search_reads_is_looked_at_when_it_changes(empty_database: TestDatabase) -> None:
    connection = await asyncpg.connect(empty_database.owner_dsn)
    try:
        trigger = plain(await connection.fetchval("select prosrc from pg_proc where proname = 'update_search_index'"))
    finally:
        await connection.close()
    (compared,) = re.findall(r"\((o\.[a-z_.,]*)\)isdistinctfrom\(([a-z_.,]*)\)", trigger)
    looked_at = set(compared[0].replace("o.", "").split(","))
    assert looked_at == set(compared[1].replace("b.", "").split(","))
    read = set(re.findall(r"o\.([a-z_]+)", organisations_store_index.EXPECTED_VALUES))
    assert read - looked_at == {
        "id",
        "partner_id",
        "registry_id",
        "country_code",
    }  # of these only whose it is changes: publish writes it

"""While the database has no room, reads go on and writes are answered 503; both without anybody's doing afterwards."""

import asyncpg

from tests.support.database import TestDatabase
from tests.support.service import serving

REFUSE = """
create or replace function no_room() returns trigger language plpgsql as
$$ begin raise exception 'could not extend file' using errcode = '{code}'; end $$;
create or replace trigger no_room before insert on category for each row execute function no_room();
"""


async def test_writes_are_answered_503_while_the_disk_is_full_and_reads_go_on(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        client = service.client((await service.tenant()).secret)
        owner = await asyncpg.connect(empty_database.owner_dsn)
        try:
            for code in ("53100", "53200", "58030"):  # disk full, out of memory, input or output error
                await owner.execute(REFUSE.format(code=code))
                answer = await client.post("/v1/categories", {"name": f"without room {code}"})
                assert (answer.status_code, answer.json()["error"]["code"]) == (503, "service_unavailable"), code
                assert answer.headers["retry-after"]
                assert (await client.get("/v1/categories")).status_code == 200
            await owner.execute("drop trigger no_room on category")
            assert (await client.post("/v1/categories", {"name": "with room"})).status_code == 200
        finally:
            await owner.close()
            await client.close()

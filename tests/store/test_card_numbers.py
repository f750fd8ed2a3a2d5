"""H5: what looks for card numbers after each test sees every column of texts, of whatever table."""

import asyncpg

from tests.support import card_numbers
from tests.support.database import TestDatabase


async def test_h5_a_card_number_is_found_wherever_it_is_kept(session_database: TestDatabase) -> None:
    server = session_database.server
    superuser = await asyncpg.connect(server.superuser_url(session_database.name))
    try:
        before = await card_numbers.seen_by(superuser)
        transaction = superuser.transaction()
        await transaction.start()
        await superuser.execute("create table provider_test.kept (a text, b jsonb, c bytea, d varchar(30), e int)")
        await superuser.execute("create materialized view shown as select '4000 0000 0000 0002' as seen")
        await superuser.execute(
            """
            insert into provider_test.kept values ('378282246310005', '["5555555555554444"]', '6011111111111117',
                'paid with 4242 4242 4242 4242', 1)
            """
        )
        found = await card_numbers.seen_by(superuser)
        await transaction.rollback()
        assert before == []
        assert found == [
            "kept: 378282246310005",
            "kept: 5555555555554444",
            "kept: 6011111111111117",
            "kept: 4242424242424242",
            "shown: 4000000000000002",
        ]
    finally:
        await superuser.close()

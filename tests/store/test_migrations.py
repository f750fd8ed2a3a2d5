"""Databases with rows of earlier releases: each revision keeps them, and nobody waits crosswise for it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any, Final, TypeAlias

import asyncpg
import pytest

from almoner import migrations
from almoner.platform.postgres import Server
from tests.support import old_rows
from tests.support.database import TestDatabase, upgrade, upgraded
from tests.support.eventually import eventually

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

CORRECTED = """
insert into validation_request_correction (id, validation_request_id, position, registry_id, registry_name,
                                           registry_number, number_key, corrected_at)
select pg_temp.i(60), id, 1, registry_id, registry_name, registry_number, number_key, pg_temp.at(1)
from validation_request where id = pg_temp.i(11);
update validation_request set registry_number = '2', number_key = '2', corrections = 1, corrected_at = pg_temp.at(1)
where id = pg_temp.i(11);
-- As a server of 0063 evaluates, which does not know the column.
insert into validation_request_evaluation (id, validation_request_id, occasion, outcome, reasons, threshold,
                                           evaluated_at)
values (pg_temp.i(61), pg_temp.i(11), 'asked', 'review', '{unknown_number}', 0.9, pg_temp.at(2));
"""
ANEW = """
insert into bank_statement (id, account, reference, currency, sha256, lines, imported_by, imported_at, part)
select gen_random_uuid(), account, reference, currency, repeat('cd', 32), 0, imported_by, imported_at, 2
from bank_statement where id = pg_temp.i(40);
update application_draft set answers = jsonb_build_object('name', repeat('x', 600000)) where invite_id = pg_temp.i(20);
"""

APPEALED = """
insert into appeal (id, partner_id, validation_submission_id, text, appellant, first_decided_by, status, created_at,
                    due_at, decided_at, decided_by, status_changed_at)
select pg_temp.i(k), pg_temp.i(1), pg_temp.i(16), 'Another choir', 'partner', '{system}', status,
       pg_temp.at(k), pg_temp.at(k + 7), pg_temp.at(k + 1), 'operator_' || k, pg_temp.at(k + 1)
from (values (70, 'reversed'), (71, 'upheld')) given (k, status);
"""
LETTER = """
insert into agent_question (id, verification_id, email, asked_at, expires_at)
values (pg_temp.i(73), pg_temp.i(26), 'office@choir.example', pg_temp.at(), pg_temp.at(7));
update agent_verification set status = 'pending_review', confirmed_at = pg_temp.at(), status_changed_at = pg_temp.at()
where id in (pg_temp.i(25), pg_temp.i(26));
insert into validation_submission_document (id, partner_id, validation_submission_id, document_id, type, created_at)
values (pg_temp.i(74), pg_temp.i(1), pg_temp.i(17), pg_temp.i(19), 'agent_verification', pg_temp.at());
"""


async def connected(database: TestDatabase) -> Connection:
    """As the owner of the tables."""
    return await asyncpg.connect(database.owner_dsn)


async def values(connection: Connection, table: str, column: str, first: str, *numbers: int) -> list[Any]:
    """A column of rows in their order."""
    rows = await connection.fetch(
        f"select {column} from {table} where id = any($1::uuid[]) order by id", [f"{first}{n:02d}" for n in numbers]
    )
    return [row[0] for row in rows]


async def is_as_it_should_be(connection: Connection, first: str) -> None:
    """What revisions after 0061 make of the rows, whoever wrote them."""
    assert await values(connection, "validation_submission", "status", first, 15, 16, 17) == [
        "pending",
        "failed",
        "processed",
    ]
    kept = await values(connection, "document", "look_at - created_at", first, 19)
    assert kept == [timedelta(days=30)]
    assert await values(connection, "agent_verification", "num_nulls(replaces, asked_by)", first, 24) == [2]
    covered = await values(connection, "donation", "gift_aid_id is not null", first, 33, 34)
    assert covered == [True, False], "a gift that was passed on names no other charity's declaration"
    assert await values(connection, "bank_statement", "part", first, 40) == [1]
    assert await values(connection, "bank_line", "coalesce(reason, note)", first, 41, 42) == ["unknown", "interest"]
    assert await values(connection, "monetary_donation_verification", "called", first, 50) == [True]
    blocked = await connection.fetchval("select blocked from event_counter where partner_id = $1", f"{first}01")
    assert blocked == 0
    length = "select length(answers ->> 'name') from application_draft where invite_id = $1"
    assert await connection.fetchval(length, f"{first}20") == 150_000


async def test_rows_of_an_earlier_release_are_kept_and_its_servers_write_on(postgres_server: Server) -> None:
    async with upgraded(postgres_server, "0061") as database:
        owner = await connected(database)
        first = await old_rows.write(owner, 1)
        await asyncio.to_thread(upgrade, database.owner_dsn, "0068")
        await owner.execute(CORRECTED)
        state = await asyncio.to_thread(migrations.migrate, database.owner_dsn)
        assert state.verdict == "current"

        await is_as_it_should_be(owner, first)
        seen = await values(owner, "validation_request_evaluation", "corrections", first, 12, 61)
        assert seen == [0, 1], "what was evaluated after a correction has seen it"
        overruled = await values(owner, "validation_submission", "overruled", first, 15, 16, 17)
        assert overruled == [[], [], ["compliance"]]
        await owner.execute(ANEW)
        # A server of the version before still writes what it knows.
        await is_as_it_should_be(owner, await old_rows.write(owner, 2))
        await owner.close()


async def test_appeals_and_letters_of_before_stand(postgres_server: Server) -> None:
    async with upgraded(postgres_server, "0095") as database:
        owner = await connected(database)
        first = await old_rows.write(owner, 1)
        await owner.execute(APPEALED)
        await owner.execute(LETTER)
        await asyncio.to_thread(migrations.migrate, database.owner_dsn)
        assert await values(owner, "appeal", "settled_at is not null", first, 70, 71) == [True, False]
        assert await values(owner, "agent_verification", "expires_at is null", first, 25, 26) == [False, True]
        assert await owner.fetchval("select count(*) from agent_verification_document") == 1
        await owner.close()


@pytest.fixture(scope="module")
async def released(postgres_server: Server) -> AsyncIterator[TestDatabase]:
    """A database before the revisions that are tried."""
    async with upgraded(postgres_server, "0068") as database:
        yield database


@pytest.fixture
async def before(released: TestDatabase) -> AsyncIterator[TestDatabase]:
    """A copy of it."""
    async with upgraded(released.server, "0068", released.name) as database:
        yield database


EVALUATES: Final = (
    "validation_submission",
    "validation_request",
    "monitoring_subscription",
    "eligibility_subscription",
    "agent_verification",
)
MAKES: Final = (
    "validation_request",
    "agent_verification",
    "monitoring_subscription",
    "eligibility_subscription",
    "validation_submission",
)
READ, HOLD, WRITE = "access share", "row share", "row exclusive"
WAITS: Final = """
select exists (
    select from pg_locks l join pg_database d on d.oid = l.database
    where not l.granted and d.datname = current_database()
)
"""
BUILDS: Final = """
select exists (
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like 'create index%'
)
"""
CONNECTED: Final = "select count(*) = 4 from pg_stat_activity where datname = current_database()"
MIGRATES: Final = "import sys; from tests.support.database import upgrade; upgrade(*sys.argv[1:])"


@pytest.mark.parametrize(
    ("to", "tables", "first", "mode"),
    [
        ("0069", EVALUATES, 4, HOLD),
        ("0069", MAKES, 2, WRITE),
        ("0069", MAKES, 4, WRITE),
        ("0071", ("bank_statement", "bank_line"), 1, WRITE),
        ("0071", ("bank_line", "bank_statement"), 1, READ),
        ("0075", ("donation", "refund"), 1, WRITE),
        ("0075", ("refund", "donation"), 1, WRITE),
        ("0075", ("donation",), 1, HOLD),
    ],
)
async def test_a_revision_waits_for_whoever_works_and_not_crosswise(
    before: TestDatabase, to: str, tables: Sequence[str], first: int, mode: str
) -> None:
    worker, watch = await connected(before), await connected(before)
    async with worker.transaction():
        for table in tables[:first]:
            await worker.execute(f"lock table {table} in {mode} mode")
        migrating = asyncio.create_task(asyncio.to_thread(upgrade, before.owner_dsn, to))
        await eventually(lambda: watch.fetchval(WAITS))
        last = WRITE if mode == HOLD else mode  # what is held is changed at the end
        for table in (*tables[first:], tables[0]):
            await worker.execute(f"lock table {table} in {last} mode")  # a deadlock, were it held by who waits for us
    await migrating
    await worker.close()
    await watch.close()


async def test_an_index_is_built_while_others_write_and_two_migrate(released: TestDatabase) -> None:
    async with upgraded(released.server, "0099", released.name) as database:
        worker, other = await connected(database), await connected(database)
        async with worker.transaction():
            await worker.execute("lock table donation in row exclusive mode")
            migrating = asyncio.create_task(asyncio.to_thread(upgrade, database.owner_dsn, "0101"))
            await eventually(lambda: other.fetchval(BUILDS))
            second = await asyncio.create_subprocess_exec(sys.executable, "-c", MIGRATES, database.owner_dsn, "0101")
            await eventually(lambda: other.fetchval(CONNECTED), within=60)
            async with other.transaction():
                await other.execute("lock table donation in row exclusive mode nowait")
        await migrating
        assert await second.wait() == 0
        valid = "select indisvalid from pg_index where indexrelid = 'donation_of_session'::regclass"
        assert await other.fetchval(valid)
        await worker.close()
        await other.close()

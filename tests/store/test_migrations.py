"""How revisions run: beside others who write, by one process at a time, and on no database of another form."""

import asyncio
import re
import sys
from pathlib import Path
from typing import Final
from uuid import UUID

import asyncpg
import pytest

import almoner
from almoner import migrations
from almoner.platform.database.postgres import PostgresServer
from tests.support.database import TestDatabase, unmigrated
from tests.support.eventually import eventually

CHAIN: Final = {
    "t0001": """op.execute("create table thing (id integer primary key, name text not null)")""",
    "t0002": """
    with op.get_context().autocommit_block():
        op.execute("create index concurrently thing_name on thing (name)")""",
}
"""Revisions of their own, whatever those of the product are: its first is one transaction on an empty database."""

BUILDS: Final = """
select exists (
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like 'create index%'
)
"""
CONNECTED: Final = "select count(*) = 4 from pg_stat_activity where datname = current_database()"
MIGRATES: Final = "import sys; from tests.store.test_migrations import upgrade; upgrade(*sys.argv[1:])"


def write_chain(folder: Path) -> None:
    """The files of the revisions."""
    before = None
    for revision, body in CHAIN.items():
        (folder / f"{revision}_thing.py").write_text(
            f'"""Thing."""\nfrom alembic import op\n\nrevision = {revision!r}\ndown_revision = {before!r}\n\n\n'
            f"def upgrade():\n    {body.strip()}\n"
        )
        before = revision


def upgrade(owner_dsn: str, versions: str, revision: str) -> None:
    """Bring a database to a revision of the chain, as ``migrations.migrate`` does. Not for use inside a loop."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.set_main_option("path_separator", "os")
    config.set_main_option("version_locations", versions)
    config.attributes.update(dsn=owner_dsn)
    command.upgrade(config, revision)


async def test_an_index_is_built_while_others_write_and_two_migrate(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    write_chain(tmp_path)
    async with unmigrated(postgres_server) as database:
        dsn = database.owner_dsn
        await asyncio.to_thread(upgrade, dsn, str(tmp_path), "t0001")
        worker, other = await asyncpg.connect(dsn), await asyncpg.connect(dsn)
        async with worker.transaction():
            await worker.execute("lock table thing in row exclusive mode")
            migrating = asyncio.create_task(asyncio.to_thread(upgrade, dsn, str(tmp_path), "t0002"))
            await eventually(lambda: other.fetchval(BUILDS))
            second = await asyncio.create_subprocess_exec(sys.executable, "-c", MIGRATES, dsn, str(tmp_path), "t0002")
            await eventually(lambda: other.fetchval(CONNECTED), within=60)
            async with other.transaction():
                await other.execute("lock table thing in row exclusive mode nowait")
        await migrating
        assert await second.wait() == 0
        assert await other.fetchval("select indisvalid from pg_index where indexrelid = 'thing_name'::regclass")
        await worker.close()
        await other.close()


def test_an_index_of_a_table_with_rows_is_built_concurrently() -> None:
    """All but those of the baseline, and of tables that the same revision creates."""
    blocking = {
        file.name: found
        for file in (Path(migrations.__file__).parent / "versions").glob("r*.py")
        if (found := re.findall(r"create (?:unique )?index (?!concurrently)\w+ on (\w+)", file.read_text()))
        and not all(f"create table {table} " in file.read_text() for table in found)
    }
    assert blocking == {}


async def test_earlier_reports_get_their_totals_after_an_interruption(postgres_server: PostgresServer) -> None:
    """One that is not complete gets none; an index that was left behind is built anew."""
    async with unmigrated(postgres_server) as database:
        dsn = database.owner_dsn
        versions = str(Path(migrations.__file__).parent / "versions")
        await asyncio.to_thread(upgrade, dsn, versions, "r0007")
        owner = await asyncpg.connect(dsn)
        for report in UUID(int=1), UUID(int=2):
            await owner.execute(
                "insert into settlement (id, provider, reference, currency, settled_on, sha256, lines, imported_at) "
                "values ($1, 'simple', $1::uuid::text, 'XTS', '2026-03-02', sha256(''), $2, now())",
                report,
                report.int,
            )
            await owner.execute(
                "insert into settlement_line (id, settlement_id, provider, currency, kind, provider_payment, "
                "gross_minor, fee_minor, net_minor, status, reason, created_at, checked_at, status_changed_at) "
                "values ($1, $1, 'simple', 'XTS', 'payment', 'p', 100, 3, 97, 'exception', 'unknown_payment', "
                "now(), now(), now())",
                report,
            )
        await owner.execute("create index settlement_line_unmatched on settlement_line (id)")
        await asyncio.to_thread(migrations.migrate, dsn)
        totals = await owner.fetch("select lines, fee_minor, net_minor from settlement order by lines")
        built = await owner.fetchval("select pg_get_indexdef('settlement_line_unmatched'::regclass)")
        await owner.close()
    assert [tuple(row) for row in totals] == [(1, 3, 97), (2, None, None)]
    assert "(settlement_id)" in built


@pytest.mark.parametrize("revision", ["0001", "0001a", "0105", "r0001", "r0001_0123456789ab"])
async def test_a_database_from_before_the_first_release_is_refused(empty_database: TestDatabase, revision: str) -> None:
    """Also one that another baseline made, and by the name that the first revision had."""
    owner = await asyncpg.connect(empty_database.owner_dsn)
    await owner.execute("drop table donation_tally")
    await owner.execute("update alembic_version set version_num = $1", revision)
    with pytest.raises(migrations.MigrationRefused) as refused:
        await asyncio.to_thread(migrations.migrate, empty_database.owner_dsn)
    assert str(refused.value) == (
        f"The database is at revision {revision}, from before Almoner 0.1.0, and cannot be carried over: start with an "
        "empty one (`almoner clean` removes that of a sandbox), which `almoner registers import` fills again."
    )
    with pytest.raises(migrations.MigrationRefused) as kept_out:  # server, worker and commands ask so
        (await migrations.connect_and_read_state(empty_database.dsn)).ensure_usable()
    assert str(kept_out.value) == str(refused.value)
    assert await owner.fetchval("select version_num from alembic_version") == revision
    assert await owner.fetchval("select to_regclass('donation_tally') is null"), "nothing was made"
    await owner.close()


def test_the_tables_of_the_first_release_do_not_change() -> None:
    assert migrations.REVISIONS[0] == "r0001_31dc32ad864a", "add a revision instead"


def test_how_a_database_and_the_code_stand_to_each_other() -> None:
    newest = migrations.REVISIONS[-1]
    stated = {None: "behind", newest: "current", "r9999": "newer", "0001": "before 0.1.0", "r0001": "before 0.1.0"}
    assert {revision: migrations.DatabaseState(revision).compatibility for revision in stated} == stated
    assert migrations.DatabaseState(newest).refusal_message is None
    newer = migrations.DatabaseState("r9999", frozenset({newest}))
    assert (newer.compatibility, newer.refusal_message, newer.is_upgradable) == ("compatible", None, False)
    assert migrations.DatabaseState("r9999", frozenset({"r9998"})).compatibility == "newer"


def test_the_code_names_nothing_that_a_usable_database_lacks() -> None:
    """Tables, views, functions and columns of the revisions after the oldest usable one."""
    creates = re.compile(r"\b(?:create (?:table|view|function)|add column) (?:if not exists )?(\w+)", re.IGNORECASE)
    usable = [one for one in migrations.REVISIONS if migrations.DatabaseState(one).compatibility != "behind"]
    package = Path(almoner.__file__).parent
    revisions = package / "migrations" / "versions"
    later = {
        name
        for one in usable[1:]
        for file in revisions.glob(f"{one}_*.py")
        for name in creates.findall(file.read_text())
    }
    code = (file.read_text() for file in package.rglob("*.py") if file.parent != revisions)
    named = {word for text in code for word in re.findall(r"\w+", text)} & later
    assert not named, f"raise the oldest usable revision: the code names {sorted(named)}"


async def test_a_database_says_which_code_works_over_it(empty_database: TestDatabase) -> None:
    connection = await asyncpg.connect(empty_database.dsn)
    state = await migrations.read_state(connection)
    await connection.close()
    assert state == migrations.DatabaseState(migrations.REVISIONS[-1], frozenset(migrations.COMPATIBLE_REVISIONS))

"""Databases that were restored, copied or taken back in time do nothing outside; what goes on by right does."""

import base64
import json
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from almoner import migrations, wiring
from almoner.app import create_app
from almoner.platform.database import postgres
from almoner.platform.database.identity import UnreleasedDatabaseCopy
from almoner.platform.database.transactions import ALL_PARTNERS, Partner
from almoner.platform.files.storage import BlobStore
from almoner.platform.files.uploads.files import StoredFile
from almoner.platform.jobs import queue
from almoner.platform.observability import selfcheck
from almoner.platform.observability.telemetry import Telemetry
from almoner.selfchecks import CHECKS
from almoner.settings import Settings, read_settings
from almoner.validation.applications.documents import jobs as documents_jobs
from almoner.validation.applications.documents import service as documents
from tests.support import database, forks, running, servers
from tests.support.client import Client
from tests.support.clock import TestClock
from tests.support.database import APP, OWNER, PASSWORD, TestDatabase
from tests.support.eventually import eventually
from tests.support.servers import OwnServer

BOOK = Path(__file__).parents[2] / "docs" / "runbooks" / "backup.md"
KEY = base64.b64encode(bytes(32)).decode()


@dataclass(slots=True)
class Place:
    """One process over a database, with the storage of documents that all of a test share."""

    services: wiring.Services
    clock: TestClock
    documents: Path
    lines: list[bytes] = field(default_factory=list)

    @property
    def blobs(self) -> BlobStore:
        """The storage, as this process may use it."""
        return self.services.upload_intake._blobs

    @property
    def why(self) -> str | None:
        """Why it takes its database for a copy."""
        copy = self.services.db.deployment.identity.copy
        return copy.reason if copy else None

    async def hand_in(self) -> Any:
        """A document of a new partner; its row."""
        content = os.urandom(100)
        key = await self.blobs.put(BytesIO(content))
        async with self.services.db.write() as tx:
            partner = tx.new_id()
            await tx.execute("insert into partner (id, name, created_at) values ($1, 'P', $2)", partner, tx.now)
            stored = StoredFile("application/pdf", 100, os.urandom(32), key, scanned=True, flags=(), form_fields={})
            return await documents.store_document(tx, Partner(partner), stored)

    async def jobs(self) -> int:
        """How many jobs wait that no worker has begun."""
        async with self.services.db.read() as tx:
            return int(
                await tx.fetchval("select count(*) from job where kind = $1 and attempt = 0", documents_jobs.SWEEP.name)
            )

    async def work(self) -> None:
        """Sweep what no row knows, at a time when all lies there for long, and do all that is due."""
        async with self.services.db.write() as tx:
            await documents_jobs.SWEEP.enqueue(tx, queue.NoDetails())
        await self.services.background_worker.drain()

    def files(self) -> set[str]:
        """What lies in the storage outside its trash."""
        return {file.name for file in self.documents.glob("??/*")}

    async def quiet(self) -> bool:
        """Whether it says that it is a copy, and does nothing outside."""
        before, waiting = self.files(), await self.jobs()
        await self.work()
        assert self.files() == before
        assert await self.jobs() > waiting
        client = Client(create_app(self.services), "http://localhost:8080", None)
        answer = await client.get("/readyz")
        await client.close()
        assert answer.status_code == 200, answer.text
        assert answer.json()["unreleasedCopy"]["why"].endswith(self.why or "?")
        with pytest.raises(UnreleasedDatabaseCopy):
            await self.services.outbound.get("http://localhost:1/", {}, connection_owner="tests")
        with pytest.raises(UnreleasedDatabaseCopy):
            await self.blobs.remove(next(iter(before)))
        outcome = await selfcheck.run_selfcheck(self.services.db, CHECKS)
        assert "deployment.released" in {finding.check.name for finding in outcome.findings}
        assert [json.loads(line)["level"] for line in self.lines if b'"unreleased_copy"' in line] == ["error"]
        return True

    async def acts(self) -> bool:
        """Whether it does what is due."""
        assert self.why is None
        await self.work()
        assert await self.jobs() == 0
        return True


@dataclass(slots=True)
class Ground:
    """The storage of documents that all processes of a test share."""

    documents: Path

    def settings(self, dsn: str) -> Settings:
        """Of a process over that database."""
        return read_settings(
            environment="sandbox",
            database_url=dsn,
            master_key=KEY,
            documents_url=str(self.documents),
            audit_heads=str(self.documents.with_name("heads")),
        )

    @asynccontextmanager
    async def process(self, dsn: str, *, later: float = 0) -> AsyncIterator[Place]:
        """A process of the service, ended in order."""
        clock, lines = TestClock(), list[bytes]()
        clock.advance_wall(days=2 + later)
        services = await wiring.build_services(self.settings(dsn), clock=clock, telemetry=Telemetry(lines.append))
        try:
            await services.database_copy_monitor.check_whether_database_was_copied()
            yield Place(services, clock, self.documents, lines)
        finally:
            await services.close()


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "documents")


def restore(url: str, dump: Path, *arguments: str) -> None:
    servers.run("pg_restore", "--exit-on-error", "--no-owner", f"--role={OWNER}", *arguments, "--dbname", url, dump)


@pytest.fixture
def dumps() -> Iterator[Path]:
    """A folder that the account of the servers may write into."""
    with running.folder("dumps") as made:
        made.chmod(0o777)
        yield made


async def test_a_dump_restored_beside_is_quiet_until_it_is_released(
    ground: Ground, empty_database: TestDatabase, dumps: Path
) -> None:
    server = empty_database.server
    async with ground.process(empty_database.dsn) as original:
        await original.hand_in()
        dump = dumps / "almoner.dump"
        servers.run("pg_dump", "--format=custom", "--file", dump, empty_database.owner_dsn)
        await original.hand_in()  # newer than the backup
        owner = await asyncpg.connect(server.superuser_url())
        name = f"{empty_database.name}_b"
        try:
            await owner.execute(f"create database {name} owner {OWNER}")
            restore(server.url(OWNER, PASSWORD, name), dump)
            beside = server.url(APP, PASSWORD, name)
            async with ground.process(beside) as copy, ground.process(beside) as second:
                assert copy.why == second.why == "it was restored from a dump"
                assert await copy.quiet()
                assert await original.acts()
                assert len(original.files()) == 2
                output = almoner(ground, beside, "release-copy", "--yes")
                assert "restored from a dump" in output
                await copy.services.database_copy_monitor.check_whether_database_was_copied()
                await second.services.database_copy_monitor.check_whether_database_was_copied()
                own = await copy.hand_in()
                mine = {own.storage_key}
                assert await copy.acts()
                assert await second.acts()
                # What the original has handed in since is not the copy's to remove, and what both have stays as well.
                assert len(copy.files()) == 3
                async with copy.services.db.write() as tx:
                    for row in await tx.fetch("select id from document"):
                        await documents.delete(tx, ALL_PARTNERS, row["id"])
                assert await copy.acts()
                assert len(copy.files()) == 2
                assert not mine & copy.files()
            await original.services.database_copy_monitor.check_whether_database_was_copied()
            assert await original.acts()
        finally:
            await owner.execute(f"drop database if exists {name} with (force)")
            await owner.close()


async def test_a_dump_restored_in_place_is_quiet_and_takes_over_what_lies_there(
    ground: Ground, empty_database: TestDatabase, dumps: Path
) -> None:
    dump = dumps / "almoner.dump"
    async with ground.process(empty_database.dsn) as original:
        await original.hand_in()
        servers.run("pg_dump", "--format=custom", "--file", dump, empty_database.owner_dsn)
        newer = (await original.hand_in()).storage_key
    restore(empty_database.owner_dsn, dump, "--clean", "--if-exists")
    async with ground.process(empty_database.dsn) as restored:
        assert restored.why == "it was restored from a dump"
        assert await restored.quiet()
        almoner(ground, empty_database.dsn, "release-copy", "--yes", "--takes-over")
        await restored.services.database_copy_monitor.check_whether_database_was_copied()
        assert await restored.acts()
        assert newer in restored.files()  # newer than all that rows know
        for file in ground.documents.glob("??/*"):
            os.utime(file, (1, 1))
        await restored.hand_in()
        assert await restored.acts()
        assert newer not in restored.files()
        assert f"{newer}  " in almoner(ground, empty_database.dsn, "documents", "trash")
        almoner(ground, empty_database.dsn, "documents", "restore", newer)
        assert newer in restored.files()


async def test_a_database_made_anew_beside_the_storage_of_another_is_quiet(
    ground: Ground, empty_database: TestDatabase
) -> None:
    async with ground.process(empty_database.dsn) as original:
        await original.hand_in()
        async with database.copied(empty_database.server) as other, ground.process(other.dsn) as second:
            assert second.why == "its storage of documents belongs to another deployment"
            assert await second.quiet()
        assert await original.acts()


async def test_two_workers_of_one_deployment_both_act(ground: Ground, empty_database: TestDatabase) -> None:
    async with ground.process(empty_database.dsn) as one, ground.process(empty_database.dsn) as other:
        assert one.services.db.deployment.identity.id == other.services.db.deployment.identity.id
        for _ in range(3):
            for each in (one, other):
                each.clock.advance_wall(seconds=6)
                await each.services.database_copy_monitor.check_whether_database_was_copied()
                assert await each.acts()
    async with ground.process(empty_database.dsn) as again:
        assert await again.acts()


@pytest.fixture(scope="module")
def made() -> Iterator[tuple[Path, str]]:
    """The files of a stopped server with a migrated database that nobody has claimed; copied for each test."""
    with running.folder("own") as folder, servers.cluster(folder / "var") as (data, password):
        (folder / "archive").mkdir()
        (folder / "archive").chmod(0o777)
        with servers.running(data, password) as server:
            for statement in (
                f"create role {OWNER} login password '{PASSWORD}'",
                f"create role {APP} login password '{PASSWORD}'",
            ):
                servers.run("psql", "-qc", statement, server.url("postgres", password, "postgres"))
            servers.run(
                "psql", "-qc", f"create database almoner owner {OWNER}", server.url("postgres", password, "postgres")
            )
            migrations.migrate(server.owner_dsn)
        yield data, password


@pytest.fixture
def files(made: tuple[Path, str]) -> Iterator[tuple[Path, str]]:
    """The files of a server for one test, in a folder of its own."""
    with running.folder("files") as folder:
        folder.chmod(0o777)
        yield servers.copied(made[0], folder / "data"), made[1]


async def test_a_copy_of_the_files_is_quiet_and_the_original_goes_on(ground: Ground, files: tuple[Path, str]) -> None:
    data, password = files
    with servers.running(data, password) as server:
        async with ground.process(server.dsn) as original:
            await original.hand_in()
    copy = servers.copied(data, data.with_name("copy"))
    # Beside nothing: where the original is stopped, the place tells.
    with servers.running(copy, password) as beside:
        async with ground.process(beside.dsn) as place:
            assert place.why is not None
            assert "its files were copied" in place.why
            assert await place.quiet()
    # Beside the original, which was started again: at its own address, as an orderly restart is.
    with servers.running(data, password) as server, servers.running(copy, password) as beside:
        at_its_place(server)
        async with ground.process(server.dsn) as original:
            assert await original.acts()
            async with ground.process(beside.dsn) as place:
                assert await place.quiet()
            original.clock.advance_wall(seconds=6)
            await original.services.database_copy_monitor.check_whether_database_was_copied()
            assert await original.acts()


def at_its_place(server: OwnServer) -> None:
    """Servers of tests have another address at each start: have the row know it, as that of an orderly restart."""
    place = f",{server.sockets},5432"
    server.sql(
        f"update deployment set server_addresses = array['{place}'], written_by = pg_current_xact_id()::text::bigint"
    )


async def test_a_copied_folder_of_a_sandbox_is_quiet(ground: Ground, made: tuple[Path, str]) -> None:
    with running.folder("var") as folder:
        one, other = servers.copied(made[0].parent, folder / "one"), folder / "other"
        for _ in range(2):  # the second time it is started again, with its socket elsewhere
            with postgres.run_embedded_server(one) as server:
                async with ground.process(server.url(APP, PASSWORD, "almoner")) as original:
                    await original.hand_in()
                    assert await original.acts()
        servers.copied(one, other)
        with postgres.run_embedded_server(other) as server:
            async with ground.process(server.url(APP, PASSWORD, "almoner")) as copy:
                assert copy.why is not None
                assert "lay in another folder" in copy.why
                assert await copy.quiet()


async def test_a_promoted_stand_by_goes_on_by_itself(ground: Ground, files: tuple[Path, str]) -> None:
    data, password = files
    with servers.running(data, password) as primary:
        standby_files = servers.backed_up(primary, data.with_name("standby"), follows=True)
        with servers.running(standby_files, password) as standby:
            async with ground.process(primary.dsn) as original:
                document = await original.hand_in()
                servers.has_all(standby, primary)
                primary.stop(number=signal.SIGQUIT)
                standby.sql("select pg_promote()")
                async with ground.process(standby.dsn) as promoted:
                    identity = promoted.services.db.deployment.identity
                    assert (promoted.why, identity.awaits_promotion) == (None, True)
                    promoted.clock.advance_wall(seconds=13)
                    await promoted.services.database_copy_monitor.check_whether_database_was_copied()
                    assert not identity.awaits_promotion
                    assert await promoted.acts()
                    assert document.storage_key in promoted.files()
        # Whoever starts the former primary again finds that it is behind.
        with servers.running(data, password) as primary:
            at_its_place(primary)
            async with ground.process(primary.dsn) as former:
                assert former.why == "its storage of documents knows a later state than it has"
                assert await former.quiet()


async def test_a_stand_by_promoted_beside_its_living_primary_is_quiet(ground: Ground, files: tuple[Path, str]) -> None:
    data, password = files
    with servers.running(data, password) as primary:
        standby_files = servers.backed_up(primary, data.with_name("standby"), follows=True)
        with servers.running(standby_files, password) as standby:
            async with ground.process(primary.dsn) as original:
                await original.hand_in()
                servers.has_all(standby, primary)
                with pytest.raises(migrations.MigrationRefused, match="hot stand-by"):
                    await migrations.connect_and_read_state(standby.dsn)
                standby.sql("select pg_promote()")
                async with ground.process(standby.dsn) as promoted:
                    for _ in range(2):
                        original.clock.advance_wall(seconds=6)
                        await original.services.database_copy_monitor.check_whether_database_was_copied()
                    promoted.clock.advance_wall(seconds=13)
                    await promoted.services.database_copy_monitor.check_whether_database_was_copied()
                    assert await promoted.quiet()
                assert await original.acts()


@pytest.mark.parametrize("storage_tells", [False, True])
async def test_a_point_in_time_is_quiet(ground: Ground, files: tuple[Path, str], storage_tells: bool) -> None:
    data, password = files
    archive = data.with_name("archive")
    archive.mkdir()
    archive.chmod(0o777)
    archiving = ("archive_mode=on", f"archive_command=cp %p {archive}/%f")
    with servers.running(data, password, *archiving) as server:
        back = servers.backed_up(server, data.with_name("back"))
        async with ground.process(server.dsn) as original:
            await original.hand_in()
            server.sql("select pg_create_restore_point('before')")
            await original.hand_in()
        server.sql("select pg_switch_wal()")
        segment = server.sql("select pg_walfile_name(pg_current_wal_lsn() - 1)")
        servers.until(server, f"select last_archived_wal >= '{segment}' from pg_stat_archiver")
    (back / "recovery.signal").touch()
    target = ("recovery_target_name=before", "recovery_target_action=promote")
    with servers.running(back, password, f"restore_command=cp {archive}/%f %p", *target) as restored:
        servers.until(restored, "select not pg_is_in_recovery()")
        if not storage_tells:
            async with ground.process(restored.dsn) as place:
                assert await place.quiet()
    if storage_tells:  # also where nothing of the target is left in the settings
        with servers.running(back, password) as restored:
            async with ground.process(restored.dsn) as place:
                assert place.why == "its storage of documents knows a later state than it has"
                assert await place.quiet()


async def test_o9_a_backup_by_the_book_is_restored_by_the_book_and_its_worker_is_quiet(
    ground: Ground, empty_database: TestDatabase, dumps: Path
) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", BOOK.read_text(), re.DOTALL)
    back_up, restore_ = (next(one for one in blocks if command in one) for command in ("pg_dump ", "pg_restore "))
    server = empty_database.server
    admin = await asyncpg.connect(server.superuser_url(empty_database.name))
    name = f"{empty_database.name}_book"
    beside = server.url(APP, PASSWORD, name)
    try:
        await admin.execute("create extension if not exists pg_prewarm")
        async with ground.process(empty_database.dsn) as original:
            await original.hand_in()
            by_the_book(ground, dumps, back_up, empty_database.dsn, empty_database.owner_dsn)
            await original.hand_in()
            await admin.execute(f"create database {name} owner {OWNER}")
            owner_dsn = server.url(OWNER, PASSWORD, name)
            by_the_book(ground, dumps, restore_, beside, owner_dsn)
            by_the_book(ground, dumps, "almoner migrate", beside, owner_dsn)
            for file in ground.documents.glob("??/*"):
                os.utime(file, (1, 1))
            before = original.files()
            with worker(ground, beside, dumps / "worker.log") as stated:
                await eventually(lambda: "unreleased_copy" in stated.read_text(), within=60)
                await eventually(lambda: beats(server.superuser_url(name)), within=60)
            assert original.files() == before
            assert await original.acts()
    finally:
        await admin.execute(f"drop database if exists {name} with (force)")
        await admin.close()


async def beats(url: str) -> bool:
    """Whether a worker has said that it lives, more than once."""
    connection = await asyncpg.connect(url)
    try:
        return bool(await connection.fetchval("select exists (select from process where last_seen_at > started_at)"))
    finally:
        await connection.close()


@contextmanager
def worker(ground: Ground, dsn: str, log: Path) -> Iterator[Path]:
    """The real command beside, until the block ends; what it says."""
    with log.open("wb") as stated:
        process = subprocess.Popen(
            [running.ALMONER, "worker"], env=environment(ground, dsn), stdout=stated, stderr=stated
        )
    try:
        yield log
    finally:
        process.terminate()
        process.wait(running.STOP_SECONDS)


def by_the_book(ground: Ground, folder: Path, commands: str, dsn: str, owner_dsn: str) -> None:
    """Run what a runbook says, as it says it."""
    programs = f"{servers.program('pg_dump').parent}:{running.ALMONER.parent}:{os.environ['PATH']}"
    given = environment(ground, dsn) | {"ALMONER_OWNER_DATABASE_URL": owner_dsn, "PATH": programs}
    done = subprocess.run(
        ["/bin/sh", "-ec", commands], env=given, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def environment(ground: Ground, dsn: str) -> dict[str, str]:
    """Settings of a process, as variables."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")}
    return inherited | {
        "ALMONER_DATABASE_URL": dsn,
        "ALMONER_MASTER_KEY": KEY,
        "ALMONER_DOCUMENTS_URL": str(ground.documents),
        "ALMONER_DATA_DIR": str(ground.documents.with_name("var")),
    }


def almoner(ground: Ground, dsn: str, *arguments: str) -> str:
    """The real command; what it said."""
    status, printed = forks.run(arguments, environment(ground, dsn))
    assert status == 0, printed
    return printed

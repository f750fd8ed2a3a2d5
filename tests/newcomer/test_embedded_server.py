"""The embedded PostgreSQL: on every installation that is here, after every kill, for any number of processes."""

import asyncio
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from almoner.platform.database import postgres
from almoner.platform.database.postgres import PostgresServer
from almoner.platform.database.programs import DatabaseUnavailable, DiskFull
from tests.newcomer.clones import lengthen
from tests.support.eventually import eventually
from tests.support.running import folder
from tests.support.small_disk import exhaust_write_ahead_log, kept_full, small_disk

SYSTEM = [Path(f"/usr/lib/postgresql/{major}/bin") for major in range(15, 19)]
INSTALLATIONS = [None, *(path for path in SYSTEM if (path / "initdb").exists())]


@pytest.fixture
def fresh() -> Iterator[Path]:
    """A data folder in which nothing was started."""
    with folder("server") as made:
        yield made / "var"


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """One for tests that leave it as they found it: to make a cluster is most of their work. Nothing runs there."""
    with folder("server") as made:
        yield made / "var"


def _postmaster(server: PostgresServer) -> int:
    (file,) = server.cluster_folder.glob("pg*/postmaster.pid")
    return int(file.read_text().splitlines()[0])


async def _remember(server: PostgresServer, number: int) -> None:
    connection = await asyncpg.connect(server.superuser_url())
    try:
        await connection.execute("create table if not exists kept (number int)")
        await connection.execute("insert into kept values ($1)", number)
    finally:
        await connection.close()


async def _remembered(server: PostgresServer) -> list[int]:
    connection = await asyncpg.connect(server.superuser_url())
    try:
        return [row["number"] for row in await connection.fetch("select number from kept order by number")]
    finally:
        await connection.close()


@pytest.mark.parametrize("installation", INSTALLATIONS, ids=lambda path: path.parts[4] if path else "wheel")
async def test_it_keeps_the_rows_over_stops_and_kills_of_the_server(fresh: Path, installation: Path | None) -> None:
    with postgres.run_embedded_server(fresh, installation) as server:
        await _remember(server, 1)
    with postgres.run_embedded_server(fresh, installation) as server:
        await _remember(server, 2)
        os.kill(_postmaster(server), signal.SIGKILL)  # a zombie now: it is our child, and nobody waits for it
        with postgres.run_embedded_server(fresh, installation) as again:
            assert await _remembered(again) == [1, 2]
    with postgres.run_embedded_server(fresh, installation) as server:
        assert await _remembered(server) == [1, 2]


async def test_it_finds_letters_of_every_script(data: Path) -> None:
    with postgres.run_embedded_server(data) as server:
        connection = await asyncpg.connect(server.superuser_url())
        try:
            await connection.execute("create extension pg_trgm")
            assert await connection.fetchval("select lower('ÉLAN ΑΘΗΝΑ')") == "élan αθηνα"
            assert await connection.fetchval("select word_similarity('élan', 'Association Élan')") == 1
            assert await connection.fetchval("select 'Z' < 'a'")  # by code point, the same on every machine
        finally:
            await connection.close()


async def test_a_stranger_with_the_number_of_the_dead_server_does_no_harm(data: Path) -> None:
    with postgres.run_embedded_server(data) as server:
        await _remember(server, 1)
        (file,) = server.cluster_folder.glob("pg*/postmaster.pid")
        lines = file.read_text().splitlines()
    file.write_text("\n".join([str(os.getppid()), *lines[1:]]) + "\n")
    with postgres.run_embedded_server(data) as server:
        assert _postmaster(server) != os.getppid()
        assert 1 in await _remembered(server)


async def test_a_server_that_was_killed_before_it_said_where_it_listens_takes_nothing_with_it(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").touch()
    with postgres.run_embedded_server(data) as server:
        await _remember(server, 2)
        (file,) = server.cluster_folder.glob("pg*/postmaster.pid")
        lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:4], ""]) + "\n")  # as PostgreSQL writes it at first
    with postgres.run_embedded_server(data) as server:
        assert 2 in await _remembered(server)
    assert (tmp_path / "kept").exists()


async def test_a_full_disk_is_known_where_the_server_has_no_room_to_say_so() -> None:
    """Else whoever keeps it running gives up, and ends, after three tries."""
    with folder("full") as made, small_disk(made / "disk", 400) as data, postgres.run_embedded_server(data) as server:
        await _remember(server, 1)
        cluster = postgres.Cluster.locate(data, None)
        connection = await asyncpg.connect(server.superuser_url())
        with kept_full(data / "filler", cluster.log_file):
            await exhaust_write_ahead_log(connection)
            connection.terminate()
            await eventually(lambda: not list(server.cluster_folder.glob("pg*/postmaster.pid")), within=60)
            for _ in range(3):
                with pytest.raises(DiskFull):
                    await asyncio.to_thread(cluster.restart_if_ended, server.socket_folder)
        assert cluster.restart_if_ended(server.socket_folder)
        assert await _remembered(server) == [1]


async def test_the_last_of_its_users_stops_it(data: Path) -> None:
    with postgres.run_embedded_server(data) as first:
        with postgres.run_embedded_server(data) as second:
            assert second == first
            with pytest.raises(DatabaseUnavailable, match="stop it first"):
                postgres.stop_leftover_server(data)
        await _remember(first, 3)
        number = _postmaster(first)
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)
    assert not first.socket_folder.exists()


def test_nobody_else_may_enter(data: Path) -> None:
    with postgres.run_embedded_server(data) as server:
        for path in (server.socket_folder, *server.cluster_folder.glob("pg[0-9][0-9]")):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
        (password,) = server.cluster_folder.glob("pg*.password")
        assert stat.S_IMODE(password.stat().st_mode) == 0o600


async def test_wrong_passwords_are_refused(data: Path) -> None:
    with postgres.run_embedded_server(data) as server, pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(server.url(postgres.SUPERUSER, "guess", "postgres"))


async def test_long_paths_work(fresh: Path) -> None:
    with postgres.run_embedded_server(lengthen(fresh, 200)) as server:
        await _remember(server, 1)
        assert len(str(server.socket_folder / ".s.PGSQL.5432")) < 104  # the shortest limit there is, of macOS


def test_a_folder_without_programs_is_told(data: Path) -> None:
    with (
        pytest.raises(DatabaseUnavailable, match=r"ALMONER_PG_BIN is .*, but its program postgres does not run"),
        postgres.run_embedded_server(data, data),
    ):
        pass

"""Processes that start at the same moment, over one embedded server in a fresh folder."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import asyncpg
import httpx
import pytest

from almoner.cli.local import DATABASE
from almoner.platform.database import postgres
from almoner.platform.database.postgres import PostgresServer
from almoner.platform.database.programs import OsAccount, PostgresPrograms
from tests.support import cluster
from tests.support.eventually import eventually
from tests.support.figures import Figures
from tests.support.running import ALMONER, folder, free_port

_SECONDS = 240
SANDBOXES = ("run", "run")
_ALIVE = "select count(*) from process where last_seen_at > started_at"


@pytest.fixture
def fresh() -> Iterator[Path]:
    """A folder in memory, where nothing was ever started."""
    with folder("together", cluster.MEMORY if cluster.MEMORY.is_dir() else None) as made:
        yield made / "var"


@dataclass
class Started:
    process: "subprocess.Popen[str]"
    port: int

    def printed(self) -> str:
        """All that it says until it ends."""
        return self.process.communicate(timeout=_SECONDS)[0]


@contextmanager
def _started(data_dir: Path, *commands: str) -> Iterator[list[Started]]:
    """The commands, started at the same moment, each on a port of its own."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")}
    started = []
    for command, port in [(command, free_port()) for command in commands]:
        own = inherited | {"ALMONER_DATA_DIR": str(data_dir), "ALMONER_PORT": str(port)}
        process = subprocess.Popen(
            [ALMONER, command], env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        started.append(Started(process, port))
    try:
        yield started
    finally:
        for one in started:
            one.process.terminate()
        for one in started:
            if one.process.stdout is not None and not one.process.stdout.closed:
                one.printed()


async def _live(server: PostgresServer, started: list[Started]) -> bool:
    """Whether each has said in the database that it lives."""
    if ended := [one.printed() for one in started if one.process.poll() is not None]:
        pytest.fail("\n".join(ended))
    with suppress(asyncpg.InvalidCatalogNameError, asyncpg.UndefinedTableError):
        connection = await asyncpg.connect(server.superuser_url(DATABASE))
        try:
            return bool(await connection.fetchval(_ALIVE) == len(started))
        finally:
            await connection.close()
    return False


def _ready(one: Started) -> bool:
    if one.process.poll() is not None:
        pytest.fail(one.printed())
    with suppress(httpx.TransportError):  # before it listens, or while it waits for the database
        return httpx.get(f"http://localhost:{one.port}/readyz").status_code == 200
    return False


def _postmaster(server: PostgresServer) -> int:
    (file,) = server.cluster_folder.glob("pg*/postmaster.pid")
    return int(file.read_text().splitlines()[0])


def _runs_again(server: PostgresServer, killed: int) -> bool:
    with suppress(ValueError, IndexError, FileNotFoundError):  # while the file is written anew
        return _postmaster(server) != killed
    return False


@pytest.mark.soak
async def test_all_that_start_at_the_same_moment_live_and_start_a_killed_database_again(
    fresh: Path, figures: Figures
) -> None:
    folders = [fresh / str(number) for number in range(figures.count(1, 10))]
    for data_dir in folders[1:]:
        with _started(data_dir, *SANDBOXES) as started, postgres.run_embedded_server(data_dir) as server:
            await eventually(partial(_live, server, started), within=_SECONDS)
    for commands in (SANDBOXES, *([("serve", "worker", "worker")] if figures.soak else [])):
        await _live_over_a_killed_database(folders[0], commands)


async def _live_over_a_killed_database(here: Path, commands: Sequence[str]) -> None:
    """Each makes the files of the database, migrates it and loads the samples, where the other has not.

    A database that is killed is started again; one that cannot be ends them.
    """
    with _started(here, *commands) as started, postgres.run_embedded_server(here) as server:
        await eventually(lambda: _live(server, started), within=_SECONDS)
        await eventually(lambda: _ready(started[0]), within=_SECONDS)
        killed = _postmaster(server)
        os.kill(killed, signal.SIGKILL)
        await eventually(lambda: _runs_again(server, killed), within=_SECONDS)
        await eventually(lambda: _ready(started[0]), within=_SECONDS)
        assert not any(one.process.poll() for one in started)
        (control,) = server.cluster_folder.glob("pg*/global/pg_control")
        lost = control.rename(control.with_name("lost"))
        os.kill(_postmaster(server), signal.SIGKILL)
        for one in started:
            assert "The embedded PostgreSQL" in one.printed()
            assert one.process.returncode == 1
        lost.rename(control)


def test_a_copy_of_the_programs_that_lacks_a_file_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "given" / "bin").mkdir(parents=True)
    for name in ("postgres", "initdb", "share"):
        (tmp_path / "given" / "bin" / name).write_text(name)
    given = PostgresPrograms(tmp_path / "given" / "bin", 17, "17.0", tmp_path / "given", (".",))
    out_of_reach = _OutOfReach(uid=0, gid=0, drops_privileges=False)
    copy = given.copy_if_inaccessible(out_of_reach, tmp_path / "shelter").folder
    (copy / "share").unlink()
    (tmp_path / "shelter" / "postgresql-17.0.unfinished").mkdir()
    assert given.copy_if_inaccessible(out_of_reach, tmp_path / "shelter").folder == copy
    assert (copy / "share").read_text() == "share"


class _OutOfReach(OsAccount):
    def can_access_path(self, path: Path) -> bool:
        return False

"""PostgreSQL servers for single tests, with copies of their files: side by side, as standby, at a point in time."""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote, urlencode

from almoner.platform.database import postgres
from almoner.platform.database.programs import OsAccount, PostgresPrograms
from tests.support import cluster as tests_cluster
from tests.support.database import APP, OWNER, PASSWORD

SECONDS = 60.0
_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=replica", "hot_standby=on")


@dataclass(slots=True)
class OwnServer:
    """A running server on a folder; its socket is in a folder of its own."""

    data: Path
    sockets: Path
    password: str
    process: "subprocess.Popen[bytes]"

    def url(self, role: str, password: str, database: str) -> str:
        """The URL for a role."""
        where = urlencode({"host": str(self.sockets), "port": "5432"})
        return f"postgresql://{quote(role)}:{quote(password)}@/{quote(database)}?{where}"

    @property
    def superuser_url(self) -> str:
        """The URL for the superuser."""
        return self.url("postgres", self.password, "almoner")

    @property
    def dsn(self) -> str:
        """The DSN of the service."""
        return self.url(APP, PASSWORD, "almoner")

    @property
    def owner_dsn(self) -> str:
        """The DSN for migrations."""
        return self.url(OWNER, PASSWORD, "almoner")

    def sql(self, statement: str) -> str:
        """Run one statement as the superuser; returns its result."""
        return run("psql", self.superuser_url, "-qAtXc", statement).strip()

    def stop(self, *, number: int = signal.SIGINT) -> None:
        """Stop it: SIGINT without losing a commit, SIGQUIT at once."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(SECONDS)


@cache
def program(name: str) -> Path:
    """The path of a PostgreSQL program that the server's account can reach."""
    home = tests_cluster.folder()
    home.mkdir(parents=True, exist_ok=True)
    return PostgresPrograms.find(None).copy_if_inaccessible(OsAccount.current(), home).folder / name


def run(name: str, *arguments: str | Path) -> str:
    """Run a PostgreSQL program as the server's account; returns its output."""
    done = subprocess.run(
        [program(name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        **OsAccount.current().popen_arguments(),
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


@contextmanager
def running(data: Path, password: str, *options: str) -> Iterator[OwnServer]:
    """A server on a folder until the block ends."""
    account = OsAccount.current()
    sockets = Path(tempfile.mkdtemp(prefix="almoner-own-"))
    account.chown(sockets)
    given = [part for option in (*_FAST, "listen_addresses=", *options) for part in ("-c", option)]
    log = data.with_name(f"{data.name}.log")
    with log.open("ab") as stated:
        process = subprocess.Popen(
            [program("postgres"), "-D", data, "-k", sockets, "-p", "5432", *given],
            stdout=stated,
            stderr=stated,
            **account.popen_arguments(),
        )
    server = OwnServer(data, sockets, password, process)
    try:
        _await(server, lambda: _ready(server))
        yield server
    finally:
        server.stop()
        shutil.rmtree(sockets, ignore_errors=True)


def _ready(server: OwnServer) -> bool:
    state = server.data / "postmaster.pid"
    lines = state.read_text().splitlines() if state.exists() else []
    return len(lines) > 7 and lines[0] == str(server.process.pid) and lines[7].strip() in {"ready", "standby"}


def _await(server: OwnServer, true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        log = server.data.with_name(f"{server.data.name}.log")
        assert time.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
        with suppress(subprocess.TimeoutExpired):
            server.process.wait(0.02)


def until(server: OwnServer, statement: str) -> None:
    """Wait until a server returns ``t``."""
    _await(server, lambda: server.sql(statement) == "t")


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files of a new, stopped server, and its superuser's password."""
    with postgres.run_embedded_server(folder) as made:
        data = next(made.cluster_folder.glob("pg[0-9][0-9]"))
        password = made.password
    yield data, password


def copied(source: Path, target: Path) -> Path:
    """A copy of a stopped server's files."""
    shutil.copytree(source, target, symlinks=True)
    for left in target.rglob("postmaster.pid"):
        left.unlink()
    account = OsAccount.current()
    for path in (target, *target.rglob("*")):
        account.chown(path)
    if (target / "PG_VERSION").exists():
        target.chmod(0o700)
    return target


def backed_up(server: OwnServer, target: Path, *, follows: bool = False) -> Path:
    """A base backup of a running server; ``follows``: as its standby."""
    more = ["--write-recovery-conf"] if follows else []
    run("pg_basebackup", "-d", server.superuser_url, "-D", target, "--checkpoint=fast", *more)
    return target


def has_all(standby: OwnServer, primary: OwnServer) -> None:
    """Wait until a standby has everything committed; unwritten data do not count."""
    primary.sql("checkpoint")
    reached = primary.sql("select pg_current_wal_lsn()")
    until(standby, f"select pg_last_wal_replay_lsn() >= '{reached}'")

"""PostgreSQL as Debian installs it, on loopback ports: for tests with pgBackRest and PgBouncer."""

import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

from almoner.platform.database.programs import OsAccount
from tests.support.running import free_port

MAJOR: Final = 15
PROGRAMS: Final = Path(f"/usr/lib/postgresql/{MAJOR}/bin")
PASSWORD: Final = "for-tests-only"
ROLES: Final = ("almoner_owner", "almoner_app")
_DURABLE: Final = ("listen_addresses=127.0.0.1", "wal_level=replica", "max_wal_senders=8", "wal_keep_size=256MB")


def missing(*programs: str) -> str | None:
    """The programs that are not installed, besides PostgreSQL's."""
    absent = [name for name in programs if shutil.which(name) is None]
    absent += [] if (PROGRAMS / "postgres").exists() else [f"postgresql-{MAJOR}"]
    return f"not installed: {', '.join(absent)}" if absent else None


def as_account() -> list[str]:
    """The prefix of commands that run as PostgreSQL's account, like ``runuser -u postgres --`` elsewhere."""
    account = OsAccount.current()
    return (
        ["setpriv", f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups"]
        if account.drops_privileges
        else []
    )


def run(*words: str | Path, given: str | None = None) -> str:
    """Run a program as PostgreSQL's account; returns its output."""
    done = subprocess.run(
        [str(word) for word in words],
        input=given, capture_output=True, text=True, check=False, **OsAccount.current().popen_arguments(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def until(done: Callable[[], bool]) -> None:
    """Poll until ``done`` is true."""
    ends, pause = time.monotonic() + 100, threading.Event()
    while not done():
        assert time.monotonic() < ends
        pause.wait(0.05)


@dataclass
class DebianServer:
    """One server; its files stay when it is stopped."""

    data: Path
    options: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    def create(self) -> None:
        """Create its files."""
        OsAccount.current().chown(self.data.parent)
        run(
            PROGRAMS / "initdb", "-D", self.data, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"
        )

    def start(self, *options: str) -> None:
        """Start it and wait until it accepts connections."""
        given = [word for option in (*_DURABLE, *self.options, *options) for word in ("-c", option)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [PROGRAMS / "postgres", "-D", self.data, "-k", self.data.parent, "-p", str(self.port), *given],
                stdout=log, stderr=log, **OsAccount.current().popen_arguments(),
            )  # fmt: skip
        for _ in range(600):
            assert self.process.poll() is None, self.log.read_text(errors="replace")[-2000:]
            asked = [str(PROGRAMS / "pg_isready"), "--quiet", "--host=127.0.0.1", f"--port={self.port}"]
            if subprocess.run(asked, check=False).returncode == 0:
                return
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.1)
        raise TimeoutError(self.log.read_text(errors="replace")[-2000:])

    @property
    def log(self) -> Path:
        """Its log."""
        return self.data.with_suffix(".log")

    def stop(self, number: int = signal.SIGINT) -> None:
        """Stop it; SIGKILL also kills its children, like the loss of a machine."""
        if self.process is not None and self.process.poll() is None:
            if number == signal.SIGKILL:
                for child in psutil.Process(self.process.pid).children(recursive=True):
                    with suppress(psutil.NoSuchProcess):
                        child.kill()
            self.process.send_signal(number)
            self.process.wait(60)

    def sql(self, statement: str, database: str = "postgres") -> str:
        """Run statements as the administrator; returns their output."""
        return run(
            PROGRAMS / "psql", "-qAtX", "-v", "ON_ERROR_STOP=1", self.url("postgres", database), given=statement
        ).strip()

    def archive(self) -> None:
        """Wait until everything written is archived; a failed attempt is repeated after a minute."""
        segment = self.sql("select pg_walfile_name(pg_switch_wal())")
        archived = f"select coalesce(last_archived_wal, '') >= '{segment}' from pg_stat_archiver"
        until(lambda: self.sql(archived) == "t")

    def url(self, role: str, database: str = "almoner") -> str:
        """Its URL for a role."""
        return f"postgresql://{role}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def follow(self, primary: "DebianServer", name: str) -> None:
        """Create files of a standby of another server, with its own slot."""
        shutil.rmtree(self.data, ignore_errors=True)
        run(PROGRAMS / "pg_basebackup", f"--pgdata={self.data}", "--checkpoint=fast", "--write-recovery-conf",
            f"--dbname=postgresql://postgres@127.0.0.1:{primary.port}/postgres?application_name={name}")  # fmt: skip

    def prepare(self) -> None:
        """Create roles, database and extension, as in docs/runbooks/start.md."""
        roles = "".join(f"create role {role} login password '{PASSWORD}';" for role in ROLES)
        self.sql(roles)
        self.sql("create database almoner owner almoner_owner")
        self.sql("create extension pg_prewarm", "almoner")


@contextmanager
def debian_server(folder: Path, *options: str) -> Iterator[DebianServer]:
    """A running server with Almoner's database."""
    folder.mkdir(parents=True, exist_ok=True)
    server = DebianServer(folder / "data", options)
    server.create()
    try:
        server.start()
        server.prepare()
        yield server
    finally:
        server.stop()

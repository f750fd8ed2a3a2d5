"""The embedded PostgreSQL server: started, shared by all processes of a data folder, stopped by the last one.

It survives ``kill -9`` of its starter (the next process attaches to it) and of itself (the next start recovers). It
listens only on a socket in its own folder, never on the network. Measurements: architecture 2.
"""

import asyncio
import fcntl
import hashlib
import logging
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from almoner.platform.database import ballast
from almoner.platform.database.disk_space import MEBIBYTE, measure_free_space
from almoner.platform.database.programs import (
    DatabaseUnavailable,
    DiskFull,
    OsAccount,
    PostgresPrograms,
    build_database_unavailable_error,
    find_failure_cause,
    make_world_readable,
)
from almoner.platform.jobs.wakeup import wait_until_set
from almoner.platform.observability import memory
from almoner.platform.observability.os_processes import has_process_ended, read_process_column

SUPERUSER = "postgres"
_log = logging.getLogger("almoner.postgres")
_SHELTER = Path("/var/lib/almoner")
_SOCKET_PATH_LIMIT = 80  # socket paths are limited to about 104 bytes, the file name takes 18
_FREE_BYTES_NEEDED = 300 * MEBIBYTE
_START_SECONDS, _STOP_SECONDS = 60.0, 30.0
_POLL_SECONDS = 0.02
_KEEP_SECONDS, _TRIES = 0.5, 3
_BUILTIN_LOCALE_SINCE = 17
EMBEDDED = "almoner "
"""The prefix of an embedded server's name; the rest identifies its files and differs for copies of them."""
_OPTIONS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "max_wal_size": "1GB",  # an import of millions of rows checkpoints every minute or so, not every second
    "timezone": "UTC",
    "log_timezone": "UTC",
    "jit": "off",
}
_BUFFERS_SHARE, _DATA_SHARE, _LEAST_BUFFERS, _MOST_BUFFERS = 8, 4, 64 * MEBIBYTE, 1024 * MEBIBYTE
_MOST_CACHED = 4096 * MEBIBYTE


def shared_buffers_bytes(usable_memory_bytes: int, data_bytes: int) -> int:
    """The shared_buffers setting for a machine with this much memory and data.

    A small database is also cached by the operating system, which can release this memory.
    """
    return max(min(usable_memory_bytes // _BUFFERS_SHARE, data_bytes // _DATA_SHARE, _MOST_BUFFERS), _LEAST_BUFFERS)


def effective_cache_bytes(usable_memory_bytes: int) -> int:
    """The effective_cache_size setting for a machine with this much memory.

    With enough memory, the service loads all organisations into the cache at startup.
    """
    return min(usable_memory_bytes // 2, _MOST_CACHED)


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running embedded server. ``cluster_folder``: the folder with its cluster."""

    cluster_folder: Path
    socket_folder: Path
    password: str

    def url(self, role: str, password: str, database: str) -> str:
        """The connection URL for a role."""
        where = urlencode({"host": str(self.socket_folder), "port": "5432"})
        return f"postgresql://{quote(role)}:{quote(password)}@/{quote(database)}?{where}"

    def superuser_url(self, database: str = "postgres") -> str:
        """The connection URL for the superuser."""
        return self.url(SUPERUSER, self.password, database)


@contextmanager
def run_embedded_server(data_dir: Path, programs_folder: Path | None = None) -> Iterator[PostgresServer]:
    """The embedded server of a data folder, created and started if necessary, for the time of a block.

    Any number of processes may be inside at once; the last one to leave stops the server. Raises DatabaseUnavailable.
    """
    try:
        cluster = Cluster.locate(data_dir, programs_folder)
        users = cluster.start_or_attach_returning_usage_lock_fd()
    except OSError as error:
        raise build_database_unavailable_error(data_dir, f"{error.strerror}: {error.filename}") from error
    try:
        yield cluster.describe_running_server()
    finally:
        cluster.stop_if_unused(users)


async def keep_embedded_server_running(
    data_dir: Path, programs_folder: Path | None, stop: asyncio.Event, reserved_bytes: int = 0
) -> None:
    """Restart the embedded server whenever it ends, until ``stop`` is set.

    ``reserved_bytes``: bytes to keep free on its disk; if not 0, a reserve file is kept there. Raises
    DatabaseUnavailable if it does not start again.
    """
    cluster = await asyncio.to_thread(Cluster.locate, data_dir, programs_folder)
    sockets = cluster.describe_running_server().socket_folder
    attempts, full = 0, False
    while not stop.is_set():
        try:
            await asyncio.to_thread(cluster.maintain_ballast_file, reserved_bytes)
            if await asyncio.to_thread(cluster.restart_if_ended, sockets):
                _log.warning("The embedded PostgreSQL had ended and was started again")
            attempts, full = 0, False
        except DiskFull as error:
            if not full:  # logged once, however often it is retried
                _log.error(str(error))
            full = True
        except DatabaseUnavailable:
            attempts += 1
            if attempts == _TRIES:
                raise
        await wait_until_set(stop, _KEEP_SECONDS)


def stop_leftover_server(data_dir: Path, programs_folder: Path | None = None) -> Path:
    """Stop a server left behind by a crashed process; returns its folder.

    Raises DatabaseUnavailable while a process uses the server.
    """
    cluster = Cluster.locate(data_dir, programs_folder)
    cluster.stop_leftover_server()
    return cluster.cluster_folder


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """A lock between processes that use the same folder. Not reentrant."""
    handle = os.open(folder / "postgres.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def ensure_cluster_folder(data_dir: Path) -> Path:
    """The cluster's folder: the data folder, or another one if root's unprivileged account cannot reach it."""
    data_dir = data_dir.resolve()
    data_dir.mkdir(parents=True, exist_ok=True)
    if OsAccount.current().can_access_path(data_dir):
        return data_dir
    home = _shelter_of(data_dir)
    home.mkdir(parents=True, exist_ok=True)
    make_world_readable(_SHELTER, home)
    return home


def possible_cluster_folders(data_dir: Path) -> list[Path]:
    """The folders in which the cluster of a data folder may be."""
    data_dir = data_dir.resolve()
    return [data_dir, _shelter_of(data_dir)]


def _shelter_of(data_dir: Path) -> Path:
    return _SHELTER / hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Cluster:
    """The files of one embedded server."""

    cluster_folder: Path
    programs: PostgresPrograms
    account: OsAccount

    @classmethod
    def locate(cls, data_dir: Path, programs_folder: Path | None) -> "Cluster":
        """Find the folders, programs and account. Raises DatabaseUnavailable."""
        account = OsAccount.current()
        home = ensure_cluster_folder(data_dir)
        with folder_lock(home):
            return cls(home, PostgresPrograms.find(programs_folder).copy_if_inaccessible(account, home), account)

    @property
    def data_folder(self) -> Path:
        """PostgreSQL's data directory for this major version."""
        return self.cluster_folder / f"pg{self.programs.major_version}"

    @property
    def log_file(self) -> Path:
        """The server's log file."""
        return self.cluster_folder / "postgres.log"

    def start_or_attach_returning_usage_lock_fd(self) -> int:
        """Start the server or attach to the running one; returns the handle that marks it as in use."""
        with folder_lock(self.cluster_folder):
            self._start()
            users = os.open(self.cluster_folder / "postgres.users", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(users, fcntl.LOCK_SH)
            return users

    def restart_if_ended(self, socket_folder: Path) -> bool:
        """Restart the server if it has ended; True if it had."""
        if self._pid() is not None and self._sockets() == socket_folder:
            return False
        try:
            with folder_lock(self.cluster_folder):
                ended = self._pid() is None
                self._start()
                if self._sockets() != socket_folder:
                    raise DatabaseUnavailable(
                        f"The embedded PostgreSQL is no longer in {socket_folder}: start Almoner again."
                    )
                return ended
        except OSError as error:  # a full disk also refuses our own files
            raise build_database_unavailable_error(
                self.cluster_folder, f"{error.strerror}: {error.filename}"
            ) from error

    def maintain_ballast_file(self, reserved_bytes: int) -> None:
        """Create or remove the reserve file as needed."""
        with suppress(OSError):
            if self._next_ballast_step(reserved_bytes) is None:
                return
            with folder_lock(self.cluster_folder):
                step = self._next_ballast_step(reserved_bytes)  # another process may have done it
                if step == "create":
                    ballast.create_ballast_file(self.cluster_folder)
                    _log.info("Created the ballast file, %d MB, for a full disk", ballast.BALLAST_BYTES // MEBIBYTE)
                elif step == "remove" and ballast.remove_ballast_file(self.cluster_folder):
                    _log.warning("Removed the ballast file, %d MB", ballast.BALLAST_BYTES // MEBIBYTE)

    def _next_ballast_step(self, reserve: int) -> ballast.BallastStep | None:
        free = measure_free_space([self.cluster_folder])
        present = ballast.has_ballast_file(self.cluster_folder)
        return (
            None if free is None else ballast.next_ballast_file_step(free.free_bytes, reserve, ballast_exists=present)
        )

    def stop_if_unused(self, usage_lock_fd: int) -> None:
        """Stop the server unless another process uses it."""
        with folder_lock(self.cluster_folder), suppress(BlockingIOError):
            try:
                fcntl.flock(usage_lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._stop()
            finally:
                os.close(usage_lock_fd)

    def stop_leftover_server(self) -> None:
        """Stop a server that nobody uses. Raises DatabaseUnavailable if somebody does."""
        with folder_lock(self.cluster_folder):
            users = os.open(self.cluster_folder / "postgres.users", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._stop()
            except BlockingIOError:
                raise DatabaseUnavailable(
                    f"Almoner is running on {self.cluster_folder}: stop it first, with Ctrl-C."
                ) from None
            finally:
                os.close(users)

    def describe_running_server(self) -> PostgresServer:
        """The connection data of the running server."""
        if (sockets := self._sockets()) is None:
            raise DatabaseUnavailable(
                f"The embedded PostgreSQL in {self.cluster_folder} has just ended: start Almoner again."
            )
        return PostgresServer(self.cluster_folder, sockets, self._password_file().read_text())

    def _start(self) -> None:
        pid = self._pid()
        if pid is None:
            if not self.data_folder.exists():
                self._create()
            self._remove_ended()
            try:
                self._launch()
            except DiskFull:
                if not ballast.remove_ballast_file(self.cluster_folder):
                    raise
                _log.warning("The embedded PostgreSQL found no space and is started without the ballast file")
                self._launch()
        elif not _wait_until(lambda: self._ready(pid), _START_SECONDS):
            raise DatabaseUnavailable(f"The PostgreSQL server with process number {pid} does not get ready: end it.")

    def _stop(self) -> None:
        """Stop the server by SIGINT, its documented fast shutdown, which loses no commit."""
        pid = self._pid()
        if pid is None:
            return
        sockets = self._sockets()
        for ask in (signal.SIGINT, signal.SIGQUIT):
            with suppress(ProcessLookupError):
                os.kill(pid, ask)
            if _wait_until(lambda: has_process_ended(pid), _STOP_SECONDS):
                break
        self._remove_sockets(sockets)

    def _create(self) -> None:
        if (free := shutil.disk_usage(self.cluster_folder).free) < _FREE_BYTES_NEEDED:
            raise build_database_unavailable_error(self.cluster_folder, f"{free // 2**20} MB are free")
        unfinished = self.cluster_folder / f"{self.data_folder.name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        self.account.chown(unfinished)
        password = self._password_file()
        password.touch(mode=0o600)
        password.write_text(secrets.token_urlsafe(24))
        self.account.chown(password)
        command: list[str | Path] = [self.programs.folder / "initdb", "--pgdata", unfinished, "--encoding=UTF8"]
        command += ["--username", SUPERUSER, "--pwfile", password, "--auth=scram-sha-256"]
        # Sort by code point, but recognise letters of every script: pg_trgm asks the C library, the rest the ICU
        # provider.
        command += ["--locale=C", f"--lc-ctype={'UTF-8' if sys.platform == 'darwin' else 'C.UTF-8'}"]
        if self.programs.major_version >= _BUILTIN_LOCALE_SINCE:
            command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        result = subprocess.run(command, capture_output=True, text=True, check=False, **self.account.popen_arguments())
        if result.returncode != 0:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise build_database_unavailable_error(self.cluster_folder, find_failure_cause(result.stderr))
        unfinished.rename(self.data_folder)

    def _launch(self) -> None:
        sockets = self._socket_folder()
        deadline = time.monotonic() + _START_SECONDS
        while (stated := self._try(sockets, deadline - time.monotonic())) is not None:
            # The children of a killed server need a moment to notice; PostgreSQL waits for them.
            if "is still in use" not in stated or time.monotonic() > deadline:
                shutil.rmtree(sockets, ignore_errors=True)
                raise build_database_unavailable_error(self.cluster_folder, find_failure_cause(stated))
            time.sleep(10 * _POLL_SECONDS)

    def _socket_folder(self) -> Path:
        """The socket folder: the same at each start, so that clients find it again, unless its name is taken."""
        name = f"almoner-{hashlib.sha256(os.fsencode(self.cluster_folder)).hexdigest()[:8]}"
        folder = _short_folder() / name
        with suppress(FileNotFoundError):
            if folder.lstat().st_uid in {os.geteuid(), self.account.uid}:
                shutil.rmtree(folder, ignore_errors=True)
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            folder = Path(tempfile.mkdtemp(prefix="almoner-", dir=_short_folder()))
        self.account.chown(folder)
        return folder

    def _try(self, sockets: Path, seconds: float) -> str | None:
        """Start the server; returns its output if it did not become ready."""
        program: list[str | Path] = [
            self.programs.folder / "postgres",
            "-D",
            self.data_folder,
            "-k",
            sockets,
            "-p",
            "5432",
        ]
        usable = memory.usable_memory_bytes()
        held = {
            "cluster_name": f"{EMBEDDED}{_folder_fingerprint(self.data_folder)}",
            "shared_buffers": f"{shared_buffers_bytes(usable, self._data_bytes()) // MEBIBYTE}MB",
            "effective_cache_size": f"{effective_cache_bytes(usable) // MEBIBYTE}MB",
        }
        options = [f"--{name}={value}" for name, value in (_OPTIONS | held).items()]
        with self.log_file.open("ab") as log:
            before = log.tell()
            process = subprocess.Popen(
                [*program, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.account.popen_arguments()
            )
        _wait_until(lambda: process.poll() is not None or self._ready(process.pid), seconds)
        if process.poll() is None and self._ready(process.pid):
            process.returncode = 0  # it outlives us: otherwise Python warns of a child process left running
            return None
        process.kill()
        process.wait()
        return self.log_file.read_bytes()[before:].decode(errors="replace")

    def _data_bytes(self) -> int:
        """The size of all tables and indexes, in bytes."""
        return sum(file.stat().st_size for file in (self.data_folder / "base").glob("*/*"))

    def _remove_ended(self) -> None:
        """Let PostgreSQL see that the killed server is dead, even if its process ID is a zombie's or was reused.

        The file stays, since PostgreSQL finds the dead server's children through it; it does not mistake our own
        process ID, its parent's, for a server.
        """
        with suppress(FileNotFoundError, IndexError):
            self._remove_sockets(self._sockets())
            with (self.data_folder / "postmaster.pid").open("r+") as file:
                lines = file.read().splitlines(keepends=True)
                file.seek(0)
                file.writelines([f"{os.getpid()}\n", *lines[1:]])
                file.truncate()

    def _state(self) -> list[str]:
        """The lines of postmaster.pid: pid, folder, start, port, socket folder, address, memory key, status."""
        return (self.data_folder / "postmaster.pid").read_text().splitlines()

    def _pid(self) -> int | None:
        """The process ID of this cluster's running server."""
        try:
            pid = int(self._state()[0])
        except (FileNotFoundError, IndexError, ValueError):
            return None
        return None if has_process_ended(pid) or not _is_server_of(pid, self.data_folder) else pid

    def _ready(self, pid: int) -> bool:
        with suppress(FileNotFoundError):
            state = self._state()
            return len(state) > 7 and state[0] == str(pid) and state[7].strip() == "ready"
        return False

    def _sockets(self) -> Path | None:
        """The folder of the server's socket; None until the server has written it, some time after its process ID."""
        with suppress(FileNotFoundError, IndexError):
            if stated := self._state()[4]:
                return Path(stated)
        return None

    def _remove_sockets(self, sockets: Path | None) -> None:
        if sockets is not None:
            shutil.rmtree(sockets, ignore_errors=True)

    def _password_file(self) -> Path:
        return self.cluster_folder / f"{self.data_folder.name}.password"


def _is_server_of(pid: int, data: Path) -> bool:
    """Whether the process is a server of this cluster and not another process with a reused ID."""
    return str(data) in read_process_column(pid, "args")


def _folder_fingerprint(folder: Path) -> str:
    """A fingerprint of the folder that survives a move: its inode and, where known, its creation time."""
    status = folder.stat()
    birth: float | None = getattr(status, "st_birthtime", None)
    if birth is None and (program := shutil.which("stat")):  # Python cannot read it on Linux
        asked = subprocess.run([program, "-c", "%W", folder], capture_output=True, text=True, check=False)
        birth = float(asked.stdout) if asked.stdout.strip().isdigit() else None
    return f"{status.st_ino}.{birth or 0:.0f}"


def _wait_until(true: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _short_folder() -> Path:
    folder = Path(tempfile.gettempdir())
    short = len(os.fsencode(folder)) < _SOCKET_PATH_LIMIT
    return folder if short else Path("/tmp")  # noqa: S108 (short everywhere)

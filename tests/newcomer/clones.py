"""A fresh clone, and the commands that a newcomer types in it."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.support.running import free_port

PROJECT = Path(__file__).parents[2]
FIRST_START_SECONDS = 420.0
COMMAND_SECONDS = 180.0
STOP_SECONDS = 60.0
ORDINARY_USER = "daemon"  # is on every Unix, and owns nothing


@dataclass
class Started:
    """A command that is running, with what it has printed so far."""

    process: "subprocess.Popen[bytes]"
    log: Path
    port: int

    @property
    def printed(self) -> str:
        """Everything so far, of both streams."""
        return self.log.read_text(errors="replace")

    def until(self, text: str, seconds: float = FIRST_START_SECONDS) -> None:
        """Wait until it has printed the text."""
        ends = time.monotonic() + seconds
        while text not in self.printed:
            if self.process.poll() is not None:
                raise AssertionError(f"it ended with status {self.process.returncode}:\n{self.printed}")
            if time.monotonic() > ends:
                raise AssertionError(f"no {text!r} after {seconds} s:\n{self.printed}")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.05)

    def interrupt(self) -> int:
        """Ctrl-C: the terminal sends it to the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(STOP_SECONDS)


@dataclass
class Clone:
    """A clone of the project in a folder of its own, used by one account."""

    path: Path
    account: str | None
    umask: int = 0o022
    port: int = field(default_factory=free_port)

    def environment(self, given: dict[str, str]) -> dict[str, str]:
        """What a login of the account has, and the settings given; most of what pip would compile is never used."""
        stored = {
            name: os.environ[name] for name in os.environ if name.startswith(("PIP_", "SSL_", "http", "no_proxy"))
        }
        home = {"HOME": str(self.path.parent), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PIP_COMPILE": "0"}
        return {**stored, **home, "ALMONER_PORT": str(self.port), **given}

    def _identity(self) -> dict[str, Any]:
        if self.account is None:
            return {"umask": self.umask}
        entry = pwd.getpwnam(self.account)
        return {"umask": self.umask, "user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}

    def run(self, *command: str, **given: str) -> "subprocess.CompletedProcess[str]":
        """A command in the clone, to its end; both streams in ``stdout``."""
        with subprocess.Popen(
            command,
            cwd=self.path,
            env=self.environment(given),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            **self._identity(),
        ) as process:
            try:
                stated = process.communicate(timeout=COMMAND_SECONDS)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return subprocess.CompletedProcess(command, process.returncode, stated)

    @contextmanager
    def started(self, *command: str, **given: str) -> Iterator[Started]:
        """A command in the clone while the block lasts; it is interrupted at the end when it still runs."""
        log = Path(tempfile.mkstemp(prefix="almoner-newcomer-")[1])
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.path,
                env=self.environment(given),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **self._identity(),
            )
        started = Started(process, log, int(given.get("ALMONER_PORT", self.port)))
        try:
            yield started
        finally:
            if process.poll() is None:
                started.interrupt()
            log.unlink()

    @property
    def sandbox_file(self) -> Path:
        """Where tools find keys and addresses."""
        return self.path / "var" / "sandbox.json"

    def sandbox(self) -> dict[str, Any]:
        """Its content."""
        return dict(json.loads(self.sandbox_file.read_text()))

    def processes(self) -> list[psutil.Process]:
        """Everything alive that was started from this clone or works on its data."""
        marks = (str(self.path), str(self.home()))
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                places = (*process.cmdline(), process.cwd())
                if process.status() != psutil.STATUS_ZOMBIE and any(
                    mark in place for mark in marks for place in places
                ):
                    found.append(process)
        return found

    def home(self) -> Path:
        """The folder of the embedded database, which may not be below the clone."""
        stated = self.run(str(self.path / ".venv/bin/python"), "-c", _PRINT_HOME)
        return Path(stated.stdout.strip() or "/nowhere") if stated.returncode == 0 else Path("/nowhere")

    def remove(self) -> None:
        """End what a failed test left, and remove all files."""
        for process in self.processes():
            with suppress(psutil.Error):
                process.kill()
        home = self.home()
        if home.is_relative_to("/var/lib/almoner"):
            shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(self.path, ignore_errors=True)


_PRINT_HOME = (
    "from pathlib import Path; from almoner.platform.database import postgres; "
    "print(postgres.ensure_cluster_folder(Path('var')))"
)


def clone(into: Path, account: str | None) -> Clone:
    """Clone what is committed; the files belong to the account."""
    subprocess.run(["git", "-c", "safe.directory=*", "clone", "--quiet", PROJECT, into], check=True)
    if account is not None:
        entry = pwd.getpwnam(account)
        for folder, _, files in os.walk(into):
            os.chown(folder, entry.pw_uid, entry.pw_gid)
            for name in files:
                os.chown(Path(folder, name), entry.pw_uid, entry.pw_gid, follow_symlinks=False)
    return Clone(into, account)


def private(folder: Path) -> Clone:
    """A clone of whoever runs the tests in a folder that nobody else may enter: a long path, a strict umask."""
    folder.mkdir(mode=0o700)
    made = clone(lengthen(folder, 150), None)
    made.umask = 0o077
    return made


def share_environment(given: Clone, taken: Clone) -> None:
    """Give a clone what ``tools/bootstrap service`` has made in another, on the same files."""
    environment = taken.path / ".venv"
    shutil.copytree(given.path / ".venv", environment, copy_function=os.link, symlinks=True)
    naming = [*environment.glob("bin/*"), *environment.glob("lib/*/site-packages/*.pth"), environment / "pyvenv.cfg"]
    for file in (*naming, environment / "place"):
        if not file.is_symlink() and str(given.path).encode() in (content := file.read_bytes()):
            mode = file.stat().st_mode
            file.unlink()  # the other keeps its own
            file.write_bytes(content.replace(bytes(given.path), bytes(taken.path)))
            file.chmod(mode)
    made = environment / "made-service"
    made.unlink()
    command = "(pwd -P; cat requirements/pip.txt requirements/service.txt pyproject.toml) | cksum"
    made.write_text(subprocess.check_output(["/bin/sh", "-c", command], cwd=taken.path, text=True))


def lengthen(folder: Path, characters: int) -> Path:
    """A path below the folder with this many characters."""
    missing = characters - len(str(folder)) - 1
    return folder / ("a-long-name-of-a-folder-" * 10)[:missing]

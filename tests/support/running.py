"""The real command, started as a newcomer starts it: own port, own data folder, stopped by Ctrl-C."""

import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ALMONER = Path(sys.executable).with_name("almoner")
READY_SECONDS = 240.0
STOP_SECONDS = 45.0


@dataclass(frozen=True, slots=True)
class Running:
    """A running service. ``sandbox`` is its sandbox.json: keys, addresses."""

    process: "subprocess.Popen[bytes]"
    base_url: str
    data_dir: Path
    log: Path
    sandbox: dict[str, Any]

    @property
    def secret_key(self) -> str:
        """The secret key of the first partner."""
        return str(self.sandbox["secretKey"])

    @property
    def second_secret_key(self) -> str:
        """The secret key of the second partner."""
        return str(self.sandbox["secondSecretKey"])

    def tail(self, lines: int = 30) -> str:
        """The end of its output."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def free_port() -> int:
    """A free port whose successor is free too, on both loopback families; below those of outgoing connections.

    It is reserved while this process lives: a process started on it listens seconds later.
    """
    while True:
        port = 20_000 + 2 * secrets.randbelow(6_000)
        if _claim(port) and all(_is_free(number) for number in (port, port + 1)):
            return port


def _claim(port: int) -> bool:
    """Reserve it until this process ends. False if a test process has it, including this one."""
    folder = Path(tempfile.gettempdir()) / f"almoner-ports-{os.geteuid()}"
    folder.mkdir(exist_ok=True)
    handle = os.open(folder / str(port), os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return False
    return True


def _is_free(port: int) -> bool:
    try:
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            with socket.create_server((host, port), family=family):
                continue
    except OSError:
        return False
    return True


@contextmanager
def folder(prefix: str, place: Path | None = None) -> Iterator[Path]:
    """A temporary folder that PostgreSQL's account can reach even if tests run as root."""
    made = Path(tempfile.mkdtemp(prefix=f"almoner-{prefix}-", dir=place))
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def running(data_dir: Path, command: str = "run", output: int | None = None, /, **settings: str) -> Iterator[Running]:
    """``almoner run`` until the block ends; ``settings`` become ALMONER_ variables.

    ``output``: the file descriptor for its output, its log by default.
    """
    port = int(settings.pop("port", None) or free_port())
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")}
    environment |= {"ALMONER_PORT": str(port), "ALMONER_DATA_DIR": str(data_dir)}
    environment |= {f"ALMONER_{name.upper()}": value for name, value in settings.items()}
    data_dir.mkdir(parents=True, exist_ok=True)
    log = data_dir / f"{command}.log"
    with log.open("ab") as file:
        process = subprocess.Popen(
            [ALMONER, command],
            env=environment,
            stdout=file if output is None else output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    base_url = f"http://localhost:{port}"
    try:
        _wait(process, base_url, log)
        sandbox = json.loads((data_dir / "sandbox.json").read_text())
        yield Running(process, base_url, data_dir, log, sandbox)
    finally:
        stop(process)


def stop(process: "subprocess.Popen[bytes]") -> int:
    """Press Ctrl-C as a terminal does, for the whole group; returns the exit status."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
    try:
        return process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def _wait(process: "subprocess.Popen[bytes]", base_url: str, log: Path) -> None:
    ends = time.monotonic() + READY_SECONDS
    while not _is_ready(base_url):
        if process.poll() is not None:
            raise RuntimeError(
                f"the service ended with status {process.returncode}:\n{log.read_text(errors='replace')}"
            )
        if time.monotonic() > ends:
            raise RuntimeError(f"not ready after {READY_SECONDS} s:\n{log.read_text(errors='replace')[-3000:]}")
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1)


def _is_ready(base_url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{base_url}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False

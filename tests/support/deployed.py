"""Almoner as deployed: commands and processes with their own settings, and an external database."""

import base64
import os
import re
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx

from tests.support.running import ALMONER, free_port

KEY: Final = base64.b64encode(bytes(range(32))).decode()


@dataclass
class Deployed:
    """The settings of one deployment, and its processes. ``credentials``: variables of other programs."""

    folder: Path
    settings: dict[str, str]
    credentials: dict[str, str] = field(default_factory=dict)
    running: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its commands."""
        own = {"ALMONER_MASTER_KEY": KEY, "ALMONER_DATA_DIR": str(self.folder / "data"), "ALMONER_HOST": "127.0.0.1"}
        given = {f"ALMONER_{name.upper()}": value for name, value in self.settings.items()}
        return {
            "PATH": f"{ALMONER.parent}:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": os.environ.get("HOME", "/"),
            **self.credentials,
            **own,
            **given,
        }

    def command(self, *words: str, fails: bool = False) -> str:
        """Run ``almoner``; returns its output."""
        done = subprocess.run(
            [ALMONER, *words], env=self.environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def partner_key(self) -> str:
        """The secret key of a new partner."""
        found = re.search(r"sk_\w+", self.command("partners", "create", "Partner of a test"))
        assert found is not None
        return found[0]

    def start(self, command: str, name: str | None = None, **settings: str) -> str:
        """Start a server or worker and wait until it is ready; returns its address."""
        name = name or command
        port = self.ports.setdefault(name, free_port())
        given = {"ALMONER_PORT": str(port), "ALMONER_WORKER_PORT": str(port)}
        given |= {f"ALMONER_{key.upper()}": value for key, value in settings.items()}
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [ALMONER, command], env={**self.environment, **given}, stdout=log, stderr=subprocess.STDOUT
            )
        address = f"http://127.0.0.1:{port}"
        for _ in range(600):
            assert self.running[name].poll() is None, (self.folder / f"{name}.log").read_text()[-2000:]
            if _ready(address):
                return address
            with suppress(subprocess.TimeoutExpired):
                self.running[name].wait(0.1)
        raise TimeoutError((self.folder / f"{name}.log").read_text()[-2000:])

    def stop(self) -> None:
        """Stop all processes."""
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            process.wait(60)
        self.running.clear()


def _ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/readyz", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False

"""One server alone, restarted behind a socket that a service manager keeps open: no connection is refused."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.running import ALMONER
from tests.support.service import Service, serving

PER_SECOND = 25
ACTIVATE = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ |= {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
os.execv(sys.argv[2], sys.argv[2:])
"""
"""What systemd does between fork and exec, for one socket."""


@pytest.fixture
async def service(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service of its own."""
    async with serving(empty_database) as made:
        yield made


class Activator:
    """Keeps a socket and starts the server on it, as a socket unit with its service does."""

    def __init__(self, service: Service, folder: Path) -> None:
        self._service = service
        self._folder = folder
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.told.bind(str(folder / "notify"))
        self.told.setblocking(False)
        self.address = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """The server, which opens no socket itself."""
        given = {
            "ALMONER_DATABASE_URL": self._service.database.dsn,
            "ALMONER_MASTER_KEY": self._service.master_key,
            "ALMONER_DATA_DIR": str(self._folder / "data"),
            "ALMONER_DRAIN_SECONDS": "1",
            "ALMONER_PORT": "1",  # which only root could open
            "ALMONER_PROVIDER_URL": "http://127.0.0.1:9",
            "ALMONER_STRIPE_SECRET_KEY": "sk_test_" + "0" * 24,  # so that no test provider needs a port
            "ALMONER_STRIPE_WEBHOOK_SECRET": "whsec_" + "0" * 32,
            "ALMONER_RATE_LIMIT_SECRET": "1000/1000",
            "NOTIFY_SOCKET": str(self._folder / "notify"),
            "PATH": os.defpath,
        }
        number = self.listening.fileno()
        with (self._folder / "server.log").open("ab") as log:
            self.running = subprocess.Popen(
                [sys.executable, "-c", ACTIVATE, str(number), str(ALMONER), "serve"],
                env=given, pass_fds=[number], stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip

    async def hear(self) -> str:
        """What the server says next."""
        return (await asyncio.get_running_loop().sock_recv(self.told, 100)).decode()

    def close(self) -> None:
        """End it."""
        if self.running is not None:
            self.running.kill()
            self.running.wait(30)
        self.told.close()
        self.listening.close()


async def test_a_restart_refuses_no_connection(service: Service, tmp_path: Path) -> None:
    key = (await service.tenant()).secret
    activator = Activator(service, tmp_path)
    statuses: list[int | str] = []
    over = asyncio.Event()

    async def ask(client: httpx.AsyncClient) -> None:
        try:
            statuses.append((await client.get("/v1/categories")).status_code)
        except httpx.HTTPError as error:
            statuses.append(repr(error))

    async def keep_asking(limits: httpx.Limits) -> None:
        """Half of the load; each request on a connection of its own, or on those that are kept."""
        headers = {"Authorization": key}
        async with (
            httpx.AsyncClient(base_url=activator.address, headers=headers, limits=limits, timeout=30) as client,
            asyncio.TaskGroup() as group,
        ):
            while not over.is_set():
                group.create_task(ask(client))
                with suppress(TimeoutError):
                    async with asyncio.timeout(2 / PER_SECOND):
                        await over.wait()

    try:
        activator.start()
        assert await asyncio.wait_for(activator.hear(), 60) == "READY=1"
        async with asyncio.TaskGroup() as group:
            for kept in (0, 20):
                group.create_task(keep_asking(httpx.Limits(max_connections=None, max_keepalive_connections=kept)))
            await eventually(lambda: len(statuses) > PER_SECOND // 2)
            assert activator.running is not None
            activator.running.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(activator.hear(), 60) == "STOPPING=1"
            assert await asyncio.to_thread(activator.running.wait, 30) == 0
            activator.start()
            assert await asyncio.wait_for(activator.hear(), 60) == "READY=1"
            answered = len(statuses)
            await eventually(lambda: len(statuses) > answered + PER_SECOND // 2)
            over.set()
    finally:
        activator.close()
    assert set(statuses) == {200}
    assert len(statuses) > PER_SECOND

"""A server with few file descriptors whose log nobody reads, and clients that never finish what they begin."""

import base64
import os
import resource
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import asyncpg
import httpx
import pytest

from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.running import ALMONER, free_port

DESCRIPTORS = 256
HALF_OPEN = 600
LOST = "almoner_log_lines_dropped_total "


@contextmanager
def _serving(database: TestDatabase, folder: Path, log: BinaryIO) -> Iterator[int]:
    """The port of a server."""
    port = free_port()
    settings = {
        "ALMONER_DATABASE_URL": database.dsn,
        "ALMONER_MASTER_KEY": base64.b64encode(os.urandom(32)).decode(),
        "ALMONER_DATA_DIR": str(folder),
        "ALMONER_PORT": str(port),
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")}
    process = subprocess.Popen([ALMONER, "serve"], env=inherited | settings, stderr=log)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    try:
        yield port
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture
def log() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """The two ends of a pipe."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "wb") as writer:
        yield reader, writer


async def test_neither_half_open_connections_nor_an_unread_log_keep_a_server_from_answering(
    empty_database: TestDatabase, tmp_path: Path, log: tuple[BinaryIO, BinaryIO]
) -> None:
    reader, writer = log
    with _serving(empty_database, tmp_path, writer) as port, ExitStack() as opened:
        api = opened.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30))

        def ready() -> bool:
            try:
                return api.get("/readyz").status_code == 200
            except httpx.TransportError:
                return False

        await eventually(ready, within=60)
        for number in range(HALF_OPEN):
            half_open = opened.enter_context(socket.create_connection(("127.0.0.1", port)))
            half_open.sendall(b"GET /")
            if number % 50 == 0:
                assert _answers(port), "on a new connection"
        while (lost := _lost(api)) == 0:
            api.get("/healthz")
        reader.close()
        superuser = await asyncpg.connect(empty_database.server.superuser_url(empty_database.name))
        try:
            await superuser.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where datname = current_database() and pid <> pg_backend_pid()"
            )
        finally:
            await superuser.close()
        await eventually(ready, within=60)
        await eventually(lambda: _lost(api) > lost)


def _answers(port: int) -> bool:
    return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=30).status_code == 200


def _lost(api: httpx.Client) -> float:
    (line,) = (line for line in api.get("/metrics").text.splitlines() if line.startswith(LOST))
    return float(line.removeprefix(LOST))

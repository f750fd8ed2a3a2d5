"""Servers restarted one after the other behind the proxies of ``deploy``: no request fails (O10, O11)."""

import asyncio
import itertools
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import httpx
import pytest
from _pytest.mark import ParameterSet

from almoner.cli.serve import serve_application
from almoner.wiring import build_status_page_writer
from tests.support.certificates import Authority
from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.running import ALMONER, free_port
from tests.support.service import Service, serving

SAMPLES = Path(__file__).parents[2] / "deploy" / "proxies"
PER_SECOND = 100
SENDERS = 20
DRAIN_SECONDS = 10
NAME = "api.example.org"


def _nginx(folder: Path, sample: str) -> tuple[Path, list[str]]:
    file = folder / "nginx.conf"
    paths = " ".join(
        f"{kind}_temp_path {folder / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file.write_text(
        f"daemon off; pid {folder / 'nginx.pid'}; error_log {folder / 'nginx.log'};\n"
        f"events {{ worker_connections 512; }}\nhttp {{ access_log off; {paths}\n{sample}\n}}\n"
    )
    return file, ["nginx", "-c", str(file), "-e", str(folder / "nginx.log")]


def _haproxy(folder: Path, sample: str) -> tuple[Path, list[str]]:
    file = folder / "haproxy.cfg"
    file.write_text(sample)
    return file, ["haproxy", "-db", "-f", str(file)]


def _caddy(folder: Path, sample: str) -> tuple[Path, list[str]]:
    file = folder / "Caddyfile"
    file.write_text(f"{{\n\tadmin off\n\tauto_https off\n\tdefault_sni {NAME}\n}}\n" + sample)
    return file, ["caddy", "run", "--adapter", "caddyfile", "--config", str(file)]


PROXIES = {"nginx": ("nginx.conf", _nginx), "haproxy": ("haproxy.cfg", _haproxy), "caddy": ("Caddyfile", _caddy)}


@contextmanager
def proxied(name: str, folder: Path, backends: tuple[int, int], status: Path | None = None) -> Iterator[str]:
    """The sample in front of two servers, on ports of this test and with its certificate: the address.

    ``status``: the folder of the static status page.
    """
    port, plain = free_port(), free_port()
    Authority().serving(folder, NAME)
    certificate = str(folder / f"{NAME}.pem")
    sample_name, prepare = PROXIES[name]
    sample = (SAMPLES / sample_name).read_text()
    changes = {
        "127.0.0.1:8080": f"127.0.0.1:{backends[0]}",
        "127.0.0.1:8090": f"127.0.0.1:{backends[1]}",
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "bind :443 ": f"bind 127.0.0.1:{port} ",
        "api.example.org, give.example.org {": (
            f"https://{NAME}:{port} {{\n\tbind 127.0.0.1\n\ttls {certificate} {certificate}"
        ),
        "/etc/ssl/almoner/cert-and-key.pem": certificate,
        "/etc/ssl/almoner/cert.pem": certificate,
        "/etc/ssl/almoner/key.pem": certificate,
        "/var/cache/almoner": str(status or folder),
    }
    for before, after in changes.items():
        sample = sample.replace(before, after)
    assert not re.search(r":(8080|8090|443)\b", sample)
    _, command = prepare(folder, sample)
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield f"https://127.0.0.1:{port}"
        assert process.poll() is None, (folder / "proxy.log").read_text()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


@dataclass
class Servers:
    """Two servers of one database."""

    service: Service
    folder: Path
    key: str
    ports: tuple[int, int] = field(default_factory=lambda: (free_port(), free_port()))
    running: "dict[int, subprocess.Popen[bytes]]" = field(default_factory=dict)

    def start(self, port: int) -> None:
        """One of them."""
        given = {
            "ALMONER_DATABASE_URL": self.service.database.dsn,
            "ALMONER_MASTER_KEY": self.service.master_key,
            "ALMONER_DATA_DIR": str(self.folder / "data"),
            "ALMONER_DRAIN_SECONDS": str(DRAIN_SECONDS),
            "ALMONER_PORT": str(port),
            "ALMONER_HOST": "127.0.0.1",
            "ALMONER_RATE_LIMIT_SECRET": "1000/1000",
            "PATH": "/usr/bin:/bin",
        }
        with (self.folder / f"{port}.log").open("ab") as log:
            self.running[port] = subprocess.Popen([ALMONER, "serve"], env=given, stdout=log, stderr=subprocess.STDOUT)

    def ready(self, port: int) -> bool:
        """Whether it says so."""
        try:
            return httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def left(self, port: int) -> bool:
        """Whether it says that it is not ready."""
        return not self.ready(port)

    def stop(self) -> None:
        """All of them."""
        for process in self.running.values():
            process.kill()
            process.wait(30)


@pytest.fixture
async def servers(empty_database: TestDatabase, tmp_path: Path) -> AsyncIterator[Servers]:
    """Both, ready."""
    async with serving(empty_database) as service:
        made = Servers(service, tmp_path, (await service.tenant()).secret)
        try:
            for port in made.ports:
                made.start(port)
            for port in made.ports:
                await eventually(partial(made.ready, port), within=60)
            yield made
        finally:
            made.stop()


@dataclass
class Load:
    """What was answered."""

    answered: int = 0
    failed: list[str] = field(default_factory=list)


@asynccontextmanager
async def under_load(address: str, key: str) -> AsyncIterator[Load]:
    """Reads and writes, up to a hundred a second, as a partner's servers send them: on connections that are kept."""
    load, over = Load(), asyncio.Event()
    headers = {"Authorization": key, "Host": NAME}

    async def ask(client: aiohttp.ClientSession, number: int) -> None:
        method, body = ("GET", None) if number % 4 else ("POST", {"name": f"Category {number}"})
        try:
            async with client.request(method, "/v1/categories", json=body, ssl=False) as answer:
                load.answered += 1
                if answer.status != 200:
                    load.failed.append(f"{method} {answer.status} {(await answer.text())[:200]}")
        except (aiohttp.ClientError, TimeoutError) as error:
            load.failed.append(f"{method} {error!r}")

    async def send(client: aiohttp.ClientSession, numbers: Iterator[int]) -> None:
        while not over.is_set():
            began = time.monotonic()
            await ask(client, next(numbers))
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, SENDERS / PER_SECOND - (time.monotonic() - began))):
                    await over.wait()

    timeout = aiohttp.ClientTimeout(total=20)
    async with (
        aiohttp.ClientSession(address, headers=headers, timeout=timeout) as client,
        asyncio.TaskGroup() as group,
    ):
        numbers = itertools.count()
        for _ in range(SENDERS):
            group.create_task(send(client, numbers))
        try:
            yield load
        finally:
            over.set()


def installed(*names: str) -> list[ParameterSet]:
    """Those of the proxies that are, the others skipped."""
    return [
        pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed"))
        for name in names
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", installed(*PROXIES))
async def test_a_rolling_restart_loses_no_request(servers: Servers, tmp_path: Path, name: str) -> None:
    with proxied(name, tmp_path, servers.ports) as address:
        reads = httpx.AsyncClient(base_url=address, headers={"Host": NAME}, verify=False)

        async def through() -> bool:
            try:
                return (await reads.get("/readyz")).status_code == 200
            except httpx.TransportError:
                return False

        await eventually(through, within=30)
        async with under_load(address, servers.key) as load:
            for port in servers.ports:
                process = servers.running[port]
                process.send_signal(signal.SIGTERM)
                await eventually(partial(servers.left, port))
                assert process.poll() is None, "it goes on answering"
                assert await asyncio.to_thread(process.wait, 30) == 0
                servers.start(port)
                await eventually(partial(servers.ready, port), within=60)
        await reads.aclose()
    assert load.failed == []
    assert load.answered > 2 * DRAIN_SECONDS * SENDERS


async def test_a_server_says_that_it_stops_and_goes_on_answering(servers: Servers) -> None:
    port, other = servers.ports
    process, hurried = servers.running[port], servers.running[other]
    address = f"http://127.0.0.1:{port}"
    process.send_signal(signal.SIGTERM)
    await eventually(lambda: not servers.ready(port))
    async with httpx.AsyncClient(base_url=address, timeout=30) as client:
        assert (await client.get("/readyz")).json()["checks"] == {"stopping": "this server is stopping"}
        answer = await client.get("/v1/categories", headers={"Authorization": servers.key})
    assert (answer.status_code, answer.headers["connection"]) == (200, "close")
    for _ in range(2):  # the second one ends the wait
        hurried.send_signal(signal.SIGTERM)
        await eventually(lambda: hurried.poll() is not None or not servers.ready(other))
    assert await asyncio.to_thread(hurried.wait, 30) == 0
    assert process.poll() is None, "the one that was asked before still answers"
    assert await asyncio.to_thread(process.wait, 30) == 0


@pytest.fixture
def status_folder() -> Iterator[Path]:
    """A folder that every user may read, such as the one whom nginx's workers are."""
    with TemporaryDirectory(prefix="almoner-status-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.mark.long
@pytest.mark.parametrize("name", installed("nginx", "caddy"))
async def test_the_proxy_serves_the_status_page_while_the_service_is_down(
    empty_database: TestDatabase, tmp_path: Path, status_folder: Path, name: str
) -> None:
    listening, stop = socket.create_server(("127.0.0.1", 0)), asyncio.Event()
    async with serving(empty_database, status_dir=str(status_folder)) as service:
        await build_status_page_writer(service.services).write_files()
        with proxied(name, tmp_path, (listening.getsockname()[1], free_port()), status_folder) as address:
            client = httpx.AsyncClient(base_url=address, headers={"Host": NAME}, verify=False, timeout=20)
            serves = asyncio.create_task(serve_application(service.app, [listening], stop))

            async def is_served() -> bool:
                try:
                    return "content-security-policy" in (await client.get("/status")).headers
                except httpx.TransportError:
                    return False

            await eventually(is_served, within=20)
            stop.set()
            await serves
            for path, media_type in (("/status", "text/html"), ("/status.json", "application/json")):
                answer = await client.get(path)
                file = status_folder / f"status.{media_type.partition('/')[2]}"
                assert (answer.status_code, answer.text) == (200, file.read_text())
                assert answer.headers["content-type"].startswith(media_type)
            assert (await client.get("/healthz")).status_code in (502, 503)
            await client.aclose()

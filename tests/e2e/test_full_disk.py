"""`almoner run` on a small disk that fills up: reads go on, nothing ends, and all is well again once there is room."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import httpx
import pytest

from almoner.platform.database import ballast, postgres
from tests.support.eventually import eventually
from tests.support.furnished import furnish
from tests.support.running import Running, folder, running
from tests.support.small_disk import MEBIBYTE, exhaust_write_ahead_log, fill, fill_inodes, small_disk

RESERVE = 128
WITHIN = 60.0


@pytest.fixture(scope="module")
async def service() -> AsyncIterator[Running]:
    """A sandbox with a reserve, on a disk of its own."""
    with folder("full") as made, small_disk(made / "disk", 900, inodes=20_000) as data:
        await asyncio.to_thread(furnish, data, "Food Bank of Nowhere")
        with running(data, disk_reserve_mb=str(RESERVE), rate_limit_secret="10000/10000") as started:
            yield started


@pytest.fixture
def api(service: Running) -> Iterator[httpx.Client]:
    """Calls with a secret key."""
    headers = {"Authorization": service.secret_key}
    with httpx.Client(base_url=service.base_url, headers=headers, timeout=30) as client:
        yield client


@pytest.fixture
def filler(service: Running) -> Iterator[Path]:
    """A file that fills the disk; gone after the test, whatever came of it."""
    file = service.data_dir / "filler"
    yield file
    file.unlink(missing_ok=True)


def _write(api: httpx.Client) -> httpx.Response:
    return api.post("/v1/categories", json={"name": os.urandom(8).hex()})


def _read(api: httpx.Client, path: str = "/v1/categories") -> httpx.Response:
    return api.get(path)


async def _until_written(api: httpx.Client) -> None:
    await eventually(lambda: _write(api).status_code == 200, within=WITHIN)


async def _until_refused(api: httpx.Client) -> None:
    """Writes are refused as the interface says; reads are answered, and the server stays in service."""
    await eventually(lambda: _write(api).status_code == 503, within=WITHIN)
    refused = _write(api)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "service_unavailable")
    assert int(refused.headers["retry-after"]) > 0
    assert _read(api).status_code == 200
    ready = _read(api, "/readyz")
    assert ready.status_code == 200
    assert "nearly full" in ready.json()["writesRefused"]["why"]


def _remove(file: Path) -> None:
    file.unlink()


def _log(service: Running) -> str:
    return (service.data_dir / "almoner.log").read_text()


def _ballast(service: Running) -> bool:
    return ballast.has_ballast_file(service.data_dir)


async def test_writes_are_refused_on_a_nearly_full_disk_and_accepted_again_by_itself(
    service: Running, api: httpx.Client, filler: Path
) -> None:
    await _until_written(api)
    await eventually(lambda: _ballast(service), within=WITHIN)
    before = len(_log(service))
    fill(filler, leave=RESERVE * MEBIBYTE // 2)
    await _until_refused(api)
    assert _ballast(service)
    assert "writes_refused" in _log(service)
    fill(filler)
    await eventually(lambda: not _ballast(service), within=WITHIN)
    await _until_refused(api)
    _remove(filler)
    await _until_written(api)
    await eventually(lambda: _ballast(service), within=WITHIN)
    said = _log(service)[before:]
    assert said.count('"writes_refused"') == said.count('"writes_resumed"') == 1
    assert "Created the ballast file" in said
    assert service.process.poll() is None


async def test_a_start_on_a_nearly_full_disk_succeeds_and_says_that_writes_are_refused(
    service: Running, api: httpx.Client, filler: Path
) -> None:
    fill(filler, leave=RESERVE * MEBIBYTE // 2)
    with running(service.data_dir, disk_reserve_mb=str(RESERVE)) as another:
        await eventually(lambda: "writes are refused until 160 MB are free" in another.tail(), within=WITHIN)
        headers = {"Authorization": another.secret_key}
        with httpx.Client(base_url=another.base_url, headers=headers, timeout=30) as client:
            await _until_refused(client)
    _remove(filler)
    await _until_written(api)


async def test_a_disk_without_inodes_is_a_full_disk(service: Running, api: httpx.Client) -> None:
    await _until_written(api)
    many = service.data_dir / "many"
    fill_inodes(many)
    await _until_refused(api)
    shutil.rmtree(many)
    await _until_written(api)
    assert service.process.poll() is None


async def test_a_database_that_ended_over_its_full_disk_starts_again_once_there_is_room(
    service: Running, api: httpx.Client, filler: Path
) -> None:
    await _until_written(api)
    server = postgres.Cluster.locate(service.data_dir, None).describe_running_server()
    connection = await asyncpg.connect(server.superuser_url())
    fill(filler)
    await eventually(lambda: not _ballast(service), within=WITHIN)
    fill(filler)
    await exhaust_write_ahead_log(connection)
    connection.terminate()
    await eventually(lambda: _read(api).status_code == 503, within=WITHIN)
    assert _read(api, "/healthz").status_code == 200
    _remove(filler)
    await _until_written(api)
    assert service.process.poll() is None


async def test_the_ballast_lets_a_killed_database_start_again_on_a_full_disk(
    service: Running, api: httpx.Client, filler: Path
) -> None:
    await eventually(lambda: _ballast(service), within=WITHIN)
    _fill_all_but_ballast(service, filler)
    os.kill(_server(service.data_dir), signal.SIGKILL)
    await eventually(lambda: not _ballast(service), within=WITHIN)
    await eventually(lambda: _read(api).status_code == 200, within=WITHIN)
    await _until_refused(api)
    _remove(filler)
    await _until_written(api)


def _fill_all_but_ballast(service: Running, filler: Path) -> None:
    """Fill the disk. If the ballast file was removed meanwhile and its space filled as well, free as much again."""
    fill(filler)
    if not _ballast(service):
        os.truncate(filler, filler.stat().st_size - ballast.BALLAST_BYTES)


def _server(data: Path) -> int:
    """The process number of the embedded PostgreSQL."""
    (file,) = data.glob("pg[0-9][0-9]/postmaster.pid")
    return int(file.read_text().splitlines()[0])

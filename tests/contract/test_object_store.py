"""An object store at an address of our own, by http where the setting says so; a missing bucket is told (O5).

One that hangs, or answers a byte a minute, is away after our own time, whatever obstore's is, and only so many wait.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from aiohttp import web
from obstore.store import from_url

from almoner import backends, settings
from almoner.adapters.storage_objects import ObjectStorage
from almoner.platform.files.storage import StorageUnavailable, TrashedBlob
from almoner.platform.observability.deployment_checks import describe_error

MISSING = "<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message></Error>"


@asynccontextmanager
async def object_store(bucket: str) -> AsyncIterator[tuple[str, dict[str, bytes]]]:
    """A server that speaks as much of S3 as one object needs: its address, and what lies in it."""
    stored: dict[str, bytes] = {}

    async def answer(request: web.Request) -> web.Response:
        if request.path.split("/")[1] != bucket:
            return web.Response(status=404, text=MISSING, content_type="application/xml")
        if request.method == "PUT":
            stored[request.path] = await request.read()
            return web.Response(headers={"ETag": '"1"'})
        if request.method == "POST":  # the removal of several
            keys = re.findall("<Key>([^<]+)</Key>", await request.text())
            for key in keys:
                del stored[f"/{bucket}/{key}"]
            deleted = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
            return web.Response(text=f"<DeleteResult>{deleted}</DeleteResult>", content_type="application/xml")
        headers = {"ETag": '"1"', "Last-Modified": "Thu, 26 Nov 2026 00:00:00 GMT"}
        return web.Response(body=stored[request.path], headers=headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", stored
    finally:
        await runner.cleanup()


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the store's own variables tell them."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "tests")


@pytest.mark.usefixtures("credentials")
async def test_an_http_endpoint_of_ours_and_a_missing_bucket(tmp_path: Path) -> None:
    async with object_store("documents") as (address, stored):
        given = settings.read_settings(
            documents_url="s3://documents/almoner", documents_endpoint=address, data_dir=tmp_path
        )
        await backends.check_document_storage(given)
        assert backends.document_storage_location(given) == "s3://documents/almoner"
        assert stored == {}, "what was written is removed"
        await backends.build_storage(given).write_deployment_record("one", b"here")
        assert list(stored.values()) == [b"here"]
        missing = settings.read_settings(documents_url="s3://nowhere/x", documents_endpoint=address)
        with pytest.raises(StorageUnavailable) as refused:
            await backends.check_document_storage(missing)
        with pytest.raises(StorageUnavailable):  # answered 503, and tried again
            await backends.build_storage(missing).write_deployment_record("one", b"here")
    assert "NoSuchBucket" in describe_error(refused.value)


PATIENCE = 0.3
KEY = "00" + "0" * 24
TODAY = datetime.now(UTC).date()
BEGINNINGS = {
    "nothing": b"",
    "a byte of a head": b"H",
    "a head without its body": b'HTTP/1.1 200 OK\r\nContent-Length: 9000\r\nETag: "1"\r\n'
    b"Last-Modified: Thu, 26 Nov 2026 00:00:00 GMT\r\n\r\n",
    "a part of a body": b'HTTP/1.1 200 OK\r\nContent-Length: 9000\r\nETag: "1"\r\n'
    b"Last-Modified: Thu, 26 Nov 2026 00:00:00 GMT\r\n\r\n" + b"<" * 100,
    "busy, busy": b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
}


async def _pieces() -> AsyncIterator[bytes]:
    yield b"x" * 1000


async def _whole(parts: AsyncIterator[Any]) -> None:
    async for _ in parts:
        pass


USES: dict[str, Callable[[ObjectStorage], Coroutine[Any, Any, Any]]] = {
    "put": lambda store: store.put(KEY, _pieces()),
    "get": lambda store: _whole(store.get(KEY)),
    "remove": lambda store: store.remove(KEY),
    "list": lambda store: _whole(store.list_blobs()),
    "move to trash": lambda store: store.move_to_trash(KEY, TODAY),
    "list trash": lambda store: _whole(store.list_trashed()),
    "restore": lambda store: store.restore(TrashedBlob(KEY, TODAY)),
    "purge": lambda store: store.purge_trashed(TrashedBlob(KEY, TODAY)),
    "read mark": lambda store: store.read_deployment_record("one"),
    "write mark": lambda store: store.write_deployment_record("one", b"here"),
    "list marks": lambda store: store.list_deployment_records(),
    "check": lambda store: store.check(),
}


@asynccontextmanager
async def hanging_store(beginning: bytes, *, most_waiting: int = 64) -> AsyncIterator[ObjectStorage]:
    """A store whose server answers each request with these bytes, and then no more."""
    ended = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(beginning)
        await ended.wait()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    store = from_url("s3://documents", endpoint=endpoint, client_options={"allow_http": True})
    try:
        yield ObjectStorage(store, patience=PATIENCE, most_waiting=most_waiting)
    finally:
        ended.set()
        server.close()


@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("beginning", BEGINNINGS)
async def test_a_store_that_hangs_is_away_in_time(beginning: str) -> None:
    async def outcome(use: Callable[[ObjectStorage], Coroutine[Any, Any, Any]]) -> bool:
        try:
            await use(storage)
        except StorageUnavailable:
            return False
        return True

    began = monotonic()
    async with hanging_store(BEGINNINGS[beginning]) as storage:
        outcomes = await asyncio.gather(*map(outcome, USES.values()))
    assert monotonic() - began < 25, "obstore itself waits for 30 s, and tries again for three minutes"
    passed = {name for name, well in zip(USES, outcomes, strict=True) if well}
    assert passed <= ({"put", "write mark"} if b" 200 " in BEGINNINGS[beginning] else set()), "their answer is a head"


@pytest.mark.usefixtures("credentials")
async def test_only_so_many_wait_for_a_store_that_hangs() -> None:
    async with hanging_store(b"", most_waiting=2) as storage:
        waiting = [asyncio.create_task(storage.read_deployment_record("one")) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(StorageUnavailable):
            await storage.read_deployment_record("one")
        assert not any(one.done() for one in waiting), "it is told so at once"
        assert [type(found) for found in await asyncio.gather(*waiting, return_exceptions=True)] == [
            StorageUnavailable
        ] * 2
        with pytest.raises(StorageUnavailable):
            await storage.read_deployment_record("one")


async def test_whoever_reads_slowly_takes_no_place_of_others(tmp_path: Path) -> None:
    storage = ObjectStorage(from_url(f"file://{tmp_path}"), most_waiting=1)
    await storage.put(KEY, _pieces())
    reading = [storage.get(KEY) for _ in range(3)]
    assert [await anext(one) for one in reading] == [b"x" * 1000] * 3
    await storage.write_deployment_record("one", b"here")
    for one in reading:
        await _whole(one)

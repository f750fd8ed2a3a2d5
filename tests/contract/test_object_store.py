"""An object store at an address of our own, by http where the setting says so; a missing bucket is told (O5)."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from almoner import backends, settings
from almoner.platform.files.storage import StorageUnavailable
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
        assert await backends.check_storage(given) == "s3://documents/almoner"
        assert stored == {}, "what was written is removed"
        await backends.build_storage(given).write_mark("one", b"here")
        assert list(stored.values()) == [b"here"]
        missing = settings.read_settings(documents_url="s3://nowhere/x", documents_endpoint=address)
        with pytest.raises(StorageUnavailable) as refused:
            await backends.check_storage(missing)
        with pytest.raises(StorageUnavailable):  # answered 503, and tried again
            await backends.build_storage(missing).write_mark("one", b"here")
    assert "NoSuchBucket" in describe_error(refused.value)

"""Fetching a register: only what changed, going on where it broke off, never a mixture, never the wrong thing."""

import io
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest

from almoner.platform.outbound import fetching
from almoner.platform.outbound.addresses import PUBLIC_ONLY, AddressPolicy
from almoner.platform.outbound.client import OutboundClient
from almoner.platform.outbound.fetching import FetchedFile, FetchInterrupted, FetchLimits, FetchRefused
from tests.support.publisher import Publisher
from tests.support.receivers import Receiver, Reply, receiver, reply

CONTENT = b"EIN,NAME\n" + os.urandom(60_000).hex().encode()
NOW = datetime(2026, 4, 20, 12, tzinfo=UTC)


@pytest.fixture
async def outbound() -> AsyncIterator[OutboundClient]:
    made = OutboundClient(AddressPolicy(allows_loopback=True))
    yield made
    await made.close()


async def fetch(outbound: OutboundClient, folder: Path, url: str, most: int = 1_000_000) -> FetchedFile:
    return await fetching.fetch_file(outbound, folder, url, lambda: NOW, limits=FetchLimits(most, 0))


def kept(folder: Path) -> list[Path]:
    return list(folder.rglob(".partial"))


def address(server: Receiver, path: str = "/pub/eo_dc.csv") -> str:
    return f"http://127.0.0.1:{server.port}{path}"


async def test_a_file_comes_whole_with_what_is_said_of_it(outbound: OutboundClient, tmp_path: Path) -> None:
    reports: list[fetching.FetchProgress] = []
    async with receiver(Publisher(CONTENT)) as server:
        got = await fetching.fetch_file(outbound, tmp_path, address(server), lambda: NOW, reports.append)
    assert got.path.read_bytes() == CONTENT
    assert got.path.name == "eo_dc.csv"
    assert (got.size, got.sha256, got.etag) == (len(CONTENT), sha256(CONTENT).digest(), '"v1"')
    assert got.last_modified == datetime(2026, 4, 13, 8, tzinfo=UTC)
    assert got.path.stat().st_mtime == got.last_modified.timestamp()
    assert (got.retrieved_at, got.changed) == (NOW, True)
    assert (reports[-1].name, reports[-1].received_bytes, reports[-1].total_bytes) == (
        "eo_dc.csv",
        len(CONTENT),
        len(CONTENT),
    )


@pytest.mark.parametrize("etag", ['"v1"', None, 'W/"v1"'])
async def test_what_has_not_changed_is_not_sent_again(
    outbound: OutboundClient, tmp_path: Path, etag: str | None
) -> None:
    async with receiver(Publisher(CONTENT, etag)) as server:
        first = await fetch(outbound, tmp_path, address(server))
        again = await fetch(outbound, tmp_path, address(server))
    assert (first.changed, again.changed) == (True, False)
    assert (again.path, again.sha256, again.last_modified) == (first.path, first.sha256, first.last_modified)


async def test_a_new_version_replaces_the_file(outbound: OutboundClient, tmp_path: Path) -> None:
    async with receiver() as server:
        server.otherwise = Publisher(CONTENT)
        await fetch(outbound, tmp_path, address(server))
        server.otherwise = Publisher(CONTENT + b"more", '"v2"')
        got = await fetch(outbound, tmp_path, address(server))
    assert (got.changed, got.etag, got.path.read_bytes()) == (True, '"v2"', CONTENT + b"more")


@pytest.mark.parametrize("etag", ['"v1"', None])
async def test_it_goes_on_where_it_broke_off(outbound: OutboundClient, tmp_path: Path, etag: str | None) -> None:
    async with receiver(Publisher(CONTENT, etag, cuts=[10_000, 0, 30_000])) as server:
        got = await fetch(outbound, tmp_path, address(server))
    assert got.path.read_bytes() == CONTENT
    ranges = [request.headers.get("range") for request in server.received]
    assert ranges[0] is None
    assert ranges[-1] == "bytes=40000-"


async def test_another_process_goes_on_where_one_gave_up(outbound: OutboundClient, tmp_path: Path) -> None:
    async with receiver(Publisher(CONTENT, cuts=[10_000, 0, 0, 0, 0])) as server:
        with pytest.raises(FetchInterrupted, match="10000 bytes are kept"):
            await fetch(outbound, tmp_path, address(server))
        got = await fetch(outbound, tmp_path, address(server))
    assert got.path.read_bytes() == CONTENT
    assert server.received[-1].headers["range"] == "bytes=10000-"


async def test_versions_are_never_mixed(outbound: OutboundClient, tmp_path: Path) -> None:
    async with receiver() as server:
        server.otherwise = Publisher(CONTENT, cuts=[10_000, 0, 0, 0, 0])
        with pytest.raises(FetchInterrupted):
            await fetch(outbound, tmp_path, address(server))
        newer = CONTENT[::-1]
        server.otherwise = Publisher(newer, '"v2"', "Mon, 20 Apr 2026 08:00:00 GMT")
        got = await fetch(outbound, tmp_path, address(server))
    assert (got.path.read_bytes(), got.etag) == (newer, '"v2"')


async def test_a_weak_etag_proves_no_part(outbound: OutboundClient, tmp_path: Path) -> None:
    async with receiver(Publisher(CONTENT, 'W/"v1"', None, cuts=[10_000])) as server:
        got = await fetch(outbound, tmp_path, address(server))
    assert got.path.read_bytes() == CONTENT
    assert all("range" not in request.headers for request in server.received)


@pytest.mark.parametrize(
    "wrong",
    [
        reply(416, Content_Range="bytes */5"),
        reply(206, b"xxx", Content_Range="bytes 7-9/10"),
        reply(206, CONTENT[10_000:], Content_Range=f"bytes 10000-{len(CONTENT) - 1}/{len(CONTENT)}", ETag='"v9"'),
        reply(206, b"xxx"),
    ],
)
async def test_a_wrong_part_is_thrown_away(outbound: OutboundClient, tmp_path: Path, wrong: bytes) -> None:
    async with receiver(Publisher(CONTENT, cuts=[10_000])) as server:
        server.script = [server.otherwise, wrong]
        got = await fetch(outbound, tmp_path, address(server))
    assert got.path.read_bytes() == CONTENT


async def test_a_server_in_trouble_is_asked_again(outbound: OutboundClient, tmp_path: Path) -> None:
    async with receiver(Publisher(CONTENT), reply(500), reply(503)) as server:
        assert (await fetch(outbound, tmp_path, address(server))).path.read_bytes() == CONTENT
    async with receiver(reply(500)) as server:
        with pytest.raises(FetchInterrupted, match="status 500"):
            await fetch(outbound, tmp_path, address(server))
    with pytest.raises(FetchInterrupted, match="connection failed"):
        await fetch(outbound, tmp_path, address(server))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (reply(404), "status 404"),
        (reply(403), "status 403"),
        (reply(200), "is empty"),
        (reply(200, b"\xef\xbb\xbf\n <!DOCTYPE html><html>Down for maintenance", Content_Type="text/csv"), "web page"),
        (reply(200, b"<html><body>Sign in</body></html>", Content_Type="application/zip"), "web page"),
        (reply(302, Location="http://10.0.0.7/eo.csv"), "must use https"),
        (reply(302, Location="https://169.254.169.254/latest"), "must have a public address"),
        (reply(302, Location="file:///etc/passwd"), "must be a web address"),
        (reply(302), "redirected more than"),
    ],
)
async def test_what_is_no_register_is_refused(
    outbound: OutboundClient, tmp_path: Path, answer: Reply, words: str
) -> None:
    async with receiver(answer) as server:
        with pytest.raises(FetchRefused, match=words) as refusal:
            await fetch(outbound, tmp_path, address(server))
    assert not isinstance(refusal.value, FetchInterrupted)
    assert kept(tmp_path) == []


async def test_a_redirect_is_followed(outbound: OutboundClient, tmp_path: Path) -> None:
    async with receiver(Publisher(CONTENT), reply(302, Location="/elsewhere/blob")) as server:
        got = await fetch(outbound, tmp_path, address(server))
    assert (got.path.name, got.path.read_bytes()) == ("eo_dc.csv", CONTENT)
    assert server.received[-1].path == "/elsewhere/blob"


async def test_production_fetches_public_https_alone(tmp_path: Path) -> None:
    outbound = OutboundClient(PUBLIC_ONLY)
    async with receiver(Publisher(CONTENT)) as server:
        for url in (
            address(server),
            f"https://127.0.0.1:{server.port}/",
            "https://localhost/eo.csv",
            "http://a.example/",
        ):
            with pytest.raises(FetchRefused, match="is not fetched: the address must"):
                await fetch(outbound, tmp_path, url)
    await outbound.close()
    assert server.received == []


async def test_a_public_address_may_not_lead_to_this_machine(tmp_path: Path) -> None:
    async def lookup(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    outbound = OutboundClient(AddressPolicy(allows_loopback=True), lookup=lookup)
    with pytest.raises(FetchRefused, match="not public"):
        await fetch(outbound, tmp_path, "https://registers.example/eo.csv")
    await outbound.close()


async def test_more_than_the_most_is_refused(outbound: OutboundClient, tmp_path: Path) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + b"x" * 2000 + b"\r\n0\r\n\r\n"
    async with receiver(chunked, reply(200, b"x" * 2000)) as server:
        with pytest.raises(FetchRefused, match="has 2000 bytes"):
            await fetch(outbound, tmp_path, address(server), 1000)
        with pytest.raises(FetchRefused, match="sends more than"):
            await fetch(outbound, tmp_path, address(server), 1000)


async def test_a_body_of_unknown_length_comes_whole_or_not(outbound: OutboundClient, tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    cut = head + b"5\r\nab"
    async with receiver(head + b"5\r\nabcde\r\n0\r\n\r\n", cut) as server:

        async def hang_up(_request: object, writer: object) -> None:
            writer.write(cut)  # type: ignore[attr-defined]
            writer.close()  # type: ignore[attr-defined]

        server.script = [hang_up]
        assert (await fetch(outbound, tmp_path, address(server))).path.read_bytes() == b"abcde"


def _zip(**members: bytes) -> bytes:
    made = io.BytesIO()
    with ZipFile(made, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return made.getvalue()


@pytest.mark.parametrize(
    ("path", "content", "headers", "name"),
    [
        ("/download/charity-register", _zip(register_csv=b"a"), {}, "charity-register.zip"),
        ("/register", _zip(xl__workbook_xml=b"a"), {}, "register.xlsx"),
        ("/Public%20Register.xlsx", _zip(xl__workbook_xml=b"a"), {}, "Public_Register.xlsx"),
        ("/eo1.csv", b"\x1f\x8b\x08rest", {"Content_Encoding": "gzip"}, "eo1.csv.gz"),
        ("/x", b"a,b\n", {"Content_Disposition": 'attachment; filename="..\\..\\evil name.csv"'}, "evil_name.csv"),
        ("/x", b"a,b\n", {"Content_Disposition": "attachment; filename*=UTF-8''%2Fetc%2Fpasswd"}, "passwd"),
        ("/", b"a,b\n", {}, "file"),
        ("/partial", b"a,b\n", {}, "partial"),
    ],
)
async def test_the_file_has_a_safe_name_and_the_suffix_of_its_content(
    outbound: OutboundClient, tmp_path: Path, path: str, content: bytes, headers: dict[str, str], name: str
) -> None:
    async with receiver(reply(200, content, **headers)) as server:
        got = await fetch(outbound, tmp_path, address(server, path))
        assert got.path.name == name
        assert got.path.read_bytes() == content
        assert got.path.resolve().is_relative_to(tmp_path)
        assert (await fetch(outbound, tmp_path, address(server, path))).path.read_bytes() == content


async def test_two_processes_do_not_write_into_one_file(outbound: OutboundClient, tmp_path: Path) -> None:
    async with receiver(Publisher(CONTENT)) as server:
        url = address(server)
        own = tmp_path / sha256(url.encode()).hexdigest()[:12]
        own.mkdir()
        with fetching._folder_lock(own, url), pytest.raises(FetchInterrupted, match="another process"):
            await fetch(outbound, tmp_path, url)

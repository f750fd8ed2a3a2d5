"""What a client may send before it has said what it wants, how slowly, and on how many connections."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from ipaddress import ip_network

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from almoner.cli.connection_limits import REST_SECONDS, ConnectionLimits, OpenConnections
from almoner.cli.serve import serve_application
from tests.support.eventually import eventually

LIMITS = ConnectionLimits(max_connections=12, max_connections_per_address=6)
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
LATER = LIMITS.header_timeout_seconds + 0.1

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _app(_scope: Scope, receive: Receive, send: Send) -> None:
    """Answers when it has the whole body."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        more = message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
    await send({"type": "http.response.body", "body": b"done"})


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the names of the request's headers and its body."""
    names, body, more = b" ".join(name for name, _ in scope["headers"]), b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message["body"], message["more_body"]
    heard = b"[" + names + b"|" + body + b"]done"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(heard))]})
    await send({"type": "http.response.body", "body": heard})


@dataclass
class Server:
    port: int
    connections: OpenConnections
    opened: list[asyncio.StreamWriter]

    async def connect(self, address: str = "127.0.0.1") -> Client:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))
        self.opened.append(writer)
        return reader, writer

    def pass_time(self, seconds: float = LATER) -> None:
        self.connections.close_overdue(asyncio.get_running_loop().time() + seconds)


Serving = Callable[..., "AsyncIterator[Server]"]


@asynccontextmanager
async def _serving(connections: OpenConnections | None = None, app: ASGIApp = _app) -> AsyncIterator[Server]:
    listening, stop = socket.create_server(("127.0.0.1", 0)), asyncio.Event()
    server = Server(listening.getsockname()[1], connections or OpenConnections(LIMITS), [])
    async with asyncio.TaskGroup() as group:
        group.create_task(serve_application(app, [listening], stop, server.connections))
        try:
            yield server
        finally:
            for writer in server.opened:
                writer.transport.abort()
            stop.set()


async def _answered(client: Client, request: bytes = GET) -> bool:
    reader, writer = client
    writer.write(request)
    return (await reader.readuntil(b"done")).startswith(b"HTTP/1.1 200 ")


async def _closed(client: Client) -> bool:
    with suppress(ConnectionError):
        return await client[0].read() == b""
    return True


async def _refused(client: Client, content: bytes, times: int = 1) -> tuple[bytes, bytes]:
    """Send on and on; the head and the body of the answer."""
    for _ in range(times):
        client[1].write(content)
        await client[1].drain()
    head, _, body = (await client[0].read()).partition(b"\r\n\r\n")
    return head, body


@pytest.mark.parametrize(
    "beginning", [b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: ", b"GET /", b"GET /?", b"\r\n", b"GET / HTTP/1.1\r\n"]
)
async def test_a_head_of_more_than_32_kb_is_answered_431_and_none_of_it_is_kept(beginning: bytes) -> None:
    filling = b"X-Short: 1\r\n" if beginning.endswith(b"1.1\r\n") else b"\r\n" if beginning == b"\r\n" else b"a"
    async with _serving() as server:
        client = await server.connect()
        client[1].write(beginning)
        head, body = await _refused(client, filling * (2**20 // len(filling)), 8)
        assert head.startswith(b"HTTP/1.1 431 ")
        assert b"\r\nrequest-id: req_" in head
        assert json.loads(body)["error"]["code"] == "request_headers_too_large"
        assert await _answered(await server.connect())


async def test_a_head_of_32_kb_is_read_and_so_is_the_next_one_on_its_connection() -> None:
    most = GET[:-2] + b"X-Long: " + b"a" * (LIMITS.max_header_bytes - len(GET) - 10) + b"\r\n\r\n"
    assert len(most) == LIMITS.max_header_bytes
    async with _serving() as server:
        client = await server.connect()
        for _ in range(3):
            assert await _answered(client, most)
        head, _ = await _refused(client, most.replace(b"X-Long", b"X-Longer"))
        assert head.startswith(b"HTTP/1.1 431 ")


async def test_trailers_and_extensions_of_chunks_are_no_way_around_it() -> None:
    async with _serving() as server:
        for behind in (b"0\r\nX-Trailer: ", b"5;extension="):
            client = await server.connect()
            client[1].write(CHUNKED + b"5\r\nabcde\r\n" + behind)
            head, _ = await _refused(client, b"a" * LIMITS.max_header_bytes, 3)
            assert head.startswith(b"HTTP/1.1 431 ")


async def test_many_small_chunks_are_a_body() -> None:
    async with _serving() as server:
        assert await _answered(await server.connect(), CHUNKED + b"1\r\na\r\n" * LIMITS.max_header_bytes + b"0\r\n\r\n")


async def test_trailers_are_no_headers() -> None:
    behind = b"X-Forwarded-For: 192.0.2.1\r\nHost: b\r\nAuthorization: Bearer x\r\n\r\n"
    async with _serving(app=_echo) as server, asyncio.timeout(30):
        client = await server.connect()
        for _ in range(2):
            client[1].write(CHUNKED + b"5\r\nabcde\r\n0\r\n" + behind)
            answer = await client[0].readuntil(b"done")
            assert answer.endswith(b"[host transfer-encoding|abcde]done")


@pytest.mark.parametrize("asked", [b"h2c", b"websocket", b"TLS/1.2"])
@pytest.mark.parametrize("pieces", [1, 2, 200])
async def test_who_asks_for_another_protocol_is_answered_in_this_one_and_loses_no_body(
    asked: bytes, pieces: int
) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: %s\r\n" % asked
    fixed = b"POST /x?y HTTP/1.1\r\nHost: a\r\n%sContent-Length: 5\r\n\r\nabcde" % upgrade
    chunked = b"POST /x HTTP/1.1\r\nHost: a\r\n%sTransfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n" % upgrade
    plain = b"GET / HTTP/1.1\r\nHost: a\r\n%s\r\n" % upgrade
    sent = fixed + chunked + plain + GET
    size = len(sent) // pieces + 1
    async with _serving(app=_echo) as server, asyncio.timeout(30):
        client = await server.connect()
        for start in range(0, len(sent), size):
            client[1].write(sent[start : start + size])
            await client[1].drain()
            await asyncio.sleep(0)
        heard = [(await client[0].readuntil(b"done")).partition(b"[")[2] for _ in range(4)]
        assert heard == [
            b"host connection content-length|abcde]done",
            b"host connection transfer-encoding|xyz]done",
            b"host connection|]done",
            b"host|]done",
        ]


async def test_what_is_no_http_is_answered_in_the_shape_of_errors() -> None:
    async with _serving() as server:
        head, body = await _refused(await server.connect(), b"\x16\x03\x01 hello\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"\r\nrequest-id: req_" in head
        assert json.loads(body)["error"]["code"] == "bad_request"


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: user@a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a:b\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
        b"GET / HTTP/0.9\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.2\r\nHost: a\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n folded\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX@: b\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
        CHUNKED + b"-3\r\nabc\r\n0\r\n\r\n",
        CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n",
        CHUNKED + b"f" * 17 + b"\r\n",
        CHUNKED + b"3\nabc\n0\n\n",
        CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n",
        CHUNKED + b"3\r\nabc\r\n0\r\nContent-Length: 5\r\n\r\n",
    ],
)
async def test_h9_what_rfc_9112_refuses_is_answered_400_and_closed(head: bytes) -> None:
    async with _serving() as server:
        async with asyncio.timeout(30):
            answer, body = await _refused(await server.connect(), head)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert json.loads(body)["error"]["code"] == "bad_request"
        assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    "head",
    [
        GET,
        b"GET / HTTP/1.1\r\nHost:\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: api.example.org:8443\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost:  a \t\r\n\r\n",
        b"GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    ],
)
async def test_h9_what_rfc_9112_asks_servers_to_take_is_taken(head: bytes) -> None:
    async with _serving() as server, asyncio.timeout(30):
        assert await _answered(await server.connect(), head)


@pytest.mark.parametrize("begun", [b"", b"G", GET[:-2]])
async def test_a_head_that_does_not_come_in_time_is_waited_for_no_more(begun: bytes) -> None:
    async with _serving() as server:
        silent, used = await server.connect(), await server.connect()
        assert await _answered(used)
        silent[1].write(begun)
        used[1].write(begun)
        assert await _answered(await server.connect())  # by now all has been read
        server.pass_time(LATER / 2)
        assert server.connections.count == 3
        server.pass_time()
        assert await _closed(silent)
        if begun:
            assert await _closed(used)
        else:
            assert await _answered(used), "who has been answered may rest"


async def test_who_was_answered_may_rest_for_75_seconds_and_not_between_the_parts_of_a_request() -> None:
    async with _serving() as server:
        resting, busy = await server.connect(), await server.connect()
        assert await _answered(resting)
        assert await _answered(busy)
        server.pass_time(REST_SECONDS - 1)
        assert await _answered(resting)
        busy[1].write(POST + b"a" * 49_999)
        assert await _answered(await server.connect())
        server.pass_time(REST_SECONDS - 1)
        assert server.connections.count == 3
        busy[1].write(b"a")
        assert (await busy[0].readuntil(b"done")).startswith(b"HTTP/1.1 200 ")
        server.pass_time(REST_SECONDS + 1)
        for client in (resting, busy):
            assert await _closed(client)


async def test_a_body_comes_at_a_least_rate() -> None:
    async with _serving() as server:
        slow, fast = await server.connect(), await server.connect()
        for _, writer in (slow, fast):
            writer.write(POST)
        slow[1].write(b"a" * 5_000)
        fast[1].write(b"a" * 15_000)
        assert await _answered(await server.connect())
        server.pass_time()
        assert await _closed(slow)
        assert await _answered(fast, b"a" * 35_000)


async def test_who_says_nothing_makes_room_for_others_and_who_was_heard_does_not() -> None:
    async with _serving() as server:
        busy = [await server.connect() for _ in range(3)]
        for _, writer in busy:
            writer.write(POST)
        for _ in range(40):
            silent = await server.connect()
            silent[1].write(b"G")
            assert await _answered(await server.connect())
            assert server.connections.count <= LIMITS.max_connections_per_address
        for client in busy:
            assert await _answered(client, b"a" * 50_000)


async def test_one_address_takes_no_room_of_others_but_a_trusted_proxy_takes_all() -> None:
    async with _serving() as server:
        for _ in range(LIMITS.max_connections_per_address):
            _, writer = await server.connect("127.0.0.2")
            writer.write(POST)
        await eventually(lambda: server.connections.count == LIMITS.max_connections_per_address)
        assert await _closed(await server.connect("127.0.0.2"))
        assert await _answered(await server.connect("127.0.0.3"))
    proxies = OpenConnections(LIMITS, [ip_network("127.0.0.2/32")])
    async with _serving(proxies) as server:
        for _ in range(LIMITS.max_connections):
            _, writer = await server.connect("127.0.0.2")
            writer.write(POST)
        await eventually(lambda: server.connections.count == LIMITS.max_connections)
        assert await _closed(await server.connect("127.0.0.3"))


async def test_slow_bodies_make_room_for_others_when_nothing_else_does() -> None:
    async with _serving() as server:
        slow = [await server.connect(f"127.0.0.{number}") for number in range(2, 2 + LIMITS.max_connections)]
        for number, (_, writer) in enumerate(slow):
            writer.write(POST + b"a" * (1_000 + 100 * number))
        await eventually(lambda: server.connections.count == LIMITS.max_connections)
        assert await _closed(await server.connect("127.0.0.1")), "too early to say who is slow"

        async def newcomer() -> bool:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                return await _answered(await server.connect("127.0.0.1"))
            return False

        await eventually(newcomer)
        assert await _closed(slow[0])
        assert await _answered(slow[-1], b"a" * (50_000 - 1_000 - 100 * (len(slow) - 1)))


async def test_connections_that_end_are_no_longer_counted() -> None:
    async with _serving() as server:
        for how in (0, 1):
            reader, writer = await server.connect()
            assert await _answered((reader, writer))
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", how, 0))
            writer.close()
        await eventually(lambda: server.connections.count == 0)


def test_half_of_the_file_descriptors_are_for_connections() -> None:
    found = ConnectionLimits.from_open_file_limit()
    assert 0 < found.max_connections_per_address < found.max_connections <= 10_000
    assert replace(found, max_connections=1) != found

"""W9, W11, W12: the outbound client against real servers on this machine, well-behaved and hostile."""

import asyncio
import itertools
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from almoner import settings
from almoner.kit.time import SystemClock
from almoner.platform.outbound import client as outbound
from almoner.platform.outbound.addresses import AddressPolicy
from almoner.platform.outbound.client import CallTimeouts, OutboundClient
from tests.support.certificates import Authority
from tests.support.receivers import Received, Reply, receiver, reply

SANDBOX = AddressPolicy(allows_loopback=True)
PRODUCTION = {
    "environment": "production",
    "database_url": "postgresql://almoner_app@db.example.org/almoner",
    "master_key": "k" * 43 + "=",
    "api_url": "https://api.example.org",
    "pages_url": "https://give.example.org",
    "webhook_source_addresses": ["192.0.2.1"],
    "mail_url": "smtp://mail.example.org",
    "mail_from": "gifts@example.org",
    "privacy_url": "https://almoner.example/privacy",
    "contact_email": "help@almoner.example",
}


@pytest.fixture
async def client() -> AsyncIterator[OutboundClient]:
    made = OutboundClient(SANDBOX)
    yield made
    await made.close()


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def test_w12_webhooks_never_go_to_loopback_in_production_wherever_it_listens() -> None:
    given = settings.read_settings(**PRODUCTION, host="localhost")
    assert given.is_loopback_only, "behind a proxy on the same machine"
    assert not settings.build_deployment(given, SystemClock()).outbound_address_policy.allows_loopback


async def test_w9_sends_the_bytes_and_reads_the_answer(client: OutboundClient) -> None:
    async with receiver(reply(202, b"thanks", retry_after="7")) as sink:
        answer = await client.post(
            sink.url, b'{"a": 1}', {"Content-Type": "application/json", "X-A": "b"}, connection_owner="p"
        )
    assert (answer.status, answer.body, answer.headers["retry-after"]) == (202, b"thanks", "7")
    assert 0 < answer.seconds < outbound.LIMITS.call_seconds
    (got,) = sink.received
    assert (got.method, got.path, got.body) == ("POST", "/hooks", b'{"a": 1}')
    assert (got.headers["x-a"], got.headers["content-type"]) == ("b", "application/json")
    assert got.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("size", [0, 1, 1 << 16, (1 << 16) + 1, 1 << 20])
async def test_w9_bodies_of_any_size_arrive_whole_on_one_connection(client: OutboundClient, size: int) -> None:
    bodies = [bytes([number]) * size for number in range(3)]
    async with receiver() as sink:
        for body in bodies:
            await client.post(sink.url, body, {}, connection_owner="p")
    assert [got.body for got in sink.received] == bodies
    assert sink.connections == 1


async def test_w9_reads_by_get_no_more_than_was_asked_for(client: OutboundClient) -> None:
    async with receiver(reply(200, b"x" * 50_000)) as sink:
        answer = await client.get(sink.url, {"Accept": "application/json"}, connection_owner="p", max_bytes=20_000)
    assert (answer.status, len(answer.body)) == (200, 20_000)
    (got,) = sink.received
    assert (got.method, got.body, got.headers["accept"]) == ("GET", b"", "application/json")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_w11_follows_no_redirect(client: OutboundClient, status: int) -> None:
    async with receiver() as inner, receiver(reply(status, location=inner.url)) as sink:
        answer = await client.post(sink.url, b"x", {}, connection_owner="p")
    assert (answer.status, inner.received) == (status, [])


async def test_w11_uses_no_proxy_and_no_netrc_of_the_environment(
    client: OutboundClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login someone password secret")
    async with receiver() as proxy, receiver() as sink:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
        await client.post(sink.url, b"x", {}, connection_owner="p")
    assert proxy.received == []
    assert "authorization" not in sink.received[0].headers


async def test_w11_keeps_no_cookies(client: OutboundClient) -> None:
    async with receiver(reply(200, set_cookie="a=b; Path=/")) as sink:
        for _ in range(2):
            await client.post(sink.url, b"x", {}, connection_owner="p")
    assert "cookie" not in sink.received[1].headers


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["::1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["64:ff9b::7f00:1"],
        ["93.184.215.14", "127.0.0.1"],
        ["2606:4700::1111", "fe80::1"],
        ["::ffff:93.184.215.14"],
    ],
)
async def test_w11_refuses_a_name_with_any_denied_address(answers: Sequence[str]) -> None:
    async def lookup(_host: str, _port: int) -> Sequence[str]:
        return answers

    async with receiver() as sink:
        client = OutboundClient(AddressPolicy(allowed_ports=frozenset({443, sink.port})), lookup=lookup)
        with pytest.raises(outbound.TargetNotAllowed):
            await client.post(f"https://partner.example:{sink.port}/hooks", b"x", {}, connection_owner="p")
        await client.close()
    assert sink.connections == 0


async def test_w11_a_resolver_that_flips_its_answers_reaches_nothing() -> None:
    flips = itertools.cycle(["127.0.0.1", "10.1.2.3", "::1", "169.254.169.254", "192.168.0.1"])
    asked = 0

    async def lookup(_host: str, _port: int) -> Sequence[str]:
        nonlocal asked
        asked += 1
        return [next(flips)]

    async with receiver() as sink:
        client = OutboundClient(
            AddressPolicy(allows_loopback=True, allowed_ports=frozenset({443, sink.port})), lookup=lookup
        )
        for _ in range(25):
            with pytest.raises(outbound.TargetNotAllowed):
                await client.post(f"https://partner.example:{sink.port}/hooks", b"x", {}, connection_owner="p")
        await client.close()
    assert (asked, sink.connections) == (25, 0)


async def test_names_whose_servers_never_answer_hold_up_nobody_else() -> None:
    asked: Counter[str] = Counter()

    async def lookup(host: str, _port: int) -> Sequence[str]:
        asked[host.partition(".")[0].rstrip("0123456789")] += 1
        if host.startswith("dead"):
            await asyncio.Event().wait()  # as the system's own lookup, which nobody can end
        return ["192.0.2.1"]  # not public: refused as soon as it is known

    client = OutboundClient(AddressPolicy(), lookup=lookup, limits=CallTimeouts(0.2, 0.2))
    dead = [client.post(f"https://dead{n}.example/hooks", b"x", {}, connection_owner="hostile") for n in range(300)]
    calls = [asyncio.create_task(call) for call in dead]
    await asyncio.sleep(0)
    for number in range(50):
        with pytest.raises(outbound.TargetNotAllowed):
            await client.post(f"https://fine{number}.example/hooks", b"x", {}, connection_owner=f"partner {number}")
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {outbound.CallTimedOut}
    assert asked["fine"] == 50
    assert asked["dead"] <= 8, "those of one owner alone wait for each other"
    await client.close()


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1"])
def test_w11_no_socket_is_made_for_a_denied_address(address: str) -> None:
    with pytest.raises(OSError, match="not public"):
        outbound._socket((2, 1, 6, "", (address, 443)), loopback=False)


async def test_w11_localhost_is_never_asked_of_a_resolver() -> None:
    async def lookup(host: str, _port: int) -> Sequence[str]:
        raise AssertionError(host)

    async with receiver(host="hooks.localhost") as sink:
        client = OutboundClient(SANDBOX, lookup=lookup)
        assert (await client.post(sink.url, b"x", {}, connection_owner="p")).status == 200
        await client.close()


async def test_w11_production_refuses_loopback(client: OutboundClient) -> None:
    strict = OutboundClient(AddressPolicy())
    async with receiver() as sink:
        for url in (sink.url, sink.url.replace("http:", "https:"), f"https://127.0.0.1:{sink.port}/"):
            with pytest.raises(outbound.TargetNotAllowed):
                await strict.post(url, b"x", {}, connection_owner="p")
    await strict.close()
    assert sink.connections == 0


async def test_w11_tls_is_verified_for_the_name(authority: Authority, tmp_path: Path) -> None:
    client = OutboundClient(SANDBOX, tls=authority.trusting())
    async with receiver(tls=authority.serving(tmp_path, "localhost"), host="localhost") as sink:
        assert (await client.post(sink.url, b"x", {}, connection_owner="p")).status == 200
    async with receiver(tls=authority.serving(tmp_path, "other.localhost"), host="localhost") as sink:
        with pytest.raises(outbound.TlsFailed):
            await client.post(sink.url, b"x", {}, connection_owner="p")
        assert sink.received == []
    await client.close()


async def test_w11_refuses_expired_and_unknown_certificates(authority: Authority, tmp_path: Path) -> None:
    expired = authority.serving(tmp_path, "localhost", days_ago=60)
    unknown = Authority().serving(tmp_path, "localhost")
    client = OutboundClient(SANDBOX, tls=authority.trusting())
    for tls in (expired, unknown):
        async with receiver(tls=tls, host="localhost") as sink:
            with pytest.raises(outbound.TlsFailed):
                await client.post(sink.url, b"x", {}, connection_owner="p")
    await client.close()


@asynccontextmanager
async def one_handshake(tls: ssl.SSLContext) -> AsyncIterator[str]:
    """A server that sends its alerts, as those of OpenSSL do; asyncio's cuts connections off instead."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        accepted, _ = listening.accept()
        with accepted, suppress(OSError), tls.wrap_socket(accepted, server_side=True) as spoken:
            spoken.recv(65536)

    task = asyncio.create_task(asyncio.to_thread(serve))
    try:
        yield f"https://localhost:{listening.getsockname()[1]}/"
    finally:
        await task
        listening.close()


async def test_a_failure_of_tls_tells_the_one_fact_that_mends_it(authority: Authority, tmp_path: Path) -> None:
    tls12 = authority.demanding(tmp_path, "localhost")
    tls12.maximum_version = ssl.TLSVersion.TLSv1_2
    servers = {
        "the certificate has expired": authority.serving(tmp_path, "localhost", days_ago=60),
        "the certificate is not valid yet": authority.serving(tmp_path, "localhost", days_ago=-2),
        "the certificate is for another host name": authority.serving(tmp_path, "other.localhost"),
        "the certificate is self-signed": Authority.self_signed(tmp_path, "localhost"),
        "its authority is not public": Authority().serving(tmp_path, "localhost"),
        "does not speak TLS 1.2 or later": authority.outdated(tmp_path, "localhost"),
        "demands a client certificate": authority.demanding(tmp_path, "localhost"),
        "or demands a client certificate": tls12,
    }
    client = OutboundClient(SANDBOX, tls=authority.trusting())
    for told, tls in servers.items():
        async with one_handshake(tls) as url:
            # Under TLS 1.3 the handshake has ended by then, and a reset may overtake the alert.
            overtaken = "dropped the connection|" if told == "demands a client certificate" else ""
            with pytest.raises((outbound.TlsFailed, outbound.MalformedResponse), match=overtaken + told):
                await client.post(url, b"x", {}, connection_owner="p")
    await client.close()


async def test_a_broken_response_tells_what_is_wrong_with_it(client: OutboundClient) -> None:
    async def vanish(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.close()

    replies: dict[str, Any] = {
        "a header line of more than 8 kB": reply(200, b"", x="y" * 9000),
        "more than 16 kB of headers": reply(200, b"", **{f"x{number}": "y" * 4000 for number in range(5)}),
        "not valid HTTP": b"SMTP 220 welcome\r\n\r\n",
        "closed the connection without a response": vanish,
        "ended before all of it": b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nhalf",
    }
    for told, answer in replies.items():

        async def end(_request: Received, writer: asyncio.StreamWriter, answer: Any = answer) -> None:
            writer.write(answer)
            await writer.drain()
            writer.close()

        async with receiver(end if isinstance(answer, bytes) else answer) as sink:
            with pytest.raises(outbound.MalformedResponse, match=told):
                await client.post(sink.url, b"x", {}, connection_owner=told)
    async with receiver() as sink:
        gone = sink.url
    with pytest.raises(outbound.ConnectFailed, match="no server is listening"):
        await client.post(gone, b"x", {}, connection_owner="p")


async def test_w11_refuses_a_server_that_speaks_no_tls(client: OutboundClient) -> None:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    with pytest.raises(outbound.TlsFailed, match="there is no TLS on this port"):
        await client.post(f"https://localhost:{server.sockets[0].getsockname()[1]}/", b"x", {}, connection_owner="p")
    server.close()


async def test_w12_a_connection_verified_for_one_name_never_serves_another(
    authority: Authority, tmp_path: Path
) -> None:
    client = OutboundClient(SANDBOX, tls=authority.trusting())
    async with receiver(tls=authority.serving(tmp_path, "a.localhost"), host="a.localhost") as sink:
        assert (await client.post(sink.url, b"x", {}, connection_owner="p")).status == 200
        with pytest.raises(outbound.TlsFailed):
            await client.post(sink.url.replace("a.localhost", "b.localhost"), b"x", {}, connection_owner="p")
    await client.close()
    assert len(sink.received) == 1


async def test_w12_connections_are_kept_for_one_owner_and_never_shared(client: OutboundClient) -> None:
    async with receiver() as sink:
        for owner in ("one", "two", "one", "two", "one"):
            await client.post(sink.url, owner.encode(), {}, connection_owner=owner)
    used = {owner: {got.connection for got in sink.received if got.body == owner} for owner in (b"one", b"two")}
    assert [len(connections) for connections in used.values()] == [1, 1]
    assert used[b"one"].isdisjoint(used[b"two"])


async def test_w12_idle_owners_are_forgotten(client: OutboundClient) -> None:
    async with receiver() as sink:
        for number in range(300):
            await client.post(sink.url, b"x", {}, connection_owner=str(number))
    assert len(client._pools) <= 257


async def test_a_kept_connection_that_the_receiver_closed_is_replaced_at_once(client: OutboundClient) -> None:
    async def close(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with receiver(None, reply(), close) as sink:
        await client.post(sink.url, b"1", {}, connection_owner="p")
        assert (await client.post(sink.url, b"2", {}, connection_owner="p")).status == 200
        assert [got.body for got in sink.received] == [b"1", b"2", b"2"]


async def test_a_fresh_connection_that_is_dropped_is_a_failure(client: OutboundClient) -> None:
    async def reset(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with receiver(reset) as sink:
        with pytest.raises(outbound.MalformedResponse):
            await client.post(sink.url, b"x", {}, connection_owner="p")
    assert len(sink.received) == 1


async def test_nobody_listens(client: OutboundClient) -> None:
    async with receiver() as sink:
        gone = sink.url
    with pytest.raises(outbound.ConnectFailed):
        await client.post(gone, b"x", {}, connection_owner="p")


async def _stop_in_the_body(_request: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n.")
    await asyncio.Event().wait()


async def _silence(_request: Received, _writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def _stop_in_the_headers(_request: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX-Half: ")
    await asyncio.Event().wait()


@pytest.mark.parametrize("behaviour", [_stop_in_the_body, _silence, _stop_in_the_headers])
async def test_w9_a_slow_receiver_costs_the_time_limit_and_no_more(behaviour: Reply) -> None:
    client = OutboundClient(SANDBOX, limits=CallTimeouts(connect_seconds=3, call_seconds=0.3))
    async with receiver(behaviour) as sink:
        with pytest.raises(outbound.CallTimedOut):
            async with asyncio.timeout(10):
                await client.post(sink.url, b"x", {}, connection_owner="p")
    await client.close()


def test_w9_the_limits_are_3_and_15_seconds() -> None:
    assert (outbound.LIMITS.connect_seconds, outbound.LIMITS.call_seconds) == (3, 15)


async def test_w9_a_host_that_never_shakes_hands_costs_the_connect_limit() -> None:
    client = OutboundClient(SANDBOX, limits=CallTimeouts(connect_seconds=0.2, call_seconds=15))
    held = []

    async def swallow(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(outbound.CallTimedOut, match="connection"):
        async with asyncio.timeout(10):
            await client.post(f"https://127.0.0.1:{port}/", b"x", {}, connection_owner="p")
    held[0].close()
    server.close()
    await client.close()


async def test_w9_reads_at_most_16_kb_of_an_endless_answer(client: OutboundClient) -> None:
    sent = 0

    async def endless(_request: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"2000\r\n" + b"a" * 0x2000 + b"\r\n")
            await writer.drain()
            sent += 0x2000

    async with receiver(endless) as sink:
        answer = await client.post(sink.url, b"x", {}, connection_owner="p")
        assert (answer.status, len(answer.body)) == (200, 16_384)
        assert (await client.post(sink.url, b"x", {}, connection_owner="p")).status == 200
        assert sink.connections == 2, "a connection with an unread answer was used again"


async def test_w9_a_compressed_answer_is_not_unpacked(client: OutboundClient) -> None:
    async with receiver(reply(200, b"\x1f\x8b nonsense", content_encoding="gzip")) as sink:
        assert (await client.post(sink.url, b"x", {}, connection_owner="p")).body == b"\x1f\x8b nonsense"


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 4000) for n in range(5)) + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 4000 + b"\r\n",
        b"not http at all\r\n\r\n",
        b"HTTP/1.1 999999 Odd\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: nine\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
    ],
)
async def test_w9_answers_that_are_too_large_or_no_http_fail(client: OutboundClient, head: bytes) -> None:
    async def answer(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        await writer.drain()
        writer.close()

    async with receiver(answer) as sink:
        with pytest.raises(outbound.MalformedResponse):
            await client.post(sink.url, b"x", {}, connection_owner="p")


async def test_w9_endless_headers_end_at_16_kb(client: OutboundClient) -> None:
    sent = 0

    async def endless(_request: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\n")
        for number in itertools.count():
            line = b"X-%d: %s\r\n" % (number, b"a" * 500)
            writer.write(line)
            await writer.drain()
            sent += len(line)
            await asyncio.sleep(0)

    async with receiver(endless) as sink:
        with pytest.raises(outbound.MalformedResponse):
            await client.post(sink.url, b"x", {}, connection_owner="p")
    assert sent < 4_000_000

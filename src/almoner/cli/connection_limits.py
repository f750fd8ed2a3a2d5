"""Limits on client connections: the number of connections, the size of request headers and minimum transfer rates."""

import asyncio
import re
import resource
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network
from itertools import chain, islice
from typing import Any, Final, Self

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from almoner.cli.write_coalescing import WriteCoalescingHttpProtocol
from almoner.kit.errors import IncorrectParams, Problem, RequestHeadersTooLarge
from almoner.kit.ids import new_id
from almoner.kit.time import SystemClock
from almoner.platform.http import errors
from almoner.platform.http.edge import format_request_id
from almoner.platform.outbound.addresses import client_network_for_rate_limit, parse_client_address

_MOST_CONNECTIONS: Final = 10_000
_VERSIONS: Final = frozenset({"1.0", "1.1"})
_HOST: Final = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=%-]*|\[[0-9A-Fa-fv:.]+\])(?::[0-9]{0,5})?")
_SLOW_READERS: Final = 3  # a response may stay unread for this many times the time limit of a head
_RATED_SECONDS: Final = 2.0  # seconds of a body before it can count as slow
_MOST_COMPARED: Final = 500
_UNREAD_BYTES: Final = 16 * 1024  # of a response; the rest waits
REST_SECONDS: Final = 75.0  # seconds between a response and the next request


def find_header_violation(http_version: str, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
    """The RFC 9112 rule that the request headers violate, or None."""
    if http_version not in _VERSIONS:
        return f"HTTP/{http_version} is not supported; use HTTP/1.1"
    names = [name for name, _ in headers]
    if names.count(b"host") > 1:
        return "the request has more than one Host header"
    if b"transfer-encoding" in names:
        coding = b""
        for name, value in headers:
            if name == b"transfer-encoding":
                coding += b"," + value if coding else value
        if coding and (http_version == "1.0" or coding.strip().lower() != b"chunked"):
            return "the only supported Transfer-Encoding is chunked, in HTTP/1.1"
    if b"host" not in names:
        return None if http_version == "1.0" else "the request has no Host header"
    if _is_host(headers[names.index(b"host")][1]):
        return None
    return "the Host header is not a valid host name or address"


@lru_cache(64)
def _is_host(value: bytes) -> bool:
    return _HOST.fullmatch(value.rstrip(b" \t")) is not None


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The connection limits of one process."""

    max_connections: int
    max_connections_per_address: int
    max_header_bytes: int = 32 * 1024
    header_timeout_seconds: float = 10.0
    min_body_bytes_per_second: int = 1000

    @classmethod
    def from_open_file_limit(cls) -> Self:
        """Derive the limits from the maximum number of open files.

        Half of the file descriptors are for connections, and one address can use half of those.
        """
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 2 * _MOST_CONNECTIONS
        with suppress(ValueError, OSError):  # keep the current limit if it cannot be raised
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted if hard < 0 else min(wanted, hard)), hard))
            soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        connections = min(soft // 2, _MOST_CONNECTIONS)
        return cls(connections, connections // 2)


@dataclass(slots=True)
class OpenConnections:
    """The open connections, by client address. Idle connections are closed when the limit is reached."""

    limits: ConnectionLimits = field(default_factory=ConnectionLimits.from_open_file_limit)
    trusted_proxies: Sequence[IPv4Network | IPv6Network] = ()
    count: int = 0
    _peers: "dict[str, dict[ConnectionLimitedHttpProtocol, None]]" = field(default_factory=dict)

    def try_add(self, protocol: "ConnectionLimitedHttpProtocol") -> bool:
        """Add a new connection. Returns False if the limit is reached."""
        near = client_network_for_rate_limit(protocol.client_ip)
        peer = self._peers.get(near, {})
        if len(peer) >= self.limits.max_connections_per_address and not self._trusted(protocol.client_ip):
            room = self._end_idle(peer) or self._end_slowest(peer)
        elif self.count >= self.limits.max_connections:
            peers = sorted(self._peers.values(), key=len, reverse=True)
            room = any(map(self._end_idle, peers)) or self._end_slowest(chain.from_iterable(peers))
        else:
            room = True
        if room:
            self._peers.setdefault(near, {})[protocol] = None
            self.count += 1
        return room

    def remove(self, protocol: "ConnectionLimitedHttpProtocol") -> None:
        """Remove a closed connection. Does nothing if the connection was never added."""
        near = client_network_for_rate_limit(protocol.client_ip)
        peer = self._peers.get(near, {})
        if protocol in peer:
            del peer[protocol]
            self.count -= 1
            if not peer:
                del self._peers[near]

    def has_connection_without_request(self) -> bool:
        """Wait for the first request on new connections.

        Returns whether there are still connections without a request.
        """
        return any(not protocol.has_asked for peer in self._peers.values() for protocol in peer)

    def close_overdue(self, now: float) -> None:
        """Close connections that have exceeded a time limit. ``now``: the event loop's time."""
        for protocol in [protocol for peer in self._peers.values() for protocol in peer]:
            if protocol.is_overdue(now):
                protocol.transport.abort()
            elif protocol.is_idle_too_long(now):
                protocol.transport.close()

    def _end_idle(self, peer: "dict[ConnectionLimitedHttpProtocol, None]") -> bool:
        """Close the oldest connection that has not sent a request, or the connection that has been idle for longest."""
        resting = [protocol for protocol in peer if not protocol.is_busy]
        last = next((protocol for protocol in resting if protocol.is_awaiting_headers), resting[0] if resting else None)
        return self._end(last)

    def _end_slowest(self, protocols: "Iterable[ConnectionLimitedHttpProtocol]") -> bool:
        """Close the connection with the slowest incoming request body.

        Only a limited number of connections are compared.
        """
        looked_at = islice(protocols, _MOST_COMPARED)
        rates = {protocol: rate for protocol in looked_at if (rate := protocol.body_bytes_per_second) is not None}
        return self._end(min(rates, key=rates.__getitem__, default=None))

    def _end(self, protocol: "ConnectionLimitedHttpProtocol | None") -> bool:
        if protocol is None:
            return False
        self.remove(protocol)
        protocol.transport.abort()
        return True

    def _trusted(self, address: str) -> bool:
        with suppress(ValueError):
            parsed = parse_client_address(address)
            return any(parsed in network for network in self.trusted_proxies)
        return False


class ConnectionLimitedHttpProtocol(WriteCoalescingHttpProtocol):
    """A uvicorn protocol that enforces these limits.

    What each request calls names its base class: with ``super()``, the limits would cost a third more.
    """

    def __init__(self, connections: OpenConnections, **given: Any) -> None:
        super().__init__(**given)
        self._open = connections
        self._limits = connections.limits
        self._aimless = 0  # bytes received since the last that ended a head or belonged to a body
        self._in_body = False
        self._refused = False
        self._received = 0
        self._unread = (0, 0.0)
        self._violation: str | None = None
        self._resting_since: float | None = None
        self.since: float | None = None
        self.has_asked = False

    @property
    def client_ip(self) -> str:
        """The client's IP address."""
        return self.client[0] if self.client else ""

    @property
    def is_busy(self) -> bool:
        """Whether the connection has a request in progress."""
        return not getattr(self.cycle, "response_complete", True)

    @property
    def is_awaiting_headers(self) -> bool:
        """Whether the headers of the next request are still incomplete."""
        return self.since is not None and not self._in_body

    @property
    def body_bytes_per_second(self) -> float | None:
        """The transfer rate of the request body in bytes per second.

        None if there is no body, or if the transfer has only just started.
        """
        if not self._in_body or self.since is None or (elapsed := self.loop.time() - self.since) < _RATED_SECONDS:
            return None
        return self._received / elapsed

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register a new connection."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(_UNREAD_BYTES)
        self.since = self.loop.time()
        if not self._open.try_add(self):
            self._refused = True
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Unregister a closed connection."""
        self._open.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process received data, and enforce the size limits for headers and chunk metadata."""
        if self.since is None:
            self.since, self._resting_since = self.loop.time(), None
        self._received += len(data)
        if self._aimless + len(data) < self._limits.max_header_bytes and not self._refused:
            self._feed(data)  # nearly always
            return
        while data and not self._refused and not self.transport.is_closing():
            part = data[: self._limits.max_header_bytes - self._aimless]
            self._feed(part)
            data = data[len(part) :]
            if self._aimless >= self._limits.max_header_bytes:
                self._refuse(RequestHeadersTooLarge())

    def _feed(self, data: bytes) -> None:
        self._aimless += len(data)
        try:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                self._parse_without_upgrade(memoryview(data)[upgrade.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")

    def _parse_without_upgrade(self, unread: memoryview) -> None:
        """Continue after the headers of a request for another protocol, which it does not get (RFC 9110, 7.8).

        The parser takes such a request to end with its headers, so it parses them again without Upgrade.
        """
        while True:
            head = self._head_without_upgrade()
            self.parser = httptools.HttpRequestParser(self)
            self.parser.feed_data(head)
            try:
                self.parser.feed_data(unread)
            except httptools.HttpParserUpgrade as upgrade:
                unread = unread[upgrade.args[0] :]
            else:
                return

    def _head_without_upgrade(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        return b"\r\n".join([self.parser.get_method() + b" " + self.url + b" HTTP/" + version, *lines, b"", b""])

    def on_headers_complete(self) -> None:
        """Called when all headers of the request have been received."""
        self._violation = find_header_violation(self.parser.get_http_version(), self.headers)
        is_upgrade = self.parser.should_upgrade()
        if is_upgrade and self.parser.get_method() == b"CONNECT":
            self._violation = "CONNECT is not supported"
        if self._violation is not None:
            raise ValueError(self._violation)  # the parser passes it on as an error of its own
        if is_upgrade:
            return
        self._aimless, self._resting_since = 0, None
        self._in_body = self.has_asked = True
        WriteCoalescingHttpProtocol.on_headers_complete(self)
        self.headers = []  # trailers, which are no headers (RFC 9110, 6.5.1), end up here and not in the scope

    def on_body(self, body: bytes) -> None:
        """Process a received part of the request body."""
        self._aimless = 0
        WriteCoalescingHttpProtocol.on_body(self, body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        if self.parser.should_upgrade():
            return
        self._aimless, self._in_body, self.since, self._received = 0, False, None, 0
        if not self.cycle.response_complete:
            self.cycle.more_body = False
            self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        """Called when the response is complete. uvicorn starts a timer for each connection.

        Here, a shared periodic check closes idle connections instead.
        """
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self._resting_since = self.loop.time()

    def send_400_response(self, msg: str) -> None:
        """Respond to a request that is not valid HTTP."""
        self._refuse(IncorrectParams(self._violation or msg))

    def is_idle_too_long(self, now: float) -> bool:
        """Whether the connection has been idle for too long."""
        return self._resting_since is not None and now - self._resting_since >= REST_SECONDS

    def is_overdue(self, now: float) -> bool:
        """Whether the client is too slow to send the headers or the body, or to read the response."""
        unread = self.transport.get_write_buffer_size()
        if not unread or unread != self._unread[0]:
            self._unread = (unread, now)
        elif now - self._unread[1] >= _SLOW_READERS * self._limits.header_timeout_seconds:
            return True
        if self.since is None or now - self.since < self._limits.header_timeout_seconds:
            return False
        if self._in_body:
            held_up = self.flow.read_paused or self.cycle.waiting_for_100_continue or self.cycle.response_complete
            enough = (
                held_up
                or self._received >= self._limits.header_timeout_seconds * self._limits.min_body_bytes_per_second
            )
        else:
            enough = self.is_busy  # the next request's head, while a response is under way
        if enough:
            self.since, self._received = now, 0
        return not enough

    def _refuse(self, problem: Problem) -> None:
        """Send a response and close the connection.

        Incoming data is discarded for a while first, so that the client can read the response.
        """
        self._refused, self._in_body, self.since = True, False, self.loop.time()
        if self.is_busy:
            if self.cycle.response_started or self.pipeline:
                self.transport.abort()
                return
            self.cycle.disconnected = self.cycle.response_complete = (
                True  # ends the call that reads the rest of the body
            )
            self.cycle.message_event.set()
        request_id, body = format_request_id(new_id(SystemClock().now())), errors.body_of_problem(problem)
        self.logger.warning("%s was answered %s", request_id, problem.code)
        headers = [
            *self.server_state.default_headers,
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"request-id", request_id.encode()),
            (b"connection", b"close"),
        ]
        lines = [b"%s: %s\r\n" % header for header in headers]
        self.transport.write(b"".join([STATUS_LINE[errors.http_status_of_problem(problem)], *lines, b"\r\n", body]))
        self.transport.write_eof()

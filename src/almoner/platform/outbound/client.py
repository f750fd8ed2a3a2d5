"""The HTTP client for addresses that partners name (architecture 5).

Every address is checked twice: all addresses of a name when it is resolved, and the one that a socket connects to. TLS
is verified for the name. So a resolver that changes its response (DNS rebinding) gains nothing.
"""

import asyncio
import socket
import ssl
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from time import monotonic
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError

from almoner.platform.database import transactions
from almoner.platform.database.deadlines import Deadlines
from almoner.platform.database.identity import DeploymentIdentity
from almoner.platform.outbound import addresses, failure_texts, lookups
from almoner.platform.outbound.addresses import AddressPolicy, AddressRefused, OutboundTarget

_MAX_HEADER_BYTES: Final = 16_384
MAX_BODY_BYTES: Final = 16_384
# Shorter than receivers commonly keep connections open (5 s), so that a reused one is rarely closed.
_KEEP_ALIVE_SECONDS: Final = 4.0
_SENT_AT_ONCE: Final = 1 << 16
"""Larger bodies are sent as the receiver takes them."""
_MAX_IDLE_POOLS: Final = 256
_LOOKUPS: Final = 128
_LOOKUPS_OF_OWNER: Final = 8
"""Concurrent lookups, in total and per owner, so that unresponsive name servers do not use up the threads."""

Lookup = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class CallTimeouts:
    """Time limits in seconds for the connection and for the whole call."""

    connect_seconds: float
    call_seconds: float


LIMITS: Final = CallTimeouts(connect_seconds=3.0, call_seconds=15.0)  # settled 7
_STREAM_SILENCE_SECONDS: Final = 60.0
_STREAM_RATE: Final = 1000
"""Downloads have no total time limit while they transfer at this rate, in bytes per second."""
_STREAM_CHUNK: Final = 1 << 18
_FAILURES: Final = (TimeoutError, aiohttp.ClientError, HttpProcessingError)
"""What aiohttp and the time limits raise."""


class OutboundFailure(Exception):
    """The call failed. The text may be shown to the person who set the URL."""


class ConnectFailed(OutboundFailure):
    """The host does not resolve, or refuses connections."""


class TlsFailed(OutboundFailure):
    """TLS failed, or the certificate is not valid for the host."""


class CallTimedOut(OutboundFailure):
    """The call took longer than its limits."""


class MalformedResponse(OutboundFailure):
    """The response was cut off or was not valid HTTP."""


class TargetNotAllowed(OutboundFailure):
    """The address is not public or breaks another rule of ``addresses``."""


@dataclass(frozen=True, slots=True)
class OutboundResponse:
    """A response, its body cut at the requested length, and its duration."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """A response whose body is still arriving. Iterating ``chunks`` may raise OutboundFailure."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class _Call:
    """An outgoing call. ``max_bytes``: the maximum response bytes that are read."""

    method: str
    url: str
    body: bytes | None
    headers: Mapping[str, str]
    max_bytes: int


class _Denied(OSError):
    """Raised where aiohttp creates a socket; only an OSError passes through it."""


# Whether the connection of this task's call has been used before.
_reused: ContextVar[bool] = ContextVar("almoner_outbound_reused", default=False)
# The protocol of this task's connection.
_handler: ContextVar["_Handler | None"] = ContextVar("almoner_outbound_handler", default=None)


class _Handler(ResponseHandler):
    """Limits the size of the whole header section; aiohttp only limits lines and their number."""

    calls = 0
    ended_by: BaseException | None = None
    _head_bytes = 0
    _in_head = False

    def set_response_params(self, **params: Any) -> None:
        self.calls += 1
        self._head_bytes = 0
        self._in_head = True
        super().set_response_params(**params)

    def connection_lost(self, exc: BaseException | None) -> None:
        self.ended_by = exc
        super().connection_lost(exc)

    def feed_data(self, data: Any, size: int = 0) -> None:
        self._in_head = False
        if sum(len(name) + len(value) for name, value in data[0].raw_headers) > _MAX_HEADER_BYTES:
            self._refuse_head()
        else:
            super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > _MAX_HEADER_BYTES:
                self._refuse_head()

    def _refuse_head(self) -> None:
        self.set_exception(aiohttp.ClientPayloadError("the headers are larger than 16 kB"))
        if self.transport is not None:
            self.transport.abort()


class _Request(aiohttp.ClientRequest):
    """Sends a small body right after its headers; before Python 3.12, aiohttp starts a task for it."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        payload, protocol = self._body, conn.protocol
        if (
            protocol is None
            or protocol.writing_paused
            or not isinstance(payload, aiohttp.BytesPayload)
            or len(body := await payload.as_bytes()) > _SENT_AT_ONCE
        ):
            return await super().send(conn)
        self._body = None
        response = await super().send(conn)
        if protocol.transport is not None:
            protocol.transport.write(body)
        return response


class _Resolver(AbstractResolver):
    """Resolves names to addresses, all of which must be allowed."""

    def __init__(self, lookup: Lookup, slots: asyncio.Semaphore, *, loopback: bool) -> None:
        self._lookup = lookup
        self._slots = slots
        self._own_slots = asyncio.Semaphore(_LOOKUPS_OF_OWNER)
        self._loopback = loopback

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 - both families, always
    ) -> list[ResolveResult]:
        found: Sequence[str] = ("127.0.0.1", "::1")
        if not self._loopback:
            async with self._own_slots, self._slots:  # aiohttp waits here also after the call has timed out
                found = await self._lookup(host, port)
        for address in found:
            _ensure_allowed(address, loopback=self._loopback)
        return lookups.to_resolve_results(host, port, found)

    async def close(self) -> None:
        """Nothing to close."""


class _Connector(aiohttp.TCPConnector):
    """Connects to allowed addresses only."""

    def __init__(self, lookup: Lookup, slots: asyncio.Semaphore, tls: ssl.SSLContext, *, loopback: bool) -> None:
        super().__init__(
            resolver=_Resolver(lookup, slots, loopback=loopback),
            socket_factory=partial(_socket, loopback=loopback),
            ssl=tls,
            limit=0,
            keepalive_timeout=_KEEP_ALIVE_SECONDS,
        )
        self._factory = partial(_Handler, loop=self._loop)  # type: ignore[assignment]

    async def connect(self, req: Any, traces: Any, timeout: Any) -> Connection:  # noqa: ASYNC109 - aiohttp's signature
        connection = await super().connect(req, traces, timeout)
        _reused.set(getattr(connection.protocol, "calls", 0) > 0)
        _handler.set(connection.protocol if isinstance(connection.protocol, _Handler) else None)
        return connection


def _ensure_allowed(address: str, *, loopback: bool) -> None:
    if addresses.address_refusal_reason(address, loopback_only=loopback):
        raise _Denied("the address is not public")


def _socket(info: tuple[Any, ...], *, loopback: bool) -> socket.socket:
    family, kind, protocol, _, where = info
    _ensure_allowed(str(where[0]), loopback=loopback)
    return socket.socket(family, kind, protocol)


@cache
def _system_tls() -> ssl.SSLContext:
    """The system's trusted authorities: hundreds of files, read once per process."""
    return ssl.create_default_context()


@dataclass(slots=True)
class _Pool:
    """The connections of one owner, and the number of calls that use them."""

    session: aiohttp.ClientSession
    busy: int = 0


class OutboundClient:
    """The HTTP client of the process for addresses that partners name."""

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
        limits: CallTimeouts = LIMITS,
        identity: DeploymentIdentity | None = None,
        listeners: Sequence[aiohttp.TraceConfig] = (),
    ) -> None:
        """``lookup`` resolves a name to addresses; ``tls`` has the trusted authorities (the system's by default).

        ``listeners`` are called for each call.
        """
        self.policy = policy
        self._limits = limits
        self._deadlines = Deadlines()
        self._identity = identity or DeploymentIdentity()
        self._listeners = listeners
        self._lookup = lookup or lookups.resolve_host_without_timeout
        self._lookup_slots = asyncio.Semaphore(_LOOKUPS)
        self._tls = tls or _system_tls()
        self._pools: OrderedDict[tuple[str, bool], _Pool] = OrderedDict()

    async def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        connection_owner: str,
        max_bytes: int = MAX_BODY_BYTES,
    ) -> OutboundResponse:
        """POST bytes and read at most ``max_bytes`` bytes of the response. Owners never share connections.

        Raises OutboundFailure; UnreleasedDatabaseCopy on a copy; RuntimeError while a write transaction is open.
        """
        return await self._call(_Call("POST", url, body, headers, max_bytes), connection_owner)

    async def get(
        self, url: str, headers: Mapping[str, str], *, connection_owner: str, max_bytes: int = MAX_BODY_BYTES
    ) -> OutboundResponse:
        """GET at most ``max_bytes`` bytes."""
        return await self._call(_Call("GET", url, None, headers, max_bytes), connection_owner)

    @asynccontextmanager
    async def stream(
        self, url: str, headers: Mapping[str, str], *, connection_owner: str
    ) -> AsyncIterator[StreamedResponse]:
        """GET a file of any size; the time limit is per chunk."""
        pool, target = self._acquire_pool(url, connection_owner)
        try:
            _reused.set(False)
            silence = aiohttp.ClientTimeout(
                total=None, connect=self._limits.connect_seconds, sock_read=_STREAM_SILENCE_SECONDS, ceil_threshold=60
            )
            async with pool.session.get(
                target.url, headers=headers, allow_redirects=False, timeout=silence, read_bufsize=_STREAM_CHUNK
            ) as response:
                yield StreamedResponse(response.status, response.headers, _chunks(response))
        except _FAILURES as error:
            raise _outbound_failure_of(error) from error
        finally:
            await self._release_pool(pool)

    async def _call(self, call: _Call, owner: str) -> OutboundResponse:
        pool, target = self._acquire_pool(call.url, owner)
        try:
            return await self._deadlines.run_with_timeout(
                _exchange(pool.session, target, call), self._limits.call_seconds
            )
        except _FAILURES as error:
            raise _outbound_failure_of(error) from error
        finally:
            await self._release_pool(pool)

    def _acquire_pool(self, url: str, owner: str) -> tuple[_Pool, OutboundTarget]:
        """Check the address, and hold the pool used for the call until ``_release_pool``."""
        if transactions.is_inside_transaction():
            raise RuntimeError("an outbound call was started inside a transaction; make it between two of them")
        self._identity.ensure_active()
        try:
            target = addresses.parse_target(url, self.policy)
        except AddressRefused as error:
            raise TargetNotAllowed(f"The address {error.reason}") from error
        pool = self._pool(owner, loopback=target.is_loopback)
        pool.busy += 1
        return pool, target

    async def close(self) -> None:
        """Close every connection."""
        for pool in self._pools.values():
            await pool.session.close()
        self._pools.clear()

    def _pool(self, owner: str, *, loopback: bool) -> _Pool:
        key = (owner, loopback)
        pool = self._pools.get(key)
        if pool is None:
            connector = _Connector(self._lookup, self._lookup_slots, self._tls, loopback=loopback)
            session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, connect=self._limits.connect_seconds, ceil_threshold=60),
                headers={"User-Agent": "Almoner", "Accept-Encoding": "identity"},
                auto_decompress=False,
                read_bufsize=MAX_BODY_BYTES // 2,
                trust_env=False,
                request_class=_Request,
                trace_configs=[*self._listeners],
            )
            pool = self._pools[key] = _Pool(session)
        self._pools.move_to_end(key)
        return pool

    async def _release_pool(self, pool: _Pool) -> None:
        """Release a pool after a call, and close the least recently used one of too many."""
        pool.busy -= 1
        if len(self._pools) <= _MAX_IDLE_POOLS:
            return
        idle = next((key for key, other in self._pools.items() if not other.busy), None)
        if idle is not None:
            await self._pools.pop(idle).session.close()


async def _exchange(session: aiohttp.ClientSession, target: OutboundTarget, call: _Call) -> OutboundResponse:
    started = monotonic()  # uvloop's clock only advances between iterations, in whole milliseconds
    _reused.set(False)
    try:
        answer = await _send(session, target, call)
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
        if not _reused.get():
            await asyncio.sleep(0)  # the protocol learns a moment later why its connection ended
            handler = _handler.get()
            raise error from (handler.ended_by if handler is not None else None) or error.__cause__
        # A reused connection that ends like this was probably closed as we used it: retry once on a fresh one.
        # Receivers must handle duplicates anyway (W7).
        answer = await _send(session, target, call)
    status, head, content = answer
    return OutboundResponse(status, head, content, monotonic() - started)


async def _send(
    session: aiohttp.ClientSession, target: OutboundTarget, call: _Call
) -> tuple[int, Mapping[str, str], bytes]:
    payload = None if call.body is None else aiohttp.BytesPayload(call.body)
    async with session.request(
        call.method, target.url, data=payload, headers=call.headers, allow_redirects=False
    ) as response:
        content = b""
        while len(content) < call.max_bytes and not response.content.at_eof():
            content += await response.content.read(call.max_bytes - len(content))
        return response.status, response.headers, content


async def _chunks(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    received, since = 0, monotonic()
    try:
        async for chunk in response.content.iter_chunked(_STREAM_CHUNK):
            received += len(chunk)
            if monotonic() - since >= _STREAM_SILENCE_SECONDS:
                if received < _STREAM_RATE * _STREAM_SILENCE_SECONDS:
                    raise TimeoutError
                received, since = 0, monotonic()
            yield chunk
    except _FAILURES as error:
        raise _outbound_failure_of(error) from error


def _outbound_failure_of(error: TimeoutError | aiohttp.ClientError | HttpProcessingError) -> OutboundFailure:
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return CallTimedOut("The connection timed out")
    if isinstance(error, TimeoutError):
        return CallTimedOut("The response did not arrive in time")
    if (text := failure_texts.tls_failure_message(error)) is not None:
        return TlsFailed(text)
    if isinstance(error, aiohttp.ClientConnectorError):
        if isinstance(error.os_error, _Denied):
            return TargetNotAllowed("The address is not public")
        return ConnectFailed(failure_texts.connection_failure_message(error))
    return MalformedResponse(failure_texts.response_failure_message(error))

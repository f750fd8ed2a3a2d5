"""The outermost middleware: Request-Id, client address, HTTPS only, request log, last-resort errors."""

import re
import traceback
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Network, IPv6Network
from time import perf_counter
from typing import Protocol
from uuid import UUID

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from almoner.kit.errors import Forbidden, InternalError, Problem, ServiceUnavailable
from almoner.kit.ids import Uuid7Generator
from almoner.kit.time import Clock
from almoner.platform.database.disk_space import refuse_writes_when_disk_low
from almoner.platform.database.fair_queue import reset_fair_share_client, set_fair_share_client
from almoner.platform.database.transactions import REQUEST_SECONDS, reset_statement_timeout, set_statement_timeout
from almoner.platform.http import errors
from almoner.platform.http.admission import PROBES, InFlightRequestLimiter
from almoner.platform.http.drain import ConnectionDrain
from almoner.platform.observability.failures import CONNECTION_ERRORS, TIMEOUT_ERRORS
from almoner.platform.observability.telemetry import RequestLogLine, Telemetry
from almoner.platform.outbound.addresses import parse_client_address

_CALLERS_ID = re.compile(rb"[A-Za-z0-9_-]{8,64}")  # E2
_UNROUTED = "unrouted"
_PIECE = 32 * 1024
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Handled even while the disk is nearly full, with their few writes (last-seen times, a returning donor)."""


class RequestRecorder(Protocol):
    """Stores the requests that partners can read."""

    def record_request(self, scope: Scope, request_id: UUID, log_line: RequestLogLine) -> None:
        """Record one answered request, with or without an API key."""
        ...


def format_request_id(request_id: UUID) -> str:
    """The text of a ``Request-Id`` header."""
    return f"req_{request_id.hex}"


class OutermostMiddleware:
    """The outermost middleware of the application."""

    def __init__(
        self,
        app: ASGIApp,
        telemetry: Telemetry,
        clock: Clock,
        trusted_proxies: Sequence[IPv4Network | IPv6Network] = (),
        *,
        https_only: bool,
        drain: ConnectionDrain | None = None,
        error_page: Callable[[Request, int], Response | None] = lambda _request, _status: None,
        statement_seconds: float = REQUEST_SECONDS,
        recorder: RequestRecorder | None = None,
    ) -> None:
        self._app = app
        self._telemetry = telemetry
        self._clock = clock
        self._proxies = tuple(trusted_proxies)
        self._https_only = https_only
        self._drain = drain or ConnectionDrain()
        self._error_page = error_page
        self._statement_seconds = statement_seconds
        self._admission = InFlightRequestLimiter()
        self._recorder = recorder
        self._new_id = Uuid7Generator()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection event; anything but HTTP is passed on unchanged."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = perf_counter()
        request_uuid = self._new_id(self._clock.now())
        scope["almoner.request_id"] = request_id = format_request_id(request_uuid)
        status = 500
        started = False

        def tagged(message: Message) -> Awaitable[None]:
            nonlocal status, started
            if message["type"] == "http.response.start":
                started = True
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"request-id", request_id.encode())]
                if self._drain.begun:
                    message["headers"].append((b"connection", b"close"))
            elif len(message.get("body", b"")) > _PIECE:
                return _send_in_pieces(message, send)
            return send(message)

        failure: Exception | None = None
        try:
            _drop_escapes_in_cookies(scope)
            self._resolve(scope)
            if self._https_only and scope["scheme"] != "https" and scope["path"] not in PROBES:
                raise Forbidden(self._describe_plain_http(scope))
            await self._admit(scope, receive, tagged)
            failure = scope.get("almoner.failure")
        except (ConnectionAbortedError, ClientDisconnect):
            status = 499  # the client disconnected; nothing was sent
        except Exception as error:  # noqa: BLE001 (last resort: answered and, unless expected, logged)
            failure = None if isinstance(error, Problem) else error
            problem = _problem_of(error)
            scope["almoner.error"] = problem.code
            if not started:
                await self._send_problem(problem, scope, receive, tagged)
        self._report(scope, request_uuid, status, perf_counter() - start, failure)

    async def _send_problem(self, problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the problem as JSON, or as a page to a browser."""
        own = errors.headers_of_problem(problem)
        page = self._error_page(Request(scope), errors.http_status_of_problem(problem))
        if page is not None:
            page.raw_headers.extend(own)
            await page(scope, receive, send)
            return
        body = errors.body_of_problem(problem)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            *own,
        ]
        await send(
            {"type": "http.response.start", "status": errors.http_status_of_problem(problem), "headers": headers}
        )
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request within the limits, counted for its client."""
        client = self._admission.admit_and_identify_client(scope)
        previous, timeout = set_fair_share_client(client), set_statement_timeout(self._statement_seconds)
        try:
            if scope["method"] in _READS:
                await self._app(scope, receive, send)
            else:
                with refuse_writes_when_disk_low():
                    await self._app(scope, receive, send)
        finally:
            reset_statement_timeout(timeout)
            reset_fair_share_client(previous)
            self._admission.release_request(client)

    def _resolve(self, scope: Scope) -> None:
        """Client address and scheme behind trusted proxies: the right-most address that is no trusted proxy's."""
        client = scope.get("client")
        if not self._proxies or not client or not self._trusted(client[0]):
            return
        lines = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for").decode("latin-1")
        hops = [hop for hop in map(str.strip, reversed(lines.split(","))) if hop]
        if hops:
            nearest = next((hop for hop in hops if not self._trusted(hop)), hops[-1])
            scope["client"] = (_client_of_hop(nearest), 0)
        if _forwarded_protocols(scope) == {"https"}:
            scope["scheme"] = "https"

    def _describe_plain_http(self, scope: Scope) -> str:
        """Why a request counts as plain HTTP, and how to fix it: a proxy may terminate TLS."""
        headers = dict(scope["headers"])
        peer = (scope.get("client") or ("an unknown address", 0))[0]
        if not (forwarded := _forwarded_protocols(scope)):
            missing = (
                "a proxy in front must send the header X-Forwarded-Proto: https, and be in ALMONER_TRUSTED_PROXIES"
            )
        elif forwarded == {"https"}:
            missing = f"it has X-Forwarded-Proto: https, but {peer}, which sent it, is not in ALMONER_TRUSTED_PROXIES"
        else:
            missing = "the header X-Forwarded-Proto says that it came to the proxy over plain http"
        key = "; rotate the key that it carried" if b"authorization" in headers else ""
        return f"use https: this request came over plain http and was refused ({missing}){key}"

    def _trusted(self, address: str) -> bool:
        try:
            parsed = parse_client_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._proxies)

    def _report(self, scope: Scope, request_id: UUID, status: int, seconds: float, failure: Exception | None) -> None:
        line = RequestLogLine(
            self._clock.real_now(),
            "request",
            route_name(scope),
            status,
            round(seconds * 1000, 2),
            scope["almoner.request_id"],
            scope["method"],
        )
        if client := scope.get("client"):
            line.address = client[0]
        if caller := scope.get("almoner.caller"):
            line.partner = caller.partner.id
            line.key = caller.key_id
            if self._recorder is not None:
                self._recorder.record_request(scope, request_id, line)
        for name, value in scope["headers"]:
            if name == b"x-request-id" and _CALLERS_ID.fullmatch(value):
                line.callers_request_id = value.decode()
        if failure is not None:
            line.failure = type(failure).__qualname__
            # Frames only: the exception's message may quote user input.
            found = traceback.extract_tb(failure.__traceback__)[-12:]
            line.frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in found]
            if isinstance(failure, TIMEOUT_ERRORS):
                self._telemetry.statement_timeouts.labels(line.route).inc()
        self._telemetry.record_request(line, seconds)


def _drop_escapes_in_cookies(scope: Scope) -> None:
    """Remove backslashes from cookies: none of ours has any, and Python before 3.11.10 unquotes them in square time."""
    for place, (name, value) in enumerate(scope["headers"]):
        if name == b"cookie" and b"\\" in value:
            scope["headers"][place] = (name, value.replace(b"\\", b""))


def _forwarded_protocols(scope: Scope) -> set[str]:
    """The protocols that the proxies name: several proxies may name one each, in one header or in several."""
    lines = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-proto").decode("latin-1")
    return {protocol for protocol in map(str.strip, lines.lower().split(",")) if protocol}


def _client_of_hop(hop: str) -> str:
    """The address that a proxy forwards, without a port: each connection has another one."""
    try:
        return str(parse_client_address(hop))
    except ValueError:
        return hop[:64]


async def _send_in_pieces(message: Message, send: Send) -> None:
    """Send a body in pieces, each once the client has read most of the previous ones, to bound buffering."""
    body, more = message["body"], message.get("more_body", False)
    for start in range(0, len(body), _PIECE):
        end = start + _PIECE
        await send({"type": "http.response.body", "body": body[start:end], "more_body": more or end < len(body)})


def route_name(scope: Scope) -> str:
    """The name of the route or page function that answered; never the URL, which may contain a token."""
    if declared := scope.get("almoner.route"):
        return str(declared)
    return str(getattr(scope.get("endpoint"), "__name__", _UNROUTED))


def _problem_of(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    return ServiceUnavailable() if isinstance(error, CONNECTION_ERRORS) else InternalError()

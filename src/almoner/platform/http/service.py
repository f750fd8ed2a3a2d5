"""Runs declared endpoints: route, key, scope, limit, content type, size, idempotency key, body (order of settled 3)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

import asyncpg
import msgspec
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from almoner.kit.errors import (
    ContentTooLarge,
    Forbidden,
    IncorrectParams,
    MethodNotAllowed,
    NotFound,
    Problem,
    RateExceeded,
    ServiceUnavailable,
    UnsupportedContentType,
)
from almoner.platform import idempotency
from almoner.platform.db import Database, Partner, Tx
from almoner.platform.http import errors, uploads
from almoner.platform.http.caller import Caller, Guard, KeyKind, RateState
from almoner.platform.http.endpoints import MAX_JSON_BODY, Endpoint, Raw, Readers, Routes
from almoner.platform.http.paging import Cursors, Listing, Page, Position, Window, links, window
from almoner.platform.http.wire import Out, PageQuery

R = TypeVar("R")

_encoder = msgspec.json.Encoder()
_MULTIPART_OVERHEAD = 64 * 1024  # settled 1
_JSON = b"application/json"
_CORS = (
    (b"access-control-allow-origin", b"*"),
    (
        b"access-control-expose-headers",
        b"Request-Id, RateLimit, RateLimit-Policy, Retry-After, Idempotent-Replayed, Data-As-Of",
    ),
)
_KEY_MARKS = ("sk_live_", "sk_sandbox_", "pk_live_", "pk_sandbox_", "scim_")

RawHeaders = list[tuple[bytes, bytes]]


@dataclass(slots=True)
class Reply:
    """An answer about to be sent."""

    status: int
    body: bytes
    headers: RawHeaders
    media_type: bytes = _JSON


@dataclass(slots=True)
class Request:
    """What the layer keeps of one request."""

    scope: Scope
    receive: Receive
    headers: Mapping[str, str]
    parameters: list[tuple[str, str]]
    address: str
    caller: Caller | None = None
    rate: RateState | None = None

    @property
    def path(self) -> str:
        """The path as sent."""
        return str(self.scope["path"])


@dataclass(slots=True)
class Call:
    """What a handler is given."""

    db: Database
    headers: Mapping[str, str]
    address: str
    path: str
    parameters: list[tuple[str, str]]
    endpoint: Endpoint
    identified: Caller | None
    claim: idempotency.Claim | None
    opened: Tx | None = None
    answer_headers: dict[str, str] = field(default_factory=dict)

    @property
    def tx(self) -> Tx:
        """The open transaction. Raises RuntimeError on a route declared with ``tx=None``."""
        if self.opened is None:
            raise RuntimeError(f"{self.endpoint.operation_id} is declared without a transaction")
        return self.opened

    @property
    def caller(self) -> Caller:
        """Who calls. Raises RuntimeError on a route without a key."""
        if self.identified is None:
            raise RuntimeError(f"{self.endpoint.operation_id} is declared without a key")
        return self.identified

    @property
    def partner(self) -> Partner:
        """The scope of the calling partner."""
        return self.caller.partner

    def page(self, query: PageQuery) -> Page:
        """The page that the query asks for. Raises CursorError."""
        descending = query.direction == "DESC"
        if query.cursor is None:
            return Page(query.page_size, descending)
        backwards, position = self._cursors().decode(query.cursor)
        return Page(query.page_size, descending, position, backwards)

    def listing(
        self,
        page: Page,
        fetched: Sequence[R],
        total: int,
        record: Callable[[R], Out],
        key: Callable[[R], Position],
        extra: dict[str, object] | None = None,
    ) -> Listing[Any]:
        """The list answer for ``page.limit`` rows in reading order."""
        shown: Window[R] = window(page, fetched)
        made = links(self.db.deployment.links.api + self.path, self.parameters, self._cursors(), shown, key)
        return Listing([record(row) for row in shown.rows], total, page.size, made, extra)

    def all_of(self, rows: Sequence[R], record: Callable[[R], Out]) -> Listing[Any]:
        """The answer of a list that is not paged: every row in the same envelope (settled 1.1)."""
        address = self.db.deployment.links.api + self.path
        current = address + ("?" + urlencode(self.parameters) if self.parameters else "")
        made: dict[str, str | None] = {"current": current, "next": None, "prev": None}
        return Listing([record(row) for row in rows], len(rows), len(rows), made)

    def _cursors(self) -> Cursors:
        partner = self.identified.partner.id if self.identified else None
        filters = [(name, value) for name, value in self.parameters if name not in ("cursor", "pageSize")]
        return Cursors(self.db.deployment.vault, partner, self.path, filters)


class _Node:
    """One segment of the path tree."""

    __slots__ = ("children", "methods", "parameter")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.methods: dict[str, _Bound] = {}


@dataclass(frozen=True, slots=True)
class _Bound:
    """An endpoint with what running it needs, made once."""

    endpoint: Endpoint
    names: tuple[str, ...]
    query: Readers | None
    wrap_end: bytes

    @classmethod
    def of(cls, endpoint: Endpoint) -> "_Bound":
        record = endpoint.record
        return cls(
            endpoint,
            tuple(endpoint.path_ids),
            Readers(endpoint.query) if endpoint.query else None,
            b',"object":' + _encoder.encode(record.object_name if record else ""),
        )


class Service:
    """The API as an ASGI application."""

    def __init__(self, db: Database, guard: Guard, routes: Sequence[Routes]) -> None:
        self._db = db
        self._guard = guard
        self._root = _Node()
        self.endpoints = [endpoint for group in routes for endpoint in group.endpoints]
        for endpoint in self.endpoints:
            self._place(endpoint)

    def _place(self, endpoint: Endpoint) -> None:
        node = self._root
        for part in endpoint.path.split("/")[1:]:
            if part.startswith("{"):
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.children.setdefault(part, _Node())
        if endpoint.method in node.methods:
            raise ValueError(f"{endpoint.route} is declared twice")
        node.methods[endpoint.method] = _Bound.of(endpoint)

    def _find(self, path: str) -> tuple[dict[str, _Bound], list[str]]:
        """The methods of a path and the values of its parameters; fixed segments win. Raises NotFound."""

        def descend(node: _Node, parts: Sequence[str], values: list[str]) -> tuple[_Node, list[str]] | None:
            if not parts:
                return (node, values) if node.methods else None
            head, rest = parts[0], parts[1:]
            if (fixed := node.children.get(head)) and (found := descend(fixed, rest, values)):
                return found
            if node.parameter and head and (found := descend(node.parameter, rest, [*values, head])):
                return found
            return None

        found = descend(self._root, path.split("/")[1:], [])
        if found is None:
            raise NotFound("there is nothing at this address")
        return found[0].methods, found[1]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request. Every answer of a known route carries the RateLimit headers."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        address = scope["client"][0] if scope.get("client") else ""
        request = Request(scope, receive, headers, [], address)
        extra: RawHeaders = []
        try:
            methods, values = self._find(scope["path"])
            reply = await self._answer(request, methods, values, extra)
        except Problem as problem:
            reply = _problem_reply(problem)
        # An answer that never came to its limit is counted on the way out, so that it can show one too (settled 8).
        rate = request.rate or self._guard.admit(request.caller, address)
        reply.headers.extend([*extra, *rate_headers(rate)])
        await send_reply(reply, scope, send)

    async def _answer(
        self, request: Request, methods: dict[str, _Bound], values: list[str], extra: RawHeaders
    ) -> Reply:
        method = request.scope["method"]
        allow = _allow(methods)
        open_to_pages = [m for m, bound in methods.items() if bound.endpoint.key in (KeyKind.PUBLISHABLE, KeyKind.NONE)]
        if method == "OPTIONS":
            return _options(request, allow, open_to_pages)
        bound = methods.get("GET" if method == "HEAD" else method)
        if bound is None:
            raise MethodNotAllowed(method, allow)
        endpoint = bound.endpoint
        request.scope["almoner.route"] = endpoint.route
        if endpoint.method in open_to_pages:
            extra.extend(_CORS)
        if endpoint.retirement:
            extra.extend(_retirement(endpoint))
        return await self._run(request, bound, values)

    async def _run(self, request: Request, bound: _Bound, values: list[str]) -> Reply:
        endpoint = bound.endpoint
        await self._admit(request, endpoint)
        raw = await _read_body(request, endpoint)
        key = idempotency.checked_key(request.headers) if endpoint.method == "POST" else None
        arguments = self._path_values(bound, values)
        payload = _validate(request, bound, raw, arguments)
        caller = request.caller
        claim = None
        if endpoint.method == "POST" and caller is not None:
            vault = self._db.deployment.vault
            claim = idempotency.make_claim(
                vault, caller.partner, key, f"POST {request.path}", payload() if key else None
            )
        for attempt in (1, 2):
            call = Call(
                self._db, request.headers, request.address, request.path, request.parameters, endpoint, caller, claim
            )
            try:
                return await self._perform(call, bound, arguments)
            except idempotency.Replayed as replayed:
                status = 204 if endpoint.empty == 204 else 200
                return Reply(status, replayed.body, [(b"idempotent-replayed", b"true")])
            except asyncpg.UniqueViolationError as error:
                if attempt == 2 or claim is None or claim.key_hash is None or not idempotency.lost_race(error):
                    raise
                async with self._db.write() as tx:
                    await idempotency.forget_expired(tx, claim.partner.id, claim.key_hash)
            except (
                asyncpg.PostgresConnectionError,
                asyncpg.CannotConnectNowError,
                asyncpg.TooManyConnectionsError,
                OSError,
            ) as error:
                raise ServiceUnavailable from error
        raise AssertionError("unreachable")

    async def _perform(self, call: Call, bound: _Bound, arguments: dict[str, Any]) -> Reply:
        endpoint, claim = bound.endpoint, call.claim
        if endpoint.tx is None:
            body, media_type = _encode(await endpoint.handler(call, **arguments), bound)
        else:
            async with self._db.open(endpoint.tx) as tx:
                call.opened = tx
                if claim is not None and endpoint.tx == "write":
                    await idempotency.claim(tx, claim)
                body, media_type = _encode(await endpoint.handler(call, **arguments), bound)
                if claim is not None and endpoint.tx == "write":
                    await idempotency.keep(tx, claim, body)
        headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in call.answer_headers.items()]
        return Reply(endpoint.empty or 200, body, headers, media_type)

    async def _admit(self, request: Request, endpoint: Endpoint) -> None:
        query = request.scope["query_string"].decode("latin-1")
        if any(mark in query for mark in _KEY_MARKS):
            raise IncorrectParams(
                "query holds an API key: keys belong in the Authorization header; rotate it, it may have been logged"
            )
        if endpoint.key is not KeyKind.NONE:
            request.caller = caller = await self._guard.authenticate(request.headers.get("authorization"))
            request.scope["almoner.caller"] = caller
            if not caller.may(endpoint.key):
                raise Forbidden("a publishable key may not be used here; use the secret key, from your server")
            if endpoint.scope is not None and not caller.has(endpoint.scope):
                raise Forbidden(f"this key lacks the scope {endpoint.scope}")
        request.rate = self._guard.admit(request.caller, request.address)
        if request.rate.retry_after is not None:
            raise RateExceeded(request.rate.retry_after)
        if request.caller is not None:
            self._guard.used(request.caller, request.address, endpoint.route)

    def _path_values(self, bound: _Bound, values: list[str]) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        for name, text in zip(bound.names, values, strict=True):
            mark = bound.endpoint.path_ids[name]
            if mark is None:
                arguments[name] = text
                continue
            value: UUID | None = self._db.deployment.ids.parse(mark.type, text)
            if value is None:
                raise NotFound
            arguments[name] = value
        return arguments


def _allow(methods: Mapping[str, _Bound]) -> str:
    return ", ".join(sorted({*methods, "OPTIONS", *(["HEAD"] if "GET" in methods else [])}))


def _options(request: Request, allow: str, open_to_pages: list[str]) -> Reply:
    headers: RawHeaders = [(b"allow", allow.encode())]
    if open_to_pages and "access-control-request-method" in request.headers:
        methods = sorted({*open_to_pages, *(["HEAD"] if "GET" in open_to_pages else [])})
        headers += [
            (b"access-control-allow-origin", b"*"),
            (b"access-control-allow-methods", ", ".join(methods).encode()),
            (b"access-control-allow-headers", b"Authorization, Content-Type, Idempotency-Key, Explain"),
            (b"access-control-max-age", b"600"),
        ]
    return Reply(204, b"", headers)


def _retirement(endpoint: Endpoint) -> RawHeaders:
    assert endpoint.retirement is not None
    return [
        (b"deprecation", endpoint.retirement.deprecated.encode()),
        (b"sunset", endpoint.retirement.sunset.encode()),
        (b"link", f'<{endpoint.retirement.link}>; rel="deprecation"'.encode()),
    ]


def rate_headers(rate: RateState) -> RawHeaders:
    """``RateLimit`` and ``RateLimit-Policy`` (IETF draft 10)."""
    return [
        (b"ratelimit-policy", f'"{rate.policy}";q={rate.quota};w={rate.window}'.encode()),
        (b"ratelimit", f'"{rate.policy}";r={rate.remaining};t={rate.reset}'.encode()),
    ]


async def _read_body(request: Request, endpoint: Endpoint) -> bytes:
    """The body, read no further than its limit. Raises ContentTooLarge, UnsupportedContentType."""
    limit = endpoint.upload.max_bytes + _MULTIPART_OVERHEAD if endpoint.upload else MAX_JSON_BODY
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared) > limit:
        raise ContentTooLarge(f"the body may hold at most {limit} bytes, this one announces {declared}")
    chunks: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError("the client left before its request was complete")
        if chunk := message.get("body", b""):
            size += len(chunk)
            if size > limit:
                raise ContentTooLarge(f"the body may hold at most {limit} bytes")
            chunks.append(chunk)
        more = message.get("more_body", False)
    raw = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    if raw and endpoint.upload is None and endpoint.method != "GET":
        media_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
        if media_type != "application/json":
            raise UnsupportedContentType(f"header.Content-Type must be application/json, not '{media_type[:100]}'")
    return raw


def _validate(request: Request, bound: _Bound, raw: bytes, arguments: dict[str, Any]) -> Callable[[], object]:
    """Validate query and body, all problems at once; answers what the idempotency fingerprint covers."""
    endpoint = bound.endpoint
    reasons = _read_query(request)
    if bound.query is not None and endpoint.query is not None and not reasons:
        try:
            arguments["query"] = endpoint.query.model_validate(bound.query.read(request.parameters))
        except ValidationError as found:
            reasons.extend(errors.sentences(found, "query"))
    if endpoint.upload is not None:
        if reasons:
            raise IncorrectParams(*reasons)
        content_type = request.headers.get("content-type", "")
        uploaded = arguments["upload"] = uploads.read(content_type, raw, endpoint.upload)
        return uploaded.fingerprint
    if endpoint.body is not None:
        reasons.extend(_nul_reasons(raw))
        try:
            arguments["body"] = endpoint.body.__pydantic_validator__.validate_json(raw or b"{}")
        except ValidationError as found:
            reasons.extend(errors.sentences(found, "body"))
    if reasons:
        raise IncorrectParams(*reasons)
    return lambda: msgspec.json.decode(raw) if raw else None


def _read_query(request: Request) -> list[str]:
    """Decode the query string into ``request.parameters``; the answer is what is wrong with it."""
    if not request.scope["query_string"]:
        return []
    try:
        text = request.scope["query_string"].decode("ascii")
        request.parameters = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=200)
    except ValueError:
        return ["query is not well-formed UTF-8 in percent encoding"]
    if any("\x00" in name or "\x00" in value for name, value in request.parameters):
        return ["query must not hold NUL characters"]
    return []


def _nul_reasons(raw: bytes) -> list[str]:
    """PostgreSQL text cannot hold NUL; named here so that the caller learns which field it is in."""
    if b"\\u0000" not in raw:
        return []
    try:
        decoded = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return []  # the validator says what is wrong with the JSON

    def walk(value: object, place: str) -> list[str]:
        if isinstance(value, str):
            return [f"{place} must not hold NUL characters"] if "\x00" in value else []
        if isinstance(value, dict):
            return [found for key, item in value.items() for found in walk(key, place) + walk(item, f"{place}.{key}")]
        if isinstance(value, list):
            return [found for index, item in enumerate(value) for found in walk(item, f"{place}.{index}")]
        return []

    return walk(decoded, "body")


def _encode(result: object, bound: _Bound) -> tuple[bytes, bytes]:
    if result is None:
        return b"", b""
    if isinstance(result, Raw):
        return result.body, result.media_type.encode()
    if isinstance(result, Listing):
        tail: dict[str, object] = {
            "totalResults": result.total,
            "pageSize": result.size,
            "_links": result.links,
            **(result.extra or {}),
        }
        body = b'{"data":' + _encoder.encode(result.records) + bound.wrap_end + b"," + _encoder.encode(tail)[1:]
        return body, _JSON
    return b'{"data":' + _encoder.encode(result) + bound.wrap_end + b"}", _JSON


def _problem_reply(problem: Problem) -> Reply:
    return Reply(errors.status_of(problem), errors.body_of(problem), errors.headers_of(problem))


async def send_reply(reply: Reply, scope: Scope, send: Send) -> None:
    """Send an answer; HEAD gets the headers of the GET and no body."""
    headers = [*reply.headers, (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
    if reply.body or reply.status != 204:
        headers.append((b"content-length", str(len(reply.body)).encode()))
    if reply.body:
        headers.append((b"content-type", reply.media_type))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else reply.body})

"""Runs declared endpoints: route, key, scope, limit, content type, size, idempotency key, body (order of settled 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg
from starlette.types import Receive, Scope, Send

from almoner.kit.errors import (
    Forbidden,
    IncorrectParams,
    MethodNotAllowed,
    NotFound,
    Problem,
    RateExceeded,
    ServiceUnavailable,
)
from almoner.platform import idempotency
from almoner.platform.db import Database
from almoner.platform.http.caller import Guard, KeyKind
from almoner.platform.http.calls import Call
from almoner.platform.http.endpoints import Endpoint, Readers, Routes
from almoner.platform.http.replies import (
    CORS,
    RawHeaders,
    Reply,
    allowed,
    encode,
    envelope_end,
    options,
    problem_reply,
    rate_headers,
    retirement_headers,
    send_reply,
)
from almoner.platform.http.requests import Request, read_body, validate

_KEY_MARKS = ("sk_live_", "sk_sandbox_", "pk_live_", "pk_sandbox_", "scim_")


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
    end: bytes

    @classmethod
    def of(cls, endpoint: Endpoint) -> "_Bound":
        readers = Readers(endpoint.query) if endpoint.query else None
        return cls(endpoint, tuple(endpoint.path_ids), readers, envelope_end(endpoint))


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
            reply = problem_reply(problem)
        # An answer that never came to its limit is counted on the way out, so that it can show one too (settled 8).
        rate = request.rate or self._guard.admit(request.caller, address)
        reply.headers.extend([*extra, *rate_headers(rate)])
        await send_reply(reply, scope, send)

    async def _answer(
        self, request: Request, methods: dict[str, _Bound], values: list[str], extra: RawHeaders
    ) -> Reply:
        method = request.scope["method"]
        allow = allowed(methods)
        open_to_pages = [m for m, bound in methods.items() if bound.endpoint.key in (KeyKind.PUBLISHABLE, KeyKind.NONE)]
        if method == "OPTIONS":
            return options(allow, open_to_pages, preflight="access-control-request-method" in request.headers)
        bound = methods.get("GET" if method == "HEAD" else method)
        if bound is None:
            raise MethodNotAllowed(method, allow)
        endpoint = bound.endpoint
        request.scope["almoner.route"] = endpoint.route
        if endpoint.method in open_to_pages:
            extra.extend(CORS)
        if endpoint.retirement:
            extra.extend(retirement_headers(endpoint.retirement))
        return await self._run(request, bound, values)

    async def _run(self, request: Request, bound: _Bound, values: list[str]) -> Reply:
        endpoint = bound.endpoint
        await self._admit(request, endpoint)
        raw = await read_body(request, endpoint)
        key = idempotency.checked_key(request.headers) if endpoint.method == "POST" else None
        arguments = self._path_values(bound, values)
        payload = validate(request, endpoint, bound.query, raw, arguments)
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
            body, media_type = encode(await endpoint.handler(call, **arguments), bound.end)
        else:
            async with self._db.open(endpoint.tx) as tx:
                call.opened = tx
                if claim is not None and endpoint.tx == "write":
                    await idempotency.claim(tx, claim)
                body, media_type = encode(await endpoint.handler(call, **arguments), bound.end)
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

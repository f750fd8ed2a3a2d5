"""Runs declared endpoints: routing, key, scope, rate limit, size, idempotency and validation (settled 3)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any
from uuid import UUID

import asyncpg
from starlette.types import Receive, Scope, Send

from almoner.kit.errors import (
    AccountPaused,
    Forbidden,
    IncorrectParams,
    MethodNotAllowed,
    NotFound,
    Problem,
    RateExceeded,
    ServiceUnavailable,
)
from almoner.platform import idempotency
from almoner.platform.audit import log as audit
from almoner.platform.crypto import Vault, sha256_digest
from almoner.platform.database.fair_queue import (
    FairShareClient,
    current_fair_share_client,
    run_as_fair_share_client,
    set_fair_share_client,
)
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.http import call_audit
from almoner.platform.http.caller import PERSONAL, AccessGuard, Caller, KeyKind
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Endpoint, Method, RawResponse, Routes
from almoner.platform.http.header_lines import ensure_no_repeated_headers, join_header_lines
from almoner.platform.http.paging import ListResponse
from almoner.platform.http.paths import BoundEndpoint, PathEndpoints, PathTree
from almoner.platform.http.replies import (
    CORS,
    RawHeaders,
    Reply,
    deprecation_headers,
    encode_body_and_media_type,
    options_reply,
    problem_reply,
    rate_limit_headers,
    send_reply,
)
from almoner.platform.http.requests import ApiRequest, read_body, validate_request_returning_fingerprint_source
from almoner.platform.http.upload_intake import UploadIntake
from almoner.platform.http.uploads import ReceivedUpload
from almoner.platform.http.wire import ResponseRecord, redact_personal_fields
from almoner.platform.idempotency import IdempotencyClaim
from almoner.platform.observability.failures import CONNECTION_ERRORS

_FRAMED = ("write", "around")
"""Modes in which this layer claims the Idempotency-Key, stores the response and writes the audit entry.

In single-statement mode the statement does this itself.
"""
_KEY_MARKS = (b"sk_live_", b"sk_sandbox_", b"pk_live_", b"pk_sandbox_", b"scim_")


class ApiApplication:
    """The API as an ASGI application."""

    def __init__(
        self, db: Database, guard: AccessGuard, routes: Sequence[Routes], intake: UploadIntake | None = None
    ) -> None:
        """Create the application. ``intake``: processes the files of upload routes."""
        self._db = db
        self._guard = guard
        self._intake = intake
        self.endpoints = [endpoint for group in routes for endpoint in group.endpoints]
        self._paths = PathTree(self.endpoints)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request. Every response of a known route has the RateLimit headers."""
        headers = join_header_lines(scope["headers"])
        address = scope["client"][0] if scope.get("client") else ""
        request = ApiRequest(scope, receive, headers, [], address)
        extra: RawHeaders = []
        reply = await self._reply(request, extra)
        # A response given before the rate limit check is counted here, so that it has the headers, too (settled 8).
        rate = request.rate_limit_state or self._guard.check_rate_limit(request.caller, address)
        reply.headers.extend([*extra, *rate_limit_headers(rate)])
        await send_reply(reply, scope, send)

    async def handle_member_call(
        self,
        caller: Caller,
        method: Method,
        path: str,
        query: str,
        body: bytes,
        *,
        headers: Mapping[str, str],
        ip_address: str,
        precondition: Callable[[Tx], Awaitable[None]] | None = None,
    ) -> Reply:
        """Handle a call that a page makes for a member, as if it were an HTTP request; returns the response.

        ``query``: percent-encoded. ``headers``: names in lower case. The member's scopes decide as a key's do.
        ``precondition``: of a write: awaited first in its transaction; raises Problem if the write must not happen.
        """

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": body}

        scope: Scope = {"type": "http", "method": method, "path": path, "query_string": query.encode("ascii")}
        request = ApiRequest(scope, receive, headers, [], ip_address, caller, precondition=precondition)
        with run_as_fair_share_client(current_fair_share_client()):  # the page goes on as the client that it was
            return await self._reply(request, [])

    async def _reply(self, request: ApiRequest, extra: RawHeaders) -> Reply:
        """Handle a request; returns its response in every case. ``extra`` receives the route's headers."""
        try:
            found = self._paths.find(request.path)
            if found is None:
                raise NotFound("there is nothing at this address")
            return await self._answer(request, found.endpoints, found.parameter_values, extra)
        except Problem as problem:
            return _refused(request, problem)
        except ConnectionAbortedError:
            raise  # the client disconnected while sending the body
        except CONNECTION_ERRORS as error:
            request.scope["almoner.failure"] = error  # the request's log line reports what was unavailable
            return _refused(request, ServiceUnavailable())

    async def _answer(self, request: ApiRequest, address: PathEndpoints, values: list[str], extra: RawHeaders) -> Reply:
        method = request.scope["method"]
        if method == "OPTIONS":
            preflight = "access-control-request-method" in request.headers
            return options_reply(address.allow, address.open_methods, preflight=preflight)
        bound = address.methods.get("GET" if method == "HEAD" else method)
        if bound is None:
            raise MethodNotAllowed(method, address.allow)
        request.scope["almoner.route"] = bound.route
        if bound.allows_cross_origin:
            extra.extend(CORS)
        if bound.endpoint.deprecation:
            extra.extend(deprecation_headers(bound.endpoint.deprecation))
        await self._admit(request, bound)
        raw = await read_body(request, bound.endpoint)
        if isinstance(raw, bytes):
            return await self._validate_and_call(request, bound, values, raw)
        with closing(raw):
            return await self._validate_and_call(request, bound, values, raw)

    async def _validate_and_call(
        self, request: ApiRequest, bound: BoundEndpoint, values: list[str], raw: bytes | ReceivedUpload
    ) -> Reply:
        """Validate, then perform the call."""
        endpoint = bound.endpoint
        key = idempotency.read_idempotency_key(request.headers) if endpoint.method == "POST" else None
        arguments = self._path_values(request, bound, values)
        caller = request.caller
        vault, route = self._db.deployment.vault, f"{endpoint.method} {request.path}"
        try:
            payload = validate_request_returning_fingerprint_source(
                request, endpoint, bound.query_reader, raw, arguments
            )
        except Problem:
            if key and caller is not None:
                # No valid body is a list, so no stored response matches.
                unread = [sha256_digest(raw).hex() if isinstance(raw, bytes) else ""]
                await self._ensure_key_unused(_claim_of(vault, caller, key, route, unread))
            raise
        claim = None
        if endpoint.method == "POST" and caller is not None:
            claim = _claim_of(vault, caller, key, route, payload() if key else None)
        run = self._run_in_transaction if endpoint.upload is None else self._receive_file_and_run
        for attempt in (1, 2):
            call = ApiCall(
                self._db,
                request.headers,
                request.ip_address,
                request.path,
                request.query_parameters,
                endpoint,
                caller,
                claim,
                request.request_id,
                request.precondition,
            )
            try:
                return await run(call, bound, values, arguments)
            except idempotency.StoredResponseExists as replayed:
                return await self._replay(call, values, replayed.body)
            except asyncpg.UniqueViolationError as error:
                if attempt == 2 or claim is None or claim.key_hash is None or not idempotency.is_claim_conflict(error):
                    raise
                async with self._db.write() as tx:
                    await idempotency.delete_expired_response(tx, claim.partner.id, claim.key_hash)
        raise AssertionError("unreachable")

    async def _replay(self, call: ApiCall, values: Sequence[str], body: bytes) -> Reply:
        """The stored response of an earlier call; one that shows a secret is audited again."""
        if call.endpoint.shows_secret:
            async with self._db.write() as call.open_tx:
                await audit.insert_entry(call.open_tx, call_audit.build_audit_row(call, values, RawResponse(body)))
        status = 204 if call.endpoint.empty_status == 204 else 200
        return Reply(status, body, [(b"idempotent-replayed", b"true")])

    async def _receive_file_and_run(
        self, call: ApiCall, bound: BoundEndpoint, values: Sequence[str], arguments: dict[str, Any]
    ) -> Reply:
        assert self._intake is not None
        assert call.endpoint.upload is not None
        async with self._intake.receive_file(
            call.idempotency_claim, arguments["upload"], call.endpoint.upload
        ) as taken:
            return await self._run_in_transaction(call, bound, values, {**arguments, "upload": taken})

    async def _run_in_transaction(
        self, call: ApiCall, bound: BoundEndpoint, values: Sequence[str], arguments: dict[str, Any]
    ) -> Reply:
        """Run the handler in its transaction."""
        endpoint, claim = bound.endpoint, call.idempotency_claim
        assert call.precondition is None or endpoint.tx == "write", "only a write has a precondition"
        if endpoint.tx is None:
            body, media_type = encode_body_and_media_type(
                _mask_personal(call, await endpoint.handler(call, **arguments)), bound.envelope_suffix
            )
        elif claim is not None and endpoint.tx not in _FRAMED:
            try:
                async with self._db.open_transaction(endpoint.tx) as tx:
                    call.open_tx = tx
                    result = _mask_personal(call, await endpoint.handler(call, **arguments))
                    body, media_type = encode_body_and_media_type(result, bound.envelope_suffix)
            except Problem:
                await self._ensure_key_unused(claim)
                raise
        else:
            async with self._db.open_transaction(endpoint.tx) as tx:
                call.open_tx = tx
                if call.precondition is not None:
                    await call.precondition(tx)
                if claim is not None:
                    await idempotency.acquire_claim(tx, claim, already_leased=endpoint.upload is not None)
                result = _mask_personal(call, await endpoint.handler(call, **arguments))
                body, media_type = encode_body_and_media_type(result, bound.envelope_suffix)
                if claim is not None:
                    await idempotency.complete_claim(tx, claim, body, call_audit.build_audit_row(call, values, result))
                elif endpoint.is_write or endpoint.shows_secret:
                    await audit.insert_entry(tx, call_audit.build_audit_row(call, values, result))
        headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in call.response_headers.items()]
        return Reply(endpoint.empty_status or 200, body, headers, media_type)

    async def _ensure_key_unused(self, claim: IdempotencyClaim) -> None:
        """Check the Idempotency-Key of a refused call: its problem takes precedence over the body's (settled 3)."""
        if claim.key_hash is not None:
            async with self._db.write() as tx:
                await idempotency.acquire_claim(tx, claim)

    async def _admit(self, request: ApiRequest, bound: BoundEndpoint) -> None:
        endpoint = bound.endpoint
        ensure_no_repeated_headers(request.scope.get("headers", ()), request.headers)
        query = request.scope["query_string"]
        if query and any(mark in query for mark in _KEY_MARKS):
            raise IncorrectParams(
                "query holds an API key: keys belong in the Authorization header; rotate it, it may have been logged"
            )
        if endpoint.key is not KeyKind.NONE:
            caller = request.caller or await self._guard.authenticate(
                request.headers.get("authorization"), request.ip_address
            )
            request.caller = request.scope["almoner.caller"] = caller
            # The edge resets it.
            set_fair_share_client(FairShareClient(caller.partner.id, endpoint.moves_money and endpoint.is_write))
            if caller.is_partner_paused:
                raise AccountPaused
            if not caller.satisfies_key_kind(endpoint.key):
                raise Forbidden("a publishable key may not be used here; use the secret key, from your server")
            if not _is_in_scope(caller, endpoint):
                raise Forbidden(f"this key lacks the scope {endpoint.scope}")
        if request.caller is not None and request.caller.is_member:
            return  # pages have their own limits, and no key was used
        request.rate_limit_state = self._guard.check_rate_limit(request.caller, request.ip_address)
        if request.rate_limit_state.retry_after_seconds is not None:
            raise RateExceeded(request.rate_limit_state.retry_after_seconds)
        if request.caller is not None:
            self._guard.record_key_use(request.caller, request.ip_address, bound.route)

    def _path_values(self, request: ApiRequest, bound: BoundEndpoint, values: list[str]) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        for name, text in zip(bound.parameter_names, values, strict=True):
            mark = bound.endpoint.path_ids[name]
            if mark is None:
                arguments[name] = text
                continue
            ids = self._db.deployment.ids
            value: UUID | None = ids.decode(mark.type, text)
            if value is None:
                raise NotFound(f"path.{name} must be an ID such as {ids.example_id(mark.type)}")
            arguments[name] = value
        if bound.has_only_id_parameters:
            request.scope["almoner.path"] = request.path
        return arguments


def _is_in_scope(caller: Caller, endpoint: Endpoint) -> bool:
    if endpoint.scope is None or caller.has_scope(endpoint.scope):
        return True
    return caller.is_member and endpoint.member_scope is not None and caller.has_scope(endpoint.member_scope)


def _refused(request: ApiRequest, problem: Problem) -> Reply:
    request.scope["almoner.error"] = problem.code
    return problem_reply(problem)


def _mask_personal(call: ApiCall, result: object) -> object:
    """A handler's result as its caller may see it: donors' personal data need the scope."""
    if call.authenticated_caller is None or call.authenticated_caller.has_scope(PERSONAL):
        return result
    if isinstance(result, ListResponse):
        return replace(result, records=[redact_personal_fields(record) for record in result.records])
    return redact_personal_fields(result) if isinstance(result, ResponseRecord) else result


def _claim_of(vault: Vault, caller: Caller, key: str | None, route: str, payload: object) -> IdempotencyClaim:
    publicly = caller.kind is KeyKind.PUBLISHABLE
    if not publicly and not caller.has_scope(PERSONAL):
        route += " without donors"  # a key without the scope must not replay a response that names donors
    return idempotency.build_claim(vault, caller.partner, key, route, payload, with_publishable_key=publicly)

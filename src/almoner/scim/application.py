"""The ASGI application of /scim/v2: key, scope and limits as for /v1, then the protocol over one partner's storage.

The order of checks is that of settled 3; bodies, media type and status codes are those of RFC 7644, without our
envelope and without Idempotency-Key.
"""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl
from uuid import UUID
from weakref import WeakValueDictionary

import asyncpg
import msgspec
from scim2_models import InvalidSyntaxException, NotFoundException, NotImplementedException, SCIMException
from scim2_server.bulk import BulkPlan
from scim2_server.errors import MethodNotAllowedException
from scim2_server.requests import ScimRequest
from scim2_server.responses import SCIM_MEDIA_TYPE, ScimResponse
from scim2_server.routing import ROUTES, Operation, Route, match_pattern
from scim2_server.service import SEARCH_REQUEST_PARAMETERS
from starlette.types import Receive, Scope, Send

from almoner.kit.errors import Forbidden, Problem, RateExceeded, ServiceUnavailable, UnsupportedContentType
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.http import errors
from almoner.platform.http.caller import AccessGuard, Caller, KeyKind, RateLimitState
from almoner.platform.http.header_lines import ensure_no_repeated_headers, find_compression_problem, join_header_lines
from almoner.platform.http.replies import RawHeaders, Reply, allow_header, options_reply, rate_limit_headers, send_reply
from almoner.platform.http.requests import clean_json_body, read_json_body
from almoner.platform.observability.failures import CONNECTION_ERRORS
from almoner.scim import PREFIX, offload
from almoner.scim.handler import ScimHandler
from almoner.scim.protocol import ScimWireFormat
from almoner.scim.provider import build_scim_provider
from almoner.scim.storage import PostgresStorage

SCOPE: Final = "scim_api"

_READS: Final = frozenset({Operation.query, Operation.search, Operation.search_with_body})
_DISCOVERY: Final = frozenset(
    {
        Operation.service_provider_config,
        Operation.resource_types,
        Operation.resource_type,
        Operation.schemas,
        Operation.schema,
    }
)
_MOST_PARAMETERS: Final = 200
_SHOWN: Final = 100
_TRIES: Final = 3
_JSON: Final = SCIM_MEDIA_TYPE.encode()


@dataclass(slots=True)
class _Call:
    """One request. ``caller`` and ``rate`` are set once checked."""

    scope: Scope
    receive: Receive
    headers: dict[str, str]
    address: str
    caller: Caller | None = None
    rate: RateLimitState | None = None

    @property
    def method(self) -> str:
        """HEAD is answered as GET is."""
        method = str(self.scope["method"])
        return "GET" if method == "HEAD" else method

    @property
    def path(self) -> str:
        """Below the base address; ``.scim`` at the end is allowed (RFC 7644 3.8)."""
        return str(self.scope["path"]).removeprefix(PREFIX).removesuffix(".scim")


class ScimApplication:
    """The ASGI application of /scim/v2."""

    def __init__(self, db: Database, guard: AccessGuard) -> None:
        self._db = db
        self._guard = guard
        self._provider = build_scim_provider()
        self._base = db.deployment.base_urls.api + PREFIX
        self._turns: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()
        self._protocol = self._protocol_for(b"")  # for responses before the caller is known

    def _protocol_for(self, partner: bytes) -> ScimWireFormat:
        """The protocol for one partner; cursors of other partners are invalid (settled 1.1)."""
        return ScimWireFormat(
            self._provider, secret=self._db.deployment.vault.compute_keyed_hash("scim-cursor", partner)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request; every response has the RateLimit headers."""
        headers = join_header_lines(scope["headers"])
        call = _Call(scope, receive, headers, scope["client"][0] if scope.get("client") else "")
        try:
            reply = await self._answer(call)
        except ConnectionAbortedError:
            raise  # the client disconnected while sending the body
        except (SCIMException, Problem) as refused:
            reply = self._refusal(refused)
        except Exception as error:  # noqa: BLE001 (its line in the log says what it was)
            scope["almoner.failure"] = error
            reply = self._refusal(ServiceUnavailable() if isinstance(error, CONNECTION_ERRORS) else error)
        rate = call.rate or self._guard.check_rate_limit(call.caller, call.address)
        reply.headers.extend(rate_limit_headers(rate))
        await send_reply(reply, scope, send)

    async def _answer(self, call: _Call) -> Reply:
        found, methods = self._routes(call)
        if call.method == "OPTIONS":
            return options_reply(allow_header(methods), (), preflight=False)
        if found is None:
            raise MethodNotAllowedException(allowed=allow_header(methods).split(", "))
        await self._admit(call)
        request = ScimRequest(
            call.method, self._base, call.path, _read_query(call.scope), call.headers, subject=call.caller
        )
        limit = self._protocol.max_body_size(request)
        assert limit is not None
        sent = await read_json_body(call.receive, call.headers, limit)
        if sent and (compressed := find_compression_problem(call.headers)) is not None:
            raise UnsupportedContentType(compressed)
        request.body = await offload.run_in_thread_if_slow(len(sent) > offload.LONG_BODY, _clean_body, sent)
        return _build_reply(await self._serve(request, call, found))

    def _routes(self, call: _Call) -> tuple[Route | None, list[str]]:
        """The route of the method, and the methods of the path. Raises NotFoundException for a path without any."""
        segments = [segment for segment in call.path.strip("/").split("/") if segment]
        routes = [(route, match_pattern(route.pattern, segments)) for route in ROUTES]
        here = [(route, values) for route, values in routes if values is not None]
        if not here:
            raise NotFoundException(detail="There is nothing at this address")
        found = next(((route, values) for route, values in here if route.method == call.method), None)
        route, values = found or here[0]
        pattern = route.pattern
        if endpoint := values.get("endpoint"):
            served = self._protocol.resource_type_at(endpoint)
            pattern = pattern.replace("/{endpoint}", str(served.endpoint))
        method = call.method if found else "ANY"
        call.scope["almoner.route"] = f"{method} {PREFIX}{pattern.replace('{resource_id}', '{id}').rstrip('/')}"
        return (found[0] if found else None), [one.method for one, _ in here]

    async def _admit(self, call: _Call) -> None:
        """Key, scope, limit (settled 2 and 8). Raises IncorrectParams, Unauthorised, Forbidden, RateExceeded."""
        ensure_no_repeated_headers(call.scope["headers"], call.headers)
        call.caller = caller = await self._guard.authenticate(call.headers.get("authorization"), call.address)
        call.scope["almoner.caller"] = caller
        if caller.kind is not KeyKind.SCIM:
            raise Forbidden("this is not a SCIM key; create one with: almoner keys create")
        if not caller.has_scope(SCOPE):
            raise Forbidden(f"this key lacks the scope {SCOPE}: your account is not enabled for SCIM; ask the operator")
        call.rate = self._guard.check_rate_limit(caller, call.address)
        if call.rate.retry_after_seconds is not None:
            raise RateExceeded(call.rate.retry_after_seconds)
        self._guard.record_key_use(caller, call.address, call.scope["almoner.route"])

    async def _serve(self, request: ScimRequest, call: _Call, route: Route) -> ScimResponse:
        assert call.caller is not None
        if route.pattern == "/Me":
            raise NotImplementedException(detail="A SCIM key is no person: /Me stands for nobody (RFC 7644 3.11)")
        protocol = self._protocol_for(call.caller.partner.id.bytes)
        with self._provider:
            if route.operation in _DISCOVERY:
                return _discovery_response(protocol, request, route.operation)
            for _ in range(_TRIES):
                with contextlib.suppress(asyncpg.DeadlockDetectedError):
                    return await self._work(protocol, request, call, route)
        raise ServiceUnavailable

    async def _work(self, protocol: ScimWireFormat, request: ScimRequest, call: _Call, route: Route) -> ScimResponse:
        """Run a request in a transaction. Bulk requests with operations in opposite order may deadlock."""
        if route.operation is Operation.bulk:
            return await self._bulk(protocol, request, call)
        async with self._db.read() if route.operation in _READS else self._db.write() as tx:
            return await ScimHandler(protocol, self._storage(tx, call)).handle(request)

    async def _bulk(self, protocol: ScimWireFormat, request: ScimRequest, call: _Call) -> ScimResponse:
        """All operations in one transaction, each in a savepoint of its own (RFC 7644 3.7)."""
        assert call.caller is not None
        # One at a time for each partner in this process: many would use up threads and connections, and deadlock again
        # and again.
        turn = self._turns.setdefault(call.caller.partner.id, asyncio.Lock())
        async with turn:
            # Validating a thousand users takes half a second: run it in a thread.
            plan = await asyncio.to_thread(protocol.read_bulk, request.body, request.header("Content-Type"))
            return await self._run(protocol, request, call, plan)

    async def _run(self, protocol: ScimWireFormat, request: ScimRequest, call: _Call, plan: BulkPlan) -> ScimResponse:
        async with self._db.write() as tx:
            handler = ScimHandler(protocol, self._storage(tx, call))
            for step in plan:
                result, resource = await handler.run_bulk_step(request, plan, step)
                plan.record(step, result, resource)
        return protocol.bulk_response(plan)

    def _storage(self, tx: Tx, call: _Call) -> PostgresStorage:
        assert call.caller is not None
        actor = Actor("key", tx.ids.encode("apikey", call.caller.key_id))
        request_id = call.scope.get("almoner.request_id")
        partner, address = call.caller.partner, call.address or None
        return PostgresStorage(tx, partner, self._provider, actor, address, request_id=request_id, plain=True)

    def _refusal(self, error: Exception) -> Reply:
        reply = _build_reply(self._protocol.error_response(error))
        if isinstance(error, Problem):
            reply.headers.extend(errors.headers_of_problem(error))
        return reply


def _discovery_response(protocol: ScimWireFormat, request: ScimRequest, operation: Operation) -> ScimResponse:
    """Discovery: schemas, resource types and service configuration (RFC 7644 4)."""
    name = request.path.strip("/").rpartition("/")[2]
    match operation:
        case Operation.service_provider_config:
            return protocol.service_provider_config(request.url, request.query)
        case Operation.resource_types:
            return protocol.resource_types(request.url, request.query)
        case Operation.resource_type:
            return protocol.resource_type(request.url, name, request.query)
        case Operation.schemas:
            return protocol.schemas(request.url, request.query)
        case _:
            return protocol.schema(request.url, name, request.query)


def _read_query(scope: Scope) -> dict[str, str]:
    """Read the query parameters; unknown ones are ignored. Raises InvalidSyntaxException."""
    try:
        text = scope["query_string"].decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS)
    except ValueError:
        detail = f"The query must be at most {_MOST_PARAMETERS} parameters in well-formed UTF-8"
        raise InvalidSyntaxException(detail=detail) from None
    if any("\x00" in name or "\x00" in value for name, value in pairs):
        raise InvalidSyntaxException(detail="The query must not hold NUL characters")
    _ensure_given_once(name for name, _ in pairs if name in SEARCH_REQUEST_PARAMETERS)
    return dict(pairs)


def _clean_body(sent: bytes) -> bytes:
    """The body with cleaned texts. Raises InvalidSyntaxException if an object names a member twice."""

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        # Attribute names ignore case (RFC 7643 2.1), but not the values in a path with a filter.
        _ensure_given_once(name if "[" in name else name.casefold() for name, _ in pairs)
        return dict(pairs)

    with contextlib.suppress(ValueError, RecursionError):  # the protocol refuses invalid JSON
        json.loads(sent, object_pairs_hook=members, parse_int=str)
    return clean_json_body(sent)


def _ensure_given_once(names: Iterable[str]) -> None:
    """Of two values of one name, each reader takes the one it likes. Raises InvalidSyntaxException."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InvalidSyntaxException(detail=f"'{repeated[0][:_SHOWN]}' must be given once")


def _build_reply(response: ScimResponse) -> Reply:
    """Build the response; one with a resource has its location (RFC 7643 3.1)."""
    headers: RawHeaders = [
        (name.lower().encode(), value.encode("latin-1", "replace"))
        for name, value in response.headers.items()
        if name != "Content-Type"
    ]
    place = response.headers.get("Content-Location")
    if place is not None and "Location" not in response.headers:
        headers.append((b"location", place.encode()))
    body = b"" if response.body is None else msgspec.json.encode(response.body)
    return Reply(int(response.status), body, headers, _JSON)

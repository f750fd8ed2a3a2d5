"""The declared-endpoint layer by itself: small routes over the real database and guard."""

import asyncio
import os
from collections.abc import AsyncIterator
from gzip import compress
from ipaddress import ip_network
from typing import Annotated, Any
from uuid import UUID

import asyncpg
import pytest
from starlette.types import Message, Receive, Scope, Send

from almoner.access.guard import KeyGuard, RateLimits
from almoner.kit import errors
from almoner.kit.errors import BadRequest, Problem
from almoner.kit.patch import UNSET
from almoner.platform.database.connections import ConnectionUnavailable
from almoner.platform.database.transactions import Database, open_pool
from almoner.platform.http import errors as answers
from almoner.platform.http.caller import NO_KEY, PUBLISHABLE, SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.drain import ConnectionDrain
from almoner.platform.http.edge import OutermostMiddleware
from almoner.platform.http.endpoints import EndpointDeprecation, Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.openapi import errors_of_endpoint
from almoner.platform.http.paging import ListResponse
from almoner.platform.http.service import ApiApplication
from almoner.platform.http.wire import (
    DayOrMoment,
    Maybe,
    PageQuery,
    PatchBody,
    RequestBody,
    ResponseRecord,
    Text255,
    UnpagedQuery,
)
from almoner.platform.ratelimit import RateLimit, RateLimiter
from tests.support import service as support
from tests.support.client import Client, data
from tests.support.eventually import eventually

RETIRED = EndpointDeprecation("@1767225600", "Fri, 01 Jan 2027 00:00:00 GMT", "https://example.org/changes")


class OutOfTea(BadRequest):
    code = "test/out_of_tea"
    message = "There is no tea left"


class TeaResponse(ResponseRecord, object_name="tea"):
    name: str
    sugar: int | None


class TeaBody(RequestBody):
    name: Text255
    sugar: int | None = None


class TeaPatch(PatchBody):
    name: Maybe[Text255] = UNSET
    sugar: Maybe[int | None] = UNSET


class TeaQuery(PageQuery):
    since: DayOrMoment | None = None
    tags: list[str] = []  # noqa: RUF012 (Pydantic copies it)


routes = Routes("Tea")
raised: list[Problem | Exception] = []


@routes.get("/v1/tea", key=PUBLISHABLE, scope="categories:read")
async def list_tea(call: ApiCall, query: TeaQuery) -> ListResponse[TeaResponse]:
    """List tea."""
    names = [query.since.isoformat() if query.since else "", *query.tags]
    return call.unpaged_list_response(
        names, lambda name: TeaResponse(name=name, sugar=None), UnpagedQuery(direction="ASC")
    )


@routes.post("/v1/tea", key=SECRET, scope="categories:write", errors=(OutOfTea,))
async def make_tea(call: ApiCall, body: TeaBody) -> TeaResponse:
    """Make tea."""
    if raised:
        raise raised.pop()
    return TeaResponse(name=body.name, sugar=body.sugar)


@routes.patch("/v1/tea/{teaId}", key=SECRET, scope="tea:write", deprecation=RETIRED)
async def change_tea(call: ApiCall, tea_id: Annotated[UUID, PathId("category")], body: TeaPatch) -> TeaResponse:
    """Change tea."""
    return TeaResponse(name=str(body.name), sugar=None if body.sugar is UNSET else body.sugar)


@routes.get("/v1/tea/free", key=NO_KEY, tx=None)
async def smell_tea(call: ApiCall) -> TeaResponse:
    """Smell tea."""
    return TeaResponse(name=call.ip_address, sugar=None)


@pytest.fixture
async def tea(service: support.Service, tenant: support.Tenant) -> AsyncIterator[Client]:
    raised.clear()
    app = OutermostMiddleware(
        ApiApplication(service.db, service.services.key_guard, [routes]),
        service.services.telemetry,
        service.clock,
        [ip_network("127.0.0.0/8"), ip_network("10.0.0.0/8")],
        https_only=False,
    )
    client = Client(app, "http://testserver", tenant.secret)
    yield client
    await client.close()


PROBLEMS = [problem for problem in errors.problem_types_by_code().values() if problem.__module__ == errors.__name__]


@pytest.mark.parametrize("problem", [*PROBLEMS, OutOfTea], ids=lambda problem: problem.code)
async def test_e1_every_error_class_has_its_status_and_the_same_shape(tea: Client, problem: type[Problem]) -> None:
    arguments: tuple[Any, ...] = {errors.RateExceeded: (7,), errors.MethodNotAllowed: ("GET", "POST")}.get(
        problem, ("body.name is wrong",)
    )
    raised.append(problem(*arguments))
    answer = await tea.post("/v1/tea", {"name": "green"})
    assert answer.status_code == answers.STATUS[problem.kind]
    error = answer.json()["error"]
    assert set(error) == {"code", "title", "message", "reasons"}
    assert (error["code"], error["title"], error["message"]) == (problem.code, problem.title, problem.message)
    if problem is errors.RateExceeded:
        assert answer.headers["retry-after"] == "7"
    if problem is errors.MethodNotAllowed:
        assert answer.headers["allow"] == "POST"


async def test_e4_an_unexpected_failure_is_generic_and_reported(tea: Client, service: support.Service) -> None:
    raised.append(RuntimeError("secret detail /srv/almoner select password from people"))
    answer = await tea.post("/v1/tea", {"name": "green"})
    assert answer.status_code == 500
    assert answer.json()["error"] == {
        "code": "internal_server_error",
        "title": "Internal Server Error",
        "message": errors.InternalError.message,
        "reasons": [],
    }
    line = service.lines[-1].decode()
    assert answer.headers["request-id"] in line
    assert "RuntimeError" in line
    assert "secret detail" not in line


@pytest.mark.parametrize("gone", [asyncpg.ConnectionDoesNotExistError, asyncpg.AdminShutdownError])
async def test_a_lost_database_is_503(tea: Client, service: support.Service, gone: type[Exception]) -> None:
    raised.append(gone("gone"))
    answer = await tea.post("/v1/tea", {"name": "green"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "service_unavailable")
    assert answer.headers["retry-after"] == "2"
    assert gone.__name__ in service.lines[-1].decode()


async def test_a_wrong_use_of_the_driver_is_no_lost_database(tea: Client) -> None:
    raised.append(asyncpg.InterfaceError("the server expects 1 argument for this query, 2 were passed"))
    answer = await tea.post("/v1/tea", {"name": "green"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_server_error")


async def test_who_gets_no_connection_is_told_to_come_again(service: support.Service, tenant: support.Tenant) -> None:
    db = Database(await open_pool(service.database.dsn, 2), service.db.deployment, patience=0.05)
    free = RateLimit("free", 1000, 1000)
    guard = KeyGuard(db, service.clock, RateLimiter(), RateLimits(free, free, free, free, free))
    known, unknown = (
        Client(ApiApplication(db, guard, [routes]), "http://testserver", key)
        for key in (tenant.secret, tenant.publishable)
    )
    assert (await known.post("/v1/tea", {"name": "green"})).status_code == 200
    async with db.write(), db.write():
        for answer in (await known.post("/v1/tea", {"name": "green"}), await unknown.get("/v1/tea")):
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "service_unavailable")
            assert answer.headers["retry-after"] == "2"
    assert (await unknown.get("/v1/tea")).status_code == 200
    await db.close()


async def test_a_page_without_a_connection_is_503(service: support.Service) -> None:
    async def page(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ConnectionUnavailable

    edge = OutermostMiddleware(page, service.services.telemetry, service.clock, https_only=False)
    answer = await Client(edge, "http://testserver", None).get("/give")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "service_unavailable")
    assert answer.headers["retry-after"] == "2"
    assert b"ConnectionUnavailable" in service.lines[-1], "the line of the request says why"


async def test_a_long_answer_goes_out_as_its_client_reads_it(service: support.Service) -> None:
    """In pieces: what nobody reads is not copied for each connection that asked for it."""
    body, sent = os.urandom(300_000), list[Message]()

    async def page(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body[:200_000], "more_body": True})
        await send({"type": "http.response.body", "body": body[200_000:]})

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    edge = OutermostMiddleware(page, service.services.telemetry, service.clock, https_only=False)
    await edge({"type": "http", "method": "GET", "path": "/", "headers": [], "scheme": "http"}, receive, send)
    pieces = sent[1:]
    assert b"".join(piece["body"] for piece in pieces) == body
    assert max(len(piece["body"]) for piece in pieces) <= 32 * 1024
    assert [piece.get("more_body", False) for piece in pieces] == [True] * (len(pieces) - 1) + [False]


async def test_header_query_and_body_problems_come_together(tea: Client) -> None:
    answer = await tea.post("/v1/tea", {"sugar": "two"})
    assert answer.json()["error"]["reasons"] == [
        "body.name is required",
        "body.sugar must be an integer",
    ]
    answer = await tea.get("/v1/tea", since="yesterday", pageSize="x", direction="up")
    assert [reason.split()[0] for reason in answer.json()["error"]["reasons"]] == [
        "query.direction",
        "query.pageSize",
        "query.since",
    ]


async def test_the_order_of_checks(tea: Client, publishable: Client, service: support.Service) -> None:
    """Route, key, scope, limit, content type and size, idempotency key, body (settled 3)."""
    wrong: dict[str, Any] = {"content": b"{", "headers": {"Idempotency-Key": ""}}

    async def code(method: str, path: str, key: str, content_type: str = "text/plain") -> str:
        headers = {**wrong["headers"], "Authorization": key, "Content-Type": content_type}
        answer = await tea.request(method, path, content=wrong["content"], headers=headers)
        return str(answer.json()["error"]["code"])

    assert await code("POST", "/v1/nothing", "x") == "not_found"
    assert await code("DELETE", "/v1/tea", "x") == "method_not_allowed"
    assert await code("POST", "/v1/tea", "x") == "unauthorized"
    assert await code("POST", "/v1/tea", publishable.key) == "forbidden"
    assert await code("POST", "/v1/tea", tea.key) == "unsupported_content_type"
    answer = await tea.request(
        "POST", "/v1/tea", content=b"{", headers={"Idempotency-Key": " ", "Content-Type": "application/json"}
    )
    assert "Idempotency-Key" in answer.text


async def test_k6_a_key_without_the_scope_is_403(tea: Client, service: support.Service) -> None:
    tenant = await service.tenant(scopes=frozenset({"categories:read"}))
    headers = {"Authorization": tenant.secret}
    assert (await tea.get("/v1/tea", headers=headers)).status_code == 200
    answer = await tea.post("/v1/tea", {"name": "green"}, headers=headers)
    assert answer.status_code == 403
    assert answer.json()["error"]["reasons"] == ["this key lacks the scope categories:write"]


async def test_strings_are_trimmed(tea: Client) -> None:
    assert data(await tea.post("/v1/tea", {"name": "\t green \n"})) == {"name": "green", "sugar": None}


async def test_headers_that_are_no_lists_are_given_once(tea: Client) -> None:
    twice = [("Authorization", tea.key), ("Content-Type", "application/json")] * 2
    answer = await tea.request("POST", "/v1/tea", content=b'{"name": "green"}', headers=twice)
    assert answer.status_code == 400
    reasons = ["header.Authorization must be given once", "header.Content-Type must be given once"]
    assert answer.json()["error"]["reasons"] == reasons
    several = [("Authorization", tea.key), ("Accept", "text/html"), ("Accept", "application/json")]
    assert (await tea.request("GET", "/v1/tea", headers=several)).status_code == 200


async def test_a_byte_order_mark_before_a_body_is_ignored(tea: Client) -> None:
    headers = {"Content-Type": "application/json"}
    for mark, status in ((b"\xef\xbb\xbf", 200), (b"\xff\xfe", 400)):
        answer = await tea.request("POST", "/v1/tea", content=mark + b'{"name": "gr\xc3\xbcn"}', headers=headers)
        assert answer.status_code == status, answer.text


async def test_a_compressed_body_is_refused_as_such(tea: Client) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = await tea.request("POST", "/v1/tea", content=compress(b'{"name": "green"}'), headers=headers)
    assert answer.status_code == 415
    assert answer.json()["error"]["reasons"] == ["header.Content-Encoding must be identity, not 'gzip'"]


async def test_an_empty_body_needs_no_content_type(tea: Client) -> None:
    answer = await tea.post("/v1/tea")
    assert answer.json()["error"]["reasons"] == ["body.name is required"]


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b'{"name":"\\ud800"}',
        b'{"name":"\xff"}',
        b'{"name":"a\\u0000"}',
        b'{"name":"a\\u0000","x":1e999}',
        b'{"name":"a\\u0000","x":"\xff"}',
        b'{"name":"a\\u0000","x":' + b"[" * 100_000,
        b'{"sugar":1e400}',
        b'{"name":"x","sugar":NaN}',
    ],
)
async def test_bodies_that_are_no_such_object_are_400(tea: Client, raw: bytes) -> None:
    answer = await tea.request("POST", "/v1/tea", content=raw, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")
    assert answer.json()["error"]["reasons"]


async def test_a_json_body_over_a_mebibyte_is_413(tea: Client) -> None:
    fits = b'{"name":"x"' + b" " * (1024 * 1024 - 12) + b"}"
    headers = {"Content-Type": "application/json"}
    assert (await tea.request("POST", "/v1/tea", content=fits, headers=headers)).status_code == 200
    assert (await tea.request("POST", "/v1/tea", content=fits + b" ", headers=headers)).status_code == 413

    async def streamed() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * 100_000

    assert (await tea.request("POST", "/v1/tea", content=streamed(), headers=headers)).status_code == 413


async def test_a_patch_tells_absent_from_null(tea: Client, service: support.Service, tenant: support.Tenant) -> None:
    path = "/v1/tea/" + service.db.deployment.ids.example_id("category")
    headers = {"Authorization": await service.key(tenant.partner, "secret", "tea:write")}
    absent = await tea.request("PATCH", path, json={"sugar": None}, headers=headers)
    assert data(absent) == {"name": "Unset.UNSET", "sugar": None}
    refused = await tea.request("PATCH", path, json={"name": None, "sugar": "unset"}, headers=headers)
    assert refused.json()["error"]["reasons"] == ["body.name must be a string", "body.sugar must be an integer"]


async def test_a_retired_route_says_so(tea: Client, service: support.Service, tenant: support.Tenant) -> None:
    path = "/v1/tea/" + service.db.deployment.ids.example_id("category")
    answer = await tea.patch(path, {})
    assert answer.headers["deprecation"] == "@1767225600"
    assert answer.headers["sunset"] == "Fri, 01 Jan 2027 00:00:00 GMT"
    assert 'rel="deprecation"' in answer.headers["link"]


async def test_repeated_query_values_become_a_list(tea: Client) -> None:
    rows = data(await tea.get("/v1/tea", tags=["a", "b"], since="2026-01-02"))
    assert [row["name"] for row in rows] == ["2026-01-02T00:00:00+00:00", "a", "b"]


@pytest.mark.parametrize("query", ["tags=%ff", "tags=a%00b", "since=2026-01-02T00%3A00%3A00%2B25%3A00"])
async def test_broken_query_strings_are_400(tea: Client, query: str) -> None:
    assert (await tea.get(f"/v1/tea?{query}")).status_code == 400


async def test_k9_a_key_in_the_address_is_refused_and_not_logged(tea: Client, service: support.Service) -> None:
    answer = await tea.get("/v1/tea", key=tea.key)
    assert answer.status_code == 400
    assert not any(tea.key.encode() in line for line in service.lines)


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ({}, "127.0.0.1"),
        ({"X-Forwarded-For": "203.0.113.9"}, "203.0.113.9"),
        ({"X-Forwarded-For": "1.1.1.1, 203.0.113.9, 10.1.2.3"}, "203.0.113.9"),
        ({"X-Forwarded-For": "10.1.2.3"}, "10.1.2.3"),
        ({"X-Forwarded-For": "203.0.113.9:51234"}, "203.0.113.9"),
        ({"X-Forwarded-For": "203.0.113.9, ::ffff:10.1.2.3, [::ffff:10.1.2.4]:80"}, "203.0.113.9"),
        ({"X-Forwarded-For": "[2001:db8::7]:51234"}, "2001:db8::7"),
        ([("X-Forwarded-For", "203.0.113.9"), ("X-Forwarded-For", "10.1.2.3")], "203.0.113.9"),
        ({"X-Forwarded-For": "unknown, 10.1.2.3"}, "unknown"),
    ],
)
async def test_the_client_address_is_the_nearest_untrusted_one(
    tea: Client, forwarded: dict[str, str] | list[tuple[str, str]], address: str
) -> None:
    assert data(await tea.request("GET", "/v1/tea/free", headers=forwarded))["name"] == address


async def test_a_stranger_cannot_choose_its_address(service: support.Service) -> None:
    services = service.services
    app = OutermostMiddleware(
        ApiApplication(service.db, services.key_guard, [routes]), services.telemetry, service.clock, https_only=False
    )
    client = Client(app, "http://testserver", None, address="203.0.113.7")
    answer = await client.get("/v1/tea/free", headers={"X-Forwarded-For": "198.51.100.1"})
    assert data(answer)["name"] == "203.0.113.7"
    await client.close()


async def test_plain_http_is_refused_where_https_is_required(service: support.Service) -> None:
    services = service.services
    inner = ApiApplication(service.db, services.key_guard, [routes])
    app = OutermostMiddleware(inner, services.telemetry, service.clock, [ip_network("127.0.0.1")], https_only=True)
    client, stranger = Client(app, "http://testserver", None), Client(app, "http://t", None, address="203.0.113.7")
    for header in ("https", "HTTPS, https"):
        assert (await client.get("/v1/tea/free", headers={"X-Forwarded-Proto": header})).status_code == 200

    async def reason(caller: Client, **headers: str) -> str:
        answer = await caller.get(
            "/v1/tea/free", headers={name.replace("_", "-"): one for name, one in headers.items()}
        )
        assert answer.status_code == 403
        return str(answer.json()["error"]["reasons"][0])

    said = await reason(client)
    assert "must send the header X-Forwarded-Proto: https, and be in ALMONER_TRUSTED_PROXIES" in said
    assert "key" not in said
    said = await reason(stranger, X_Forwarded_Proto="https", Authorization="sk_live_x")
    assert "but 203.0.113.7, which sent it, is not in ALMONER_TRUSTED_PROXIES" in said
    assert said.endswith("; rotate the key that it carried")
    for header in ("http", "http, https"):
        assert "it came to the proxy over plain http" in await reason(client, X_Forwarded_Proto=header)
    await client.close()
    await stranger.close()


async def test_a_server_that_stops_answers_on_connections_that_end(service: support.Service) -> None:
    services, drain = service.services, ConnectionDrain()
    inner = ApiApplication(service.db, services.key_guard, [routes])
    app = OutermostMiddleware(inner, services.telemetry, service.clock, https_only=False, drain=drain)
    client = Client(app, "http://t", None)
    assert "connection" not in (await client.get("/v1/tea/free")).headers
    asked, hurried, stop = asyncio.Event(), asyncio.Event(), asyncio.Event()
    draining = asyncio.create_task(drain.run(asked, hurried, stop, 60))
    assert await drain.readiness_problem() is None
    asked.set()
    await eventually(lambda: drain.begun)
    assert await drain.readiness_problem() == "this server is stopping"
    answer = await client.get("/v1/tea/free")
    assert (answer.status_code, answer.headers["connection"]) == (200, "close")
    assert not stop.is_set()
    hurried.set()
    await draining
    assert stop.is_set()
    await client.close()


def test_declared_problems_follow_from_the_route() -> None:
    by_id = {
        endpoint.operation_id: {problem.code for problem in errors_of_endpoint(endpoint)}
        for endpoint in routes.endpoints
    }
    assert "pagination/cursor_error" in by_id["listTea"]
    assert {"idempotency/original_call_in_progress", "unsupported_content_type", "test/out_of_tea"} <= by_id["makeTea"]
    assert "not_found" in by_id["changeTea"]
    assert "unauthorized" not in by_id["smellTea"]


def test_wrong_declarations_do_not_start() -> None:
    group = Routes("Wrong")
    with pytest.raises(TypeError, match="names its scope"):
        group.get("/v1/x", key=SECRET)

    async def undocumented(call: ApiCall) -> TeaResponse:
        return TeaResponse(name="", sugar=None)

    with pytest.raises(TypeError, match="docstring"):
        group.get("/v1/x", key=NO_KEY)(undocumented)

    async def misnamed(call: ApiCall, other: str) -> TeaResponse:
        """Wrong."""
        return TeaResponse(name="", sugar=None)

    with pytest.raises(TypeError, match="path names"):
        group.get("/v1/x/{id}", key=NO_KEY)(misnamed)

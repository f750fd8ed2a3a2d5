"""What a call may cost at its worst input: 50 ms of the processor, a search 150 ms, and nothing grows quadratically.

Every declared endpoint gets hostile texts in each of its free parameters and members, and hostile bodies as a whole.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from almoner.platform.http import errors
from almoner.platform.http.endpoints import MAX_JSON_BODY, Endpoint
from almoner.platform.http.requests import MAX_JSON_VALUES
from tests.support import costs, factories
from tests.support.client import Client
from tests.support.costs import Request
from tests.support.hostile_text import SHAPES
from tests.support.service import Service, Tenant

LONGEST_TARGET: Final = 16_000
"""Characters of an address, of which a server takes no more (platform.http)."""
UNBOUNDED: Final = 20_000
"""For members without a declared length."""
ONE_BY_ONE: Final = ("one word", "digits", "hyphens", "letters", "brackets", "blanks", "ligatures", "mixed", "host")
"""Shapes of a member that is the only hostile one: the others let it through to what is done with it."""
SEARCHES: Final = frozenset({"GET /v1/organisations"})

BODIES: Final[dict[str, Callable[[int], str]]] = {
    "lists in lists": lambda n: "[" * n,
    "objects in objects": lambda n: '{"a":' * (n // 5),
    "lists": lambda n: "[" + "[]," * (n // 3 - 2) + "[]]",
    "metadata": lambda n: '{"metadata":{' + ",".join(f'"{at:06x}":1' for at in range((n - 20) // 11)) + "}}",
    "NUL": lambda n: '{"a":["' + '\\u0000","' * ((n - 20) // 9) + '"]}',
    "digits": lambda n: '{"amount":' + "9" * (n - 11) + "}",
    "exponent": lambda n: '{"amount":1e' + "9" * (n - 14) + ',"lat":NaN}',
    "accents": lambda n: '{"name":"' + "\\u0301" * ((n - 12) // 6) + '"}',
    "text": lambda n: '{"name":"' + "\u00e9" * ((n - 12) // 2) + '"}',
    "few": lambda n: '{"metadata":[' + "{}," * min(n // 3 - 10, MAX_JSON_VALUES // 2 - 20) + "{}]}",
}


def _address(service: Service, endpoint: Endpoint) -> str:
    """Of a record that is not there; texts in the path are hostile."""
    path = endpoint.path
    for name, mark in endpoint.path_parameters.items():
        path = path.replace(f"{{{name}}}", service.db.deployment.ids.example(mark.type) if mark else "a" * 2000)
    return path


def _headers(tenant: Tenant) -> dict[str, str]:
    return {"authorization": f"Bearer {tenant.secret}", "content-type": "application/json"}


def _budget(endpoint: Endpoint) -> float:
    return costs.SEARCH_SECONDS if endpoint.route in SEARCHES else costs.PAGE_SECONDS


def _is_free(schema: dict[str, Any]) -> bool:
    """Whether a value may be any text."""
    kinds = [schema, *schema.get("anyOf", ())]
    return any(one.get("type") == "string" and not one.keys() & {"enum", "const", "pattern", "format"} for one in kinds)


def _longest(schema: dict[str, Any], otherwise: int) -> int:
    found = [one["maxLength"] for one in (schema, *schema.get("anyOf", ())) if "maxLength" in one]
    return min(max(found, default=otherwise), otherwise)


def _query_requests(operation: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Each free parameter alone at its longest, then all parameters together, as long as an address may be."""
    declared = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
    for shape, make in SHAPES.items():
        for one in declared:
            if _is_free(one["schema"]):
                text = make(_longest(one["schema"], LONGEST_TARGET // 4))
                yield f"{one['name']}, {shape}", urlencode({one["name"]: text}, errors="replace").encode()
        if declared:
            length = LONGEST_TARGET // 3 // len(declared)
            yield f"all, {shape}", urlencode({one["name"]: make(length) for one in declared}).encode()[:LONGEST_TARGET]
    if declared:
        yield "one many times", "&".join(f"{declared[-1]['name']}=a,b" for _ in range(200)).encode()


def _body_requests(operation: dict[str, Any], components: dict[str, Any], known: dict[str, str]) -> Iterator[Any]:
    """The example with all that is free text in it at its longest."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return
    schema = content["schema"]
    schema = components[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    example = {
        **(content.get("example") or {}),
        **{name: known[name] for name in known if name in schema["properties"]},
    }
    free = {name: one for name, one in schema.get("properties", {}).items() if _is_free(one) and name not in known}
    for shape, make in SHAPES.items():
        typed = {name: make(_longest(one, UNBOUNDED)) for name, one in free.items()}
        metadata = {make(40)[:38] + str(at): make(250) for at in range(10)}
        yield shape, {**example, **typed, **({"metadata": metadata} if "metadata" in schema["properties"] else {})}


@pytest.fixture
async def description(anonymous: Client) -> dict[str, Any]:
    answer: dict[str, Any] = (await anonymous.get("/openapi.json")).json()
    return answer


async def test_no_text_in_a_query_costs_more_than_its_call_may(
    service: Service, tenant: Tenant, description: dict[str, Any]
) -> None:
    await factories.nonprofit(service)
    above = []
    for endpoint in service.endpoints:
        budget = _budget(endpoint)
        operation = description["paths"][endpoint.path][endpoint.method.lower()]
        for name, query in _query_requests(operation):
            request = Request(endpoint.method, _address(service, endpoint), query, headers=_headers(tenant))
            cost = await costs.least_cost(service.app, request, enough=budget)
            if cost.seconds > budget or cost.status >= 500:
                above.append((endpoint.route, name, cost))
    assert above == []


async def test_no_text_in_a_body_costs_more_than_its_call_may(
    service: Service, tenant: Tenant, description: dict[str, Any]
) -> None:
    known = {"organisationId": await factories.nonprofit(service)}
    components = description["components"]["schemas"]
    above = []
    for endpoint in service.endpoints:
        operation = description["paths"][endpoint.path][endpoint.method.lower()]
        for name, body in _body_requests(operation, components, known):
            raw = json.dumps(body, ensure_ascii=False).encode(errors="replace")
            request = Request(endpoint.method, _address(service, endpoint), b"", raw, _headers(tenant))
            cost = await costs.least_cost(service.app, request, enough=costs.PAGE_SECONDS)
            if cost.seconds > costs.PAGE_SECONDS or cost.status >= 500:
                above.append((endpoint.route, name, cost))
    assert above == []


@pytest.mark.parametrize("name", BODIES)
async def test_no_body_costs_more_than_a_call_may(name: str, service: Service, tenant: Tenant) -> None:
    raw, half = (BODIES[name](size).encode()[:MAX_JSON_BODY] for size in (MAX_JSON_BODY, MAX_JSON_BODY // 2))
    above = []
    for endpoint in service.endpoints:
        if endpoint.body is None or endpoint.upload is not None:
            continue
        address, headers = _address(service, endpoint), _headers(tenant)
        cost = await costs.least_cost(
            service.app, Request(endpoint.method, address, b"", raw, headers), costs.NOTICED_SECONDS
        )
        if cost.seconds > costs.PAGE_SECONDS or cost.status >= 500 or cost.size > 64 * 1024:
            above.append((endpoint.route, cost))
        if cost.seconds > costs.NOTICED_SECONDS:
            less = await costs.least_cost(service.app, Request(endpoint.method, address, b"", half, headers))
            if cost.seconds > costs.MOST_GROWTH * less.seconds + costs.NOTICED_SECONDS:
                above.append((endpoint.route, "grows", less, cost))
    assert above == []


@pytest.mark.parametrize("name", BODIES)
async def test_no_body_takes_much_memory(name: str, service: Service, tenant: Tenant) -> None:
    raw = BODIES[name](MAX_JSON_BODY).encode()[:MAX_JSON_BODY]
    headers = _headers(tenant) | {"idempotency-key": f"memory-{name.replace(' ', '-')}"}
    request = Request("POST", "/v1/categories", b"", raw, headers)
    await costs.least_cost(service.app, request, enough=1)
    assert await costs.peak_bytes(service.app, request) <= costs.MOST_BYTES


async def test_a_body_of_too_many_values_is_refused(api: Client) -> None:
    answer = await api.post("/v1/categories", {"name": "Relief", "other": [0] * MAX_JSON_VALUES})
    assert (answer.status_code, answer.json()["error"]["reasons"]) == (
        400,
        [f"body may hold at most {MAX_JSON_VALUES} values"],
    )


async def test_an_answer_tells_the_first_problems_and_how_many_more_there_are(api: Client) -> None:
    answer = await api.post("/v1/categories", {"name": "Relief", "other": ["\x00"] * (errors.MAX_REASONS + 3)})
    reasons = answer.json()["error"]["reasons"]
    assert (answer.status_code, len(reasons), reasons[-1]) == (400, errors.MAX_REASONS + 1, "and 3 more problems")

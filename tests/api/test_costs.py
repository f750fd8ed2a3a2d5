"""What a call may cost at its worst input: 50 ms of the processor, a search 150 ms, and nothing grows quadratically.

Every declared endpoint gets hostile texts in each of its free parameters and members, and hostile bodies as a whole.
"""

import json
from typing import Any, Final

import pytest

from almoner.platform.http import errors
from almoner.platform.http.endpoints import MAX_JSON_BODY, Endpoint
from almoner.platform.http.requests import MAX_JSON_VALUES
from tests.support import costs, hostile_calls
from tests.support.client import Client
from tests.support.costs import Request
from tests.support.service import Service, Tenant
from tools.shared_parts import with_shared_parts

SEARCHES: Final = frozenset({"GET /v1/organisations"})


def _budget(endpoint: Endpoint) -> float:
    return costs.SEARCH_SECONDS if endpoint.route in SEARCHES else costs.PAGE_SECONDS


@pytest.fixture
async def description(anonymous: Client) -> dict[str, Any]:
    return with_shared_parts((await anonymous.get("/openapi.json")).json())


@pytest.fixture
async def records(service: Service, api: Client) -> dict[str, str]:
    return await hostile_calls.records(service, api)


async def test_no_text_in_a_query_costs_more_than_its_call_may(
    service: Service, tenant: Tenant, description: dict[str, Any], records: dict[str, str]
) -> None:
    above = []
    for endpoint in service.endpoints:
        budget = _budget(endpoint)
        operation = description["paths"][endpoint.path][endpoint.method.lower()]
        address, headers = hostile_calls.address(service, endpoint, records), hostile_calls.headers(tenant)
        for name, query in hostile_calls.query_requests(operation):
            request = Request(endpoint.method, address, query, headers=headers)
            cost = await costs.least_cost(service.app, request, enough=budget)
            if cost.seconds > budget or cost.status >= 500:
                above.append((endpoint.route, name, cost))
    assert above == []


async def test_no_text_in_a_body_costs_more_than_its_call_may(
    service: Service, tenant: Tenant, description: dict[str, Any], records: dict[str, str]
) -> None:
    known = {"organisationId": records["organisation"]}
    components = description["components"]["schemas"]
    above = []
    for endpoint in service.endpoints:
        if endpoint.path == "/v1/sandbox/clock":
            continue  # it does what falls due on its way
        operation = description["paths"][endpoint.path][endpoint.method.lower()]
        address, headers = hostile_calls.address(service, endpoint, records), hostile_calls.headers(tenant)
        for name, body in hostile_calls.body_requests(operation, components, known):
            raw = json.dumps(body, ensure_ascii=False).encode(errors="replace")
            request = Request(endpoint.method, address, b"", raw, headers)
            cost = await costs.least_cost(service.app, request, enough=costs.PAGE_SECONDS)
            if cost.seconds > costs.PAGE_SECONDS or cost.status >= 500:
                above.append((endpoint.route, name, cost))
    assert above == []


@pytest.mark.parametrize("name", hostile_calls.BODIES)
async def test_no_body_costs_more_than_a_call_may(
    name: str, service: Service, tenant: Tenant, records: dict[str, str]
) -> None:
    raw, half = (
        hostile_calls.BODIES[name](size).encode()[:MAX_JSON_BODY] for size in (MAX_JSON_BODY, MAX_JSON_BODY // 2)
    )
    above: list[object] = []
    for endpoint in service.endpoints:
        if endpoint.body is None or endpoint.upload is not None:
            continue
        address, headers = hostile_calls.address(service, endpoint, records), hostile_calls.headers(tenant)
        whole, part = (Request(endpoint.method, address, b"", body, headers) for body in (raw, half))
        cost = await costs.least_cost(service.app, whole, enough=costs.PAGE_SECONDS)
        if cost.seconds > costs.PAGE_SECONDS or cost.status >= 500 or cost.size > 64 * 1024:
            above.append((endpoint.route, cost))
        if cost.seconds > costs.NOTICED_SECONDS:
            less = await costs.least_cost(service.app, part)
            most = costs.MOST_GROWTH * less.seconds + costs.NOTICED_SECONDS
            if cost.seconds > most:
                cost = await costs.least_cost(service.app, whole, enough=most)
            if cost.seconds > most:
                above.append((endpoint.route, "grows", less, cost))
    assert above == []


@pytest.mark.parametrize("name", hostile_calls.BODIES)
async def test_no_body_takes_much_memory(name: str, service: Service, tenant: Tenant) -> None:
    raw = hostile_calls.BODIES[name](MAX_JSON_BODY).encode()[:MAX_JSON_BODY]
    headers = hostile_calls.headers(tenant) | {"idempotency-key": f"memory-{name.replace(' ', '-')}"}
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
    answer = await api.post(
        "/v1/categories", {"name": "Relief", "attributes": {"a": ["\x00"] * (errors.MAX_REASONS + 2)}}
    )
    reasons = answer.json()["error"]["reasons"]
    assert (answer.status_code, len(reasons), reasons[-1]) == (400, errors.MAX_REASONS + 1, "and 3 more problems")

"""What the costliest call of each kind takes, for docs/evidence/costs.md. Its bounds are in ``test_costs`` and
``unit/test_parser_costs``.
"""

import json
from collections import defaultdict
from typing import Any

import pytest

from almoner.platform.http.endpoints import MAX_JSON_BODY
from tests.support import costs, hostile_calls
from tests.support.client import Client
from tests.support.costs import Request
from tests.support.figures import Figures
from tests.support.hostile_text import SHAPES
from tests.support.parsers import PARSERS, REFUSALS
from tests.support.service import Service, Tenant
from tools.shared_parts import with_shared_parts


async def _worst_calls(
    service: Service, tenant: Tenant, description: dict[str, Any], records: dict[str, str]
) -> list[str]:
    known = {"organisationId": records["organisation"]}
    headers = hostile_calls.headers(tenant)
    seen: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for endpoint in service.endpoints:
        operation = description["paths"][endpoint.path][endpoint.method.lower()]
        address = hostile_calls.address(service, endpoint, records)
        calls = [
            ("query", name, Request(endpoint.method, address, query, b"", headers))
            for name, query in hostile_calls.query_requests(operation)
        ]
        for name, body in hostile_calls.body_requests(operation, description["components"]["schemas"], known):
            raw = json.dumps(body, ensure_ascii=False).encode(errors="replace")
            calls.append(("body", name, Request(endpoint.method, address, b"", raw, headers)))
        if endpoint.body is not None and endpoint.upload is None:
            for name, make in hostile_calls.BODIES.items():
                raw = make(MAX_JSON_BODY).encode()[:MAX_JSON_BODY]
                calls.append(("body of 1 MiB", name, Request(endpoint.method, address, b"", raw, headers)))
        for kind, name, request in calls:
            cost = await costs.least_cost(service.app, request, enough=0.002)
            seen[kind].append((cost.seconds, f"{endpoint.route} ({name})"))
    found = []
    for kind, all_of_kind in seen.items():
        seconds, call = max(all_of_kind)
        found.append(f"worst {kind} of {len(all_of_kind):,}: {seconds * 1000:.1f} ms, {call}")
    return found


def _worst_of(name: str) -> tuple[float, str]:
    longest, parse = PARSERS[name]
    taken = []
    for shape, make in SHAPES.items():
        typed = make(longest)

        def work(typed: str = typed) -> None:
            try:
                parse(typed)
            except REFUSALS:
                return

        taken.append((costs.least_seconds(work), shape))
    return max(taken)


@pytest.mark.soak
@pytest.mark.long
async def test_the_costliest_of_each_kind(
    service: Service, tenant: Tenant, anonymous: Client, api: Client, figures: Figures
) -> None:
    description = with_shared_parts((await anonymous.get("/openapi.json")).json())
    found = await _worst_calls(service, tenant, description, await hostile_calls.records(service, api))
    parsers = sorted(((*_worst_of(name), name) for name in PARSERS), reverse=True)[:10]
    found += [f"{name}: {seconds * 1000:.1f} ms ({shape})" for seconds, shape, name in parsers]
    assert parsers[0][0] <= costs.PAGE_SECONDS
    figures.write("costs", "Processor time of the costliest calls and parsers", *found)

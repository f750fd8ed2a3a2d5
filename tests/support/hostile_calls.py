"""Calls of every declared endpoint with hostile texts in each free parameter and member, and hostile bodies."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from almoner.platform.http.endpoints import Endpoint
from almoner.platform.http.requests import MAX_JSON_VALUES
from tests.support import factories
from tests.support.client import Client, data
from tests.support.hostile_text import SHAPES
from tests.support.service import Service, Tenant

LONGEST_TARGET: Final = 16_000
"""The longest URL in characters that a server accepts (platform.http)."""
UNBOUNDED: Final = 20_000
"""The length for members without a declared maximum."""
ONE_BY_ONE: Final = ("one word", "digits", "hyphens", "letters", "brackets", "blanks", "ligatures", "mixed", "host")
"""Shapes for a single hostile member: validation of the others passes, so that it is processed."""

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


def address(service: Service, endpoint: Endpoint, known: Mapping[str, str]) -> str:
    """The URL of a known record, else of a missing one; texts in the path are hostile."""
    path = endpoint.path
    for name, mark in endpoint.path_parameters.items():
        path = path.replace(
            f"{{{name}}}", known.get(mark.type, service.db.deployment.ids.example_id(mark.type)) if mark else "a" * 2000
        )
    return path


async def records(service: Service, api: Client) -> dict[str, str]:
    """One record of many types, by type, so that calls take effect."""
    organisation = {"organisationId": await factories.nonprofit(service)}
    person = {"firstName": "test_accept", "lastName": "Byron", "email": "ada@example.org", **organisation}
    bodies: dict[str, dict[str, Any]] = {
        "webhook-subscriptions": {"events": ["*"], "url": "http://127.0.0.1:9/hooks"},
        "users": {},
        "categories": {"name": "Costly"},
        "donation-sessions": organisation,
        "monetary-donation-verifications": organisation,
        "monitoring-subscriptions": organisation,
        "eligibility-subscriptions": organisation,
        "validation-submission-configurations": {"checks": ["compliance"], "name": "Costly"},
        "validation-invites": {"redirectUrl": "https://app.example/applied"},
        "agent-verifications": person,
        "donations": {**organisation, "amount": 2500, "currencyCode": "USD"},
    }
    made = [str(data(await api.post(f"/v1/{path}", body))["id"]) for path, body in bodies.items()]
    types = [one.removeprefix("sandbox_").rpartition("_")[0] for one in made]
    return {**dict(zip(types, made, strict=True)), "organisation": organisation["organisationId"]}


def headers(tenant: Tenant) -> dict[str, str]:
    """The headers of a call with a secret key and a body."""
    return {"authorization": f"Bearer {tenant.secret}", "content-type": "application/json"}


def _is_free(schema: dict[str, Any]) -> bool:
    """Whether a value may be any text."""
    kinds = [schema, *schema.get("anyOf", ())]
    texts = ("string", ["string", "null"])
    return any(one.get("type") in texts and not one.keys() & {"enum", "const", "pattern", "format"} for one in kinds)


def _longest(schema: dict[str, Any], otherwise: int) -> int:
    found = [one["maxLength"] for one in (schema, *schema.get("anyOf", ())) if "maxLength" in one]
    return min(max(found, default=otherwise), otherwise)


def query_requests(operation: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Each free parameter alone at its longest, then all parameters together, up to the longest URL."""
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


def body_requests(operation: dict[str, Any], components: dict[str, Any], known: dict[str, str]) -> Iterator[Any]:
    """The example with every free text at its longest."""
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

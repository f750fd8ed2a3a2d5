"""The interface description and the reference are complete, valid, and in step with the code."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import OpenAPIV31SpecValidator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from almoner.platform.events.event_types import EVENT_TYPES
from almoner.platform.http.errors import http_status_of_problem
from almoner.platform.http.examples import ExampleBuilder
from almoner.platform.http.openapi import errors_of_endpoint
from almoner.settings import PREFIX, Settings
from tests.support.client import Client
from tests.support.service import Service
from tools import reference
from tools.shared_parts import with_shared_parts

DESCRIPTION: dict[str, Any] = msgspec.json.decode((reference.PROJECT / "openapi.json").read_bytes())
OPERATIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    operation["operationId"]: (method, path, operation)
    for path, item in with_shared_parts(DESCRIPTION)["paths"].items()
    for method, operation in item.items()
}
EXAMPLES = ExampleBuilder(DESCRIPTION["components"]["schemas"])
HOOKS = {name: item["post"] for name, item in DESCRIPTION["webhooks"].items()}
_REGISTRY = Registry().with_resource("urn:description", DRAFT202012.create_resource(DESCRIPTION))


def test_generated_files_are_up_to_date() -> None:
    assert reference.outdated() == [], "run `make docs`, and tell partners in CHANGELOG.md what changes for them"


async def test_the_service_serves_what_the_repository_holds(anonymous: Client) -> None:
    answer = await anonymous.get("/openapi.json")
    assert answer.json() == DESCRIPTION
    assert answer.headers["content-type"] == "application/json"


async def test_the_description_is_compressed_for_those_that_take_it(anonymous: Client) -> None:
    sizes = {}
    for coding in ("identity", "gzip"):
        answer = await anonymous.get("/openapi.json", headers={"accept-encoding": coding})
        assert (answer.headers.get("content-encoding"), answer.headers["vary"]) == (
            None if coding == "identity" else "gzip",
            "Accept-Encoding",
        )
        assert answer.json() == DESCRIPTION
        sizes[coding] = int(answer.headers["content-length"])
    assert sizes["gzip"] < sizes["identity"] / 10


def test_an_openapi_validator_finds_nothing() -> None:
    assert [error.message for error in OpenAPIV31SpecValidator(DESCRIPTION).iter_errors()] == []


def test_every_declared_endpoint_is_described(service: Service) -> None:
    assert {endpoint.operation_id for endpoint in service.endpoints} == set(OPERATIONS)


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_every_operation_says_what_it_is_and_every_status_it_answers(operation_id: str, service: Service) -> None:
    _, _, operation = OPERATIONS[operation_id]
    endpoint = next(one for one in service.endpoints if one.operation_id == operation_id)
    assert 0 < len(operation["summary"]) <= 60  # a heading of the reference
    assert operation["description"]
    assert operation["tags"] == [endpoint.tag]
    declared = {str(http_status_of_problem(problem)) for problem in errors_of_endpoint(endpoint)}
    assert set(operation["responses"]) == declared | {str(endpoint.empty_status or 200)}


def _examples(operation: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Each JSON body of a request or an answer: its schema and an example."""
    for place in [operation.get("requestBody", {}), *operation["responses"].values()]:
        content = place.get("content", {}).get("application/json")
        if content is None:
            continue
        yield content["schema"], content.get("example", EXAMPLES.response_example(content["schema"]))
        for example in content.get("examples", {}).values():
            yield content["schema"], example["value"]


def schema_problems(schema: dict[str, Any], example: object) -> list[str]:
    """What a schema of the description does not allow in a value."""
    whole = msgspec.json.decode(msgspec.json.encode(schema).replace(b'"#/', b'"urn:description#/'))
    validator = Draft202012Validator(whole, registry=_REGISTRY, format_checker=FormatChecker())
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(example)]


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_every_body_has_an_example_that_its_schema_allows(operation_id: str) -> None:
    _, _, operation = OPERATIONS[operation_id]
    found = list(_examples(operation))
    assert [problem for schema, example in found for problem in schema_problems(schema, example)] == []


@pytest.mark.parametrize("name", HOOKS)
def test_every_event_has_an_example_that_its_schema_allows(name: str) -> None:
    found = list(_examples({"responses": {}, "requestBody": HOOKS[name]["requestBody"]}))
    assert len(found) == 1
    assert schema_problems(*found[0]) == []


def test_every_event_type_is_described() -> None:
    assert set(HOOKS) == set(EVENT_TYPES)


KEYWORDS = frozenset(
    """
    $ref type properties required items enum const default description examples format pattern minLength maxLength
    minimum maximum minItems maxItems anyOf oneOf allOf additionalProperties maxProperties contentMediaType
    x-id-type x-such-as-id-of x-extensible-enum discriminator
    """.split()
)


def _schemas(place: Any) -> Iterator[dict[str, Any]]:
    """Every schema of the description, those inside others included."""
    if isinstance(place, list):
        for item in place:
            yield from _schemas(item)
    elif isinstance(place, dict):
        found = [place["schema"]] if isinstance(place.get("schema"), dict) else []
        found += place["schemas"].values() if isinstance(place.get("schemas"), dict) else []
        for schema in found:
            yield from _inner(schema)
        for name, item in place.items():
            if name not in {"schema", "schemas", "example", "examples"}:
                yield from _schemas(item)


def _inner(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for inside in [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]:
        if isinstance(inside, dict):
            yield from _inner(inside)
    for inside in [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]:
        yield from _inner(inside)


def test_schemas_hold_no_keyword_that_readers_do_not_know() -> None:
    found = list(_schemas(DESCRIPTION))
    assert len(found) > 200
    assert {keyword for schema in found for keyword in schema if keyword not in KEYWORDS} == set()


def test_links_lead_to_operations_and_parameters_that_exist() -> None:
    seen = 0
    for _, _, operation in OPERATIONS.values():
        for link in operation["responses"].get("200", {}).get("links", {}).values():
            _, _, target = OPERATIONS[link["operationId"]]
            assert set(link.get("parameters", {})) <= {parameter["name"] for parameter in target["parameters"]}
            seen += 1
    assert seen >= len(OPERATIONS) / 3


def test_every_code_of_the_source_is_in_the_reference() -> None:
    text = reference.render()["docs/reference/errors.md"]
    assert {code for code in reference.mentioned_codes() if f"| `{code}` |" not in text} == set()


def test_every_event_type_is_in_the_reference() -> None:
    rows = [line for line in reference.render()["docs/reference/events.md"].splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(EVENT_TYPES)


def test_every_setting_is_in_the_reference_with_its_meaning() -> None:
    text = reference.render()["docs/reference/settings.md"]
    for name, field in Settings.model_fields.items():
        assert f"| `{PREFIX}{name.upper()}` |" in text
        assert field.description, name

"""No call ignores what it does not have: one rule for every parameter and member of the interface (settled 11)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from almoner.platform.http.requests import find_json_problems
from tests.support.client import Client
from tools.shared_parts import with_shared_parts

DESCRIPTION = with_shared_parts(json.loads((Path(__file__).parents[2] / "openapi.json").read_text()))
SCHEMAS = DESCRIPTION["components"]["schemas"]
OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, item in DESCRIPTION["paths"].items()
    for method, operation in item.items()
}
Place = tuple[str | int, ...]


def query_names(operation: dict[str, Any]) -> list[str]:
    """The names of an operation's parameters, but for its cursor, which has an error of its own."""
    return [one["name"] for one in operation["parameters"] if one["in"] == "query" and one["name"] != "cursor"]


JSON_TYPE = {"Content-Type": "application/json"}


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that a reference names."""
    found: dict[str, Any] = SCHEMAS[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
    return found


def objects(schema: dict[str, Any], place: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Every object with members of its own, and where it stands."""
    found = resolved(schema)
    for option in found.get("anyOf", ()):
        yield from objects(option, place)
    if "items" in found:
        yield from objects(found["items"], (*place, 0))
    if "properties" in found:
        yield place, found
        for name, inside in found["properties"].items():
            yield from objects(inside, (*place, name))


def around(place: Place, value: dict[str, Any]) -> Any:
    """A body that has nothing but an object at that place."""
    made: Any = value
    for part in reversed(place):
        made = [made] if part == 0 else {part: made}
    return made


def body_schema(operation: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Media type and schema of the body, where there is one."""
    content = operation.get("requestBody", {}).get("content", {})
    return next(((media_type, resolved(entry["schema"])) for media_type, entry in content.items()), None)


def record_members(operation: dict[str, Any]) -> set[str]:
    """The members of the record that is answered."""
    content = operation["responses"].get("200", {}).get("content", {}).get("application/json")
    data = resolved(content["schema"]).get("properties", {}).get("data", {}) if content else {}
    return set(resolved(data.get("items", data)).get("properties", {}))


def address(operation: dict[str, Any], path: str) -> str:
    """The path with ids that belong to nothing."""
    for parameter in operation["parameters"]:
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", str(parameter["schema"]["examples"][0]))
    return path


async def refused(api: Client, method: str, path: str, **options: Any) -> list[str]:
    """The reasons of a call that is refused for its input."""
    answer = await api.request(method, path, **options)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "bad_request"), answer.text
    reasons: list[str] = error["reasons"]
    return reasons


@pytest.mark.parametrize("name", OPERATIONS)
async def test_a_parameter_that_a_call_does_not_have_is_refused_with_the_nearest(name: str, api: Client) -> None:
    method, path, operation = OPERATIONS[name]
    known = [one["name"] for one in operation["parameters"] if one["in"] == "query"]
    sent = {"zzqx": "1", "utm_source": "mail", **{f"{one.removesuffix('[]').lower()}_": "x" for one in known}}
    single = [one for one in known if not one.endswith("[]")]
    again = [(one, "x") for one in single for _ in range(2)]
    reasons = await refused(api, method, address(operation, path), params=[*sent.items(), *again])
    for one in single:
        assert f"query.{one} must be given once" in reasons
    assert "query.zzqx is not a parameter of this call" in reasons
    assert "query.utm_source is not a parameter of this call" in reasons
    for one in known:
        wrong = f"{one.removesuffix('[]').lower()}_"
        assert f"query.{wrong} is not a parameter of this call; did you mean {one}?" in reasons


@pytest.mark.parametrize("name", [name for name, (_, _, operation) in OPERATIONS.items() if query_names(operation)])
async def test_a_parameter_without_a_value_is_refused_by_its_name(name: str, api: Client) -> None:
    method, path, operation = OPERATIONS[name]
    known = query_names(operation)
    for nothing in ("", " \u200b"):
        sent = {one: f"{nothing}, ,{nothing}" if one.endswith("[]") and nothing else nothing for one in known}
        reasons = await refused(api, method, address(operation, path), params=sent)
        assert {reason.split(" ")[0].removeprefix("query.") for reason in reasons} == set(known)


@pytest.mark.parametrize("name", [name for name, (method, _, _) in OPERATIONS.items() if method != "GET"])
async def test_a_member_that_a_call_does_not_have_is_refused_at_every_depth(name: str, api: Client) -> None:
    method, path, operation = OPERATIONS[name]
    described = body_schema(operation)
    if described is None:
        reasons = await refused(api, method, address(operation, path), json={"zzqx": {"a": 1}})
        assert reasons == ["body.zzqx is not a member of this call"]
        return
    media_type, schema = described
    if media_type == "multipart/form-data":
        field = list(schema["properties"])[-1]
        types = schema["properties"][field]["description"].removeprefix("The file: ").split("; ")[0].split(", ")
        file = (field, ("proof", b"x", types[0]))
        reasons = await refused(
            api, method, address(operation, path), files=[("zzqx", (None, "1")), ("zzqx", (None, "2")), file]
        )
        assert "body.zzqx must be given once" in reasons
        sent = {"files": {field: ("proof", b"x", types[0])}, "data": {"zzqx": "1"}}
        reasons = await refused(api, method, address(operation, path), **sent)
        assert "body.zzqx is not a member of this call" in reasons
        return
    for place, found in objects(schema):
        known = [one for one in found["properties"] if not isinstance(one, int)]
        wrong = {f"{one.upper()}_": 1 for one in known}
        where = ".".join(["body", *map(str, place)])
        body = json.dumps(around(place, {"zzqx": 1, **wrong})).replace('"zzqx"', '"zzqx": 0, "zzqx"')
        reasons = await refused(
            api, method, address(operation, path), content=body, headers=JSON_TYPE, params={"zzqx": "1"}
        )
        assert f"{where}.zzqx must be given once" in reasons
        assert "query.zzqx is not a parameter of this call" in reasons  # all at once
        assert f"{where}.zzqx is not a member of this call" in reasons
        for one in known:
            assert f"{where}.{one.upper()}_ is not a member of this call; did you mean {one}?" in reasons


def closed(schema: dict[str, Any]) -> str | None:
    """A value that the parameter's closed list, countries or kind of id does not have."""
    found = resolved(schema)
    options = [resolved(option) for option in (found, found.get("items", {}), *found.get("anyOf", ()))]
    if any("enum" in option or option.get("type") == "boolean" for option in options):
        return "zzqx"
    if any(option.get("pattern") == "^[A-Z]{3}$" for option in options):
        return "ZZZ"
    if any("x-id-type" in option for option in options):
        return OTHER_ID
    return None


ID_LISTS = {"category[]", "notCategory[]", "tags[]", "notTags[]", "configurationIds[]", "organisationIds[]",
            "validationRequestIds[]"}  # fmt: skip
OTHER_ID = "sandbox_registry_00000000000000000000000000"
CLOSED = [
    (name, parameter["name"], value)
    for name, (_, _, operation) in OPERATIONS.items()
    for parameter in operation["parameters"]
    if parameter["in"] == "query"
    and (value := closed(parameter["schema"]) or (OTHER_ID if parameter["name"] in ID_LISTS else None))
]


@pytest.mark.parametrize(("name", "parameter", "value"), CLOSED)
async def test_a_value_of_no_closed_list_is_refused_by_name(name: str, parameter: str, value: str, api: Client) -> None:
    method, path, operation = OPERATIONS[name]
    required = {"countryCode": "USA"} if name == "listRegistries" else {}
    reasons = await refused(api, method, address(operation, path), params={**required, parameter: value})
    assert len(reasons) == 1
    assert reasons[0].startswith(f"query.{parameter}"), reasons


def test_escapes_and_nested_members_are_found_however_they_are_written() -> None:
    for text, reasons in {
        '{"a": 1, "\\u0061": 2}': ["body.a must be given once"],
        '{"a" : {"b":[{"c":1},{"c":2,"c":3}]}}': ["body.a.b.1.c must be given once"],
        '{"a": [{"b": 1}, {"b": 2}], "c": {"a": "b"}}': [],
        '{"a\\"": 1, "a\\"": 2, "\\\\": 1}': ['body.a" must be given once'],
        '{",": 1, ":a": 2, ":a": 3}': ["body.:a must be given once"],
        '{"a": "x\\u0000", "a": 1}': ["body.a must be given once", "body.a must not hold NUL characters"],
        '{"a": 1, "a"': [],  # the validator's to refuse
    }.items():
        assert find_json_problems(text.encode()) == reasons


READ_ONLY = [
    name
    for name, (method, _, operation) in OPERATIONS.items()
    if method in ("POST", "PATCH", "PUT") and record_members(operation) and body_schema(operation)
]


@pytest.mark.parametrize("name", READ_ONLY)
async def test_a_member_that_only_the_record_has_is_refused_as_read_only(name: str, api: Client) -> None:
    method, path, operation = OPERATIONS[name]
    described = body_schema(operation)
    assert described is not None
    media_type, schema = described
    if media_type != "application/json":
        return
    only = record_members(operation) - resolved(schema)["properties"].keys()
    reasons = await refused(api, method, address(operation, path), json=dict.fromkeys(only, "x"))
    for one in only:
        assert f"body.{one} is read-only: the record has it, and this call does not take it" in reasons


async def test_the_nearest_name_is_one_that_people_would_mean(api: Client) -> None:
    sent = {"currencyCode": "USD", "organizationId": "x", "success_url": "x", "recurring": True, "frequency": "monthly"}
    assert await refused(api, "POST", "/v1/donation-sessions", json=sent) == [
        "body.organisationId is required",
        "body.currencyCode is not a member of this call; did you mean currency?",
        "body.organizationId is not a member of this call; did you mean organisationId?",
        "body.success_url is not a member of this call; did you mean successUrl?",
        "body.recurring is not a member of this call",
        "body.frequency is not a member of this call; did you mean frequencies?",
    ]
    long = "x" * 5000
    assert await refused(api, "POST", "/v1/donation-sessions", json={"organisationId": "x", long: 1}) == [
        f"body.{long[:100]} is not a member of this call"
    ]
    assert await refused(api, "GET", "/v1/donations", params={long: "1", "pagesize": "5", "after": "3"}) == [
        f"query.{long[:100]} is not a parameter of this call",
        "query.pagesize is not a parameter of this call; did you mean pageSize?",
        "query.after is not a parameter of this call",
    ]


async def test_a_body_of_a_call_that_takes_none_is_empty(api: Client) -> None:
    for empty in (b"", b"{}", b" {} ", b"null"):
        answer = await api.request("GET", "/v1/donations", content=empty, headers=JSON_TYPE)
        assert answer.status_code == 200, answer.text
    reasons = await refused(api, "GET", "/v1/donations", json={"email": "ada@example.org"})
    assert reasons == ["body.email is not a member of this call"]
    assert await refused(api, "GET", "/v1/donations", json=[1]) == ["body must be an object"]

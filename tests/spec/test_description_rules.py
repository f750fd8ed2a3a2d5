"""Rules for what is declared: public names, words, examples, and a description that stays small."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from almoner.platform.http import descriptions
from tests.spec.test_description import DESCRIPTION, HOOKS, OPERATIONS, schema_problems
from tools import reference

SCHEMAS: dict[str, Any] = DESCRIPTION["components"]["schemas"]
MOST_BYTES = 500_000


def members() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every member of every schema: the schema's name, its own, and what it is."""
    for name, schema in SCHEMAS.items():
        for part in [schema, *schema.get("allOf", ())]:
            for member, property_ in part.get("properties", {}).items():
                yield name, member, property_


def parameters() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every parameter of every operation."""
    for name, (_, _, operation) in OPERATIONS.items():
        for parameter in operation["parameters"]:
            yield name, parameter


def test_schemas_have_public_names_of_one_kind() -> None:
    wrong = [name for name in SCHEMAS if not re.fullmatch(r"([A-Z][a-z0-9]*)+", name)]
    assert wrong + [name for name in SCHEMAS if re.search(r"(In|Out|Input|Output)$", name)] == []


def test_no_body_and_no_answer_is_described_in_place() -> None:
    for _, _, operation in OPERATIONS.values():
        for place in [operation.get("requestBody", {}), *operation["responses"].values()]:
            for content in place.get("content", {}).values():
                assert "$ref" in content["schema"] or content["schema"].get("format") == "binary"
    data = [
        hook["requestBody"]["content"]["application/json"]["schema"]["properties"]["data"] for hook in HOOKS.values()
    ]
    assert all("$ref" in one for one in data)


def test_no_member_is_an_object_without_a_name() -> None:
    found = [f"{name}.{member}" for name, member, one in members() if "properties" in str(one.keys())]
    assert found == [], "declare a record of its own"


def test_schemas_members_parameters_and_tags_say_what_they_are() -> None:
    silent = [name for name, schema in SCHEMAS.items() if not schema.get("description")]
    silent += [f"{name}.{member}" for name, member, one in members() if not _told(one)]
    silent += [f"{operation}.{one['name']}" for operation, one in parameters() if not one.get("description")]
    silent += [tag["name"] for tag in DESCRIPTION["tags"] if not tag.get("description")]
    silent += [name for name, one in DESCRIPTION["components"]["headers"].items() if not one.get("description")]
    assert silent == [], "say it where it is declared, or in platform/http/descriptions.toml"


def _told(schema: dict[str, Any]) -> bool:
    text = str(schema.get("description", ""))
    return bool(text) and not text.startswith("Currently one of")


def test_values_have_an_example_or_say_all_that_they_can_be() -> None:
    found = [f"{name}.{member}" for name, member, one in members() if not _shown(one)]
    found += [f"{operation}.{one['name']}" for operation, one in parameters() if not _shown(one["schema"])]
    assert found == [], "add an example where it is declared, or in platform/http/descriptions.toml"


def _shown(schema: dict[str, Any]) -> bool:
    """Of lists and maps what is in them may say it."""
    if {"examples", "enum", "const", "x-extensible-enum", "$ref", "anyOf", "allOf"} & schema.keys():
        return True
    inside = schema.get("items", schema.get("additionalProperties"))
    return _shown(inside) if isinstance(inside, dict) else schema.get("type") == "object"


def test_examples_are_allowed_by_their_schemas_and_are_no_filler() -> None:
    shown = [(f"{name}.{member}", one) for name, member, one in members()]
    shown += [(f"{operation}.{one['name']}", one["schema"]) for operation, one in parameters()]
    values = [(place, schema, value) for place, schema in shown for value in schema.get("examples", ())]
    assert len(values) > 800
    assert [place for place, schema, value in values if schema_problems(schema, value)] == []
    assert [place for place, _, value in values if value in ("text", ["text"])] == []


def test_open_enums_say_that_more_may_come() -> None:
    found = [(f"{name}.{member}", one) for name, member, one in members() if "x-extensible-enum" in one]
    assert len(found) > 60
    listed = {"ErrorDetails.code", "Event.eventType"}  # too many to repeat
    silent = {place for place, one in found if not one["description"].endswith("more may be added.")}
    assert silent - listed == set()


def test_moments_say_that_they_are_moments() -> None:
    moment = re.compile(r"\d{4}-\d\d-\d\dT")
    shown = [(place, one) for *place, one in members() if any(moment.match(str(it)) for it in one.get("examples", ()))]
    assert len(shown) > 60
    assert [place for place, one in shown if "date" not in str(one.get("format", one.get("anyOf")))] == []


def test_texts_in_bodies_have_an_end() -> None:
    """A generated client checks what the description says; a limit that came later would break it."""
    bodies = {content["schema"]["$ref"] for *_, one in OPERATIONS.values() for content in _contents(one)}
    todo, seen = {ref.rpartition("/")[2] for ref in bodies}, set[str]()
    endless = set[str]()
    while todo:
        seen.add(name := todo.pop())
        for place, one in _schemas(SCHEMAS[name], name):
            if "string" in one.get("type", ()) and not one.keys() & {"maxLength", "pattern", "format", "enum", "const"}:
                endless.add(place)
            todo |= {one.get("$ref", f"/{name}").rpartition("/")[2]} - seen
    assert len(seen) > 40
    assert endless == set()


def _contents(operation: dict[str, Any]) -> list[dict[str, Any]]:
    return list(operation.get("requestBody", {}).get("content", {}).values())


def _schemas(schema: dict[str, Any], place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield place, schema
    for name, one in schema.get("properties", {}).items():
        yield from _schemas(one, f"{place}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _schemas(schema[key], f"{place} {key}")
    for one in [*schema.get("anyOf", ()), *schema.get("allOf", ())]:
        yield from _schemas(one, place)


def test_the_example_of_a_list_is_of_its_own_path() -> None:
    found = {}
    for path, item in DESCRIPTION["paths"].items():
        answer = item.get("get", {}).get("responses", {}).get("200", {}).get("content", {}).get("application/json", {})
        record = DESCRIPTION["components"]["schemas"].get(answer.get("schema", {}).get("$ref", "").rpartition("/")[2])
        if record is not None and "_links" in record["properties"]:
            (example,) = record["properties"]["_links"]["examples"]
            found[path] = example["current"]
    assert len(found) > 25
    own = {path: re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)) for path in found}
    assert {path for path, current in found.items() if not re.fullmatch(f"https://[^/]+{own[path]}", current)} == set()


def test_amounts_say_their_unit() -> None:
    named = re.compile(r"([a-z]+A|a)mount|fairValue")
    found = [
        (name, one) for name, member, one in members() if named.fullmatch(member) and "integer" in one.get("type", "")
    ]
    assert len(found) >= 8
    assert [name for name, one in found if "minor unit" not in one["description"]] == []


@pytest.mark.parametrize("section", ["tags", "identifiers", "parameters", "members", "examples"])
def test_every_text_that_is_kept_is_used(section: str) -> None:
    texts = tomllib.loads(descriptions.FILE.read_text("utf-8"))[section]
    names = {
        "tags": {tag["name"] for tag in DESCRIPTION["tags"]},
        "identifiers": {one["schema"].get("x-id-type") for _, one in parameters() if one["in"] == "path"},
        "parameters": {key for name, one in parameters() for key in _keys(name, one["name"])},
        "members": {key for name, member, _ in members() for key in (member, f"{name}.{member}")},
    }
    names["examples"] = names["members"] | names["parameters"]
    assert sorted(texts.keys() - names[section]) == []


def _keys(operation: str, parameter: str) -> tuple[str, str]:
    name = parameter.removesuffix("[]")
    return name, f"{operation}.{name}"


def test_shared_parts_are_all_used() -> None:
    text = msgspec.json.encode(DESCRIPTION).decode()
    unused = [
        name
        for kind in ("schemas", "parameters", "responses", "examples", "headers")
        for name in DESCRIPTION["components"][kind]
        if f'"#/components/{kind}/{name}"' not in text
    ]
    assert unused == []


def test_the_description_stays_small() -> None:
    assert len(msgspec.json.encode(DESCRIPTION)) <= MOST_BYTES
    assert list(DESCRIPTION["paths"]) == sorted(DESCRIPTION["paths"])
    assert reference.PROJECT.joinpath("openapi.json").exists()

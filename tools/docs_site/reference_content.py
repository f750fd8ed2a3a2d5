"""The content of the reference, read from the OpenAPI description."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from almoner.platform.http.examples import ExampleBuilder
from almoner.platform.http.ids import ID_TYPE_KEYWORD
from tools.clients.api_model import words_of
from tools.docs_site.curl_examples import CurlExamples
from tools.shared_parts import with_shared_parts

Schema = dict[str, Any]

_METHODS: Final = ("get", "post", "put", "patch", "delete")
_MEDIA_TYPE: Final = "application/json"
_FORMATS: Final = {"date-time": "timestamp", "date": "date", "uri": "URL"}


@dataclass(frozen=True, slots=True)
class ReferenceField:
    """One parameter or member; ``name`` is its path, ``kind`` its type in words."""

    name: str
    kind: str
    required: bool
    limits: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class ResponseStatus:
    """An HTTP status with its error codes and messages."""

    code: str
    description: str
    problems: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path."""

    id: str
    method: str
    path: str
    summary: str
    paragraphs: tuple[str, ...]
    deprecated: bool
    parameters: tuple[ReferenceField, ...]
    body: tuple[ReferenceField, ...]
    body_kind: str
    answer: tuple[ReferenceField, ...]
    answer_example: str
    statuses: tuple[ResponseStatus, ...]
    shell: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OperationGroup:
    """The operations of one tag."""

    name: str
    anchor: str
    description: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class WebhookEntry:
    """One event type as a receiver gets it."""

    name: str
    anchor: str
    description: str
    fields: tuple[ReferenceField, ...]
    example: str


class ReferenceContent:
    """Reads an OpenAPI description into what the page lists."""

    def __init__(self, read: Mapping[str, Any]) -> None:
        description = with_shared_parts(read)
        self._description = description
        self._schemas: Mapping[str, Schema] = description["components"]["schemas"]
        self._examples = ExampleBuilder(self._schemas)
        self._shell = CurlExamples(description)
        self._id_names = self.id_names()
        self.server: str = description["servers"][0]["url"]
        self.version: str = description["info"]["version"]
        self.groups = tuple(self._groups())
        self.hooks = tuple(self._hook(name, item["post"]) for name, item in description["webhooks"].items())

    def _groups(self) -> Iterator[OperationGroup]:
        told = {tag["name"]: tag["description"] for tag in self._description["tags"]}
        by_tag: dict[str, list[Operation]] = {name: [] for name in told}
        for path, item in self._description["paths"].items():
            for method in _METHODS:
                if method in item:
                    by_tag[item[method]["tags"][0]].append(self._operation(method, path, item[method]))
        for tag, operations in by_tag.items():
            yield OperationGroup(tag, heading_anchor(tag), told[tag], tuple(operations))

    def lists(self) -> dict[str, str]:
        """By type of identifier the list that has such records."""
        return self._shell.lists()

    def id_names(self) -> dict[str, list[str]]:
        """The words of each type of identifier: ``donationsession`` is a donation session's.

        Those that make up the type where a record is called so; else the fewest.
        """
        found: dict[str, list[str]] = {}
        for name, schema in self._schemas.items():
            own = schema.get("properties", {}).get("id", {})
            for one in (schema, own):
                words = words_of(name.removesuffix("Id"))
                type_ = one.get(ID_TYPE_KEYWORD)
                if type_ and _fits(type_, words) < _fits(type_, found.get(type_, [])):
                    found[type_] = words
        return found

    def _operation(self, method: str, path: str, operation: Schema) -> Operation:
        contents: dict[str, Schema] = operation.get("requestBody", {}).get("content", {})
        body_kind = next(iter(contents), "")
        body = contents.get(body_kind, {})
        answer = self._answer(operation).get("content", {}).get(_MEDIA_TYPE, {}).get("schema", {})
        return Operation(
            id=operation["operationId"],
            method=method.upper(),
            path=path,
            summary=operation["summary"],
            paragraphs=tuple(operation["description"].split("\n\n")),
            deprecated=operation.get("deprecated", False),
            parameters=tuple(map(self._parameter, operation["parameters"])),
            body=tuple(self._members(body.get("schema", {}))),
            body_kind=body_kind,
            answer=tuple(self._members(answer)),
            answer_example=format_json(self._examples.response_example(answer)) if answer else "",
            statuses=tuple(self._statuses(operation)),
            shell=self._shell.curl_example(method, path, operation),
            values=self._shell.example_values(operation),
        )

    def _answer(self, operation: Schema) -> Schema:
        return next(found for status, found in operation["responses"].items() if status.startswith("2"))

    def _parameter(self, parameter: Schema) -> ReferenceField:
        schema = self._resolved(parameter["schema"])
        return ReferenceField(
            parameter["name"],
            f"{self._kind(schema)}, in the {parameter['in']}",
            parameter["required"],
            tuple(_limits(schema)),
            parameter["description"] if "description" in parameter else schema.get("description", ""),
        )

    def _statuses(self, operation: Schema) -> Iterator[ResponseStatus]:
        for code, response in operation["responses"].items():
            if code.startswith("2"):
                yield ResponseStatus(code, response["description"], ())
                continue
            examples = response["content"][_MEDIA_TYPE]["examples"]
            problems = [example["value"]["error"] for example in examples.values()]
            reported = tuple((problem["code"], problem["message"]) for problem in problems)
            yield ResponseStatus(code, problems[0]["title"], reported)

    def _hook(self, name: str, operation: Schema) -> WebhookEntry:
        schema = operation["requestBody"]["content"][_MEDIA_TYPE]["schema"]
        told = f"{operation['summary']}. {operation['description']}"
        example = format_json(self._examples.response_example(schema))
        return WebhookEntry(name, heading_anchor(name), told, tuple(self._members(schema)), example)

    def _resolved(self, schema: Schema) -> Schema:
        if "$ref" in schema:
            return self._resolved({**self._schemas[schema["$ref"].rsplit("/", 1)[1]], **_without_ref(schema)})
        if "allOf" in schema:
            return _merged([self._resolved(part) for part in schema["allOf"]], schema)
        options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
        if len(options) == 1:
            merged = {**self._resolved(options[0]), **{key: v for key, v in schema.items() if key != "anyOf"}}
            return {**merged, "nullable": len(schema["anyOf"]) > 1}
        return schema

    def _members(self, given: Schema, before: str = "", seen: tuple[str, ...] = ()) -> Iterator[ReferenceField]:
        """The members of an object, and of the objects in it, each by its whole path."""
        schema = self._resolved(given)
        if schema.get("type") == "array":
            yield from self._members(schema.get("items", {}), before + "[]", seen)
        for name, property_ in schema.get("properties", {}).items():
            inner = self._resolved(property_)
            place = f"{before}.{name}" if before else name
            required = name in schema.get("required", ())
            yield ReferenceField(
                place, self._kind(inner), required, tuple(_limits(inner)), inner.get("description", "")
            )
            ref = _reference(property_)
            if ref is None or ref not in seen:
                yield from self._members(property_, place, (*seen, ref) if ref else seen)

    def _kind(self, schema: Schema) -> str:
        kinds = schema.get("type", [])
        named = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
        nullable = schema.get("nullable") or "null" in kinds
        if ID_TYPE_KEYWORD in schema:
            named_type = " ".join(self._id_names[schema[ID_TYPE_KEYWORD]])
            kind = f"id of {'an' if named_type[0] in 'aeio' else 'a'} {named_type}"
        elif "const" in schema:
            kind = f'"{schema["const"]}"'
        elif "enum" in schema:
            kind = "string"
        elif "anyOf" in schema:
            options = [self._kind(self._resolved(one)) for one in schema["anyOf"]]
            kind = " or ".join(dict.fromkeys(option for option in options if option != "any"))
        elif named == ["array"]:
            kind = f"list of {self._kind(self._resolved(schema.get('items', {})))}"
        elif schema.get("format") in _FORMATS:
            kind = _FORMATS[schema["format"]]
        else:
            kind = " or ".join(named) or "any"
        return f"{kind} or null" if nullable else kind


def _fits(type_: str, words: Sequence[str]) -> tuple[bool, int]:
    """How well words name a type of identifier: the least is best."""
    return "".join(words) != type_, len(words) or sys.maxsize


def _merged(parts: list[Schema], schema: Schema) -> Schema:
    """One schema of all that must hold: a later part says more of a member than an earlier one."""
    properties: Schema = {}
    for part in parts:
        for name, property_ in part.get("properties", {}).items():
            properties[name] = {**properties.get(name, {}), **property_}
    required = [name for part in parts for name in part.get("required", ())]
    rest = {key: value for key, value in schema.items() if key != "allOf"}
    return {"type": "object", **rest, "properties": properties, "required": list(dict.fromkeys(required))}


def _limits(schema: Schema) -> Iterator[str]:
    """What a value must keep to, in words."""
    if "enum" in schema:
        yield "one of " + ", ".join(map(str, schema["enum"]))
    for keyword, words in (
        ("minLength", "at least {} characters"),
        ("maxLength", "at most {} characters"),
        ("minimum", "at least {:,}"),
        ("maximum", "at most {:,}"),
        ("minItems", "at least {} entries"),
        ("maxItems", "at most {} entries"),
        ("maxProperties", "at most {} members"),
    ):
        if keyword in schema and (keyword, schema[keyword]) not in {("minLength", 1), ("minimum", 0)}:
            yield words.format(schema[keyword])
    if schema.get("default") not in (None, [], ""):
        yield f"default {msgspec.json.encode(schema['default']).decode()}"


def _without_ref(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key != "$ref"}


def _reference(schema: Schema) -> str | None:
    for one in (schema, schema.get("items", {}), *schema.get("anyOf", ())):
        if isinstance(one, dict) and "$ref" in one:
            return str(one["$ref"])
    return None


def heading_anchor(text: str) -> str:
    """The URL fragment of a heading."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def format_json(value: object) -> str:
    """JSON, indented for reading."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()

"""The API description as clients need it: resources with methods, records, what stands in bodies, errors, events."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from tools.shared_parts import with_shared_parts

Schema = Mapping[str, Any]
Answer = Literal["record", "list", "any", "empty"]

_ENVELOPES: Final = re.compile(r".+(Response|List)|.+Event|AnyRecord|(Numbered)?Links|Error(Details)?")
_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_ALSO_ACCEPTED: Final = re.compile(r" Also accepted as `\w+`\.")
"""Clients send the one name."""
_SMALL_WORDS: Final = ("to", "from", "of")


@dataclass(frozen=True, slots=True)
class Field:
    """A member or parameter: its name on the wire, and what it is."""

    wire: str
    schema: Schema
    required: bool
    text: str
    place: str = "body"

    @property
    def name(self) -> str:
        """Without brackets or hyphens, in camelCase."""
        plain = self.wire.removesuffix("[]")
        first, *rest = re.split(r"[^A-Za-z0-9]+", plain.lstrip("_"))
        return first[0].lower() + first[1:] + "".join(word[0].upper() + word[1:] for word in rest)


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a resource. ``words``: its name, as words."""

    id: str
    resource: str
    words: tuple[str, ...]
    method: str
    path: str
    text: str
    path_fields: tuple[Field, ...]
    query_fields: tuple[Field, ...]
    header_fields: tuple[Field, ...]
    body_fields: tuple[Field, ...] | None
    upload: Field | None
    keyed: bool
    answer: Answer
    record: str
    also: str | None


@dataclass(frozen=True, slots=True)
class Model:
    """A record, or what stands inside of a body."""

    name: str
    text: str
    fields: tuple[Field, ...]
    is_input: bool


class Api:
    """Everything that a client is made of."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        whole = with_shared_parts(description)
        self._schemas: Mapping[str, Schema] = whole["components"]["schemas"]
        self.version: str = whole["info"]["version"]
        self.operations = tuple(self._operations(whole["paths"]))
        self.models = tuple(self._models())
        self.events = tuple(self._events(whole["webhooks"]))
        self.errors = tuple(self._errors(whole))

    @property
    def resources(self) -> dict[str, list[Operation]]:
        """Operations by resource (``donation-sessions``), in the order of paths."""
        found: dict[str, list[Operation]] = {}
        for operation in self.operations:
            found.setdefault(operation.resource, []).append(operation)
        return found

    def named(self, schema: Schema) -> tuple[str, Schema]:
        """The name and content of a schema that is a reference."""
        name = str(schema["$ref"]).rsplit("/", 1)[1]
        return name, self._schemas[name]

    def _operations(self, paths: Mapping[str, Any]) -> Iterator[Operation]:
        for path, item in paths.items():
            for method, operation in item.items():
                yield self._operation(method, path, operation)

    def _operation(self, method: str, path: str, operation: Mapping[str, Any]) -> Operation:
        resource = path.split("/")[2]
        answer, record, also = self._answer(operation)
        body, upload = self._body(operation)
        fields = [
            Field(
                one["name"],
                one["schema"],
                one["required"],
                _ALSO_ACCEPTED.sub("", one.get("description", "")),
                one["in"],
            )
            for one in operation["parameters"]
        ]
        return Operation(
            id=operation["operationId"],
            resource=resource,
            words=_method_words(operation["operationId"], resource),
            method=method.upper(),
            path=path,
            text=operation["description"],
            path_fields=tuple(one for one in fields if one.place == "path"),
            query_fields=tuple(one for one in fields if one.place == "query"),
            header_fields=tuple(one for one in fields if one.place == "header" and one.wire != "Idempotency-Key"),
            body_fields=body,
            upload=upload,
            keyed=any(one.wire == "Idempotency-Key" for one in fields),
            answer=answer,
            record=record,
            also=also,
        )

    def _answer(self, operation: Mapping[str, Any]) -> tuple[Answer, str, str | None]:
        content = next(one for status, one in operation["responses"].items() if status[0] == "2").get("content", {})
        if "application/json" not in content:
            return "empty", "", None
        also = next((media_type for media_type in content if media_type != "application/json"), None)
        _, envelope = self.named(content["application/json"]["schema"])
        data = envelope["properties"]["data"]
        if "items" in data:
            return "list", self.named(data["items"])[0], also
        return ("record", self.named(data)[0], also) if "$ref" in data else ("any", "", also)

    def _body(self, operation: Mapping[str, Any]) -> tuple[tuple[Field, ...] | None, Field | None]:
        contents = operation.get("requestBody", {}).get("content", {})
        for media_type, content in contents.items():
            _, schema = self.named(content["schema"])
            fields = tuple(self._fields(schema))
            if media_type == "application/json":
                return fields, None
            return fields[:-1], fields[-1]
        return None, None

    def _fields(self, schema: Schema) -> Iterator[Field]:
        required = schema.get("required", ())
        for name, property_ in schema["properties"].items():
            yield Field(name, self._with_plain_values(property_), name in required, property_.get("description", ""))

    def _with_plain_values(self, schema: Schema) -> Schema:
        """The schema with named values that are no records put in."""
        if "anyOf" in schema:
            return {**schema, "anyOf": [self._with_plain_values(one) for one in schema["anyOf"]]}
        if "$ref" in schema and "properties" not in (named := self.named(schema)[1]):
            return {**named, **{key: value for key, value in schema.items() if key != "$ref"}}
        return schema

    def _models(self) -> Iterator[Model]:
        bodies = {one.id[0].upper() + one.id[1:] for one in self.operations if one.body_fields is not None}
        for name, schema in self._schemas.items():
            if name in bodies or "properties" not in schema or (_ENVELOPES.fullmatch(name) and name != "Event"):
                continue
            inside = name.endswith("Params") or name in self._inputs_alone
            yield Model(name, schema["description"], tuple(self._fields(schema)), inside)

    @property
    def _inputs_alone(self) -> set[str]:
        """Schemas that only bodies refer to."""
        seen: set[str] = set()
        for operation in self.operations:
            for field in operation.body_fields or ():
                self._collect(field.schema, seen)
        return seen

    def _collect(self, schema: Any, seen: set[str]) -> None:
        if isinstance(schema, list):
            for one in schema:
                self._collect(one, seen)
        elif isinstance(schema, Mapping):
            if "$ref" in schema and (name := self.named(schema)[0]) not in seen:
                seen.add(name)
                self._collect(self._schemas[name], seen)
            for one in schema.values():
                self._collect(one, seen)

    def _events(self, webhooks: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Each event type, with the record that it carries."""
        for name, item in webhooks.items():
            hook = item["post"]["requestBody"]["content"]["application/json"]["schema"]
            _, event = self.named(hook["properties"]["data"])
            data = event["allOf"][1]["properties"]["eventData"]
            if "$ref" in data:
                yield name, self.named(data)[0]

    def _errors(self, whole: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
        """Each error code with its status and message."""
        found: dict[str, tuple[int, str]] = {}
        for item in whole["paths"].values():
            for operation in item.values():
                for status, response in operation["responses"].items():
                    for example in response.get("content", {}).get("application/json", {}).get("examples", {}).values():
                        error = example["value"]["error"]
                        found.setdefault(error["code"], (int(status), error["message"]))
        for code, (status, message) in sorted(found.items()):
            yield code, status, message


def words_of(name: str) -> list[str]:
    """The words of a name in camelCase or with hyphens, in small letters."""
    return [word.lower() for word in _WORD.findall(name)]


def _method_words(operation_id: str, resource: str) -> tuple[str, ...]:
    """``createDonation`` of ``donations`` is ``create``: what the resource says is left out."""
    verb, *rest = words_of(operation_id)
    known = {word for one in words_of(resource) for word in (one, one.removesuffix("s"), _singular(one))}
    own = [word for word in rest if word not in known and _singular(word) not in known]
    while own and own[-1] in _SMALL_WORDS:
        own.pop()
    return (verb, *own)


def _singular(word: str) -> str:
    return f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")


def type_names(schema: Schema) -> list[str]:
    """The JSON types of a schema."""
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)

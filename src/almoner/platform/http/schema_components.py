"""Named schemas of the API description: records, bodies, and what is made of them (references by name)."""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec
from pydantic.json_schema import models_json_schema

from almoner.kit.ids import TYPES, RecordIdCodec
from almoner.platform.events.event_types import EventType
from almoner.platform.http import conventions
from almoner.platform.http.conventions import Schema
from almoner.platform.http.endpoints import Endpoint
from almoner.platform.http.ids import ID_TYPE_KEYWORD, MORE_KEYWORD, SUCH_AS_KEYWORD
from almoner.platform.http.wire import RequestBody, ResponseRecord, find_record_type

_COMPONENTS: Final = "#/components/"
SCHEMAS: Final = _COMPONENTS + "schemas/"
_REF: Final = SCHEMAS + "{name}"
OPEN_ENUM: Final = "x-extensible-enum"
Kind = Literal["schemas", "parameters", "responses", "examples"]


class ResponseRecordSchemas(NamedTuple):
    """The schemas of records, and the name of each record's schema."""

    schemas: Schema
    names_by_record: dict[type[ResponseRecord], str]


class RequestBodySchemas(NamedTuple):
    """The schemas of request bodies and their parts, and the name of each body's schema."""

    schemas: Schema
    names_by_body: dict[type[RequestBody], str]


class OpenApiComponents:
    """Shared components of the description by kind and name. Each name has one meaning."""

    def __init__(self) -> None:
        self.schemas: Schema = {}
        self.parameters: Schema = {}
        self.responses: Schema = {}
        self.examples: Schema = {}

    def add_component(self, kind: Kind, name: str, content: Schema) -> Schema:
        """A reference to the content, which is kept under its name."""
        kept = getattr(self, kind).setdefault(name, content)
        if kept != content:
            raise TypeError(f"two {kind} of the description are called {name}")
        return {"$ref": f"{_COMPONENTS}{kind}/{name}"}

    def resolve(self, schema: Schema) -> Schema:
        """The schema itself, if it is a reference."""
        named: Schema = self.schemas[reference_name(schema)] if "$ref" in schema else schema
        return named


def reference_name(schema: Schema) -> str:
    """The name that a reference names."""
    return str(schema["$ref"]).rsplit("/", 1)[1]


def public_record_name(class_name: str) -> str:
    """The public name of a record, by the name of its class."""
    return class_name.removesuffix("Response")


def request_schema_name(endpoint: Endpoint) -> str:
    """``CreateDonation``: the public name of the schema of an operation's request body."""
    return endpoint.operation_id[0].upper() + endpoint.operation_id[1:]


def response_record_schemas(
    endpoints: Sequence[Endpoint], events: Collection[EventType], ids: RecordIdCodec
) -> ResponseRecordSchemas:
    """The schemas of all records in responses and events."""
    answered = [endpoint.record_type for endpoint in endpoints if endpoint.record_type is not None]
    named = {record.object_name for record in answered}
    reported = [find_record_type(event.record_type) for event in events if event.record_type not in named]
    records = list(dict.fromkeys([*answered, *(record for record in reported if record is not None)]))
    found, components = msgspec.json.schema_components(records, ref_template=_REF)
    classes = {reference_name(schema): record for record, schema in zip(records, found, strict=True)}
    for name, schema in components.items():
        if record := classes.get(name):  # every member is present, except optional ones
            members = msgspec.structs.fields(record)
            schema["required"] = sorted(one.encode_name for one in members if one.default is not msgspec.UNSET)
        for field, property_ in schema.get("properties", {}).items():
            _apply_naming_conventions(field, property_, record.object_name if record else public_record_name(name))
    names = {name: public_record_name(name) for name in components}
    result = _renamed(
        {name: remove_titles_and_format_descriptions(schema) for name, schema in components.items()}, names
    )
    return ResponseRecordSchemas(
        fill_id_patterns(result, ids), {record: names[name] for name, record in classes.items()}
    )


def _apply_naming_conventions(field: str, property_: Schema, record: str) -> None:
    """Add ID and timestamp formats to plain strings, by the member's name."""
    for option in property_.get("anyOf", [property_]):
        if option.get("type") == "array" and (type_ := conventions.id_type_of_list_items(field)):
            option["items"][ID_TYPE_KEYWORD] = type_
        if option.get("type") != "string" or {"enum", "format", "pattern", ID_TYPE_KEYWORD} & option.keys():
            continue
        if type_ := conventions.id_type_of_field(field, record):
            option[ID_TYPE_KEYWORD] = type_
        elif format_ := conventions.string_format_of_field(field):
            option["format"] = format_


def request_body_schemas(endpoints: Sequence[Endpoint], ids: RecordIdCodec) -> RequestBodySchemas:
    """The schemas of all request bodies, named after their first operation, and of their parts."""
    operations: dict[type[RequestBody], str] = {}
    for endpoint in endpoints:
        if endpoint.body is not None:
            operations.setdefault(endpoint.body, request_schema_name(endpoint))
    if not operations:
        return RequestBodySchemas({}, {})
    models: list[tuple[type[RequestBody], Literal["validation"]]] = [(model, "validation") for model in operations]
    keys, definitions = models_json_schema(models, ref_template=_REF.replace("{name}", "{model}"))
    schemas: Schema = definitions.get("$defs", {})
    names = {name: re.sub("^(.+)Body$", r"\1Params", name) for name in schemas}
    names |= {reference_name(keys[model, mode]): operations[model] for model, mode in models}
    result = _renamed({name: remove_titles_and_format_descriptions(schema) for name, schema in schemas.items()}, names)
    return RequestBodySchemas(fill_id_patterns(result, ids), operations)


def _renamed(schemas: Schema, names: Mapping[str, str]) -> Schema:
    """The schemas under their public names. Raises TypeError for duplicate names and module paths."""
    result: Schema = {}
    for name, schema in schemas.items():
        public = names[name]
        if public in result or not public.isalnum():
            raise TypeError(f"{name} needs a public name of its own: {public} is taken or not a name")
        result[public] = map_schema(schema, lambda one: _with_public_reference(one, names))
    return result


def _with_public_reference(schema: Schema, names: Mapping[str, str]) -> Schema:
    if "$ref" not in schema:
        return schema
    return {**schema, "$ref": SCHEMAS + names[reference_name(schema)]}


def map_schema(schema: Any, transform: Callable[[Schema], Schema]) -> Any:
    """Apply a change to every nested schema, innermost first; examples and values stay unchanged."""
    if not isinstance(schema, dict):
        return schema
    result = dict(schema)
    if "properties" in result:
        result["properties"] = {name: map_schema(one, transform) for name, one in result["properties"].items()}
    for keyword in ("items", "additionalProperties"):
        if keyword in result:
            result[keyword] = map_schema(result[keyword], transform)
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in result:
            result[keyword] = [map_schema(one, transform) for one in result[keyword]]
    return transform(result)


def remove_titles_and_format_descriptions(schema: Any) -> Any:
    """Remove generated titles and format code as Markdown."""
    if isinstance(schema, list):
        return [remove_titles_and_format_descriptions(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {
        key: remove_titles_and_format_descriptions(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }
    if isinstance(reported := result.get("description"), str):
        result["description"] = docstring_markdown(reported)
    return result


def docstring_markdown(text: str) -> str:
    """A docstring as Markdown: one line for each paragraph."""
    paragraphs = inspect.cleandoc(text).replace("``", "`").split("\n\n")
    return "\n\n".join(re.sub(r"\s+", " ", paragraph).strip() for paragraph in paragraphs)


def fill_id_patterns(schemas: Any, ids: RecordIdCodec) -> Any:
    """Replace id marks by a pattern that fits both environments, and this one's example."""
    if isinstance(schemas, list):
        return [fill_id_patterns(item, ids) for item in schemas]
    if not isinstance(schemas, dict):
        return schemas
    result = {key: fill_id_patterns(value, ids) for key, value in schemas.items()}
    if isinstance(marked := schemas.get(ID_TYPE_KEYWORD), str):
        result |= {
            "pattern": ids.id_pattern(marked, *result.pop(MORE_KEYWORD, ())),
            "examples": [ids.example_id(marked)],
        }
    if isinstance(such_as := schemas.get(SUCH_AS_KEYWORD), str):
        result["examples"] = [ids.example_id(such_as)]
    return result


class IdentifierSchemas:
    """Identifiers as schemas of their own (``DonationId``): their patterns would be a tenth of the description."""

    def __init__(self, record_names: Iterable[str], texts: Mapping[str, str]) -> None:
        named = {name.lower(): name for name in record_names} | conventions.RECORDS_OF_IDENTIFIERS
        self._names = {type_: f"{named.get(type_, type_.capitalize())}Id" for type_ in TYPES}
        self._texts = texts
        self.schemas: Schema = {}

    def schema_name(self, id_type: str) -> str:
        """The schema's name."""
        return self._names[id_type]

    def replace_inline_ids(self, schema: Any) -> Any:
        """The same part of the description, with references instead of inline identifiers."""
        if isinstance(schema, list):
            return [self.replace_inline_ids(item) for item in schema]
        if not isinstance(schema, dict):
            return schema
        type_ = schema.get(ID_TYPE_KEYWORD)
        if not isinstance(type_, str) or not str(schema.get("pattern")).endswith("{25}$"):
            return {key: self.replace_inline_ids(value) for key, value in schema.items()}
        own = {"type": "string", "description": self._texts.get(type_, f"Identifies the {type_}.")}
        kept = {ID_TYPE_KEYWORD: type_, "pattern": schema["pattern"], "examples": schema["examples"][:1]}
        self.schemas[self.schema_name(type_)] = {**own, **kept}
        ref = {"$ref": SCHEMAS + self.schema_name(type_)}
        told = {"description": schema["description"]} if "description" in schema else {}
        return {"anyOf": [ref, {"type": "null"}], **told} if "null" in schema["type"] else {**ref, **told}


def mark_enum_extensible(schema: Schema) -> Schema:
    """Mark an enum in responses as extensible, so that new values do not break clients."""
    if not isinstance(schema.get("enum"), list):
        return schema
    result = dict(schema)
    values = result.pop("enum")
    listed = ", ".join(f"`{value}`" for value in values)
    reported = " ".join(filter(None, (result.get("description"), f"Currently one of {listed}; more may be added.")))
    return {"type": "string", **result, OPEN_ENUM: values, "description": reported}


def is_scalar_without_example(schema: Schema) -> bool:
    """Whether a schema is an unnamed value without its own example or fixed values."""
    telling = {"examples", "const", "enum", OPEN_ENUM, "$ref", "properties", "allOf"}
    texts = all(option.get("type") == "string" for option in schema.get("anyOf", ()))
    records = "$ref" in schema.get("items", ())  # described by their own schema: lists of whole records took 18 kB
    return texts and not records and not telling & schema.keys()


def collapse_nullable_union(schema: Schema) -> Schema:
    """Write a nullable type as one schema with a list of types, instead of an ``anyOf`` with null."""
    options = schema.get("anyOf", ())
    given = [option for option in options if option.get("type") != "null"]
    if len(given) != 1 or len(options) != 2 or not isinstance(given[0].get("type"), str):
        return schema
    if {"enum", "const"} & given[0].keys():
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if OPEN_ENUM in given[0]:  # the description first, then today's values
        rest["description"] = " ".join(filter(None, (rest.get("description"), given[0].get("description"))))
    return {**given[0], **rest, "type": [given[0]["type"], "null"]}

"""The API description (OpenAPI 3.1), generated from the declared endpoints."""

import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
from pydantic.json_schema import models_json_schema

from almoner.kit.errors import (
    ContentTooLarge,
    CursorError,
    Forbidden,
    IncorrectParams,
    InternalError,
    KeyInUse,
    NotAcceptable,
    NotFound,
    OriginalCallInProgress,
    Problem,
    RateExceeded,
    SameKeyDifferentData,
    ServiceUnavailable,
    Unauthorised,
    UnsupportedContentType,
)
from almoner.kit.ids import Ids
from almoner.platform.events.event_types import EventType
from almoner.platform.http import conventions, operation_links, response_schemas
from almoner.platform.http.caller import KeyKind
from almoner.platform.http.conventions import Schema
from almoner.platform.http.endpoints import Endpoint
from almoner.platform.http.examples import ExampleBuilder
from almoner.platform.http.ids import ID_TYPE_KEYWORD, MORE_KEYWORD, SUCH_AS_KEYWORD
from almoner.platform.http.wire import PageQuery, Query, RequestBody, ResponseRecord, find_record

_SCHEMAS: Final = "#/components/schemas/"
_REF: Final = _SCHEMAS + "{name}"
_DESCRIPTION: Final = """\
Validates nonprofits and takes donations for them.

Send your key in the `Authorization` header. Every POST honours `Idempotency-Key`. Lists are paged by cursor. Amounts \
are integers in the currency's minor unit. Errors always have the same shape; every operation lists its codes.

Input that a call does not have is refused with 400, and so is a value that is not listed. Answers and events grow: \
ignore members that you do not know, and take values of statuses, types and codes that are not listed yet.

Directories provision members by SCIM 2.0 at `/scim/v2`, which describes itself at `/scim/v2/ServiceProviderConfig`.
"""
_SECURITY: Final[dict[KeyKind, list[Schema]]] = {
    KeyKind.NONE: [],
    KeyKind.PUBLISHABLE: [{"publishableKey": []}, {"secretKey": []}],
    KeyKind.SECRET: [{"secretKey": []}],
    KeyKind.SCIM: [{"scimKey": []}],
}
_NEEDS: Final = {
    KeyKind.NONE: "Needs no key.",
    KeyKind.PUBLISHABLE: "Needs a publishable or a secret key with the scope `{scope}`.",
    KeyKind.SECRET: "Needs a secret key with the scope `{scope}`.",
    KeyKind.SCIM: "Needs a SCIM key with the scope `{scope}`.",
}

_TEXT: Final = {"type": "string"}
_CLAUSE_ENDS: Final = re.compile(r"[.:;]\s")


@dataclass(frozen=True, slots=True)
class _Components:
    """What the operations refer to: schemas by name, and the references of the models."""

    schemas: Schema
    outs: Mapping[type[ResponseRecord], str]
    ins: Mapping[type[RequestBody], str]
    ids: Ids
    examples: ExampleBuilder


def build_description(
    endpoints: Sequence[Endpoint], ids: Ids, server: str, version: str, events: Collection[EventType]
) -> Schema:
    """The whole description of a service that answers at ``server``."""
    out_schemas, outs = _out_schemas(endpoints, events)
    in_schemas, ins = _in_schemas(endpoints)
    schemas = _with_ids({**out_schemas, **in_schemas, "Error": response_schemas.ERROR}, ids)
    records = {record.object_name: ref for record, ref in reversed(outs.items())}
    events = list(events)
    schemas |= response_schemas.event_schemas(events, records, ids)
    for record in [one for one in outs if one.object_name == "event"]:  # listed ones are the same as delivered ones
        outs[record] = f"{_SCHEMAS}{response_schemas.EVENT}"
    known = _Components(schemas, outs, ins, ids, ExampleBuilder(schemas))
    links = operation_links.find_links(endpoints)
    paths: Schema = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, known, links)
    made: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "Almoner",
            "version": version,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": server}],
        "tags": [{"name": tag} for tag in dict.fromkeys(endpoint.tag for endpoint in endpoints)],
        "paths": dict(sorted(paths.items())),
        "webhooks": {one.name: response_schemas.webhook_schema(one, known.examples) for one in events},
        "components": {
            "responses": response_schemas.shared_error_responses(
                problem for endpoint in endpoints for problem in errors_of_endpoint(endpoint)
            ),
            "headers": response_schemas.HEADERS,
            "securitySchemes": {
                "secretKey": _key_scheme(
                    "The secret key, as it is, after `Bearer`, or as the user name of HTTP Basic."
                ),
                "publishableKey": _key_scheme("The publishable key; a secret key is accepted too."),
            },
        },
    }
    used = _used_schemas(made, schemas)
    made["components"]["schemas"] = {name: schema for name, schema in sorted(schemas.items()) if name in used}
    return made


def _used_schemas(place: Any, schemas: Schema) -> set[str]:
    """The schemas that are referred to, and those that they refer to."""
    used: set[str] = set()
    waiting = _references({key: value for key, value in place.items() if key != "components"})
    waiting |= _references(place["components"]["responses"])
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            waiting |= _references(schemas[name])
    return used


def _references(place: Any) -> set[str]:
    if isinstance(place, list):
        return {name for item in place for name in _references(item)}
    if not isinstance(place, dict):
        return set()
    own = {place["$ref"].rsplit("/", 1)[1]} if str(place.get("$ref", "")).startswith(_SCHEMAS) else set()
    return own.union(*(_references(value) for value in place.values()))


def _key_scheme(description: str) -> Schema:
    return {"type": "apiKey", "in": "header", "name": "Authorization", "description": description}


def errors_of_endpoint(endpoint: Endpoint) -> list[type[Problem]]:
    """All errors that an endpoint can return."""
    found: list[type[Problem]] = [IncorrectParams]
    if endpoint.query is not None and issubclass(endpoint.query, PageQuery):
        found.append(CursorError)
    if endpoint.method == "POST" and endpoint.key is not KeyKind.NONE:
        found += [OriginalCallInProgress, SameKeyDifferentData, KeyInUse]
    if endpoint.key is not KeyKind.NONE:
        found += [Unauthorised, Forbidden]
    if "{" in endpoint.path:
        found.append(NotFound)
    if endpoint.method != "GET":
        found.append(ContentTooLarge)
        if endpoint.upload is None:
            found.append(UnsupportedContentType)
    if endpoint.also:
        found.append(NotAcceptable)
    found += [*endpoint.errors, RateExceeded, InternalError, ServiceUnavailable]
    return list(dict.fromkeys(found))


def _out_schemas(
    endpoints: Sequence[Endpoint], events: Collection[EventType]
) -> tuple[Schema, dict[type[ResponseRecord], str]]:
    answered = [e.record_type for e in endpoints if e.record_type is not None]
    named = {record.object_name for record in answered}
    reported = [find_record(event.record) for event in events if event.record not in named]
    records = list(dict.fromkeys([*answered, *(record for record in reported if record is not None)]))
    found, components = msgspec.json.schema_components(records, ref_template=_REF)
    refs = {record: schema["$ref"] for record, schema in zip(records, found, strict=True)}
    kinds = {refs[record].rsplit("/", 1)[1]: record for record in records}
    for name, schema in components.items():
        if record := kinds.get(name):  # every member is there, except those that may be left out
            members = msgspec.structs.fields(record)
            schema["required"] = sorted(one.encode_name for one in members if one.default is not msgspec.UNSET)
        for field, property_ in schema.get("properties", {}).items():
            _apply_naming_conventions(field, property_, record.object_name if record else name.removesuffix("Out"))
    return {
        name: response_schemas.mark_enums_extensible(_clean_schema(schema)) for name, schema in components.items()
    }, refs


def _apply_naming_conventions(field: str, property_: Schema, record: str) -> None:
    """Identifiers and moments are plain strings in the records; their names tell them apart."""
    for option in property_.get("anyOf", [property_]):
        if option.get("type") != "string" or {"enum", "format", "pattern", ID_TYPE_KEYWORD} & option.keys():
            continue
        if type_ := conventions.id_type(field, record):
            option[ID_TYPE_KEYWORD] = type_
        elif format_ := conventions.string_format(field):
            option["format"] = format_


def _in_schemas(endpoints: Sequence[Endpoint]) -> tuple[Schema, dict[type[RequestBody], str]]:
    models: list[tuple[type[RequestBody], Literal["validation"]]] = [
        (model, "validation") for model in dict.fromkeys(e.body for e in endpoints if e.body is not None)
    ]
    if not models:
        return {}, {}
    keys, definitions = models_json_schema(models, ref_template=_REF.replace("{name}", "{model}"))
    refs = {model: keys[model, mode]["$ref"] for model, mode in models}
    return {name: _clean_schema(schema) for name, schema in definitions.get("$defs", {}).items()}, refs


def _clean_schema(schema: Any) -> Any:
    """Drop generated titles, which say nothing that the names do not; write code as Markdown does."""
    if isinstance(schema, list):
        return [_clean_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        key: _clean_schema(value) for key, value in schema.items() if not (key == "title" and isinstance(value, str))
    }
    if isinstance(reported := made.get("description"), str):
        made["description"] = _docstring_markdown(reported)
    return made


def _docstring_markdown(text: str) -> str:
    """A docstring as Markdown: one line for each paragraph."""
    paragraphs = inspect.cleandoc(text).replace("``", "`").split("\n\n")
    return "\n\n".join(re.sub(r"\s+", " ", paragraph).strip() for paragraph in paragraphs)


def _with_ids(schemas: Any, ids: Ids) -> Any:
    """Replace id marks by a pattern that fits both environments, and this one's example."""
    if isinstance(schemas, list):
        return [_with_ids(item, ids) for item in schemas]
    if not isinstance(schemas, dict):
        return schemas
    made = {key: _with_ids(value, ids) for key, value in schemas.items()}
    if isinstance(marked := schemas.get(ID_TYPE_KEYWORD), str):
        made |= {"pattern": ids.pattern(marked, *made.pop(MORE_KEYWORD, ())), "examples": [ids.example(marked)]}
    if isinstance(such_as := schemas.get(SUCH_AS_KEYWORD), str):
        made["examples"] = [ids.example(such_as)]
    return made


def _operation(endpoint: Endpoint, known: _Components, links: operation_links.Links) -> Schema:
    reported = _docstring_markdown(inspect.getdoc(endpoint.handler) or "")
    operation: Schema = {
        "operationId": endpoint.operation_id,
        "tags": [endpoint.tag],
        "summary": _CLAUSE_ENDS.split(reported, maxsplit=1)[0].rstrip("."),
        "description": f"{reported}\n\n{_NEEDS[endpoint.key].format(scope=endpoint.scope)}",
        "parameters": _parameters(endpoint, known.ids),
        "responses": _responses(endpoint, known, links),
        "security": _SECURITY[endpoint.key],
    }
    if endpoint.scope:
        operation["x-scope"] = endpoint.scope
    if endpoint.retirement:
        operation["deprecated"] = True
    if body := _request_body(endpoint, known):
        operation["requestBody"] = body
    return operation


def _request_body(endpoint: Endpoint, known: _Components) -> Schema | None:
    if endpoint.body is not None and endpoint.upload is None:
        schema = {"$ref": known.ins[endpoint.body]}
        content: Schema = {"schema": schema, "example": known.examples.request_example(schema)}
        required = bool(known.examples.resolve_reference(schema).get("required"))
        return {"required": required, "content": {"application/json": content}}
    if endpoint.upload is not None:
        media_types = ", ".join(endpoint.upload.media_types)
        part = {
            "type": "string",
            "format": "binary",
            "description": f"The file: {media_types}; at most {endpoint.upload.max_bytes:,} bytes.",
        }
        beside = known.schemas[known.ins[endpoint.body].rsplit("/", 1)[1]] if endpoint.body is not None else {}
        fields: Schema = {
            "type": "object",
            "additionalProperties": False,
            **beside,
            "properties": {**beside.get("properties", {}), endpoint.upload.field: part},
            "required": [*beside.get("required", ()), endpoint.upload.field],
        }
        encoding = {endpoint.upload.field: {"contentType": media_types}}
        return {"required": True, "content": {"multipart/form-data": {"schema": fields, "encoding": encoding}}}
    return None


def _parameters(endpoint: Endpoint, ids: Ids) -> list[Schema]:
    found: list[Schema] = []
    for name, mark in endpoint.path_parameters.items():
        if mark is not None:
            schema: Schema = _with_ids({"type": "string", ID_TYPE_KEYWORD: mark.type}, ids)
        else:
            schema = {"type": "string", "minLength": 1, "examples": [conventions.path_example(name)]}
        found.append({"name": name, "in": "path", "required": True, "schema": schema})
    if endpoint.query is not None:
        found += _query_parameters(endpoint.query, ids)
    for name, reported in endpoint.request_headers.items():
        found.append({"name": name, "in": "header", "required": False, "description": reported, "schema": _TEXT})
    if endpoint.method == "POST" and endpoint.key is not KeyKind.NONE:
        found.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "Makes the call happen once: a repeat within 21 days is given the first answer.",
                "schema": {"type": "string", "pattern": "^[!-~]{1,255}$", "examples": ["order-1024"]},
            }
        )
    return found


def _query_parameters(model: type[Query], ids: Ids) -> list[Schema]:
    schema = model.model_json_schema()
    required = schema.get("required", [])
    found = []
    for name, property_ in schema["properties"].items():
        cleaned = _with_ids(_clean_schema(_without_null(property_)), ids)
        also = cleaned.pop("also", name.removesuffix("[]") if name.endswith("[]") else None)
        description = cleaned.pop("description", None)
        entry: Schema = {"name": name, "in": "query", "required": name in required, "schema": cleaned}
        if cleaned.get("type") == "array":
            entry |= {"style": "form", "explode": True}
        if description:
            entry["description"] = description + (f" Also accepted as `{also}`." if also else "")
        found.append(entry)
    return found


def _without_null(property_: Schema) -> Schema:
    """An absent query parameter is absent, never null."""
    options = property_.get("anyOf")
    cleaned = {key: value for key, value in property_.items() if key not in ("anyOf", "default")}
    if options:
        cleaned |= next(option for option in options if option.get("type") != "null")
    if property_.get("default") is not None:
        cleaned["default"] = property_["default"]
    return {key: value for key, value in cleaned.items() if value is not None}


def _responses(endpoint: Endpoint, known: _Components, links: operation_links.Links) -> Schema:
    success: Schema = {
        "description": "Done; the answer has no body." if endpoint.empty else "Done.",
        "headers": response_schemas.header_schemas(endpoint),
    }
    record = endpoint.record_type
    if record is not None:
        schema = response_schemas.envelope_schema(endpoint, record, known.outs[record], known.ids)
        example = known.examples.response_example(schema)
        success["content"] = {"application/json": {"schema": schema, "example": example}}
    elif not endpoint.empty:
        example = known.examples.response_example(response_schemas.ANY_RECORD)
        success["content"] = {"application/json": {"schema": response_schemas.ANY_RECORD, "example": example}}
    if endpoint.also:
        success["content"][endpoint.also] = {"schema": {"type": "string", "format": "binary"}}
    if found := links.get(endpoint.operation_id):
        success["links"] = found
    return {str(endpoint.empty or 200): success, **response_schemas.error_responses(errors_of_endpoint(endpoint))}

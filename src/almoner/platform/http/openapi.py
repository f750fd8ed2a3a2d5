"""The interface description (OpenAPI 3.1), derived from the declared endpoints so that it cannot drift from them."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from pydantic.json_schema import models_json_schema

from almoner.kit.errors import (
    ContentTooLarge,
    CursorError,
    Forbidden,
    IncorrectParams,
    InternalError,
    KeyInUse,
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
from almoner.platform.event_types import EventType
from almoner.platform.http import errors
from almoner.platform.http.caller import KeyKind
from almoner.platform.http.endpoints import Endpoint
from almoner.platform.http.ids import ID_TYPE_KEYWORD
from almoner.platform.http.wire import In, Out, PageQuery, Query

_REF = "#/components/schemas/{name}"
_DESCRIPTION = """\
Validates nonprofits and takes donations for them.

Send your key in the `Authorization` header. Every POST honours `Idempotency-Key`. Lists are paged by cursor. Amounts
are integers in the currency's minor unit. Errors always have the same shape; their codes are listed everywhere.
"""

Schema = dict[str, Any]


def describe(
    endpoints: Sequence[Endpoint], ids: Ids, server: str, version: str, events: Mapping[str, EventType]
) -> Schema:
    """The whole description, as JSON values."""
    outs, out_refs = _out_schemas(endpoints)
    ins, in_refs = _in_schemas(endpoints)
    records = {record.object_name: {"$ref": ref} for record, ref in out_refs.items()}
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        operation = _operation(endpoint, out_refs, in_refs, ins, ids)
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    schemas = {**outs, **ins, **_shared_schemas()}
    return {
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
        "webhooks": {name: _webhook(event, records) for name, event in sorted(events.items())},
        "components": {
            "schemas": dict(sorted(_with_ids(schemas, ids).items())),
            "responses": _error_responses(endpoints),
            "headers": _headers(),
            "securitySchemes": {
                "secretKey": _key_scheme(
                    "The secret key, as it is, after `Bearer`, or as the user name of HTTP Basic."
                ),
                "publishableKey": _key_scheme("The publishable key; a secret key is accepted too."),
            },
        },
    }


def _key_scheme(description: str) -> Schema:
    return {"type": "apiKey", "in": "header", "name": "Authorization", "description": description}


def _out_schemas(endpoints: Sequence[Endpoint]) -> tuple[Schema, dict[type, str]]:
    records = list(dict.fromkeys(e.record for e in endpoints if e.record is not None))
    found, components = msgspec.json.schema_components(records, ref_template=_REF)
    refs = {record: schema["$ref"] for record, schema in zip(records, found, strict=True)}
    for record in records:
        name = refs[record].rsplit("/", 1)[1]
        components[name]["required"] = sorted(components[name].get("properties", {}))
    return {name: _tidy(schema) for name, schema in components.items()}, refs


def _in_schemas(endpoints: Sequence[Endpoint]) -> tuple[Schema, dict[type, str]]:
    models: list[tuple[type[In], Literal["validation"]]] = [
        (model, "validation") for model in dict.fromkeys(e.body for e in endpoints if e.body is not None)
    ]
    if not models:
        return {}, {}
    keys, definitions = models_json_schema(models, ref_template=_REF.replace("{name}", "{model}"))
    refs = {model: keys[model, mode]["$ref"] for model, mode in models}
    return {name: _tidy(schema) for name, schema in definitions.get("$defs", {}).items()}, refs


def _tidy(schema: Any) -> Any:
    """Drop generated titles, which say nothing that the names do not."""
    if isinstance(schema, dict):
        return {key: _tidy(value) for key, value in schema.items() if not (key == "title" and isinstance(value, str))}
    return [_tidy(item) for item in schema] if isinstance(schema, list) else schema


def _with_ids(schemas: Any, ids: Ids) -> Any:
    """Replace id marks by this environment's pattern and example."""
    if isinstance(schemas, list):
        return [_with_ids(item, ids) for item in schemas]
    if not isinstance(schemas, dict):
        return schemas
    made = {key: _with_ids(value, ids) for key, value in schemas.items() if key != ID_TYPE_KEYWORD}
    if isinstance(marked := schemas.get(ID_TYPE_KEYWORD), str):
        made |= {"pattern": ids.pattern(marked), "examples": [ids.example(marked)]}
    return made


def _operation(
    endpoint: Endpoint, out_refs: Mapping[type, str], in_refs: Mapping[type, str], ins: Schema, ids: Ids
) -> Schema:
    summary, _, rest = (inspect.getdoc(endpoint.handler) or "").partition("\n")
    operation: Schema = {
        "operationId": endpoint.operation_id,
        "tags": [endpoint.tag],
        "summary": summary.strip().rstrip("."),
        "description": rest.strip() or summary.strip(),
        "parameters": _parameters(endpoint, ids),
        "responses": _responses(endpoint, out_refs),
    }
    operation["security"] = {
        KeyKind.NONE: [],
        KeyKind.PUBLISHABLE: [{"publishableKey": []}, {"secretKey": []}],
        KeyKind.SECRET: [{"secretKey": []}],
        KeyKind.SCIM: [{"scimKey": []}],
    }[endpoint.key]
    if endpoint.scope:
        operation["x-scope"] = endpoint.scope
    if endpoint.retirement:
        operation["deprecated"] = True
    if endpoint.body is not None:
        ref = in_refs[endpoint.body]
        required = bool(ins[ref.rsplit("/", 1)[1]].get("required"))
        operation["requestBody"] = {"required": required, "content": {"application/json": {"schema": {"$ref": ref}}}}
    if endpoint.upload is not None:
        part = {"type": "string", "contentMediaType": ", ".join(endpoint.upload.media_types)}
        operation["requestBody"] = {
            "required": True,
            "content": {
                "multipart/form-data": {
                    "schema": {
                        "type": "object",
                        "properties": {endpoint.upload.field: part},
                        "required": [endpoint.upload.field],
                    },
                    "encoding": {endpoint.upload.field: {"contentType": ", ".join(endpoint.upload.media_types)}},
                }
            },
        }
    return operation


def _parameters(endpoint: Endpoint, ids: Ids) -> list[Schema]:
    names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    found: list[Schema] = []
    for name, mark in zip(names, endpoint.path_ids.values(), strict=True):
        schema: Schema = {"type": "string"}
        if mark is not None:
            schema |= {"pattern": ids.pattern(mark.type), "examples": [ids.example(mark.type)]}
        else:
            schema |= {"minLength": 1}
        found.append({"name": name, "in": "path", "required": True, "schema": schema})
    if endpoint.query is not None:
        found += _query_parameters(endpoint.query, ids)
    if endpoint.method == "POST" and endpoint.key is not KeyKind.NONE:
        found.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "Makes the call happen once: a repeat within 21 days is given the first answer.",
                "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
            }
        )
    return found


def _query_parameters(model: type[Query], ids: Ids) -> list[Schema]:
    schema = model.model_json_schema()
    required = schema.get("required", [])
    found = []
    for name, property_ in schema["properties"].items():
        cleaned = _with_ids(_tidy(_without_null(property_)), ids)
        also = cleaned.pop("also", None)
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


def _responses(endpoint: Endpoint, out_refs: Mapping[type, str]) -> Schema:
    status = str(endpoint.empty or 200)
    headers = {
        name: {"$ref": f"#/components/headers/{name}"} for name in ("Request-Id", "RateLimit", "RateLimit-Policy")
    }
    success: Schema = {"description": "Done." if endpoint.empty else "The answer.", "headers": headers}
    record = endpoint.record
    if record is not None:
        success["content"] = {"application/json": {"schema": _envelope(endpoint, record, out_refs[record])}}
    elif not endpoint.empty:
        success["content"] = {"application/json": {"schema": {"type": "object"}}}
    responses: Schema = {status: success}
    by_status: dict[int, list[type[Problem]]] = {}
    for problem in problems_of(endpoint):
        by_status.setdefault(errors.status_of(problem), []).append(problem)
    for code, found in sorted(by_status.items()):
        if len(found) == 1:
            responses[str(code)] = {"$ref": f"#/components/responses/{found[0].__name__}"}
        else:
            responses[str(code)] = _error_response(found)
    return responses


def _envelope(endpoint: Endpoint, record: type[Out], ref: str) -> Schema:
    name: Schema = {"const": record.object_name}
    if not endpoint.lists:
        properties: Schema = {"data": {"$ref": ref}, "object": name}
    else:
        address = {"type": ["string", "null"], "format": "uri"}
        properties = {
            "data": {"type": "array", "items": {"$ref": ref}},
            "object": name,
            "totalResults": {"type": "integer", "minimum": 0},
            "pageSize": {"type": "integer", "minimum": 1, "maximum": 100},
            "_links": {
                "type": "object",
                "properties": {"current": {"type": "string", "format": "uri"}, "next": address, "prev": address},
                "required": ["current", "next", "prev"],
            },
        }
    return {"type": "object", "properties": properties, "required": list(properties)}


def problems_of(endpoint: Endpoint) -> list[type[Problem]]:
    """Every problem that the endpoint can answer with: those that follow from the declaration and those it names."""
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
    found += [*endpoint.errors, RateExceeded, InternalError, ServiceUnavailable]
    return list(dict.fromkeys(found))


def _error_responses(endpoints: Sequence[Endpoint]) -> Schema:
    classes = dict.fromkeys(problem for endpoint in endpoints for problem in problems_of(endpoint))
    return {problem.__name__: _error_response([problem]) for problem in sorted(classes, key=lambda p: p.__name__)}


def _error_response(problems: Sequence[type[Problem]]) -> Schema:
    examples = {
        problem.code: {
            "value": {
                "error": {"code": problem.code, "title": problem.title, "message": problem.message, "reasons": []}
            }
        }
        for problem in problems
    }
    headers = {"Request-Id": {"$ref": "#/components/headers/Request-Id"}}
    if RateExceeded in problems:
        headers["Retry-After"] = {"$ref": "#/components/headers/Retry-After"}
    return {
        "description": "; ".join(f"`{problem.code}`: {problem.message}" for problem in problems),
        "headers": headers,
        "content": {
            "application/json": {
                "schema": {
                    "allOf": [{"$ref": "#/components/schemas/Error"}],
                    "properties": {"error": {"properties": {"code": {"enum": [problem.code for problem in problems]}}}},
                },
                "examples": examples,
            }
        },
    }


def _shared_schemas() -> Schema:
    return {
        "Error": {
            "type": "object",
            "properties": {
                "error": {
                    "type": "object",
                    "properties": {
                        "code": {"type": "string"},
                        "title": {"type": "string"},
                        "message": {"type": "string"},
                        "reasons": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["code", "title", "message", "reasons"],
                }
            },
            "required": ["error"],
        },
    }


def _headers() -> Schema:
    def header(description: str, schema: Schema) -> Schema:
        return {"description": description, "schema": schema}

    return {
        "Request-Id": header("Names this call in our logs.", {"type": "string", "pattern": "^req_[0-9a-f]{32}$"}),
        "RateLimit": header("What is left of the limit, and seconds until it is full again.", {"type": "string"}),
        "RateLimit-Policy": header("The limit: calls at once, and the window in seconds.", {"type": "string"}),
        "Retry-After": header("Whole seconds to wait.", {"type": "integer", "minimum": 1}),
    }


def _webhook(event: EventType, records: Mapping[str, Schema]) -> Schema:
    data = records.get(event.record, {"type": "object"})
    envelope: Schema = {
        "type": "object",
        "properties": {
            "object": {"const": "event"},
            "data": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "createdAt": {"type": "string", "format": "date-time"},
                    "eventType": {"const": event.name},
                    "eventData": data,
                },
                "required": ["id", "createdAt", "eventType", "eventData"],
            },
        },
        "required": ["object", "data"],
    }
    return {
        "post": {
            "operationId": "on" + "".join(part.capitalize() for part in event.name.replace("_", ".").split(".")),
            "summary": f"Sent when {event.when}",
            "requestBody": {"required": True, "content": {"application/json": {"schema": envelope}}},
            "responses": {"2XX": {"description": "Taken; anything else is tried again."}},
        }
    }

"""The API description (OpenAPI 3.1), generated from the declared endpoints."""

import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from almoner.kit.errors import (
    ContentTooLarge,
    CursorError,
    Forbidden,
    IdempotencyKeyInUse,
    IncorrectParams,
    InternalError,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    OriginalCallInProgress,
    Problem,
    RateExceeded,
    RequestHeadersTooLarge,
    SameKeyDifferentData,
    ServiceUnavailable,
    Unauthorised,
    UnsupportedContentType,
)
from almoner.kit.ids import RecordIdCodec
from almoner.platform.events.event_types import EventType
from almoner.platform.http import conventions, operation_links, response_schemas
from almoner.platform.http import schema_components as components
from almoner.platform.http.caller import KeyKind
from almoner.platform.http.conventions import Schema
from almoner.platform.http.descriptions import ApiDescriptions
from almoner.platform.http.endpoints import Endpoint
from almoner.platform.http.examples import ExampleBuilder
from almoner.platform.http.ids import ID_TYPE_KEYWORD
from almoner.platform.http.schema_components import IdentifierSchemas, OpenApiComponents
from almoner.platform.http.uploads import UploadDeclaration
from almoner.platform.http.wire import PageQuery, Query, RequestBody, ResponseRecord

_DESCRIPTION: Final = """\
Validates nonprofits and takes donations for them.

Send your key in the `Authorization` header. Every POST honours `Idempotency-Key`. Lists are paged by cursor. Amounts \
are integers in the currency's minor unit. Errors always have the same shape; every operation lists its codes.

Requests with unknown parameters or members, or with values that are not listed, are rejected with 400. We can add to \
responses and events: ignore members that you do not know, and accept statuses, types and codes that are not listed yet.

Directories can manage members with SCIM 2.0 at `/scim/v2`. `/scim/v2/ServiceProviderConfig` describes the details.
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

_IDEMPOTENCY_KEY: Final[Schema] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Prevents duplicates: a repeated request within 21 days gets the first response.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,255}$", "examples": ["order-1024"]},
}
_PAGING: Final[Schema] = PageQuery.model_json_schema()["properties"]
_CLAUSE_ENDS: Final = re.compile(r"[.:;]\s")


@dataclass(frozen=True, slots=True)
class _Known:
    """What operations refer to: shared components, names of records and bodies, and the example builder."""

    shared: OpenApiComponents
    records: Mapping[type[ResponseRecord], str]
    bodies: Mapping[type[RequestBody], str]
    ids: RecordIdCodec
    examples: ExampleBuilder
    texts: ApiDescriptions
    identifiers: IdentifierSchemas


def build_openapi_document(
    endpoints: Sequence[Endpoint], ids: RecordIdCodec, server: str, version: str, events: Collection[EventType]
) -> Schema:
    """Build the whole description of an API at ``server``."""
    events = list(events)
    known = _describe_components(endpoints, events, ids)
    links = operation_links.find_links(endpoints)
    paths: Schema = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, known, links)
    tags = dict.fromkeys([*(endpoint.tag for endpoint in endpoints), response_schemas.WEBHOOK_TAG])
    result: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "Almoner",
            "version": version,
            "description": _DESCRIPTION,
            "contact": {"name": "The operator of this service", "url": server},
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": server}],
        "tags": [known.texts.describe_tag(tag) for tag in tags],
        "paths": dict(sorted(paths.items())),
        "webhooks": {one.name: response_schemas.webhook_schema(one, known.shared) for one in events},
        "components": {
            "responses": dict(sorted(known.shared.responses.items())),
            "headers": response_schemas.HEADERS,
            "securitySchemes": {
                "secretKey": _key_scheme("The secret key, after `Bearer` or as the user name of HTTP Basic."),
                "publishableKey": _key_scheme("The publishable key; a secret key is accepted too."),
                "webhookSignature": response_schemas.WEBHOOK_SIGNATURE,
            },
            "parameters": dict(sorted(known.shared.parameters.items())),
            "examples": dict(sorted(known.shared.examples.items())),
        },
    }
    schemas = known.shared.schemas
    used = _used_schemas(result, schemas)
    described = {name: _with_examples(name, schema, known) for name, schema in schemas.items() if name in used}
    result = known.identifiers.replace_inline_ids(result)
    described = known.identifiers.replace_inline_ids(described) | known.identifiers.schemas
    result["components"]["schemas"] = dict(sorted(described.items()))
    return result


def _describe_components(endpoints: Sequence[Endpoint], events: Sequence[EventType], ids: RecordIdCodec) -> _Known:
    """The schemas of records, bodies, errors and events, each member with its description."""
    texts = ApiDescriptions()
    record_schemas, records = components.response_record_schemas(endpoints, events, ids)
    body_schemas, bodies = components.request_body_schemas(endpoints, ids)
    shared = OpenApiComponents()
    for name, schema in record_schemas.items():
        shared.add_component(
            "schemas", name, components.map_schema(texts.describe_schema(name, schema), components.mark_enum_extensible)
        )
    for name, schema in body_schemas.items():
        shared.add_component("schemas", name, texts.describe_schema(name, schema))
    codes = {problem.code for endpoint in endpoints for problem in errors_of_endpoint(endpoint)}
    codes |= {problem.code for problem in (MethodNotAllowed, RequestHeadersTooLarge)}  # belong to no operation
    for name, schema in response_schemas.error_schemas(sorted(codes)).items():
        shared.add_component("schemas", name, schema)
    named = {record.object_name: name for record, name in reversed(records.items())}
    for name, schema in response_schemas.event_schemas(events, named, ids).items():
        shared.schemas[name] = schema
    identifiers = IdentifierSchemas(record_schemas, texts.identifier_descriptions)
    return _Known(shared, records, bodies, ids, ExampleBuilder(shared.schemas), texts, identifiers)


def _with_examples(name: str, schema: Schema, known: _Known) -> Schema:
    """Add an example to each member without nested members."""
    result = dict(schema)
    if "properties" in result:
        result["properties"] = {key: _with_example(name, key, one, known) for key, one in result["properties"].items()}
    if "allOf" in result:
        result["allOf"] = [_with_examples(name, part, known) for part in result["allOf"]]
    return result


def _with_example(place: str, name: str, property_: Schema, known: _Known) -> Schema:
    folded: Schema = components.map_schema(property_, components.collapse_nullable_union)
    if not components.is_scalar_without_example(folded):
        return folded
    kept = _with_identifiers(known.texts.find_example(place, name), known.ids)
    found = known.examples.field_examples(property_, name, kept)
    return {**folded, "examples": found} if found else folded


def _with_identifiers(example: Any, ids: RecordIdCodec) -> Any:
    """Replace ``id:donation`` in an example by an ID of this environment."""
    if isinstance(example, list):
        return [_with_identifiers(one, ids) for one in example]
    mark, _, type_ = example.partition(":") if isinstance(example, str) else ("", "", "")
    return ids.example_id(type_) if mark == "id" else example


def _used_schemas(place: Any, schemas: Schema) -> set[str]:
    """The referenced schemas, including those that they reference."""
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
    own = {components.reference_name(place)} if str(place.get("$ref", "")).startswith(components.SCHEMAS) else set()
    return own.union(*(_references(value) for value in place.values()))


def _key_scheme(description: str) -> Schema:
    return {"type": "apiKey", "in": "header", "name": "Authorization", "description": description}


def errors_of_endpoint(endpoint: Endpoint) -> list[type[Problem]]:
    """All errors that an endpoint can return."""
    found: list[type[Problem]] = [IncorrectParams]
    if endpoint.query is not None and issubclass(endpoint.query, PageQuery):
        found.append(CursorError)
    if endpoint.method == "POST" and endpoint.key is not KeyKind.NONE:
        found += [OriginalCallInProgress, SameKeyDifferentData, IdempotencyKeyInUse]
    if endpoint.key is not KeyKind.NONE:
        found += [Unauthorised, Forbidden]
    if "{" in endpoint.path:
        found.append(NotFound)
    if endpoint.method != "GET":
        found.append(ContentTooLarge)
        if endpoint.upload is None:
            found.append(UnsupportedContentType)
    if endpoint.other_media_type:
        found.append(NotAcceptable)
    found += [*endpoint.errors, RateExceeded, InternalError, ServiceUnavailable]
    return list(dict.fromkeys(found))


def _operation(endpoint: Endpoint, known: _Known, links: operation_links.Links) -> Schema:
    reported = components.docstring_markdown(inspect.getdoc(endpoint.handler) or "")
    operation: Schema = {
        "operationId": endpoint.operation_id,
        "tags": [endpoint.tag],
        "summary": _CLAUSE_ENDS.split(reported, maxsplit=1)[0].rstrip("."),
        "description": f"{reported}\n\n{_NEEDS[endpoint.key].format(scope=endpoint.scope)}",
        "parameters": _parameters(endpoint, known),
        "responses": _responses(endpoint, known, links),
        "security": _SECURITY[endpoint.key],
    }
    if endpoint.scope:
        operation["x-scope"] = endpoint.scope
    if endpoint.deprecation:
        operation["deprecated"] = True
    if body := _request_body(endpoint, known):
        operation["requestBody"] = body
    return operation


def _request_body(endpoint: Endpoint, known: _Known) -> Schema | None:
    if endpoint.upload is not None:
        return _upload_body(endpoint, endpoint.upload, known)
    if endpoint.body is None:
        return None
    schema = {"$ref": components.SCHEMAS + known.bodies[endpoint.body]}
    content: Schema = {"schema": schema, "example": known.examples.request_example(schema)}
    required = bool(known.shared.resolve(schema).get("required"))
    return {"required": required, "content": {"application/json": content}}


def _upload_body(endpoint: Endpoint, upload: UploadDeclaration, known: _Known) -> Schema:
    """The schema of a form: a file and its text fields."""
    media_types = ", ".join(upload.media_types)
    part = {
        "type": "string",
        "format": "binary",
        "description": f"The file: {media_types}; at most {upload.max_bytes:,} bytes.",
    }
    name = components.request_schema_name(endpoint)
    beside: Schema = known.shared.schemas.pop(name) if endpoint.body is not None else {"description": "A file."}
    fields: Schema = {
        "type": "object",
        "additionalProperties": False,
        **beside,
        "properties": {**beside.get("properties", {}), upload.form_field_name: part},
        "required": [*beside.get("required", ()), upload.form_field_name],
    }
    content = {
        "schema": known.shared.add_component("schemas", name, fields),
        "encoding": {upload.form_field_name: {"contentType": media_types}},
    }
    return {"required": True, "content": {"multipart/form-data": content}}


def _parameters(endpoint: Endpoint, known: _Known) -> list[Schema]:
    found: list[Schema] = []
    for name, mark in endpoint.path_parameters.items():
        found.append(_path_parameter(endpoint, name, mark.type if mark else None, known))
    if endpoint.query is not None:
        found += _query_parameters(endpoint, endpoint.query, known)
    for name, reported in endpoint.request_headers.items():
        schema = {"type": "string", "examples": [conventions.field_example(name) or "true"]}
        found.append({"name": name, "in": "header", "required": False, "description": reported, "schema": schema})
    if endpoint.method == "POST" and endpoint.key is not KeyKind.NONE:
        found.append(known.shared.add_component("parameters", "IdempotencyKey", _IDEMPOTENCY_KEY))
    return found


def _path_parameter(endpoint: Endpoint, name: str, type_: str | None, known: _Known) -> Schema:
    result: Schema = {"name": name, "in": "path", "required": True}
    if type_ is None:
        schema: Schema = {"type": "string", "minLength": 1, "examples": [conventions.example_for_path_parameter(name)]}
        return {
            **result,
            "description": known.texts.parameter_description(endpoint.operation_id, name),
            "schema": schema,
        }
    schema = components.fill_id_patterns({"type": "string", ID_TYPE_KEYWORD: type_}, known.ids)
    shared = known.identifiers.schema_name(type_) if name == "id" else f"{name[0].upper()}{name[1:]}Path"
    told = known.texts.identifier_descriptions.get(type_, "")
    return known.shared.add_component("parameters", shared, {**result, "description": told, "schema": schema})


def _query_parameters(endpoint: Endpoint, model: type[Query], known: _Known) -> list[Schema]:
    schema = model.model_json_schema()
    required = schema.get("required", [])
    found = []
    for name, property_ in schema["properties"].items():
        cleaned = components.fill_id_patterns(
            components.remove_titles_and_format_descriptions(_without_null(property_)), known.ids
        )
        also = cleaned.pop("also", name.removesuffix("[]") if name.endswith("[]") else None)
        description = cleaned.pop("description", None) or known.texts.parameter_description(endpoint.operation_id, name)
        entry: Schema = {"name": name, "in": "query", "required": name in required}
        if description:
            entry["description"] = description + (f" Also accepted as `{also}`." if also else "")
        if cleaned.get("type") == "array":
            entry |= {"style": "form", "explode": True}
        entry["schema"] = _with_example(endpoint.operation_id, name, cleaned, known)
        found.append(_shared_paging(name, entry, known) if property_ == _PAGING.get(name) else entry)
    return found


def _shared_paging(name: str, parameter: Schema, known: _Known) -> Schema:
    return known.shared.add_component("parameters", f"{name[0].upper()}{name[1:]}", parameter)


def _without_null(property_: Schema) -> Schema:
    """An absent query parameter is absent, never null."""
    options = [option for option in property_.get("anyOf", ()) if option.get("type") != "null"]
    cleaned = {key: value for key, value in property_.items() if key not in ("anyOf", "default")}
    if options:
        cleaned |= options[0] if len(options) == 1 else {"anyOf": options}
    if property_.get("default") is not None:
        cleaned["default"] = property_["default"]
    return {key: value for key, value in cleaned.items() if value is not None}


def _responses(endpoint: Endpoint, known: _Known, links: operation_links.Links) -> Schema:
    success: Schema = {
        "description": "Done. The response has no body." if endpoint.empty_status else "Done.",
        "headers": response_schemas.header_schemas(endpoint),
    }
    if not endpoint.empty_status:
        success["content"] = {"application/json": {"schema": _response_schema(endpoint, known)}}
    if endpoint.other_media_type:
        success["content"][endpoint.other_media_type] = {"schema": {"type": "string", "format": "binary"}}
    if found := links.get(endpoint.operation_id):
        success["links"] = found
    problems = errors_of_endpoint(endpoint)
    return {str(endpoint.empty_status or 200): success, **response_schemas.error_responses(problems, known.shared)}


def _response_schema(endpoint: Endpoint, known: _Known) -> Schema:
    """The envelope of a record or list."""
    record = endpoint.record_type
    if record is None:
        name, schema = "AnyRecord", response_schemas.ANY_RECORD
    else:
        name = known.records[record] + ("List" if endpoint.is_list else "Response")
        path = endpoint.path
        for part, mark in endpoint.path_parameters.items():
            example = known.ids.example_id(mark.type) if mark else str(conventions.example_for_path_parameter(part))
            path = path.replace(f"{{{part}}}", example)
        schema = response_schemas.envelope_schema(endpoint, path, record, known.records[record], known.shared)
    return known.shared.add_component("schemas", name, known.texts.describe_schema(name, schema))

"""Shared parts of the API description: envelopes, error responses, headers, webhooks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from almoner.kit.errors import Problem, RateExceeded, ServiceUnavailable
from almoner.kit.ids import Ids
from almoner.platform.events.event_types import EventType
from almoner.platform.http import conventions, errors
from almoner.platform.http.conventions import Schema
from almoner.platform.http.endpoints import Endpoint
from almoner.platform.http.examples import ExampleBuilder
from almoner.platform.http.ids import ID_TYPE_KEYWORD
from almoner.platform.http.wire import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, PageQuery, ResponseRecord

_SCHEMAS: Final = "#/components/schemas/"
ERROR: Final[Schema] = {
    "type": "object",
    "description": "What every answer but a success holds.",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "For programs: never changes its meaning."},
                "title": {"type": "string"},
                "message": {"type": "string", "description": "For people; may be reworded."},
                "reasons": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "One sentence for each problem, naming its field; may be empty.",
                },
            },
            "required": ["code", "title", "message", "reasons"],
        }
    },
    "required": ["error"],
}

ANY_RECORD: Final[Schema] = {
    "type": "object",
    "description": "The record; `object` says of which kind.",
    "properties": {"data": {"type": "object"}, "object": {"type": "string", "examples": ["donation"]}},
    "required": ["data", "object"],
}

HEADERS: Final[Schema] = {
    "Request-Id": {
        "description": "Names this call in our logs.",
        "schema": {"type": "string", "pattern": "^req_[0-9a-f]{32}$"},
    },
    "RateLimit": {
        "description": "What is left of the limit, and seconds until it is full again.",
        "schema": {"type": "string", "examples": ['"secret";r=49;t=1']},
    },
    "RateLimit-Policy": {
        "description": "The limit: calls at once, and the window in seconds.",
        "schema": {"type": "string", "examples": ['"secret";q=50;w=2']},
    },
    "Retry-After": {"description": "Whole seconds to wait.", "schema": {"type": "integer", "minimum": 1}},
}


_OPEN_ENUM: Final = "x-extensible-enum"


def mark_enums_extensible(schema: Any) -> Any:
    """A response schema in which enums are open, so that new values do not break clients."""
    if isinstance(schema, list):
        return [mark_enums_extensible(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: mark_enums_extensible(value) for key, value in schema.items()}
    values = made.pop("enum", None)
    if not isinstance(values, list):  # a member of that name
        return made if values is None else {**made, "enum": values}
    listed = ", ".join(f"`{value}`" for value in values)
    reported = " ".join(filter(None, (made.get("description"), f"Today one of {listed}; more may come.")))
    return {"type": "string", **made, _OPEN_ENUM: values, "description": reported}


def common_header_refs() -> Schema:
    """References to the headers that every response carries."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ("Request-Id", "RateLimit", "RateLimit-Policy")}


def envelope_schema(endpoint: Endpoint, record: type[ResponseRecord], ref: str, ids: Ids) -> Schema:
    """The schema of ``{data, object}``, or of the list form (spec 2.1)."""
    name: Schema = {"const": record.object_name}
    if not endpoint.is_list:
        properties: Schema = {"data": {"$ref": ref}, "object": name}
        return {"type": "object", "properties": properties, "required": list(properties)}
    address = {"type": ["string", "null"], "format": "uri"}
    path = endpoint.path
    for parameter, mark in endpoint.path_parameters.items():
        path = path.replace(f"{{{parameter}}}", ids.example(mark.type) if mark else parameter)
    current = {"type": "string", "format": "uri", "examples": [f"https://api.example.org{path}"]}
    properties = {
        "data": {"type": "array", "items": {"$ref": ref}},
        "object": name,
        "totalResults": {"type": "integer", "minimum": 0, "examples": [1]},
        "pageSize": {"type": "integer", "minimum": 0, "examples": [DEFAULT_PAGE_SIZE]},
        "_links": {
            "type": "object",
            "properties": {"current": current, "next": address, "prev": address},
            "required": ["current", "next", "prev"],
        },
    }
    if endpoint.query is not None and issubclass(endpoint.query, PageQuery):
        properties["pageSize"] |= {"minimum": 1, "maximum": MAX_PAGE_SIZE}
        if "page" in endpoint.query.model_fields:
            ends = {"type": "string", "format": "uri", "description": "With `page` alone."}
            properties["_links"]["properties"] |= {"first": ends, "last": ends}
    required = list(properties)
    if endpoint.beside is not None:
        _, found = msgspec.json.schema_components([endpoint.beside], ref_template="{name}")
        more = found[endpoint.beside.__name__]
        properties |= more["properties"]
        required += more["required"]
    return {"type": "object", "properties": properties, "required": required}


def header_schemas(endpoint: Endpoint) -> Schema:
    """The headers of an endpoint's success response."""
    own = {name: {"description": reported, "schema": {"type": "string"}} for name, reported in endpoint.headers.items()}
    return {**common_header_refs(), **own}


def error_responses(problems: Sequence[type[Problem]]) -> Schema:
    """An operation's error responses by status."""
    by_status: dict[int, list[type[Problem]]] = {}
    for problem in problems:
        by_status.setdefault(errors.http_status_of_problem(problem), []).append(problem)
    return {
        str(status): (
            {"$ref": f"#/components/responses/{found[0].__name__}"} if len(found) == 1 else _error_response(found)
        )
        for status, found in sorted(by_status.items())
    }


def shared_error_responses(problems: Iterable[type[Problem]]) -> Schema:
    """The shared response component of each problem."""
    return {
        problem.__name__: _error_response([problem])
        for problem in sorted(dict.fromkeys(problems), key=lambda problem: problem.__name__)
    }


def _error_response(problems: Sequence[type[Problem]]) -> Schema:
    examples: Schema = {}
    for problem in problems:
        reported = {"code": problem.code, "title": problem.title, "message": problem.message, "reasons": []}
        again = sum(name.split()[0] == problem.code for name in examples)  # finer messages under one code
        examples[f"{problem.code} {again + 1}" if again else problem.code] = {"value": {"error": reported}}
    codes = list(dict.fromkeys(problem.code for problem in problems))
    headers = common_header_refs()
    if RateExceeded in problems or ServiceUnavailable in problems:
        headers["Retry-After"] = {"$ref": "#/components/headers/Retry-After"}
    return {
        "description": "; ".join(f"`{problem.code}`: {problem.message}" for problem in problems),
        "headers": headers,
        "content": {
            "application/json": {
                "schema": {
                    "allOf": [{"$ref": "#/components/schemas/Error"}],
                    "properties": {
                        "error": {"type": "object", "properties": {"code": {"type": "string", _OPEN_ENUM: codes}}}
                    },
                },
                "examples": examples,
            }
        },
    }


EVENT: Final = "Event"
"""The schema of every event; ``eventType`` tells which of the others an event is."""


def event_schemas(events: Sequence[EventType], records: Mapping[str, str], ids: Ids) -> Schema:
    """One schema of all events, and one of each type. ``records``: ``object`` name to the reference of its schema."""
    properties: Schema = {
        "id": {
            "type": "string",
            ID_TYPE_KEYWORD: "event",
            "pattern": ids.pattern("event"),
            "examples": [ids.example("event")],
        },
        "sequence": {
            "type": "integer",
            "minimum": 1,
            "description": "Its number, without gaps for each partner. Listed events have it; deliveries do not.",
        },
        "createdAt": {"type": "string", "format": "date-time", "examples": [conventions.MOMENT]},
        "eventType": {"type": "string"},
        "eventData": {
            "type": "object",
            "description": "The record as its GET showed it when the event happened; it never changes.",
        },
    }
    made: Schema = {
        EVENT: {
            "description": "An event. Its `eventType` says what `eventData` is; clients must accept types that they do "
            "not know.",
            "type": "object",
            "properties": properties,
            "required": ["id", "createdAt", "eventType", "eventData"],
            "discriminator": {
                "propertyName": "eventType",
                "mapping": {event.name: f"{_SCHEMAS}{_event_schema_name(event)}" for event in events},
            },
        }
    }
    for event in events:
        ref = records.get(event.record)
        own: Schema = {
            "eventType": {"const": event.name},
            "eventData": {"$ref": ref} if ref else {"type": "object"},
        }
        made[_event_schema_name(event)] = {
            "description": f"Sent when {event.when}.",
            "allOf": [
                {"$ref": f"{_SCHEMAS}{EVENT}"},
                {"type": "object", "properties": own, "required": ["eventType", "eventData"]},
            ],
        }
    return made


def _event_schema_name(event: EventType) -> str:
    return f"{_pascal(event)}{EVENT}"


def _pascal(event: EventType) -> str:
    return "".join(word.capitalize() for word in event.name.replace("_", ".").split("."))


def webhook_schema(event: EventType, examples: ExampleBuilder) -> Schema:
    """The schema of a webhook that a receiver gets."""
    data: Schema = {"$ref": f"{_SCHEMAS}{_event_schema_name(event)}"}
    schema: Schema = {
        "type": "object",
        "properties": {"object": {"const": "event"}, "data": data},
        "required": ["object", "data"],
    }
    content = {"schema": schema, "example": examples.response_example(schema)}
    return {
        "post": {
            "operationId": f"on{_pascal(event)}",
            "summary": f"Sent when {event.when}",
            "description": f"Sent when {event.when}. `eventData` is the record as its GET showed it at that moment.",
            "requestBody": {"required": True, "content": {"application/json": content}},
            "responses": {
                "2XX": {"description": "Taken; anything else is tried again."},
                "410": {"description": "Gone: nothing more is sent to this subscription until it is resumed."},
            },
        }
    }

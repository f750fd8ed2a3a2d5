"""Shared parts of the API description: envelopes, error responses, headers, webhooks."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from almoner.kit.errors import (
    CursorError,
    IdempotencyKeyInUse,
    IncorrectParams,
    OriginalCallInProgress,
    Problem,
    RateExceeded,
    SameKeyDifferentData,
    ServiceUnavailable,
)
from almoner.kit.ids import RecordIdCodec
from almoner.platform.events.event_types import EventType
from almoner.platform.http import conventions, errors
from almoner.platform.http.conventions import Schema
from almoner.platform.http.endpoints import Endpoint
from almoner.platform.http.ids import ID_TYPE_KEYWORD
from almoner.platform.http.schema_components import OPEN_ENUM, SCHEMAS, OpenApiComponents
from almoner.platform.http.wire import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, PageQuery, ResponseRecord

_OBJECT: Final = "The type of `data`."
_LINK: Final[Schema] = {"type": ["string", "null"], "format": "uri"}
_LINKS: Final[Schema] = {
    "type": "object",
    "description": "Links to this page of a list and to those around it, with all filters.",
    "properties": {
        "current": {
            "type": "string",
            "format": "uri",
            "description": "This page.",
            "examples": ["https://api.example.org/v1/donations"],
        },
        "next": {**_LINK, "description": "The next page; null on the last one."},
        "prev": {**_LINK, "description": "The previous page; null on the first one."},
    },
    "required": ["current", "next", "prev"],
}
_END: Final[Schema] = {"type": "string", "format": "uri"}
_NUMBERED_LINKS: Final[Schema] = {
    **_LINKS,
    "properties": {
        **_LINKS["properties"],
        "first": {**_END, "description": "The first page, where `page` was given."},
        "last": {**_END, "description": "The last page, where `page` was given."},
    },
}
WEBHOOK_SIGNATURE: Final[Schema] = {
    "type": "apiKey",
    "in": "header",
    "name": "webhook-signature",
    "description": "We sign what we send: `v1,` and the Base64 of HMAC-SHA256 over `webhook-id`, `webhook-timestamp` "
    "and the body as it came, joined by dots, under the secret of the subscription (Standard Webhooks). After a "
    "rotation there are two, with a space between them.",
}


_TAKEN: Final = {"description": "Accepted. After any other response, the delivery is retried."}
_GONE: Final = {"description": "Gone: the subscription is suspended until you resume it."}
_IDEMPOTENCY: Final = {OriginalCallInProgress, SameKeyDifferentData, IdempotencyKeyInUse}
_COMMON_ERRORS: Final = {
    frozenset({IncorrectParams, CursorError}): "InvalidListRequest",
    frozenset({IncorrectParams, *_IDEMPOTENCY}): "InvalidPost",
}
"""Sets of errors with one status that many operations share, with their response names."""


def error_schemas(codes: Sequence[str]) -> Schema:
    """Schemas of all error responses; ``codes``: all current error codes."""
    listed = {"type": "string", "description": "Code for programs; its meaning never changes."}
    return {
        "Error": {
            "type": "object",
            "description": "The body of every error response.",
            "properties": {"error": {"$ref": f"{SCHEMAS}ErrorDetails", "description": "What went wrong."}},
            "required": ["error"],
        },
        "ErrorDetails": {
            "type": "object",
            "description": "What went wrong, for programs and for people.",
            "properties": {
                "code": {**listed, OPEN_ENUM: list(codes), "examples": ["bad_request"]},
                "title": {"type": "string", "description": "The kind of error.", "examples": ["Bad request"]},
                "message": {
                    "type": "string",
                    "description": "A message for people; its wording can change.",
                    "examples": ["One or more of the inputs were invalid"],
                },
                "reasons": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "One sentence for each problem, naming its field; may be empty.",
                    "examples": [["body.organisationId is required"]],
                },
            },
            "required": ["code", "title", "message", "reasons"],
        },
    }


ANY_RECORD: Final[Schema] = {
    "type": "object",
    "description": "The record; `object` says of which kind.",
    "properties": {
        "data": {"type": "object", "description": "The record."},
        "object": {"type": "string", "description": _OBJECT, "examples": ["donation"]},
    },
    "required": ["data", "object"],
}

HEADERS: Final[Schema] = {
    "Request-Id": {
        "description": "The ID of this request in our logs. In every response.",
        "schema": {
            "type": "string",
            "pattern": "^req_[0-9a-f]{32}$",
            "examples": ["req_0190f2c45a2e7cc39a4b1d2e3f405162"],
        },
    },
    "RateLimit": {
        "description": "The remaining requests, and the seconds until the limit is full again. In every response "
        "to a key.",
        "schema": {"type": "string", "examples": ['"secret";r=49;t=1']},
    },
    "RateLimit-Policy": {
        "description": "The limit: the number of requests, and the window in seconds. In every response to a key.",
        "schema": {"type": "string", "examples": ['"secret";q=50;w=2']},
    },
    "Retry-After": {
        "description": "Seconds to wait, as a whole number.",
        "schema": {"type": "integer", "minimum": 1, "examples": [2]},
    },
}


def _header_refs(*names: str) -> Schema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def envelope_schema(
    endpoint: Endpoint, path: str, record: type[ResponseRecord], name: str, shared: OpenApiComponents
) -> Schema:
    """The schema of ``{data, object}``, or of the list form (spec 2.1). ``path``: an example of the endpoint's."""
    ref = {"$ref": f"{SCHEMAS}{name}"}
    kind: Schema = {"type": "string", "const": record.object_name, "description": _OBJECT}
    if not endpoint.is_list:
        one: Schema = {"data": {**ref, "description": "The record."}, "object": kind}
        return {"type": "object", "description": f"One `{name}`.", "properties": one, "required": list(one)}
    size: Schema = {"type": "integer", "minimum": 0, "description": "The requested page size."}
    links = ("Links", _LINKS)
    if endpoint.query is not None and issubclass(endpoint.query, PageQuery):
        size |= {"minimum": 1, "maximum": MAX_PAGE_SIZE}
        if "page" in endpoint.query.model_fields:
            links = ("NumberedLinks", _NUMBERED_LINKS)
    properties: Schema = {
        "data": {"type": "array", "items": ref, "description": "The records of this page."},
        "object": kind,
        "totalResults": {
            "type": "integer",
            "minimum": 0,
            "description": "The number of records on all pages.",
            "examples": [1],
        },
        "pageSize": {**size, "examples": [DEFAULT_PAGE_SIZE]},
        "_links": {
            **shared.add_component("schemas", *links),
            "description": "Links to this page and to those around it.",
            "examples": [{"current": f"https://api.example.org{path}", "next": None, "prev": None}],
        },
    }
    required = list(properties)
    if endpoint.list_extras is not None:
        _, found = msgspec.json.schema_components([endpoint.list_extras], ref_template="{name}")
        more = found[endpoint.list_extras.__name__]
        properties |= more["properties"]
        required += more["required"]
    description = f"A page of `{name}` records."
    return {"type": "object", "description": description, "properties": properties, "required": required}


def header_schemas(endpoint: Endpoint) -> Schema:
    """The headers of an endpoint's success response."""
    own = {name: {"description": reported, "schema": {"type": "string"}} for name, reported in endpoint.headers.items()}
    return {**_header_refs("Request-Id"), **own}


def error_responses(problems: Sequence[type[Problem]], shared: OpenApiComponents) -> Schema:
    """An operation's error responses by status; those with one error, and common sets of errors, are shared."""
    by_status: dict[int, list[type[Problem]]] = {}
    for problem in problems:
        by_status.setdefault(errors.http_status_of_problem(problem), []).append(problem)
    return {str(status): _error_response(found, shared) for status, found in sorted(by_status.items())}


def _error_response(problems: Sequence[type[Problem]], shared: OpenApiComponents) -> Schema:
    examples: Schema = {}
    for problem in problems:
        reported = {"code": problem.code, "title": problem.title, "message": problem.message, "reasons": []}
        shown = problem.code if problem.code not in examples else f"{problem.code} ({problem.message})"
        examples[shown] = shared.add_component("examples", _error_name(problem), {"value": {"error": reported}})
    headers = ["Request-Id"]
    if RateExceeded in problems:
        headers += ["RateLimit", "RateLimit-Policy"]  # every response has them: documenting them once is enough
    if RateExceeded in problems or ServiceUnavailable in problems:
        headers.append("Retry-After")
    one = problems[0]
    result = {
        "description": f"`{one.code}`: {one.message}." if len(problems) == 1 else "One of the errors in the examples.",
        "headers": _header_refs(*headers),
        "content": {"application/json": {"schema": {"$ref": f"{SCHEMAS}Error"}, "examples": examples}},
    }
    shared_name = _error_name(one) if len(problems) == 1 else _COMMON_ERRORS.get(frozenset(problems))
    return shared.add_component("responses", shared_name, result) if shared_name else result


def _error_name(problem: type[Problem]) -> str:
    """The component name of an error, such as ``DonationInvalidState``; narrower ones add their own name."""
    name = "".join(word.capitalize() for word in problem.code.replace("/", "_").split("_"))
    finer = any(getattr(base, "code", None) == problem.code for base in problem.__mro__[1:])
    return f"{name}{problem.__name__}" if finer else name


WEBHOOK_TAG: Final = "Webhook deliveries"
EVENT: Final = "Event"
"""The schema of every event; ``eventType`` selects the schema of its payload."""


def event_schemas(events: Sequence[EventType], records: Mapping[str, str], ids: RecordIdCodec) -> Schema:
    """One schema of all events, and one of each type. ``records``: ``object`` name to the name of its schema."""
    result: Schema = {
        EVENT: {
            "description": "An event. `eventType` determines the type of `eventData`. Clients must accept "
            "unknown types.",
            "type": "object",
            "properties": _event_members(events, ids),
            "required": ["id", "createdAt", "eventType", "eventData"],
            "discriminator": {
                "propertyName": "eventType",
                "mapping": {event.name: f"{SCHEMAS}{_event_schema_name(event)}" for event in events},
            },
        }
    }
    moment = result[EVENT]["properties"]["createdAt"]
    for event in events:
        name = records.get(event.record_type)
        data: Schema = {"$ref": f"{SCHEMAS}{name}"} if name else {"type": "object"}
        own: Schema = {  # Java refuses a narrower `eventType`; Go imports `time` only for an own `createdAt`
            "createdAt": moment,
            "eventType": {"type": "string", "description": "What happened.", "examples": [event.name]},
            "eventData": {**data, "description": "The record at the time of the event."},
        }
        result[_event_schema_name(event)] = {
            "description": f"Sent when {event.sent_when}.",
            "allOf": [{"$ref": f"{SCHEMAS}{EVENT}"}, {"type": "object", "properties": own, "required": list(own)}],
        }
    return result


def _event_members(events: Sequence[EventType], ids: RecordIdCodec) -> Schema:
    return {
        "id": {
            "type": "string",
            ID_TYPE_KEYWORD: "event",
            "pattern": ids.id_pattern("event"),
            "description": "Identifies the event; the same in each delivery.",
            "examples": [ids.example_id("event")],
        },
        "sequence": {
            "type": "integer",
            "minimum": 1,
            "description": "The event's number, without gaps for each partner. A delivery has it in its header "
            "`Service-Sequence`.",
            "examples": [1024],
        },
        "createdAt": {
            "type": "string",
            "format": "date-time",
            "description": "When it happened, in UTC.",
            "examples": [conventions.MOMENT],
        },
        "eventType": {
            "type": "string",
            OPEN_ENUM: [event.name for event in events],
            "description": "What happened. More types may be added.",
            "examples": [event.name for event in events[:1]],
        },
        "eventData": {
            "type": "object",
            "description": "The record as `GET` would have returned it then; it never changes.",
        },
    }


def _event_schema_name(event: EventType) -> str:
    return f"{_pascal(event)}{EVENT}"


def _pascal(event: EventType) -> str:
    return "".join(word.capitalize() for word in event.name.replace("_", ".").split("."))


def webhook_schema(event: EventType, shared: OpenApiComponents) -> Schema:
    """A webhook as a receiver gets it."""
    data: Schema = {"$ref": f"{SCHEMAS}{_event_schema_name(event)}", "description": "The event."}
    schema: Schema = {  # inline: some generators treat schemas used only by webhooks as unused
        "type": "object",
        "description": f"The body of a delivery of `{event.name}`.",
        "properties": {"object": {"type": "string", "const": "event", "description": _OBJECT}, "data": data},
        "required": ["object", "data"],
    }
    return {
        "post": {
            "operationId": f"on{_pascal(event)}",
            "tags": [WEBHOOK_TAG],
            "summary": f"Sent when {event.sent_when}",
            "description": "`eventData` contains the record.",
            "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
            "responses": {
                "2XX": shared.add_component("responses", "WebhookTaken", _TAKEN),
                "410": shared.add_component("responses", "WebhookGone", _GONE),
            },
            "security": [{"webhookSignature": []}],
        }
    }

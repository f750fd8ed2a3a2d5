"""Turns problems into error responses, and Pydantic errors into sentences."""

from typing import Any, Final

import msgspec
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from almoner.kit.errors import (
    MethodNotAllowed,
    NotFound,
    Problem,
    ProblemKind,
    RateExceeded,
    ServiceUnavailable,
    Unauthorised,
)
from almoner.platform.http.unknown_input import unknown_field_message
from almoner.platform.http.wire import ACROSS, METADATA

STATUS: Final = {
    ProblemKind.BAD_REQUEST: 400,
    ProblemKind.UNAUTHORISED: 401,
    ProblemKind.FORBIDDEN: 403,
    ProblemKind.NOT_FOUND: 404,
    ProblemKind.METHOD_NOT_ALLOWED: 405,
    ProblemKind.NOT_ACCEPTABLE: 406,
    ProblemKind.CONFLICT: 409,
    ProblemKind.PRECONDITION_FAILED: 412,
    ProblemKind.CONTENT_TOO_LARGE: 413,
    ProblemKind.UNSUPPORTED_CONTENT_TYPE: 415,
    ProblemKind.RATE_EXCEEDED: 429,
    ProblemKind.HEADERS_TOO_LARGE: 431,
    ProblemKind.INTERNAL: 500,
    ProblemKind.UNAVAILABLE: 503,
}

MAX_REASONS: Final = 100
"""The maximum number of reasons in one error response; the last one then says how many there are in total."""
_SOON: Final = b"2"  # Retry-After of a 503 response, in seconds


def http_status_of_problem(problem: Problem | type[Problem]) -> int:
    """The HTTP status of a problem."""
    return STATUS[problem.kind]


def headers_of_problem(problem: Problem) -> list[tuple[bytes, bytes]]:
    """The response headers of a problem: Allow, Data-As-Of, Retry-After, WWW-Authenticate."""
    match problem:
        case MethodNotAllowed(allow=allow):
            return [(b"allow", allow.encode())]
        case NotFound(data_as_of=day) if day is not None:
            return [(b"data-as-of", day.strftime("%Y-%m-%d").encode())]
        case RateExceeded(retry_after=seconds):
            return [(b"retry-after", str(seconds).encode())]
        case ServiceUnavailable():
            return [(b"retry-after", _SOON)]
        case Unauthorised():
            return [(b"www-authenticate", b'Bearer realm="almoner"')]
        case _:
            return []


def body_of_problem(problem: Problem) -> bytes:
    """The error object (spec 2.12) of a problem."""
    reasons = list(problem.reasons[:MAX_REASONS])
    if left := len(problem.reasons) - len(reasons):
        reasons.append(f"and {left} more problems")
    return msgspec.json.encode(
        {
            "error": {
                "code": problem.code,
                "title": problem.title,
                "message": problem.message,
                "reasons": reasons,
            }
        }
    )


_TYPES: Final = {
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "int_parsing": "must be an integer",
    "int_from_float": "must be an integer",
    "int_parsing_size": "must be a smaller integer",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be an array",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "datetime_type": "must be a date and time such as 2026-11-21T09:30:00.000Z",
    "missing": "is required",
}

_PATTERNS: Final = {
    "^[A-Z]{3}$": "must be three capital letters, such as USA for a country or USD for a currency",
}


def validation_error_message(error: ErrorDetails, location_prefix: str) -> str:
    """A Pydantic error as a sentence that names the field: ``body.email is required``."""
    field = ".".join([location_prefix, *(str(part) for part in error["loc"])])
    context: dict[str, Any] = error.get("ctx", {})
    match error["type"]:
        case kind if kind in _TYPES:
            return f"{field} {_TYPES[kind]}"
        case "value_error":
            return f"{field} {context['error']}"
        case "string_too_long":
            return f"{field} must be at most {context['max_length']} characters"
        case "string_too_short":
            return f"{field} must be at least {context['min_length']} character{'s' * (context['min_length'] > 1)}"
        case "too_long":
            return f"{field} must have at most {context['max_length']} entries"
        case "too_short":
            return (
                f"{field} must have at least {context['min_length']} entr{'ies' if context['min_length'] > 1 else 'y'}"
            )
        case "string_pattern_mismatch":
            pattern = context["pattern"]
            return f"{field} {_PATTERNS.get(pattern, f'must match the pattern {pattern}')}"
        case "literal_error" | "enum":
            return f"{field} must be one of {context['expected']}"
        case "json_invalid":
            return f"{location_prefix} is not valid JSON: {context['error']}"
        case _:
            return f"{field} {error['msg'].replace('Input should', 'must', 1)}"


_UNION_TAGS: Final = frozenset(
    {"str", "bool", "int", "float", "constrained-str", "constrained-int", "constrained-float"}
)


def validation_error_messages(
    validation_error: ValidationError,
    location_prefix: str,
    model: type[BaseModel] | None = None,
    record: type[msgspec.Struct] | None = None,
) -> list[str]:
    """All Pydantic errors of a model as sentences, one for each union.

    ``record``: the call's response record; its members that ``model`` lacks are reported as read-only.
    """
    by_field: dict[str, list[str]] = {}
    for error in validation_error.errors(include_url=False, include_input=False):
        if error["type"] == "extra_forbidden":
            if len(by_field) < MAX_REASONS:
                reported = unknown_field_message(location_prefix, error["loc"], model, record)
            else:  # counted, but not shown
                reported = ".".join(map(str, error["loc"]))
            by_field[reported] = [reported]
            continue
        if error["type"] == METADATA:
            by_field.update({reported: [reported] for reported in error["ctx"]["problems"]})
            continue
        location = error["loc"][:-1] if error["loc"] and error["loc"][-1] in _UNION_TAGS else error["loc"]
        location = location if error["type"] != ACROSS else location[:-1]
        reported = validation_error_message({**error, "loc": location}, location_prefix)
        field = ".".join([location_prefix, *(str(part) for part in location)])
        by_field.setdefault(field, []).append(reported.removeprefix(field + " "))
    return [_join_sentences(field, reported) for field, reported in by_field.items()]


def _join_sentences(field: str, reported: list[str]) -> str:
    first, *others = dict.fromkeys(reported)
    if not others:
        return first if first.startswith(field) else f"{field} {first}"
    return f"{field} {' or '.join([first, *(other.removeprefix('must be ') for other in others)])}"

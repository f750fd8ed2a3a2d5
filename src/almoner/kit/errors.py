"""Errors that a partner may see (spec 7, settled 3).

Problem
├── BadRequest 400 ── one subclass per domain code, beside the slice that raises it
│   ├── IncorrectParams, CursorError
│   └── OriginalCallInProgress, SameKeyDifferentData, IdempotencyKeyInUse
├── Unauthorised 401 · Forbidden 403 · NotFound 404 · MethodNotAllowed 405 · NotAcceptable 406
├── Conflict 409 · PreconditionFailed 412 · ContentTooLarge 413 · UnsupportedContentType 415
├── RateExceeded 429 · RequestHeadersTooLarge 431
└── InternalError 500 · ServiceUnavailable 503

Each class is one code of the documented catalogue; ``reasons`` are sentences that name the field.
"""

from datetime import datetime
from enum import Enum, auto
from typing import ClassVar


class ProblemKind(Enum):
    """The kind of failure; only ``platform.http.errors`` maps it to a status."""

    BAD_REQUEST = auto()
    UNAUTHORISED = auto()
    FORBIDDEN = auto()
    NOT_FOUND = auto()
    METHOD_NOT_ALLOWED = auto()
    NOT_ACCEPTABLE = auto()
    CONFLICT = auto()
    PRECONDITION_FAILED = auto()
    CONTENT_TOO_LARGE = auto()
    UNSUPPORTED_CONTENT_TYPE = auto()
    RATE_EXCEEDED = auto()
    HEADERS_TOO_LARGE = auto()
    INTERNAL = auto()
    UNAVAILABLE = auto()


_CATALOGUE: dict[str, "type[Problem]"] = {}


class Problem(Exception):
    """An expected error, reported to the caller with its code, message and reasons."""

    kind: ClassVar[ProblemKind]
    code: ClassVar[str]
    title: ClassVar[str]
    message: ClassVar[str]

    def __init__(self, *reasons: str) -> None:
        super().__init__(self.code, *reasons)
        self.reasons = reasons

    def __init_subclass__(cls) -> None:
        if "code" not in vars(cls):
            return  # a finer message under its parent's code
        known = _CATALOGUE.setdefault(cls.code, cls)
        if known is not cls and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(f"error code {cls.code} is declared by {known.__qualname__} and by {cls.__qualname__}")


def problem_types_by_code() -> dict[str, type[Problem]]:
    """Every declared code with its class, sorted by code."""
    return dict(sorted(_CATALOGUE.items()))


class IncorrectParams(Problem):
    """Something in path, query, headers or body is invalid; the reasons name every field."""

    kind = ProblemKind.BAD_REQUEST
    code = "bad_request"
    title = "Bad request"
    message = "One or more of the inputs were invalid"


class BadRequest(Problem):
    """Base of the domain codes: the input was well formed but cannot be acted on."""

    kind = ProblemKind.BAD_REQUEST
    code = "bad_request/abstract"
    title = "Bad request"
    message = ""


del _CATALOGUE[BadRequest.code]  # a base for others, never sent


class CursorError(BadRequest):
    code = "pagination/cursor_error"
    message = "The cursor is not valid for this list; start again from the first page"


class OriginalCallInProgress(BadRequest):
    code = "idempotency/original_call_in_progress"
    message = "The first request with this Idempotency-Key is still in progress; try again later"


class SameKeyDifferentData(BadRequest):
    code = "idempotency/same_key_different_data"
    message = "This Idempotency-Key was used with different data; send the same data again or use a new key"


class IdempotencyKeyInUse(BadRequest):
    code = "idempotency/key_already_in_use"
    message = "This Idempotency-Key was used on another route; use a new key"


class Unauthorised(Problem):
    kind = ProblemKind.UNAUTHORISED
    code = "unauthorized"
    title = "Unauthorised"
    message = "The Authorization header does not contain a valid API key for this environment"


class Forbidden(Problem):
    kind = ProblemKind.FORBIDDEN
    code = "forbidden"
    title = "Forbidden"
    message = "This API key does not have permission to do that"


class AccountPaused(Forbidden):
    """The operators have paused donations through the partner."""

    message = "This account is paused"


class NotFound(Problem):
    """``data_as_of``: the date (00:00 UTC) of the data that do not contain the record, if known."""

    kind = ProblemKind.NOT_FOUND
    code = "not_found"
    title = "Not Found"
    message = "The resource does not exist"

    def __init__(self, *reasons: str, data_as_of: datetime | None = None) -> None:
        super().__init__(*reasons)
        self.data_as_of = data_as_of


class MethodNotAllowed(Problem):
    """``allow``: the methods that the endpoint supports, as in the Allow header."""

    kind = ProblemKind.METHOD_NOT_ALLOWED
    code = "method_not_allowed"
    title = "Method Not Allowed"
    message = "This endpoint does not support that method; the Allow header lists the supported methods"

    def __init__(self, method: str, allow: str) -> None:
        super().__init__(f"{method} is not supported here; use one of {allow}")
        self.allow = allow


class NotAcceptable(Problem):
    kind = ProblemKind.NOT_ACCEPTABLE
    code = "not_acceptable"
    title = "Not Acceptable"
    message = "The response is not available in any media type that the Accept header allows"


class Conflict(Problem):
    kind = ProblemKind.CONFLICT
    code = "conflict"
    title = "Conflict"
    message = "Another request changed the resource at the same time; get the resource again and retry"


class PreconditionFailed(Problem):
    kind = ProblemKind.PRECONDITION_FAILED
    code = "precondition_failed"
    title = "Precondition Failed"
    message = "The resource has changed since the version in the request"


class ContentTooLarge(Problem):
    kind = ProblemKind.CONTENT_TOO_LARGE
    code = "content_too_large"
    title = "Content Too Large"
    message = "The request body is too large for this endpoint"


class UnsupportedContentType(Problem):
    kind = ProblemKind.UNSUPPORTED_CONTENT_TYPE
    code = "unsupported_content_type"
    title = "Unsupported Content Type"
    message = "This endpoint does not support the Content-Type of the request body"


class RateExceeded(Problem):
    """``retry_after``: whole seconds, at least 1."""

    kind = ProblemKind.RATE_EXCEEDED
    code = "rate_exceeded"
    title = "Too Many Requests"
    message = "Too many requests; wait for the time in the Retry-After header"

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after


class RequestHeadersTooLarge(Problem):
    kind = ProblemKind.HEADERS_TOO_LARGE
    code = "request_headers_too_large"
    title = "Request Header Fields Too Large"
    message = "The request line and headers are larger than 32 kB"


class InternalError(Problem):
    kind = ProblemKind.INTERNAL
    code = "internal_server_error"
    title = "Internal Server Error"
    message = "Something went wrong on our side; nothing was changed, so you can safely try again"


class ServiceUnavailable(Problem):
    kind = ProblemKind.UNAVAILABLE
    code = "service_unavailable"
    title = "Service Unavailable"
    message = "The service is temporarily unavailable; try again in a moment"

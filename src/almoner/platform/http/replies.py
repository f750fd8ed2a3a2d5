"""Encodes and sends responses: envelope and headers (settled 2, 8, 10)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
from starlette.types import Scope, Send

from almoner.kit.errors import Problem
from almoner.platform.http import errors
from almoner.platform.http.caller import RateLimitState
from almoner.platform.http.endpoints import Endpoint, EndpointDeprecation, RawResponse
from almoner.platform.http.paging import ListResponse

RawHeaders = list[tuple[bytes, bytes]]

_JSON: Final = b"application/json"
CORS: Final = (
    (b"access-control-allow-origin", b"*"),
    (
        b"access-control-expose-headers",
        b"Request-Id, RateLimit, RateLimit-Policy, Retry-After, Idempotent-Replayed, Data-As-Of",
    ),
)
_encoder = msgspec.json.Encoder()


@dataclass(slots=True)
class Reply:
    """A response that is about to be sent."""

    status: int
    body: bytes
    headers: RawHeaders
    media_type: bytes = _JSON


def allow_header(methods: Iterable[str]) -> str:
    """The Allow header for these methods."""
    names = set(methods)
    return ", ".join(sorted({*names, "OPTIONS", *(["HEAD"] if "GET" in names else [])}))


def options_reply(allow: str, cross_origin_methods: Sequence[str], *, preflight: bool) -> Reply:
    """The response to OPTIONS; other origins may use only what publishable keys may call (settled 2)."""
    headers: RawHeaders = [(b"allow", allow.encode())]
    if cross_origin_methods and preflight:
        methods = sorted({*cross_origin_methods, *(["HEAD"] if "GET" in cross_origin_methods else [])})
        headers += [
            (b"access-control-allow-origin", b"*"),
            (b"access-control-allow-methods", ", ".join(methods).encode()),
            (b"access-control-allow-headers", b"Authorization, Content-Type, Idempotency-Key, Explain"),
            (b"access-control-max-age", b"600"),
        ]
    return Reply(204, b"", headers)


def deprecation_headers(deprecation: EndpointDeprecation) -> RawHeaders:
    """The ``Deprecation`` (RFC 9745) and ``Sunset`` (RFC 8594) headers."""
    return [
        (b"deprecation", deprecation.deprecation_header_value.encode()),
        (b"sunset", deprecation.sunset_header_value.encode()),
        (b"link", f'<{deprecation.documentation_url}>; rel="deprecation"'.encode()),
    ]


def rate_limit_headers(rate_limit_state: RateLimitState) -> RawHeaders:
    """The ``RateLimit`` and ``RateLimit-Policy`` headers (IETF draft 10)."""
    return [
        (
            b"ratelimit-policy",
            f'"{rate_limit_state.policy}";q={rate_limit_state.quota};w={rate_limit_state.window_seconds}'.encode(),
        ),
        (
            b"ratelimit",
            f'"{rate_limit_state.policy}";r={rate_limit_state.remaining};t={rate_limit_state.reset_after_seconds}'.encode(),
        ),
    ]


def encode_envelope_suffix(endpoint: Endpoint) -> bytes:
    """The constant end of an endpoint's envelope, with its ``object`` name."""
    return b',"object":' + _encoder.encode(endpoint.record_type.object_name if endpoint.record_type else "")


def encode_body_and_media_type(result: object, envelope_suffix: bytes) -> tuple[bytes, bytes]:
    """The body and media type of a handler's result. ``envelope_suffix``: the record type, after the data."""
    if result is None:
        return b"", b""
    if isinstance(result, RawResponse):
        return result.body, result.media_type.encode()
    if isinstance(result, ListResponse):
        tail: dict[str, object] = {
            "totalResults": result.total,
            "pageSize": result.size,
            "_links": result.links,
            **(result.extra_members or {}),
        }
        body = b'{"data":' + _encoder.encode(result.records) + envelope_suffix + b"," + _encoder.encode(tail)[1:]
        return body, _JSON
    return b'{"data":' + _encoder.encode(result) + envelope_suffix + b"}", _JSON


def problem_reply(problem: Problem) -> Reply:
    """The error response of a problem."""
    return Reply(
        errors.http_status_of_problem(problem), errors.body_of_problem(problem), errors.headers_of_problem(problem)
    )


async def send_reply(reply: Reply, scope: Scope, send: Send) -> None:
    """Send a response; HEAD gets only the headers."""
    headers = [*reply.headers, (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
    if reply.body or reply.status not in (204, 304):
        headers.append((b"content-length", str(len(reply.body)).encode()))
    if reply.body:
        headers.append((b"content-type", reply.media_type))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else reply.body})

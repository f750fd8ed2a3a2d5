"""Reads a request's body up to a limit and validates query and body, reporting all problems together."""

import codecs
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from pydantic import ValidationError
from pydantic_core import from_json, to_json
from starlette.types import Receive, Scope

from almoner.kit.errors import ContentTooLarge, IncorrectParams, Problem, UnsupportedContentType
from almoner.kit.text import clean_json_texts, clean_text
from almoner.platform.database.transactions import Tx
from almoner.platform.http import errors, uploads
from almoner.platform.http.caller import Caller, RateLimitState
from almoner.platform.http.endpoints import MAX_JSON_BODY, Endpoint, QueryReader
from almoner.platform.http.header_lines import find_compression_problem
from almoner.platform.http.uploads import ReceivedUpload
from almoner.platform.http.wire import METADATA, RequestBody

_MAX_PARAMETERS: Final = 200
MAX_JSON_VALUES: Final = 20_000
"""The maximum number of values in a body: each takes fifty bytes or more in memory, and a sentence if invalid."""
_SEPARATORS: Final = b",[{"
_STRINGS: Final = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"?(?:[ \t\r\n]*+(:))?', re.DOTALL)
"""The strings of a JSON text, each read once, and whether a colon follows."""
_MAX_QUOTES: Final = 4 * (MAX_JSON_VALUES + 1)
"""Of the names and values of a body."""
_SHOWN: Final = 100
_ANNOUNCE_BODY: Final = frozenset({"content-length", "transfer-encoding"})
"""Headers without which a request has no body (RFC 9112, 6.3)."""
_NOTHING: Final = (b"", b"{}", b"null")
"""Accepted bodies of calls without a body."""


@dataclass(slots=True)
class ApiRequest:
    """One HTTP request as the endpoint layer keeps it."""

    scope: Scope
    receive: Receive
    headers: Mapping[str, str]
    query_parameters: list[tuple[str, str]]
    ip_address: str
    caller: Caller | None = None
    rate_limit_state: RateLimitState | None = None
    precondition: Callable[[Tx], Awaitable[None]] | None = None
    """Of a write: awaited first in its transaction; raises Problem if the write must not happen."""

    @property
    def path(self) -> str:
        """The raw request path."""
        return str(self.scope["path"])

    @property
    def request_id(self) -> str | None:
        """The ``Request-Id`` given by the edge."""
        return self.scope.get("almoner.request_id")


async def read_body(request: ApiRequest, endpoint: Endpoint) -> bytes | ReceivedUpload:
    """Read the request body or upload, up to its limit.

    Raises ContentTooLarge, UnsupportedContentType, IncorrectParams for too many values.
    """
    if endpoint.upload is not None:
        return await uploads.receive_upload(request.receive, request.headers, endpoint.upload)
    if endpoint.method == "GET" and _ANNOUNCE_BODY.isdisjoint(request.headers):
        return b""
    raw = await read_json_body(request.receive, request.headers, MAX_JSON_BODY)
    if raw and endpoint.method != "GET":
        media_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
        if media_type != "application/json":
            raise UnsupportedContentType(f"header.Content-Type must be application/json, not '{media_type[:100]}'")
        if (problem := find_compression_problem(request.headers)) is not None:
            raise UnsupportedContentType(problem)
    # Characters within texts count, too: no accepted text has so many.
    if sum(raw.count(separator) for separator in _SEPARATORS) > MAX_JSON_VALUES:
        raise IncorrectParams(f"body may hold at most {MAX_JSON_VALUES} values")
    return raw


async def read_json_body(receive: Receive, headers: Mapping[str, str], limit: int) -> bytes:
    """A JSON body up to a limit, without a byte order mark (RFC 8259, 8.1). Raises as ``read_limited_body``."""
    return (await read_limited_body(receive, headers, limit)).removeprefix(codecs.BOM_UTF8)


async def read_limited_body(receive: Receive, headers: Mapping[str, str], limit: int) -> bytes:
    """The body up to a limit. Raises ContentTooLarge; ConnectionAbortedError if the client left."""
    declared = headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared) > limit:
        raise ContentTooLarge(f"the body may hold at most {limit} bytes, this one announces {declared}")
    chunks: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError("the client left before its request was complete")
        if chunk := message.get("body", b""):
            size += len(chunk)
            if size > limit:
                raise ContentTooLarge(f"the body may hold at most {limit} bytes")
            chunks.append(chunk)
        more = message.get("more_body", False)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def validate_request_returning_fingerprint_source(
    request: ApiRequest,
    endpoint: Endpoint,
    reader: QueryReader,
    body_or_upload: bytes | ReceivedUpload,
    arguments: dict[str, Any],
) -> Callable[[], object]:
    """Validate query and body, all problems together; returns what the idempotency fingerprint covers."""
    reasons = _validate_query(request, endpoint, reader, arguments)
    if isinstance(body_or_upload, ReceivedUpload):
        if reasons and body_or_upload.uploaded_file is None:
            raise IncorrectParams(*reasons)
        uploaded = arguments["upload"] = body_or_upload.get_uploaded_file()
        body = _validate_fields(endpoint, uploaded.form_fields, reasons)
        if endpoint.body is not None:
            arguments["body"] = body
        return uploaded.fingerprint
    if endpoint.body is not None or body_or_upload.strip() not in _NOTHING:
        reasons.extend(find_json_problems(body_or_upload))
        try:
            model = endpoint.body or RequestBody
            body = model.__pydantic_validator__.validate_json(clean_json_body(body_or_upload, model.raw_texts) or b"{}")
        except ValidationError as found:
            refusal = _problem_for(endpoint, found) if not reasons else IncorrectParams
            raise refusal(*reasons, *_body_sentences(endpoint, found)) from None
        if endpoint.body is not None:
            arguments["body"] = body
    if reasons:
        raise IncorrectParams(*reasons)
    return lambda: _decode_body(body_or_upload)


def _validate_query(
    request: ApiRequest, endpoint: Endpoint, reader: QueryReader, arguments: dict[str, Any]
) -> list[str]:
    """The problems of the query."""
    reasons = _read_query(request)
    if reasons:
        return reasons
    reasons = reader.find_problems(request.query_parameters)
    try:
        if endpoint.query is not None:
            typed = [(name, clean_text(value, keep_line_breaks=True)) for name, value in request.query_parameters]
            arguments["query"] = endpoint.query.model_validate(reader.read(typed))
    except ValidationError as found:
        reasons.extend(errors.validation_error_messages(found, "query"))
    if request.query_parameters and not reasons:
        request.scope["almoner.parameters"] = reader.redact_query(request.query_parameters)
    return reasons


def _problem_for(endpoint: Endpoint, found: ValidationError) -> type[Problem]:
    """The area's own problem if only metadata is invalid and it has one; else the general one."""
    own = next((one for one in endpoint.errors if one.code.endswith("/invalid_metadata")), None)
    alone = all(error["type"] == METADATA for error in found.errors(include_url=False, include_input=False))
    return own if own is not None and alone else IncorrectParams


def _body_sentences(endpoint: Endpoint, error: ValidationError) -> list[str]:
    record = endpoint.record_type if endpoint.is_write else None
    return errors.validation_error_messages(error, "body", endpoint.body, record)


def _validate_fields(endpoint: Endpoint, fields: Mapping[str, str], reasons: list[str]) -> RequestBody:
    """Validate the text fields beside a file. Raises IncorrectParams, with the earlier ``reasons``."""
    held = [f"body.{name} must not hold NUL characters" for name, text in fields.items() if "\x00" in text]
    try:
        if not held:
            body = (endpoint.body or RequestBody).model_validate(clean_json_texts(dict(fields)))
            if not reasons:
                return body
    except ValidationError as found:
        held = _body_sentences(endpoint, found)
    raise IncorrectParams(*reasons, *held)


def clean_json_body(body: bytes, verbatim_fields: Iterable[str] = ()) -> bytes:
    """JSON with all texts cleaned as ``kit.text`` does, except ``verbatim_fields``, whose raw text is evidence."""
    if body.isascii() and b"\\" not in body and b"\x7f" not in body:
        return body
    try:
        sent = from_json(body)
    except ValueError:
        return body
    cleaned = clean_json_texts(sent)
    if isinstance(sent, dict) and isinstance(cleaned, dict):
        cleaned |= {name: sent[name] for name in verbatim_fields if name in sent}
    return to_json(cleaned, inf_nan_mode="constants")


def _decode_body(raw: bytes) -> object:
    """The decoded body; raw where a member of any type has invalid JSON values (NaN, 1e999)."""
    try:
        return msgspec.json.decode(raw) if raw else None
    except ValueError:
        return raw


def _read_query(request: ApiRequest) -> list[str]:
    """Decode the query string into ``request.parameters``; returns its problems."""
    if not request.scope["query_string"]:
        return []
    try:
        text = request.scope["query_string"].decode("ascii")
        request.query_parameters = parse_qsl(
            text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_PARAMETERS
        )
    except UnicodeError:
        return ["query is not well-formed UTF-8 in percent encoding"]
    except ValueError:
        return [f"query may have at most {_MAX_PARAMETERS} parameters"]
    if any("\x00" in name for name, _ in request.query_parameters):
        return ["query must not hold NUL characters"]
    held = dict.fromkeys(name for name, value in request.query_parameters if "\x00" in value)
    return [f"query.{name} must not hold NUL characters" for name in held]


class _Repeated(list[tuple[str, object]]):
    """The members of a JSON object that names one of them twice."""


def find_json_problems(body: bytes) -> list[str]:
    """What validation does not see: repeated members, and NUL, which PostgreSQL text cannot contain.

    Of two values of one name, each reader takes the one it likes (RFC 8259): a proxy would check the first one, and we
    would take the last.
    """
    if b"\\u0000" not in body and not _may_repeat_members(body):
        return []
    repeated: list[_Repeated] = []

    def members(pairs: list[tuple[str, object]]) -> object:
        if len(held := dict(pairs)) == len(pairs):
            return held
        repeated.append(_Repeated(pairs))
        return repeated[-1]

    try:
        sent = json.loads(body, object_pairs_hook=members)  # as lenient about numbers as the validator
        return list(_walk(sent, "body")) if repeated or b"\\u0000" in body else []
    except (ValueError, RecursionError):
        return []  # the validator reports invalid JSON


def _walk(value: object, place: str) -> Iterator[str]:
    if isinstance(value, str):
        if "\x00" in value:
            yield f"{place} must not hold NUL characters"
        return
    members: Iterable[tuple[str | int, object]] = ()
    if isinstance(value, _Repeated):
        members = value
        names = Counter(name for name, _ in value)
        yield from (f"{place}.{name[:_SHOWN]} must be given once" for name in names if names[name] > 1)
    elif isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    for name, item in members:
        yield from _walk(name, place)
        yield from _walk(item, f"{place}.{str(name)[:_SHOWN]}")


def _may_repeat_members(raw: bytes) -> bool:
    """Whether one name stands twice in a body, be it in two objects; the strings of most bodies all differ."""
    if raw.count(b'"') - raw.count(b'\\"') > _MAX_QUOTES:
        return False  # no JSON of so few values has so many strings
    if b"\\" in raw:
        names = [name for name, colon in _STRINGS.findall(raw) if colon]
        return len(set(names)) < len(names) or any(b"\\" in name for name in names)
    parts = raw.split(b'"')
    strings = parts[1::2]
    if len(set(strings)) == len(strings):
        return False
    names = [name for name, after in zip(strings, parts[2::2], strict=False) if after.lstrip().startswith(b":")]
    return len(set(names)) < len(names)

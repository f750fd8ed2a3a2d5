"""What sync and async clients share: a call as data, its request, its answer, and when it is tried again."""

import json
import os
import platform
import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import httpx

from almoner_client import _errors
from almoner_client._records import to_json, to_text
from almoner_client._uploads import FileInput, OpenedFile, open_file

VERSION: Final = "0.1.0"
DEFAULT_TIMEOUT: Final = 30.0
DEFAULT_RETRIES: Final = 2
_LONGEST_WAIT: Final = 60.0
_TRIED_AGAIN: Final = frozenset({408, 429, 500, 502, 503, 504})
_IN_PROGRESS: Final = "idempotency/original_call_in_progress"


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of the API. ``keyed``: it takes an idempotency key."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    upload: tuple[str, FileInput] | None = None
    keyed: bool = False
    idempotency_key: str | None = None
    timeout: float | None = None


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a client calls."""

    base_url: str
    api_key: str = field(repr=False)
    timeout: float = DEFAULT_TIMEOUT
    max_retries: int = DEFAULT_RETRIES


def path_of(template: str, **parts: str) -> str:
    """The path with its parts put in. An empty part would call something else, so it is refused."""
    for name, value in parts.items():
        if not value:
            raise ValueError(f"{name} must not be empty")
        template = template.replace(f"{{{name}}}", quote(value, safe=""))
    return template


def options_of(api_key: str | None, base_url: str | None, timeout: float, max_retries: int) -> Options:
    """Options as given, or from ``ALMONER_API_KEY`` and ``ALMONER_BASE_URL``."""
    key = api_key or os.environ.get("ALMONER_API_KEY")
    address = base_url or os.environ.get("ALMONER_BASE_URL")
    if not key:
        raise _errors.AlmonerError("Pass api_key, or set ALMONER_API_KEY")
    if not address:
        raise _errors.AlmonerError("Pass base_url, or set ALMONER_BASE_URL")
    address = address.rstrip("/")
    if not address.startswith(("http://", "https://")) or address.endswith("/v1"):
        raise _errors.AlmonerError(
            f"{address!r} is not a base URL: it is like https://give.example.org, with http or https and without /v1"
        )
    return Options(base_url=address, api_key=key, timeout=timeout, max_retries=max_retries)


class Attempts:
    """The attempts of one call: the same request each time, under one idempotency key."""

    def __init__(self, options: Options, call: Call) -> None:
        self._options = options
        self._call = call
        self._left = options.max_retries
        self._made = 0
        self.key = (call.idempotency_key or str(uuid.uuid4())) if call.keyed else None
        self._file: OpenedFile | None = None

    def request(self, build: Callable[..., httpx.Request]) -> httpx.Request:
        """The request of the next attempt."""
        call, options = self._call, self._options
        self._made += 1
        headers = {name: _text(value) for name, value in call.headers.items() if value is not None}
        headers["Authorization"] = f"Bearer {options.api_key}"
        headers["User-Agent"] = f"almoner-client/{VERSION} python/{platform.python_version()} httpx/{httpx.__version__}"
        headers.setdefault("Accept", "application/json")
        if self.key is not None:
            headers["Idempotency-Key"] = self.key
        query = [
            (name, _text(one))
            for name, value in call.query.items()
            if value is not None
            # An empty list is sent, too: without it, the API would return everything.
            for one in ((value or [""]) if isinstance(value, (list, tuple)) else [value])
        ]
        content: dict[str, Any] = {}
        if call.upload is not None:
            name, given = call.upload
            self._file = self._file or open_file(given)
            beside = {key: _text(one) for key, one in (to_json(call.body or {})).items() if one is not None}
            content = {"files": {name: self._file.part()}, "data": beside}
        elif call.body is not None:
            content = {"json": to_json(call.body)}
        return build(
            call.method,
            options.base_url + call.path,
            params=query,
            headers=headers,
            timeout=call.timeout or options.timeout,
            **content,
        )

    def wait_after(self, outcome: httpx.Response | httpx.TransportError) -> float | None:
        """Seconds until the next attempt; None if there is none."""
        if self._left <= 0 or (self._file is not None and not self._file.is_repeatable):
            return None
        told = None
        if isinstance(outcome, httpx.Response):
            if outcome.status_code not in _TRIED_AGAIN and _IN_PROGRESS not in outcome.text[:500]:
                return None
            told = _errors.seconds_to_wait(outcome.headers)
        self._left -= 1
        if told is not None:
            return None if told > _LONGEST_WAIT else told + random.uniform(0, 0.1)  # noqa: S311 (no secret)
        return min(8.0, 0.5 * 2.0 ** (self._made - 1)) * random.uniform(0.5, 1)  # noqa: S311 (no secret)

    def failure(self, error: httpx.TransportError) -> _errors.ApiConnectionError:
        """What the caller is told of a connection that failed."""
        kind = _errors.ApiTimeoutError if isinstance(error, httpx.TimeoutException) else _errors.ApiConnectionError
        return kind(f"No answer from {self._options.base_url}: {type(error).__name__}: {error}", self.key)

    def close(self) -> None:
        """Close the file that was opened here."""
        if self._file is not None:
            self._file.close()


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(to_text(value))


def json_of(response: httpx.Response, codes: Mapping[str, type[_errors.ApiError]]) -> Any:
    """The JSON of an answer. Raises ApiError for an error."""
    try:
        data = json.loads(response.content) if response.content else None
    except ValueError:
        data = None
        if response.is_success:
            raise _errors.ApiConnectionError("The answer is not JSON") from None
    if not response.is_success:
        raise _errors.error_of_answer(response.status_code, response.headers, data, codes)
    return data


def following_query(links: Mapping[str, Any], direction: str) -> dict[str, Any] | None:
    """The query of the next or previous page. Only the query of a link is taken: the key goes to one address alone."""
    link = links.get(direction)
    if not isinstance(link, str):
        return None
    pairs: dict[str, Any] = {}
    for name, value in httpx.URL(link).params.multi_items():
        pairs.setdefault(name, []).append(value)
    return pairs

"""The processor time of one request or one piece of pure work: the minimum of several runs, to exclude noise.

Only this thread counts: work in other threads has its own limits.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import thread_time
from tracemalloc import get_traced_memory, reset_peak, start, stop
from typing import Any, Final

from starlette.types import ASGIApp, Message

PAGE_SECONDS: Final = 0.050
SEARCH_SECONDS: Final = 0.150
MOST_GROWTH: Final = 2.6
"""The most that twice the input may cost, as a factor."""
MOST_BYTES: Final = 8 * 1024 * 1024
NOTICED_SECONDS: Final = 0.010
"""Costs below this are not checked for growth: they are noise."""
_GOES: Final = 5
_CHUNK: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """One request as a server passes it to the application."""

    method: str
    path: str
    query: bytes = b""
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    address: str = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a response, and the response."""

    seconds: float
    status: int
    size: int


def least_seconds(work: Callable[[], object], enough: float = 0.0) -> float:
    """The minimum of a few runs; stops once one took less than ``enough``."""
    best = float("inf")
    for _ in range(_GOES):
        began = thread_time()
        work()
        best = min(best, thread_time() - began)
        if best <= enough:
            break
    return best


async def least_cost(app: ASGIApp, request: Request, enough: float = 0.0) -> Cost:
    """Like ``least_seconds``, for a request to the application."""
    best = await _once(app, request)
    for _ in range(_GOES - 1):
        if best.seconds <= enough:
            break
        best = min(best, await _once(app, request), key=lambda one: one.seconds)
    return best


async def peak_bytes(app: ASGIApp, request: Request) -> int:
    """The peak of Python's memory during a request, beside its body."""
    start()
    try:
        before, _ = get_traced_memory()
        reset_peak()
        await _once(app, request)
        return get_traced_memory()[1] - before
    finally:
        stop()


async def _once(app: ASGIApp, request: Request) -> Cost:
    chunks = [request.body[at : at + _CHUNK] for at in range(0, len(request.body), _CHUNK)] or [b""]
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": request.path,
        "raw_path": request.path.encode(),
        "root_path": "",
        "query_string": request.query,
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in request.headers.items()],
        "client": (request.address, 50000),
        "server": ("testserver", 80),
    }
    status = size = 0

    async def receive() -> Message:
        if not chunks:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": chunks.pop(0), "more_body": bool(chunks)}

    async def send(message: Message) -> None:
        nonlocal status, size
        status = message.get("status", status)
        size += len(message.get("body", b""))

    began = thread_time()
    await app(scope, receive, send)
    return Cost(thread_time() - began, status, size)

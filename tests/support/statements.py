"""Record every statement that the service runs in tests, for ``tests/plans``, which checks PostgreSQL's plans.

Recorded are the texts with the types and shapes of their parameters (whether null, the length of a list, a small number
itself), never values. Each process writes its own file at the end of its tests.
"""

import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from functools import cache, wraps
from types import FrameType
from typing import Any, Final

import asyncpg

from almoner.platform.jobs.due_times import QueryCollector
from tests.support.cluster import PROJECT

FOLDER: Final = PROJECT / ".cache" / "statements"
SOURCE: Final = str(PROJECT / "src" / "almoner") + os.sep
TESTS: Final = str(PROJECT / "tests")
LAYER: Final = tuple(SOURCE + f"platform/database/{name}.py" for name in ("transactions", "deadlines"))
MOST_SHAPES: Final = 12
"""The most parameter shapes of one statement: further ones add nothing."""
MOST_TIMES: Final = 500
"""The most recorded calls of one statement."""
SMALL: Final = 10_000

Shape = str | int | None
Seen = dict[tuple[Shape, ...], None]


class Recorder:
    """What this process ran: parameter shapes by statement and place."""

    def __init__(self) -> None:
        self._seen: defaultdict[tuple[str, str], Seen] = defaultdict(dict)
        self._times: Counter[str] = Counter()

    def add(self, sql: str, rows: Iterable[Iterable[object]]) -> None:
        """Record a statement, unless a test runs it itself."""
        if self._times[sql] >= MOST_TIMES or (caller := _caller()) is None:
            return
        self._times[sql] += 1
        shapes = self._seen[sql, caller]
        for row in rows:
            if len(shapes) >= MOST_SHAPES:
                return
            shapes[tuple(map(_shape, row))] = None

    def write(self, name: str) -> None:
        """Write the file, if anything was recorded."""
        if self._seen:
            FOLDER.mkdir(parents=True, exist_ok=True)
            rows = [(sql, caller, [*shapes]) for (sql, caller), shapes in self._seen.items()]
            (FOLDER / f"{name}.json").write_text(json.dumps(rows))


def _caller() -> str | None:
    """The calling function of the service, like ``giving/checkout/donations/store.py:find``."""
    frame: FrameType | None = sys._getframe(3)
    while frame is not None:
        code = frame.f_code
        place = _place(code.co_filename)
        if place is None:
            return None
        if place:
            return f"{place}:{code.co_qualname}"
        frame = frame.f_back
    return None


@cache
def _place(file: str) -> str | None:
    """The path of a service file; None for a test; empty for code in between."""
    if file.startswith(SOURCE):
        return "" if file in LAYER else file[len(SOURCE) :]
    return None if file.startswith(TESTS) else ""


def _shape(value: object) -> Shape:
    match value:
        case None | bool():
            return value
        case int() if abs(value) <= SMALL:
            return value
        case str() | bytes():
            return "one"
        case list() | tuple() | set() | frozenset():
            return f"list of {min(len(value), SMALL)}"
        case _:
            return "one"


def record() -> Recorder:
    """Record all statements from now on, for the life of the process."""
    recorder = Recorder()
    connection: Any = asyncpg.Connection
    for name in ("fetch", "fetchrow", "fetchval", "execute"):
        setattr(connection, name, _noting(getattr(connection, name), recorder))
        if hasattr(QueryCollector, name):  # parts of one statement, which is recorded too
            setattr(QueryCollector, name, _noting(getattr(QueryCollector, name), recorder))
    connection.executemany = _noting_many(connection.executemany, recorder)
    return recorder


def _noting(method: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    @wraps(method)
    async def noted(self: object, sql: str, *args: object, **options: object) -> Any:
        recorder.add(sql, [args])
        return await method(self, sql, *args, **options)

    return noted


def _noting_many(method: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    @wraps(method)
    async def noted(self: object, sql: str, args: Iterable[Collection[object]], **options: object) -> Any:
        rows = [tuple(row) for row in args]
        recorder.add(sql, rows)
        return await method(self, sql, rows, **options)

    return noted

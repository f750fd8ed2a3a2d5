"""The one place where tests wait for another process or task."""

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, overload

T = TypeVar("T")


@overload
async def eventually(check: Callable[[], Coroutine[Any, Any, T]], *, within: float = 30.0) -> T: ...
@overload
async def eventually(check: Callable[[], T], *, within: float = 30.0) -> T: ...
async def eventually(check: Callable[[], Any], *, within: float = 30.0) -> Any:
    """The first truthy result of ``check``. Raises the last failure after ``within`` seconds."""
    ends = time.monotonic() + within
    pause = 0.005
    while True:
        try:
            found = check()
            answer = await found if inspect.isawaitable(found) else found
            if answer or time.monotonic() > ends:
                assert answer, f"{check} answered {answer!r} for {within} s"
                return answer
        except AssertionError:
            if time.monotonic() > ends:
                raise
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 0.1)


async def paced(began: float, turn: int, rate: float) -> None:
    """Wait until turn number ``turn`` of an open loop starts, with ``rate`` turns a second."""
    await asyncio.sleep(max(0.0, began + turn / rate - time.monotonic()))

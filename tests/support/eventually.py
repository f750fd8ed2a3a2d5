"""The one place where tests wait for something that happens in another process or task."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def eventually(check: Callable[[], T | Awaitable[T]], *, within: float = 10.0) -> T:
    """The first truthy answer of ``check``. Raises the last failure once ``within`` s are over."""
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

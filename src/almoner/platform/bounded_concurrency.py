"""Limits how much work runs at once, how much may wait, and for how long."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from almoner.kit.errors import ServiceUnavailable


class BoundedConcurrency:
    """At most ``at_once`` callers run and ``max_count`` wait, each for at most ``seconds``."""

    def __init__(self, at_once: int, *, max_count: int, seconds: float) -> None:
        self._turn = asyncio.Semaphore(at_once)
        self._most = max_count
        self._seconds = seconds
        self.waiting = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot for the time of a block. Raises ServiceUnavailable if too many wait, or too long."""
        if self._turn.locked() and self.waiting >= self._most:
            raise ServiceUnavailable
        self.waiting += 1
        try:
            async with asyncio.timeout(self._seconds):
                await self._turn.acquire()
        except TimeoutError:
            raise ServiceUnavailable from None
        finally:
            self.waiting -= 1
        try:
            yield
        finally:
            self._turn.release()

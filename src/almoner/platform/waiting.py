"""Who waits for work of which only so much is done at once: so many, so long, and everybody else is told at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from almoner.kit.errors import ServiceUnavailable


class WaitingLine:
    """At most ``at_once`` at work, ``most`` waiting, each for at most ``seconds``."""

    def __init__(self, at_once: int, *, most: int, seconds: float) -> None:
        self._turn = asyncio.Semaphore(at_once)
        self._most = most
        self._seconds = seconds
        self.waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait, then work in the block. Raises ServiceUnavailable when too many wait, or it takes too long."""
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

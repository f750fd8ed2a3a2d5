"""A server that is about to stop: it is not ready any more, answers all the same, and keeps no connection open.

A balancer needs a moment to notice. Until then requests go on coming, and each is answered on a connection that ends
with it, so that nobody sends one on a connection that is being closed.
"""

import asyncio
from contextlib import suppress


class Drain:
    """Whether the server is about to stop."""

    def __init__(self) -> None:
        self.begun = False

    async def check(self) -> str | None:
        """For ``/readyz``."""
        return "this server is stopping" if self.begun else None

    async def run(self, asked: asyncio.Event, hurried: asyncio.Event, stop: asyncio.Event, seconds: float) -> None:
        """Wait for the signal to stop, then drain for ``seconds`` or until a second signal, then stop the rest."""
        await asked.wait()
        self.begun = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await hurried.wait()
        stop.set()

"""Graceful shutdown: not ready, still responding, closing each connection.

A load balancer needs a moment to notice. Requests still arrive meanwhile, and each response closes its connection, so
that no request is sent on a connection that is being closed.
"""

import asyncio
from contextlib import suppress


class ConnectionDrain:
    """Whether the server is shutting down gracefully."""

    def __init__(self) -> None:
        self.begun = False

    async def readiness_problem(self) -> str | None:
        """The readiness problem for ``/readyz`` while draining."""
        return "this server is stopping" if self.begun else None

    async def run(
        self,
        stop_requested: asyncio.Event,
        second_stop_requested: asyncio.Event,
        stop_everything: asyncio.Event,
        drain_seconds: float,
    ) -> None:
        """Wait for the stop signal, drain for ``drain_seconds`` or until a second signal, then stop the rest."""
        await stop_requested.wait()
        self.begun = True
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_seconds):
                await second_stop_requested.wait()
        stop_everything.set()

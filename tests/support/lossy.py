"""A connection that loses requests and responses, as real networks do."""

import itertools
from collections.abc import Iterator

import httpx


class LossyTransport(httpx.AsyncBaseTransport):
    """Passes calls on to the service, but loses some requests and some responses, in turn."""

    def __init__(self, inner: httpx.AsyncBaseTransport, *, every: int) -> None:
        self._inner = inner
        self._every = every
        self._faults: Iterator[str] = itertools.cycle(("call", "answer"))
        self.calls: list[httpx.Request] = []
        self.lost = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Lose one of every few calls."""
        self.calls.append(request)
        if len(self.calls) % self._every:
            return await self._inner.handle_async_request(request)
        self.lost += 1
        if next(self._faults) == "answer":
            await self._inner.handle_async_request(request)
            raise httpx.ReadError("the connection ended before the answer", request=request)
        raise httpx.ConnectError("no connection", request=request)

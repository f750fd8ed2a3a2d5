"""Combines the small reads or writes of concurrent tasks into one statement."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class CallBatcher(Generic[_K, _V]):
    """Combines concurrent calls for one key each into one call for many keys.

    Calls that arrive while ``work`` runs wait for it and are then combined: a single call has no extra cost, and under
    load one round trip serves up to ``max_count`` calls. An exception of ``work`` is raised to all its callers.
    """

    def __init__(self, work: Callable[[Sequence[_K]], Awaitable[Sequence[_V]]], max_count: int = 250) -> None:
        """``work`` returns one value for each key, in their order."""
        self._work = work
        self._most = max_count
        self._waiting: list[tuple[_K, asyncio.Future[_V]]] = []
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, key: _K) -> _V:
        """The value of one key."""
        answer: asyncio.Future[_V] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, answer))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                await self._answer(batch)
        finally:
            self._running = None

    async def _answer(self, batch: Sequence[tuple[_K, "asyncio.Future[_V]"]]) -> None:
        try:
            values = await self._work([key for key, _ in batch])
        except Exception as error:  # noqa: BLE001 (raised to every caller)
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
            return
        for (_, answer), value in zip(batch, values, strict=True):
            if not answer.done():
                answer.set_result(value)

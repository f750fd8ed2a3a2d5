"""A fair queue for limited resources: no client takes more than its share while others wait, and waiting is bounded.

A queue client is a partner, or the network of a caller without a key. While others hold slots, it cannot take the last
fifth of them, since slots cannot be taken back. The client with the fewest slots is next. Requests that move money may
wait in a longer queue, so they are refused last. Work without a client (health checks, background work) has its own
limits and is never refused here.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from itertools import count
from typing import Final

import msgspec

from almoner.kit.context_values import ContextValue

WAITING_PER_PLACE: Final = 100
WAITING_PER_PLACE_WITH_MONEY: Final = 200


class FairShareClient(msgspec.Struct, frozen=True):
    """The client of a task: a partner or a network. ``moves_money``: such requests are rejected last."""

    key: Hashable
    moves_money: bool = False


_current: ContextVar[FairShareClient | None] = ContextVar("almoner_claimant", default=None)


class QueueFull(OSError):
    """Too many callers wait already, or the queue is closing."""


def run_as_fair_share_client(fair_share_client: FairShareClient | None) -> ContextValue[FairShareClient | None]:
    """Database work inside this block, also in tasks started there, counts for this client."""
    return ContextValue(_current, fair_share_client)


set_fair_share_client = _current.set
"""Set the client for which the task works, until ``reset_fair_share_client``."""
reset_fair_share_client = _current.reset
"""Restore the previous client."""
current_fair_share_client = _current.get
"""The current client; None for work without one."""


class FairQueue:
    """A limited number of slots, handed out fairly between clients."""

    def __init__(self, size: int) -> None:
        self._size = self._free = size
        self._share = max(1, size - max(1, size // 5))
        self._held: dict[Hashable, int] = {}
        self._queued: dict[Hashable, int] = {}
        self._waiting: deque[tuple[FairShareClient | None, asyncio.Future[None]]] = deque()
        self._closing = False

    def try_acquire_slot(self, fair_share_client: FairShareClient | None) -> bool:
        """Acquire a slot without waiting; False if none is free for the client."""
        if not self._free or self._closing:
            return False
        if fair_share_client is not None:
            held = self._held.get(fair_share_client.key, 0)
            if held >= self._share and len(self._held) > 1:
                return False
            self._held[fair_share_client.key] = held + 1
        self._free -= 1
        return True

    async def acquire_slot(self, fair_share_client: FairShareClient | None) -> None:
        """Acquire a slot, waiting for it. Raises QueueFull if too many wait."""
        if self.try_acquire_slot(fair_share_client):
            return
        self._ensure_may_wait(fair_share_client)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = (fair_share_client, turn)
        self._waiting.append(waiter)
        if fair_share_client is not None:
            self._queued[fair_share_client.key] = self._queued.get(fair_share_client.key, 0) + 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.release_slot(fair_share_client)  # a slot had just been assigned: pass it on
            raise
        finally:
            if fair_share_client is not None:
                _decrement(self._queued, fair_share_client.key)
            if not turn.done() or turn.cancelled():
                self._waiting.remove(waiter)

    def release_slot(self, fair_share_client: FairShareClient | None) -> None:
        """Release a slot to the next waiting client."""
        self._free += 1
        if fair_share_client is not None:
            _decrement(self._held, fair_share_client.key)
        if self._waiting and (waiter := self._next()) is not None:
            self._waiting.remove(waiter)
            self.try_acquire_slot(waiter[0])
            waiter[1].set_result(None)

    @asynccontextmanager
    async def slot(self, fair_share_client: FairShareClient | None) -> AsyncIterator[None]:
        """A slot for the time of a block. Raises QueueFull."""
        await self.acquire_slot(fair_share_client)
        try:
            yield
        finally:
            self.release_slot(fair_share_client)

    def close(self) -> None:
        """Reject all waiting and future callers."""
        self._closing = True
        while self._waiting:
            _, turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(QueueFull("the connections are being closed"))

    def _next(self) -> tuple[FairShareClient | None, asyncio.Future[None]] | None:
        """The next waiting client below its share: the one with the fewest slots, then the longest waiting."""
        ready = [waiter for waiter in self._waiting if not waiter[1].done() and self._below_share(waiter[0])]
        return min(ready, key=lambda waiter: self._held.get(waiter[0].key, 0) if waiter[0] else 0, default=None)

    def _below_share(self, claimant: FairShareClient | None) -> bool:
        return claimant is None or self._held.get(claimant.key, 0) < self._share or len(self._held) == 1

    def _ensure_may_wait(self, claimant: FairShareClient | None) -> None:
        if self._closing:
            raise QueueFull("the connections are being closed")
        if claimant is None:
            return
        most = self._size * (WAITING_PER_PLACE_WITH_MONEY if claimant.moves_money else WAITING_PER_PLACE)
        if len(self._waiting) >= most or self._queued.get(claimant.key, 0) >= most // 2:
            raise QueueFull("too many requests wait for the database")


def _decrement(counts: dict[Hashable, int], key: Hashable) -> None:
    left = counts[key] - 1
    if left:
        counts[key] = left
    else:
        del counts[key]

"""A fair queue for limited resources: no client takes more than its share while others wait, and waiting is bounded.

A fair-share client is a partner, or the network of a caller without a key. While others hold slots, it cannot take the
last fifth of them, since slots cannot be taken back. The client with the fewest slots is next. Requests that move money
may wait in a longer queue, so they are refused last. Work without a client (health checks, background work) has its own
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


_current: ContextVar[FairShareClient | None] = ContextVar("almoner_fair_share_client", default=None)


_Waiter = tuple[int, asyncio.Future[None]]
"""The number of its arrival, and what ends the waiting."""


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
        self._waiting: dict[Hashable, deque[_Waiter]] = {}  # by client; None: work without one
        self._waiting_count = 0
        self._arrivals = count()
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

    async def acquire_slot(
        self, fair_share_client: FairShareClient | None, max_wait_seconds: float | None = None
    ) -> None:
        """Acquire a slot, waiting for it.

        Raises QueueFull if too many wait, and TimeoutError after ``max_wait_seconds`` seconds.
        """
        if self.try_acquire_slot(fair_share_client):
            return
        self._ensure_may_wait(fair_share_client)
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        key, waiter = _key_of(fair_share_client), (next(self._arrivals), turn)
        self._waiting.setdefault(key, deque()).append(waiter)
        self._waiting_count += 1
        timer = None if max_wait_seconds is None else loop.call_later(max_wait_seconds, _end_wait, turn)
        try:
            await turn
        except BaseException:
            if not turn.done() or turn.cancelled() or turn.exception() is not None:
                self._remove(key, waiter)
            else:
                self.release_slot(fair_share_client)  # a slot had just been assigned: pass it on
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def release_slot(self, fair_share_client: FairShareClient | None) -> None:
        """Release a slot to the next waiting client."""
        self._free += 1
        if fair_share_client is not None:
            left = self._held[fair_share_client.key] - 1
            if left:
                self._held[fair_share_client.key] = left
            else:
                del self._held[fair_share_client.key]
        if self._waiting:
            self._assign_slot()

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
        for waiters in self._waiting.values():
            for _, turn in waiters:
                if not turn.done():
                    turn.set_exception(QueueFull("the connections are being closed"))

    def _assign_slot(self) -> None:
        """Assign a slot to the client below its share with the fewest slots, then the one that waits longest."""
        ready = [
            (self._held.get(key, 0), waiter, key)
            for key, waiters in self._waiting.items()
            if self._below_share(key) and (waiter := next(filter(_is_waiting, waiters), None))
        ]
        if not ready:
            return
        held, waiter, key = min(ready)
        if key is not None:
            self._held[key] = held + 1
        self._free -= 1
        self._remove(key, waiter)
        waiter[1].set_result(None)

    def _remove(self, key: Hashable, waiter: _Waiter) -> None:
        waiters = self._waiting[key]
        waiters.remove(waiter)
        if not waiters:
            del self._waiting[key]
        self._waiting_count -= 1

    def _below_share(self, key: Hashable) -> bool:
        return key is None or self._held.get(key, 0) < self._share or len(self._held) == 1

    def _ensure_may_wait(self, fair_share_client: FairShareClient | None) -> None:
        if self._closing:
            raise QueueFull("the connections are being closed")
        if fair_share_client is None:
            return
        most = self._size * (WAITING_PER_PLACE_WITH_MONEY if fair_share_client.moves_money else WAITING_PER_PLACE)
        if self._waiting_count >= most or len(self._waiting.get(fair_share_client.key, ())) >= most // 2:
            raise QueueFull("too many requests wait for the database")


def _key_of(fair_share_client: FairShareClient | None) -> Hashable:
    return None if fair_share_client is None else fair_share_client.key


def _is_waiting(waiter: _Waiter) -> bool:
    return not waiter[1].done()


def _end_wait(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_exception(TimeoutError())

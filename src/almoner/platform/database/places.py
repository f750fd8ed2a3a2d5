"""Places at the database, shared out: while others wait, nobody has more than a share, and no queue grows for ever.

A claimant is whom a request is for: a partner, or the network of a client that no key speaks for. While others have
places too, it does not get the last fifth of them, since what it holds cannot be taken back when somebody else comes.
Who has the fewest is next. Requests that move money may wait in a longer queue, so that they are turned away last. What
has no claimant (health checks, background work) keeps to limits of its own and is never turned away here.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar, Token
from typing import Final

import msgspec

WAITING_PER_PLACE: Final = 100
WAITING_PER_PLACE_WITH_MONEY: Final = 200


class Claimant(msgspec.Struct, frozen=True):
    """Whom a request is for; two are made for each. ``moves_money``: it is turned away last."""

    key: Hashable
    moves_money: bool = False


_current: ContextVar[Claimant | None] = ContextVar("almoner_claimant", default=None)


class NoPlace(OSError):
    """Too many wait already, or the places are being closed."""


@contextmanager
def claiming(claimant: Claimant | None) -> Iterator[None]:
    """What is read and written inside, also in tasks started there, is for the claimant."""
    token = _current.set(claimant)
    try:
        yield
    finally:
        _current.reset(token)


def begin_claim(claimant: Claimant | None) -> "Token[Claimant | None]":
    """From now on this task works for the claimant, until ``end_claim``. For what every request does."""
    return _current.set(claimant)


def end_claim(token: "Token[Claimant | None]") -> None:
    """Work again for whom it worked before."""
    _current.reset(token)


def current_claimant() -> Claimant | None:
    """Whom this task works for."""
    return _current.get()


class Places:
    """``size`` places, taken and given back."""

    def __init__(self, size: int) -> None:
        self._size = self._free = size
        self._share = max(1, size - max(1, size // 5))
        self._held: dict[Hashable, int] = {}
        self._queued: dict[Hashable, int] = {}
        self._waiting: deque[tuple[Claimant | None, asyncio.Future[None]]] = deque()
        self._closing = False

    def try_take(self, claimant: Claimant | None) -> bool:
        """Take a place if one is free for the claimant."""
        if not self._free or self._closing:
            return False
        if claimant is not None:
            held = self._held.get(claimant.key, 0)
            if held >= self._share and len(self._held) > 1:
                return False
            self._held[claimant.key] = held + 1
        self._free -= 1
        return True

    async def take(self, claimant: Claimant | None) -> None:
        """Take a place, waiting for it. Raises NoPlace at once when too many wait."""
        if self.try_take(claimant):
            return
        self._ensure_may_wait(claimant)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = (claimant, turn)
        self._waiting.append(waiter)
        if claimant is not None:
            self._queued[claimant.key] = self._queued.get(claimant.key, 0) + 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.give_back(claimant)  # it had come already: the next one's, then
            raise
        finally:
            if claimant is not None:
                _decrement(self._queued, claimant.key)
            if not turn.done() or turn.cancelled():
                self._waiting.remove(waiter)

    def give_back(self, claimant: Claimant | None) -> None:
        """Let the next have the place."""
        self._free += 1
        if claimant is not None:
            _decrement(self._held, claimant.key)
        if self._waiting and (waiter := self._next()) is not None:
            self._waiting.remove(waiter)
            self.try_take(waiter[0])
            waiter[1].set_result(None)

    @asynccontextmanager
    async def hold(self, claimant: Claimant | None) -> AsyncIterator[None]:
        """A place for the time of a block. Raises NoPlace."""
        await self.take(claimant)
        try:
            yield
        finally:
            self.give_back(claimant)

    def close(self) -> None:
        """Turn away whoever waits, and whoever comes."""
        self._closing = True
        while self._waiting:
            _, turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(NoPlace("the connections are being closed"))

    def _next(self) -> tuple[Claimant | None, asyncio.Future[None]] | None:
        """Of those below their share the one whose claimant has the fewest places, the longest waiting first."""
        ready = [waiter for waiter in self._waiting if not waiter[1].done() and self._below_share(waiter[0])]
        return min(ready, key=lambda waiter: self._held.get(waiter[0].key, 0) if waiter[0] else 0, default=None)

    def _below_share(self, claimant: Claimant | None) -> bool:
        return claimant is None or self._held.get(claimant.key, 0) < self._share or len(self._held) == 1

    def _ensure_may_wait(self, claimant: Claimant | None) -> None:
        if self._closing:
            raise NoPlace("the connections are being closed")
        if claimant is None:
            return
        most = self._size * (WAITING_PER_PLACE_WITH_MONEY if claimant.moves_money else WAITING_PER_PLACE)
        if len(self._waiting) >= most or self._queued.get(claimant.key, 0) >= most // 2:
            raise NoPlace("too many requests wait for the database")


def _decrement(counts: dict[Hashable, int], key: Hashable) -> None:
    left = counts[key] - 1
    if left:
        counts[key] = left
    else:
        del counts[key]

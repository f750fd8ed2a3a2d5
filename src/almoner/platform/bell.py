"""Wakes the loops of this process after a commit; other processes poll (house 5: no NOTIFY in a write transaction)."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

POLL_SECONDS: Final = 0.1


class Bell:
    """Rung by whoever commits work, heard by the loops that do it."""

    def __init__(self) -> None:
        self._ears: set[asyncio.Event] = set()

    def ring(self) -> None:
        """Wake every listener of this process."""
        for ear in self._ears:
            ear.set()

    @contextmanager
    def listener(self) -> Iterator[asyncio.Event]:
        """An event that is set at every ring, until the block ends; the listener clears it."""
        ear = asyncio.Event()
        self._ears.add(ear)
        try:
            yield ear
        finally:
            self._ears.discard(ear)


async def heard(ear: asyncio.Event, seconds: float = POLL_SECONDS) -> None:
    """Return at the next ring, or after ``seconds``; forgets the ring."""
    await rest(ear, seconds)
    ear.clear()


async def rest(until: asyncio.Event, seconds: float) -> None:
    """Wait for ``seconds``, or until the event is set."""
    try:
        async with asyncio.timeout(seconds):
            await until.wait()
    except TimeoutError:
        return

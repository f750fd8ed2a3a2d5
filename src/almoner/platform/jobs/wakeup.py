"""Wakes the loops of this process after a commit; other processes poll (no NOTIFY in a write transaction).

Who finds nothing looks less and less often, down to twice a second: a deployment at rest should rest.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

POLL_SECONDS: Final = 0.1
LONGEST_POLL_SECONDS: Final = 0.5
_SLOWER: Final = 1.2


class Wakeup:
    """Rung by whoever commits work, heard by the loops that do it."""

    def __init__(self) -> None:
        self._ears: set[asyncio.Event] = set()

    def notify(self) -> None:
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


class PollBackoff:
    """How often a loop looks: 0.1 s after it last found something or heard the bell, then slower by and by."""

    def __init__(self) -> None:
        self.seconds = POLL_SECONDS

    def reset(self) -> None:
        """Something was found: there may be more."""
        self.seconds = POLL_SECONDS

    async def wait_for_work(self, ear: asyncio.Event) -> None:
        """Nothing was found: return at the next ring, or when it is time to look again."""
        if await wait_for_wakeup(ear, self.seconds):
            self.reset()
        else:
            self.increase()

    def increase(self) -> None:
        """Nothing was found."""
        self.seconds = min(self.seconds * _SLOWER, LONGEST_POLL_SECONDS)


async def wait_for_wakeup(ear: asyncio.Event, seconds: float) -> bool:
    """Return at the next ring, or after ``seconds``; whether it rang. Forgets the ring."""
    rung = await wait_until_set(ear, seconds)
    ear.clear()
    return rung


async def wait_until_set(until: asyncio.Event, seconds: float) -> bool:
    """Wait for ``seconds``, or until the event is set; whether it was."""
    try:
        async with asyncio.timeout(seconds):
            return await until.wait()
    except TimeoutError:
        return False

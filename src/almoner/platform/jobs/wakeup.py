"""Wake this process's background loops after a commit; other processes poll.

A loop that finds nothing polls less and less often, down to twice a second, so that an idle deployment stays idle.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

POLL_SECONDS: Final = 0.1
LONGEST_POLL_SECONDS: Final = 0.5
_SLOWER: Final = 1.2


class Wakeup:
    """A signal from code that commits work to the loops that do it."""

    def __init__(self) -> None:
        self._ears: set[asyncio.Event] = set()

    def notify(self) -> None:
        """Wake every listener of this process."""
        for ear in self._ears:
            ear.set()

    @contextmanager
    def listener(self) -> Iterator[asyncio.Event]:
        """An event that is set at every ``notify`` until the block ends."""
        ear = asyncio.Event()
        self._ears.add(ear)
        try:
            yield ear
        finally:
            self._ears.discard(ear)


class PollBackoff:
    """The poll interval of a loop: 0.1 s after work was found, then slower and slower."""

    def __init__(self) -> None:
        self.seconds = POLL_SECONDS

    def reset(self) -> None:
        """Poll fast again, because work was found."""
        self.seconds = POLL_SECONDS

    async def wait_for_work(self, wakeup: asyncio.Event) -> None:
        """Wait for the next notification or poll."""
        if await wait_for_wakeup(wakeup, self.seconds):
            self.reset()
        else:
            self.increase()

    def increase(self) -> None:
        """Poll more slowly, because no work was found."""
        self.seconds = min(self.seconds * _SLOWER, LONGEST_POLL_SECONDS)


async def wait_for_wakeup(wakeup: asyncio.Event, seconds: float) -> bool:
    """Wait for a notification, at most ``seconds``; True if there was one. Clears it."""
    rung = await wait_until_set(wakeup, seconds)
    wakeup.clear()
    return rung


async def wait_until_set(event: asyncio.Event, seconds: float) -> bool:
    """Wait until the event is set, at most ``seconds``; True if it was."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False

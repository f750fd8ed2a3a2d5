"""Return freed memory to the operating system.

This is only needed with glibc, which otherwise keeps most freed memory.
"""

import asyncio
import ctypes
from contextlib import suppress
from typing import Final

from almoner.platform.jobs.wakeup import wait_until_set

_ARENA_MAX: Final = -8
"""``M_ARENA_MAX`` of ``mallopt``."""
_ARENAS: Final = 2
"""Maximum number of glibc memory arenas. Without a limit, each thread keeps all the memory that it has ever used."""
_EVERY_SECONDS: Final = 60.0


def limit_memory_arenas() -> None:
    """Make threads share glibc memory arenas. Call this before any thread is started."""
    with suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)


async def return_freed_memory(stop: asyncio.Event) -> None:
    """Return freed memory to the operating system now, and then every minute until ``stop`` is set."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return
    await asyncio.to_thread(trim, 0)
    while not await wait_until_set(stop, _EVERY_SECONDS):
        await asyncio.to_thread(trim, 0)

"""Memory that is freed goes back to the system, where the C library is glibc, which keeps most of it otherwise."""

import asyncio
import ctypes
from contextlib import suppress
from typing import Final

from almoner.platform.jobs.wakeup import wait_until_set

_ARENA_MAX: Final = -8
"""``M_ARENA_MAX`` of ``mallopt``."""
_ARENAS: Final = 2
"""Pieces of memory that threads allocate from: without a limit each of ten threads keeps what it once needed."""
_EVERY_SECONDS: Final = 60.0


def limit_arenas() -> None:
    """Let threads share the memory that they allocate from. To be called before there are any."""
    with suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)


async def return_freed_memory(stop: asyncio.Event) -> None:
    """Return what is freed, at once and every minute until ``stop``: some milliseconds of a thread."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return
    await asyncio.to_thread(trim, 0)
    while not await wait_until_set(stop, _EVERY_SECONDS):
        await asyncio.to_thread(trim, 0)

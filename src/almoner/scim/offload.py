"""Runs long work in a thread, so that other requests are answered in the meantime."""

import asyncio
from collections.abc import Callable, Sized
from typing import Final, ParamSpec, TypeVar

LONG_BODY: Final = 16 * 1024
"""Bodies of more bytes take more than some milliseconds to validate."""
MANY: Final = 200
"""Building a group with this many members takes as long."""
FEW: Final = 10
"""This many PATCH operations, or resources of a page, do not."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


def has_many_entries(entries: Sized | None) -> bool:
    """Whether the list is long enough to be processed in a thread."""
    return entries is not None and len(entries) > MANY


async def run_in_thread_if_slow(may_take_long: bool, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Run ``work``, in a thread if it may take long."""
    return await asyncio.to_thread(work, *args, **kwargs) if may_take_long else work(*args, **kwargs)

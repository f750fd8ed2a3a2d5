"""Runs long work in a thread, so that other requests are answered in the meantime."""

import asyncio
from collections.abc import Callable, Sized
from typing import Final, ParamSpec, TypeVar

LONG_BODY: Final = 16 * 1024
"""Bytes of a body that takes more than some milliseconds to validate."""
MANY: Final = 200
"""People in a group who take as long to make a resource of."""
FEW: Final = 10
"""Operations of a PATCH, and resources made for a page, that do not."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


def has_many_entries(entries: Sized | None) -> bool:
    """Whether the list is long enough to be processed in a thread."""
    return entries is not None and len(entries) > MANY


async def run_maybe_in_thread(long: bool, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Run ``work``, in a thread if it may take long."""
    return await asyncio.to_thread(work, *args, **kwargs) if long else work(*args, **kwargs)

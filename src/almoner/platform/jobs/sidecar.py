"""Run blocking work in a thread that nobody waits for at shutdown."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

_T = TypeVar("_T")


async def run_in_detached_thread(work: Callable[[], _T]) -> _T:
    """Run ``work`` in a thread and await its result; cancelling does not wait for the thread.

    Threads of ``asyncio.to_thread`` are waited for when the loop ends: minutes, if a reader joins tables.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def settle(result: _T | None, error: BaseException | None) -> None:
        if done.done():
            return  # cancelled
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]  # there is one where there is no error

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001 (raised to the waiting caller)
            error = raised
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, daemon=True, name="beside").start()
    return await done

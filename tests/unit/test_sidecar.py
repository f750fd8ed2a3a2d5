"""Long work beside the loop."""

import asyncio
import threading
from functools import partial

import pytest

from almoner.platform.jobs.sidecar import run_in_detached_thread


async def test_it_gives_what_the_work_gives_or_raises() -> None:
    assert await run_in_detached_thread(partial(sum, [1, 2])) == 3
    with pytest.raises(ZeroDivisionError):
        await run_in_detached_thread(partial(divmod, 1, 0))


def test_whoever_is_stopped_goes_at_once() -> None:
    started, ended, gone = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        gone.wait(20)
        ended.set()

    async def stopped() -> None:
        waiting = asyncio.create_task(run_in_detached_thread(work))
        await asyncio.to_thread(started.wait, 20)
        waiting.cancel()

    asyncio.run(stopped())  # to_thread would be waited for here
    assert not ended.is_set()
    gone.set()
    assert ended.wait(20), "what it gives has nowhere to go, and that is no error"

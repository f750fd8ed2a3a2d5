"""Time limits of tasks, which are watched together."""

import asyncio

import pytest

from almoner.platform.database.deadlines import Deadlines


async def test_work_that_is_done_although_its_time_is_over_leaves_nothing_behind() -> None:
    async def done_nevertheless() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "done"
        raise AssertionError

    async def failing() -> None:
        raise LookupError

    deadlines, task = Deadlines(), asyncio.current_task()
    assert task is not None
    assert await deadlines.run_with_timeout(done_nevertheless(), 0.01) == "done"
    assert task.cancelling() == 0
    with pytest.raises(LookupError):
        await deadlines.run_with_timeout(failing(), 60)

"""Work of which so much is done at once has a line that is as long as it may be, and nobody waits longer."""

import asyncio
from contextlib import AsyncExitStack
from io import BytesIO

import pytest

from almoner.kit.errors import ServiceUnavailable
from almoner.platform.bounded_concurrency import BoundedConcurrency
from almoner.platform.files.uploads.checking import UploadChecker
from tests.support.eventually import eventually


async def test_so_many_work_so_many_wait_and_the_next_is_refused_at_once() -> None:
    line = BoundedConcurrency(2, max_count=3, seconds=60)
    done: list[int] = []

    async def work(number: int) -> None:
        async with line.slot():
            done.append(number)

    async with AsyncExitStack() as working:
        for _ in range(2):
            await working.enter_async_context(line.slot())
        waiting = [asyncio.create_task(work(number)) for number in range(3)]
        await eventually(lambda: line.waiting == 3)
        with pytest.raises(ServiceUnavailable):
            await work(4)
        assert done == []
    await asyncio.gather(*waiting)
    assert (done, line.waiting) == ([0, 1, 2], 0)


async def test_who_waits_too_long_is_refused_and_keeps_no_place() -> None:
    line = BoundedConcurrency(1, max_count=3, seconds=0.01)
    async with line.slot():
        with pytest.raises(ServiceUnavailable):
            async with line.slot():
                raise AssertionError("somebody else is at work")
    assert line.waiting == 0
    async with line.slot():
        pass


async def test_a_file_that_finds_the_line_full_is_not_read() -> None:
    line = BoundedConcurrency(1, max_count=0, seconds=60)
    checker = UploadChecker(line=line)
    async with line.slot():
        with pytest.raises(ServiceUnavailable):
            await checker.check(BytesIO(b"%PDF-1.7"), ["application/pdf"])
    checker.close()


async def test_who_leaves_while_waiting_keeps_no_place() -> None:
    line = BoundedConcurrency(1, max_count=1, seconds=60)
    async with line.slot():
        gone = asyncio.create_task(line.slot().__aenter__())
        await eventually(lambda: line.waiting == 1)
        gone.cancel()
        await asyncio.wait([gone])
        assert line.waiting == 0

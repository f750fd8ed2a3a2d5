"""Concurrent calls answered by one statement."""

import asyncio
from collections.abc import Sequence

import pytest

from almoner.platform.database.batching import CallBatcher


async def test_calls_of_one_moment_are_answered_at_once_and_in_order() -> None:
    batches: list[list[int]] = []

    async def work(keys: Sequence[int]) -> list[int]:
        batches.append(list(keys))
        await asyncio.sleep(0)
        return [key * 2 for key in keys]

    double = CallBatcher(work, max_count=4)
    assert await asyncio.gather(*(double(n) for n in range(10))) == [n * 2 for n in range(10)]
    assert batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert await double(21) == 42


async def test_a_failure_reaches_every_caller_of_its_batch_and_no_other() -> None:
    async def work(keys: Sequence[int]) -> list[int]:
        if 3 in keys:
            raise ValueError("no")
        return list(keys)

    same = CallBatcher(work, max_count=2)
    found = await asyncio.gather(*(same(n) for n in range(6)), return_exceptions=True)
    assert [type(one) for one in found] == [int, int, ValueError, ValueError, int, int]


async def test_a_caller_that_leaves_disturbs_nobody() -> None:
    entered, go = asyncio.Event(), asyncio.Event()

    async def work(keys: Sequence[int]) -> list[int]:
        entered.set()
        await go.wait()
        return list(keys)

    same = CallBatcher(work)
    leaving, staying = asyncio.create_task(same(1)), asyncio.create_task(same(2))
    await entered.wait()
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    go.set()
    assert await staying == 2

"""Places at the database: a reserve for others, the fewest first, a bounded queue, money turned away last."""

import asyncio
from contextlib import suppress

import pytest

from almoner.platform.database.fair_queue import (
    WAITING_PER_PLACE,
    WAITING_PER_PLACE_WITH_MONEY,
    FairQueue,
    FairShareClient,
    QueueFull,
)

ADA, BO = FairShareClient("ada"), FairShareClient("bo")


async def waiting(places: FairQueue, *claimants: FairShareClient | None) -> list[asyncio.Task[None]]:
    """Tasks that wait for a place, in order."""
    tasks = [asyncio.create_task(places.acquire_slot(claimant)) for claimant in claimants]
    await asyncio.sleep(0)
    return tasks


async def ended(*tasks: asyncio.Task[None]) -> None:
    """End tasks that still wait."""
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError, QueueFull):
            await task


async def test_a_claimant_who_is_alone_may_have_all_places() -> None:
    places = FairQueue(10)
    assert [places.try_acquire_slot(ADA) for _ in range(11)] == [True] * 10 + [False]
    (his, more) = await waiting(places, BO, ADA)
    places.release_slot(ADA)
    await his
    places.release_slot(ADA)
    await asyncio.sleep(0)
    assert not more.done(), "she has her share beside him"
    await ended(more)


async def test_beside_others_a_claimant_never_has_the_last_fifth_of_the_places() -> None:
    places = FairQueue(10)
    assert places.try_acquire_slot(BO)
    assert [places.try_acquire_slot(ADA) for _ in range(9)] == [True] * 8 + [False]
    assert [places.try_acquire_slot(BO) for _ in range(2)] == [True, False]
    assert not places.try_acquire_slot(None), "all are taken"


async def test_who_has_the_fewest_is_next_and_of_those_who_waits_longest() -> None:
    places = FairQueue(4)
    for claimant in (ADA, ADA, ADA, None):
        assert places.try_acquire_slot(claimant)
    hers, other, third, his = await waiting(places, ADA, None, FairShareClient("cy"), BO)
    order = []
    for _ in range(3):
        places.release_slot(None)
        await asyncio.sleep(0)
        order.append([task.done() for task in (other, third, his, hers)].count(True))
    assert order == [1, 2, 3]
    assert not hers.done(), "ada has her share"
    places.release_slot(ADA)
    await asyncio.sleep(0)
    assert hers.done()


async def test_a_place_is_free_again_for_who_could_not_have_it() -> None:
    places = FairQueue(4)
    for _ in range(3):
        assert places.try_acquire_slot(ADA)
    assert places.try_acquire_slot(BO)
    (hers,) = await waiting(places, ADA)
    places.release_slot(ADA)
    await hers


async def test_the_queue_is_bounded_for_one_and_for_all_and_longer_for_money() -> None:
    places = FairQueue(2)
    assert places.try_acquire_slot(None)
    assert places.try_acquire_slot(None)
    most = 2 * WAITING_PER_PLACE
    tasks = await waiting(places, *[ADA] * (most // 2))
    with pytest.raises(QueueFull):
        await places.acquire_slot(ADA)
    tasks += await waiting(places, *[BO] * (most // 2))
    with pytest.raises(QueueFull):
        await places.acquire_slot(FairShareClient("cy"))
    paying = FairShareClient("cy", moves_money=True)
    more = 2 * (WAITING_PER_PLACE_WITH_MONEY - WAITING_PER_PLACE)
    tasks += await waiting(places, *[paying] * (more // 2), *[FairShareClient("di", moves_money=True)] * (more // 2))
    with pytest.raises(QueueFull):
        await places.acquire_slot(FairShareClient("ed", moves_money=True))
    (probe,) = await waiting(places, None)
    assert not probe.done(), "health checks are never turned away"
    await ended(*tasks, probe)


async def test_a_cancelled_waiter_loses_nobody_a_place() -> None:
    places = FairQueue(1)
    assert places.try_acquire_slot(ADA)
    first, second = await waiting(places, BO, ADA)
    places.release_slot(ADA)  # bo's, who is cancelled before it is noticed
    await ended(first)
    await second
    places.release_slot(ADA)
    assert places.try_acquire_slot(BO)


async def test_closing_turns_everybody_away() -> None:
    places = FairQueue(1)
    assert places.try_acquire_slot(ADA)
    (other,) = await waiting(places, BO)
    places.close()
    with pytest.raises(QueueFull):
        await other
    with pytest.raises(QueueFull):
        await places.acquire_slot(None)

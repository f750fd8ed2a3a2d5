"""Loops that find nothing look less and less often, and are woken all the same."""

import asyncio

from almoner.platform.jobs.wakeup import LONGEST_POLL_SECONDS, POLL_SECONDS, PollBackoff, Wakeup


async def test_a_loop_that_finds_nothing_slows_down_to_half_a_second() -> None:
    pace, ear = PollBackoff(), asyncio.Event()
    waits = []
    while pace.seconds < LONGEST_POLL_SECONDS:
        waits.append(pace.seconds)
        await pace.wait_for_work(ear)
    assert waits[0] == POLL_SECONDS
    assert waits == sorted(set(waits))
    await pace.wait_for_work(ear)
    assert pace.seconds == LONGEST_POLL_SECONDS == 0.5


async def test_what_is_found_or_heard_makes_it_quick_again() -> None:
    bell = Wakeup()
    with bell.listener() as ear:
        pace = PollBackoff()
        pace.seconds = LONGEST_POLL_SECONDS
        pace.reset()
        assert pace.seconds == POLL_SECONDS
        pace.seconds = 60.0
        bell.notify()
        async with asyncio.timeout(30):
            await pace.wait_for_work(ear)
        assert pace.seconds == POLL_SECONDS
        assert not ear.is_set()

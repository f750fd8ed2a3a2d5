"""Events by long poll: `after` and `wait` (settled 11)."""

import asyncio
from time import monotonic
from typing import Any

import httpx
import pytest

from almoner.platform.events.waiters import MAX_WAITING_PER_PARTNER, EventLongPollWaiters
from tests.support.client import Client, data
from tests.support.eventually import eventually
from tests.support.service import Service, Tenant
from tests.support.validation import requested, simulate

EVENTS = "/v1/events"


async def happen(service: Service, api: Client, name: str = "Casper Relief") -> None:
    """One event: a validation request is accepted."""
    request = await requested(api, name=name, registryId="99-1234567")
    await service.drain()
    await simulate(api, request, "accept")
    await service.drain()


def sequences(answer: httpx.Response) -> list[int]:
    """Of the events of an answer."""
    return [event["sequence"] for event in data(answer)]


async def test_after_lists_what_followed_the_oldest_first(service: Service, api: Client) -> None:
    for name in ("One", "Two", "Three"):
        await happen(service, api, name)
    everything = sequences(await api.get(EVENTS, direction="ASC"))
    assert len(everything) >= 3
    assert sequences(await api.get(EVENTS, after=0)) == everything
    assert sequences(await api.get(EVENTS, after=everything[0])) == everything[1:]
    assert sequences(await api.get(EVENTS, after=everything[-1])) == []
    first = await api.get(EVENTS, after=0, pageSize=1)
    following = await api.get(first.json()["_links"]["next"])
    assert sequences(first) + sequences(following) == everything[:2]
    assert sequences(await api.get(following.json()["_links"]["prev"])) == everything[:1]
    assert sequences(await api.get(EVENTS, after=0, type="donation.created")) == []


async def test_a_waiting_call_is_answered_when_an_event_has_happened(
    service: Service, api: Client, other: Client
) -> None:
    waiting = asyncio.create_task(api.get(EVENTS, after=0, wait=30))
    idle = asyncio.create_task(other.get(EVENTS, after=0, wait=1))
    filtered = asyncio.create_task(api.get(EVENTS, after=0, wait=2, type="donation.created"))
    started = monotonic()
    await happen(service, api)
    answer = await waiting
    assert len(sequences(answer)) >= 1
    assert monotonic() - started < 20
    assert sequences(await idle) == []
    assert sequences(await filtered) == []


async def test_no_place_of_the_database_is_held_and_only_so_many_wait(service: Service, api: Client) -> None:
    calls = [asyncio.create_task(api.get(EVENTS, after=0, wait=2)) for _ in range(MAX_WAITING_PER_PARTNER + 3)]
    answers = await asyncio.gather(*calls)
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(refused) == 3
    assert refused[0].headers["retry-after"] == "1"
    assert [sequences(answer) for answer in answers if answer.status_code == 200] == [[]] * MAX_WAITING_PER_PARTNER


async def test_waiting_ends_when_the_process_is_to_end(service: Service, tenant: Tenant) -> None:
    waiters, stop = EventLongPollWaiters(service.db), asyncio.Event()
    running = asyncio.create_task(waiters.run(stop))
    waiting = asyncio.create_task(waiters.wait_for_event(tenant.partner, 0, 60))
    await eventually(lambda: waiters.waiting_call_count == 1)
    stop.set()
    await running
    assert await asyncio.wait_for(waiting, 30) is False
    assert await waiters.wait_for_event(tenant.partner, 0, 30) is False


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"wait": 5}, "query"),
        ({"after": 0, "wait": 31}, "query.wait"),
        ({"after": -1}, "query.after"),
        ({"after": "x", "wait": "y"}, "query.after"),
    ],
)
async def test_what_cannot_be_waited_for_is_refused(api: Client, query: dict[str, Any], reason: str) -> None:
    answer = await api.get(EVENTS, **query)
    assert answer.status_code == 400
    assert answer.json()["error"]["reasons"][0].startswith(reason)

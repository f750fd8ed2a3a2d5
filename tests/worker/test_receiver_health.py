"""Receivers that fail: paused, probed, warned of, suspended, resumed and sent what they missed (settled 11)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from almoner.kit.time import parse_timestamp
from almoner.platform.database.postgres import PostgresServer
from tests.support import database, webhooks
from tests.support.client import Client, data
from tests.support.receivers import Received, receiver, reply
from tests.support.service import Service, Tenant, serving

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.fixture(scope="module")
async def service(postgres_server: PostgresServer) -> AsyncIterator[Service]:
    """A service of its own: here the clocks go far."""
    async with database.copied(postgres_server) as made, serving(made) as running:
        yield running


async def the(api: Client, subscription: Any) -> Any:
    """The subscription as it is now."""
    return data(await api.get(f"/v1/webhook-subscriptions/{subscription['id']}"))


async def pass_time(service: Service, step: timedelta) -> None:
    """Both clocks move and what is due happens."""
    service.clock.advance(step)
    service.clock.advance_wall(seconds=step.total_seconds())
    await service.drain()


async def test_a_dead_receiver_is_called_less_and_less(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver(reply(500)) as dead:
        subscription = await webhooks.subscribe(api, dead)
        await webhooks.happen(service, tenant, times=40)
        await service.drain()
        in_the_first_second = len(dead.received)
        assert 5 <= in_the_first_second <= 8, "four are in flight when the fifth failure pauses"
        for _ in range(9):
            await pass_time(service, timedelta(minutes=1))
        assert len(dead.received) - in_the_first_second == 3, "one probe each after 1, 3 and 7 minutes"
        shown = await the(api, subscription)
        assert (shown["health"], shown["status"], shown["lastSuccessAt"]) == ("failing", "active", None)
        assert parse_timestamp(shown["failingSince"]) == service.clock.now() - timedelta(minutes=9)
        dead.otherwise = reply()
        await pass_time(service, timedelta(minutes=7))
        shown = await the(api, subscription)
        assert (shown["health"], shown["failingSince"]) == ("healthy", None)
        for _ in range(4):
            await pass_time(service, timedelta(hours=4))
    assert {one["status"] for one in await webhooks.deliveries(api, subscription, pageSize=50)} == {"succeeded"}
    assert len({got.headers["webhook-id"] for got in dead.received}) == 40


async def test_a_paused_receiver_costs_others_nothing(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver(reply(500)) as dead, receiver() as healthy:
        await webhooks.subscribe(api, dead)
        await webhooks.subscribe(api, healthy)
        await webhooks.happen(service, tenant, times=20)
        await service.drain()
        assert len(healthy.received) == 20
        assert len(dead.received) < 9


async def test_a_test_event_is_sent_through_a_pause_and_ends_it(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver(reply(500)) as sink:
        subscription = await webhooks.subscribe(api, sink)
        await webhooks.happen(service, tenant, times=12)
        await service.drain()
        sink.otherwise = reply()
        assert data(await api.post(f"/v1/webhook-subscriptions/{subscription['id']}/test"))["status"] == "pending"
        await service.drain()
        assert (await the(api, subscription))["health"] == "healthy"
        for _ in range(3):
            await pass_time(service, timedelta(minutes=2))
        assert len({got.headers["webhook-id"] for got in sink.received}) == 13


@pytest.mark.parametrize("change", [{"status": "active"}, {"url": None}], ids=["resumed", "moved"])
async def test_a_receiver_that_is_moved_or_resumed_begins_anew(
    service: Service, api: Client, tenant: Tenant, change: dict[str, Any]
) -> None:
    async with receiver(reply(500)) as dead, receiver() as sink:
        subscription = await webhooks.subscribe(api, dead)
        path = f"/v1/webhook-subscriptions/{subscription['id']}"
        await webhooks.happen(service, tenant, times=12)
        await service.drain()
        dead.otherwise = reply()
        if "status" in change:
            await api.patch(path, {"status": "suspended"})
        shown = data(await api.patch(path, {"url": sink.url} if "url" in change else change))
        assert (shown["health"], shown["failingSince"]) == ("healthy", None)
        await service.drain()
        reached = sink if "url" in change else dead
        assert len({got.headers["webhook-id"] for got in reached.received}) >= 4


async def test_a_day_of_failures_warns_and_five_suspend(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver(reply(503)) as dead, receiver() as sink:
        subscription = await webhooks.subscribe(api, dead, "donation.created")
        reports = await webhooks.subscribe(api, sink, "webhook_subscription.failing", "webhook_subscription.suspended")
        for _ in range(11):
            await webhooks.happen(service, tenant)
            for _ in range(12):
                await pass_time(service, HOUR)
        types = [webhooks.verify_whenever(got, reports["secret"])["data"]["eventType"] for got in sink.received]
        assert types == ["webhook_subscription.failing", "webhook_subscription.suspended"]
        warned, suspended = (
            webhooks.verify_whenever(got, reports["secret"])["data"]["eventData"] for got in sink.received
        )
        assert (warned["id"], warned["health"], warned["status"]) == (subscription["id"], "failing", "active")
        assert (suspended["health"], suspended["status"]) == ("failing", "suspended")
        shown = await the(api, subscription)
        assert shown["status"] == "suspended"
        assert {one["status"] for one in await webhooks.deliveries(api, subscription)} <= {"failed", "cancelled"}


async def test_a_move_of_the_business_clock_alone_warns_and_suspends_nobody(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async with receiver(reply(503)) as dead:
        subscription = await webhooks.subscribe(api, dead)
        for _ in range(9):
            await webhooks.happen(service, tenant)
            service.clock.advance(DAY)
            await service.drain()
        assert (await the(api, subscription))["status"] == "active"


async def test_what_is_held_back_fails_within_three_days_of_its_event(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async with receiver(reply(500)) as dead:
        subscription = await webhooks.subscribe(api, dead)
        await webhooks.happen(service, tenant, times=200)
        await service.drain()
        for _ in range(71):
            service.clock.advance(HOUR)
            await service.drain()
        waiting = await webhooks.deliveries(api, subscription, pageSize=50, status="pending")
        assert waiting, "probes are too few for all of them"
        service.clock.advance(HOUR)
        await service.drain()
        ended = data(await api.get(f"/v1/webhook-subscriptions/{subscription['id']}/deliveries", pageSize=100))
        assert {one["status"] for one in ended} == {"failed"}
        assert any(not one["attempts"] for one in ended), "an attempt that is held back is no attempt"


async def test_a_replay_sends_what_was_missed_in_order(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver() as sink:
        subscription = await webhooks.subscribe(api, sink)
        path = f"/v1/webhook-subscriptions/{subscription['id']}"
        sink.script = [reply(500)]
        missed = await webhooks.happen(service, tenant)
        await service.drain()
        await webhooks.happen(service, tenant)
        await service.drain()
        await api.patch(path, {"status": "suspended"})
        service.clock.advance(HOUR)
        missed += await webhooks.happen(service, tenant, times=29)
        await service.drain()
        assert len(sink.received) == 2
        await api.patch(path, {"status": "active"})
        assert data(await api.post(f"{path}/replay", {}))["scheduled"] == 30
        for _ in range(31):
            service.clock.advance(milliseconds=50)
            await service.drain()
        assert [got.headers["webhook-id"] for got in sink.received[2:]] == missed
        assert sink.most_in_flight == 1


async def test_a_pause_holds_a_replay_back_too(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver(reply(500)) as dead:
        subscription = await webhooks.subscribe(api, dead)
        await webhooks.happen(service, tenant, times=12)
        await service.drain()
        called = len(dead.received)
        path = f"/v1/webhook-subscriptions/{subscription['id']}/replay"
        day = service.clock.now().date().isoformat()
        assert data(await api.post(path, {"startDate": day}))["scheduled"] == 12
        await service.drain()
        assert len(dead.received) == called
        await pass_time(service, timedelta(minutes=1))
        assert called < len(dead.received) <= called + 2, "a probe of each lane at most"


async def test_a_fast_receiver_gets_up_to_32_at_once_while_nobody_else_waits(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async def when_32_are_here(_request: Received, writer: asyncio.StreamWriter) -> None:
        for _ in range(200):
            if sink.in_flight >= 32:
                break
            await asyncio.sleep(0)  # lets the others come
        writer.write(reply())
        await writer.drain()

    async with receiver() as sink:
        await webhooks.subscribe(api, sink)
        await webhooks.happen(service, tenant)
        await service.drain()
        sink.otherwise = when_32_are_here
        await webhooks.happen(service, tenant, times=100)
        await service.drain()
        assert sink.most_in_flight == 32

"""Events sent again: tests, resend, replay, and the list of deliveries (W14, settled 8)."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from almoner.platform.database.postgres import PostgresServer
from tests.support import database, webhooks
from tests.support.client import Client, data
from tests.support.receivers import receiver, reply
from tests.support.service import Service, Tenant, serving

HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
async def service(postgres_server: PostgresServer) -> AsyncIterator[Service]:
    """A service of its own: here the clocks go far, and signatures bear real time."""
    async with database.copied(postgres_server) as made, serving(made) as running:
        yield running


async def test_events_go_to_the_subscriptions_that_name_them_and_to_no_other_partner(
    service: Service, api: Client, other: Client, tenant: Tenant
) -> None:
    async with receiver() as named, receiver() as every, receiver() as unnamed, receiver() as foreign:
        await webhooks.subscribe(api, named, "donation.created", "donation.cancelled")
        await webhooks.subscribe(api, every, "*")
        await webhooks.subscribe(api, unnamed, "donation.cancelled")
        await webhooks.subscribe(other, foreign, "*")
        await webhooks.happen(service, tenant)
        await service.drain()
        assert [len(sink.received) for sink in (named, every, unnamed, foreign)] == [1, 1, 0, 0]


async def test_a_test_event_reaches_its_subscription_and_no_list(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver() as sink, receiver() as beside:
        subscription = await webhooks.subscribe(api, sink, "donation.created")
        await webhooks.subscribe(api, beside)
        delivery = data(await api.post(f"/v1/webhook-subscriptions/{subscription['id']}/test"))
        assert (delivery["status"], delivery["reason"], delivery["sequence"]) == ("pending", "test", None)
        await service.drain()
        event = webhooks.verify(sink.received[0], subscription["secret"])
        assert event["data"]["eventType"] == "webhook_subscription.test"
        assert "service-sequence" not in sink.received[0].headers
        assert beside.received == []
    assert data(await api.get("/v1/events")) == []
    (listed,) = await webhooks.deliveries(api, subscription)
    assert (listed["id"], listed["status"]) == (delivery["id"], "succeeded")


async def test_w14_resend_sends_the_same_bytes_again(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver() as sink, receiver() as beside:
        subscription, second = await webhooks.subscribe(api, sink), await webhooks.subscribe(api, beside)
        (event_id,) = await webhooks.happen(service, tenant)
        await service.drain()
        path = f"/v1/events/{event_id}/resend"
        assert data(await api.post(path)) == {"scheduled": 2}
        assert data(await api.post(path, {"webhookSubscriptionId": subscription["id"]})) == {"scheduled": 1}
        await service.drain()
        assert [len(got.received) for got in (sink, beside)] == [3, 2]
        assert len({got.body for got in sink.received}) == 1
        assert {got.headers["service-sequence"] for got in sink.received} == {"1"}
    assert [delivery["reason"] for delivery in await webhooks.deliveries(api, second)] == ["event", "resend"]


async def test_w14_resend_refuses_what_is_not_there(
    service: Service, api: Client, other: Client, tenant: Tenant
) -> None:
    (event_id,) = await webhooks.happen(service, tenant)
    path = f"/v1/events/{event_id}/resend"
    assert (await api.post(path)).status_code == 404, "an event is there once it has its number"
    await service.drain()
    assert data(await api.post(path)) == {"scheduled": 0}
    assert (await other.post(path)).status_code == 404
    async with receiver() as sink:
        foreign = await webhooks.subscribe(other, sink)
        for named in (foreign["id"], "nonsense", ""):
            answer = await api.post(path, {"webhookSubscriptionId": named})
            assert answer.json()["error"]["code"] == "event/webhook_subscription_not_found"


async def test_w14_replay_sends_a_window_again(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver() as sink:
        subscription = await webhooks.subscribe(api, sink, "donation.created")
        path = f"/v1/webhook-subscriptions/{subscription['id']}/replay"
        made = []
        for event_type in ("donation.created", "donation.cancelled", "donation.created"):
            made += await webhooks.happen(service, tenant, event_type)
            await service.drain()
            service.clock.advance(hours=1)
        started = service.clock.now() - 3 * HOUR
        assert len(sink.received) == 2
        window = {"startDate": started.isoformat(), "endDate": (started + 2 * HOUR).isoformat()}
        assert data(await api.post(path, window)) == {"scheduled": 1}
        assert data(await api.post(path, {"startDate": started.isoformat()})) == {"scheduled": 2}
        await service.drain()
        again = [got.headers["webhook-id"] for got in sink.received[2:]]
        assert sorted(again) == sorted([made[0], made[0], made[2]])


async def test_w14_replay_of_what_failed_recovers_an_outage(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver(reply(500)) as sink:
        subscription = await webhooks.subscribe(api, sink)
        started = service.clock.now()
        lost = await webhooks.happen(service, tenant, times=3)
        for _ in range(6):
            await service.drain()
            service.clock.advance(hours=15)
        sink.otherwise = reply()
        (arrived,) = await webhooks.happen(service, tenant)
        await service.drain()
        assert [d["status"] for d in await webhooks.deliveries(api, subscription, status="failed")] == ["failed"] * 3
        sink.received.clear()
        body = {"startDate": started.isoformat(), "failedOnly": True}
        path = f"/v1/webhook-subscriptions/{subscription['id']}/replay"
        assert data(await api.post(path, body)) == {"scheduled": 3}
        assert data(await api.post(path, body)) == {"scheduled": 0}, "they are under way"
        await service.drain()
        ids = [got.headers["webhook-id"] for got in sink.received]
        assert (sorted(ids), arrived in ids) == (sorted(lost), False)


async def test_w14_replay_refuses_windows_that_are_too_old(service: Service, api: Client) -> None:
    async with receiver() as sink:
        subscription = await webhooks.subscribe(api, sink)
    path = f"/v1/webhook-subscriptions/{subscription['id']}/replay"
    for body, reason in (
        ({"startDate": (service.clock.now() - timedelta(days=31)).isoformat()}, "body.startDate must be at most 30"),
        ({"startDate": "yesterday"}, "body.startDate must be"),
    ):
        answer = await api.post(path, body)
        assert answer.status_code == 400
        assert answer.json()["error"]["reasons"][0].startswith(reason)


async def test_i1_replaying_twice_with_one_key_schedules_once(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver() as sink:
        subscription = await webhooks.subscribe(api, sink)
        await webhooks.happen(service, tenant)
        await service.drain()
        body = {"startDate": (service.clock.now() - HOUR).isoformat()}
        path = f"/v1/webhook-subscriptions/{subscription['id']}/replay"
        answers = [await api.post(path, body, idempotency_key="again") for _ in range(2)]
        await service.drain()
        assert [answer.json()["data"] for answer in answers] == [{"scheduled": 1}] * 2
        assert len(sink.received) == 2


async def test_p1_deliveries_are_paged_and_filtered(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver(None, reply(500)) as sink:
        subscription = await webhooks.subscribe(api, sink)
        await webhooks.happen(service, tenant, times=5)
        await service.drain()
    path = f"/v1/webhook-subscriptions/{subscription['id']}/deliveries"
    seen = []
    following = f"{path}?pageSize=2"
    while following:
        page = (await api.get(following)).json()
        assert (page["object"], page["totalResults"]) == ("webhook_delivery", 5)
        seen += [delivery["sequence"] for delivery in page["data"]]
        following = page["_links"]["next"]
    assert sorted(seen) == [1, 2, 3, 4, 5]
    assert (await api.get(path, status="pending")).json()["totalResults"] == 1
    assert (await api.get(path, status="lost")).status_code == 400

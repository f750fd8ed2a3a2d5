"""Deliveries to a real receiver: W1-W4, W7-W9, W13."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import standardwebhooks

from almoner.kit.time import parse_timestamp
from almoner.platform.database.postgres import PostgresServer
from almoner.platform.events import outbox
from almoner.platform.jobs import queue
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import BackgroundTasks, JobContext, merge_background_tasks
from almoner.platform.outbound.client import MAX_BODY_BYTES, OutboundClient, OutboundResponse
from almoner.webhooks.deliveries import jobs as deliveries_jobs
from almoner.webhooks.deliveries.jobs import DeliveryWorker
from almoner.webhooks.subscriptions.domain import BURST_CAP, CAP
from tests.support import database, webhooks
from tests.support.client import Client, data
from tests.support.eventually import eventually
from tests.support.receivers import Received, receiver, reply
from tests.support.service import Service, Tenant, serving

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
async def service(postgres_server: PostgresServer) -> AsyncIterator[Service]:
    """A service of its own: here the clocks go far, and signatures bear real time."""
    async with database.copied(postgres_server) as made, serving(made) as running:
        yield running


@pytest.fixture
async def second(service: Service) -> AsyncIterator[OutboundClient]:
    """The client of a second worker."""
    made = OutboundClient(service.db.deployment.outbound_address_policy)
    yield made
    await made.close()


async def test_w1_a_committed_event_is_delivered_once_with_both_signatures(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async with receiver() as sink:
        subscription = await webhooks.subscribe(api, sink)
        (event_id,) = await webhooks.happen(service, tenant)
        await service.drain()
        await service.drain()
        (got,) = sink.received
    event = webhooks.verify(got, subscription["secret"])
    assert event == {
        "object": "event",
        "data": {
            "id": event_id,
            "createdAt": event["data"]["createdAt"],
            "eventType": "donation.created",
            "eventData": webhooks.RECORD,
        },
    }
    assert (got.headers["content-type"], got.headers["service-sequence"]) == ("application/json", "1")
    (delivery,) = await webhooks.deliveries(api, subscription)
    assert (delivery["status"], delivery["eventId"], delivery["sequence"], delivery["reason"]) == (
        "succeeded",
        event_id,
        1,
        "event",
    )
    (attempt,) = delivery["attempts"]
    assert (attempt["number"], attempt["statusCode"], attempt["error"], attempt["responseBody"]) == (1, 200, None, None)
    assert attempt["durationMs"] >= 0


async def _happen_and_fail(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        await outbox.emit_event(tx, tenant.partner.id, "donation.created", webhooks.RECORD)
        raise ZeroDivisionError


async def test_w1_an_event_that_is_rolled_back_is_never_delivered(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async with receiver() as sink:
        await webhooks.subscribe(api, sink)
        with pytest.raises(ZeroDivisionError):
            await _happen_and_fail(service, tenant)
        await service.drain()
    assert sink.received == []


async def test_settled_2_signatures_verify_after_the_business_clock_moved_30_days(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async with receiver() as sink:
        subscription = await webhooks.subscribe(api, sink)
        service.clock.advance(days=30)
        await webhooks.happen(service, tenant)
        await service.drain()
        event = webhooks.verify(sink.received[0], subscription["secret"])
    ahead = parse_timestamp(event["data"]["createdAt"]) - service.clock.now()
    assert abs(ahead) < MINUTE, "createdAt is business time"
    real = datetime.fromtimestamp(int(sink.received[0].headers["webhook-timestamp"]), UTC)
    assert abs(real - service.clock.real_now()) < MINUTE, "the timestamp that is signed is real time"


def counted_attempts(service: Service) -> tuple[float, float]:
    """What the metric has of attempts that succeeded, and of those that failed."""
    value = service.services.telemetry.registry.get_sample_value
    succeeded, failed = (value("almoner_deliveries_total", {"result": one}) for one in ("succeeded", "failed"))
    assert succeeded is not None
    assert failed is not None
    return succeeded, failed


async def test_w7_same_bytes_and_id_on_every_attempt_with_a_fresh_timestamp(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async def drop(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with receiver(
        None, reply(500, connection="close"), drop, reply(302, location="http://127.0.0.1:1/"), reply(429)
    ) as sink:
        subscription = await webhooks.subscribe(api, sink)
        await webhooks.happen(service, tenant)
        before = counted_attempts(service)
        for step in (timedelta(0), 1.2 * MINUTE, 16 * MINUTE, 4 * HOUR, 15 * HOUR):
            service.clock.advance(step)
            service.clock.advance_wall(seconds=2)
            await service.drain()
        assert len(sink.received) == 5
        assert len({got.body for got in sink.received}) == 1
        assert len({got.headers["webhook-id"] for got in sink.received}) == 1
        assert len({got.headers["webhook-timestamp"] for got in sink.received}) == 5
        succeeded, failed = counted_attempts(service)  # also those of others
        assert succeeded >= before[0] + 1
        assert failed >= before[1] + 4
        for got in sink.received:
            webhooks.verify(got, subscription["secret"])
    (delivery,) = await webhooks.deliveries(api, subscription)
    assert delivery["status"] == "succeeded"
    assert [attempt["statusCode"] for attempt in delivery["attempts"]] == [500, None, 302, 429, 200]
    assert delivery["attempts"][1]["error"].startswith("The server closed the connection")


async def test_w2_a_receiver_that_always_fails_gets_five_attempts_over_14_hours(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async with receiver(reply(503, b"later\x00 please")) as sink:
        subscription = await webhooks.subscribe(api, sink)
        await webhooks.happen(service, tenant)
        await service.drain()
        for _ in range(15 * 12):
            service.clock.advance(minutes=5)
            await service.drain()
        assert len(sink.received) == 5
    (delivery,) = await webhooks.deliveries(api, subscription)
    assert (delivery["status"], delivery["nextAttemptAt"]) == ("failed", None)
    at = [parse_timestamp(attempt["attemptedAt"]) for attempt in delivery["attempts"]]
    late = timedelta(minutes=5)
    assert MINUTE <= at[1] - at[0] <= 1.1 * MINUTE + late
    assert 14 * MINUTE <= at[2] - at[1] <= 1.1 * 14 * MINUTE + late
    assert 165 * MINUTE <= at[3] - at[2] <= 1.1 * 165 * MINUTE + late
    assert 14 * HOUR <= at[4] - at[0] <= 14 * HOUR + 10 * MINUTE + late
    assert delivery["attempts"][0]["responseBody"] == "later\ufffd please"


async def test_w3_retry_after_is_obeyed_up_to_twice_the_step(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver(None, reply(429, retry_after="90"), reply(503, retry_after="999999")) as sink:
        subscription = await webhooks.subscribe(api, sink)
        await webhooks.happen(service, tenant)
        await service.drain()
        (delivery,) = await webhooks.deliveries(api, subscription)
        assert parse_timestamp(delivery["nextAttemptAt"]) == service.clock.now() + timedelta(seconds=90)
        service.clock.advance(seconds=89)
        await service.drain()
        assert len(sink.received) == 1
        service.clock.advance(seconds=1)
        await service.drain()
        (delivery,) = await webhooks.deliveries(api, subscription)
        assert parse_timestamp(delivery["nextAttemptAt"]) == service.clock.now() + 28 * MINUTE


async def test_w3_410_suspends_and_tells_the_other_subscriptions(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver(reply(410)) as gone, receiver() as sink:
        dead = await webhooks.subscribe(api, gone, "donation.created")
        reported = await webhooks.subscribe(api, sink, "webhook_subscription.suspended")
        await webhooks.happen(service, tenant)
        await service.drain()
        await webhooks.happen(service, tenant)
        await service.drain()
        assert len(gone.received) == 1
        (ended,) = await webhooks.deliveries(api, dead)
        assert (ended["status"], ended["nextAttemptAt"], len(ended["attempts"])) == ("failed", None, 1)
        (got,) = sink.received
        event = webhooks.verify(got, reported["secret"])
        assert (event["data"]["eventData"]["id"], event["data"]["eventData"]["status"]) == (dead["id"], "suspended")
        assert dead["secret"] not in got.body.decode()
        path = f"/v1/webhook-subscriptions/{dead['id']}"
        assert data(await api.get(path))["status"] == "suspended"
        assert (await api.post(f"{path}/test")).json()["error"]["code"] == "webhook_subscription/invalid_state"
        assert data(await api.patch(path, {"status": "active"}))["status"] == "active"
        gone.otherwise = reply()
        await webhooks.happen(service, tenant)
        await service.drain()
        assert len(gone.received) == 2


async def test_w3_after_410_of_a_url_that_was_replaced_meanwhile_the_new_one_gets_all_events(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async with receiver() as gone, receiver() as sink:
        subscription = await webhooks.subscribe(api, gone)
        path = f"/v1/webhook-subscriptions/{subscription['id']}"

        async def move(_request: Received, writer: asyncio.StreamWriter) -> None:
            await api.patch(path, {"url": sink.url})
            writer.write(reply(410))
            await writer.drain()

        gone.otherwise = move
        await webhooks.happen(service, tenant)
        await service.drain()
        moved = data(await api.get(path))
        assert (moved["url"], moved["status"]) == (sink.url, "active")
        await webhooks.happen(service, tenant)
        await service.drain()
        assert (len(gone.received), len(sink.received)) == (1, 1)
        service.clock.advance(seconds=66)
        await service.drain()
        assert (len(gone.received), len(sink.received)) == (1, 2)
        assert sink.received[1].body == gone.received[0].body
    tried = await webhooks.deliveries(api, subscription)
    assert {one["status"] for one in tried} == {"succeeded"}
    assert sorted([attempt["statusCode"] for attempt in one["attempts"]] for one in tried) == [[200], [410, 200]]


async def test_w3_a_suspended_or_deleted_subscription_gets_no_further_attempt(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async with receiver(reply(500)) as sink:
        suspended, deleted = await webhooks.subscribe(api, sink), await webhooks.subscribe(api, sink)
        await webhooks.happen(service, tenant)
        await service.drain()
        assert len(sink.received) == 2
        await api.patch(f"/v1/webhook-subscriptions/{suspended['id']}", {"status": "suspended"})
        await api.delete(f"/v1/webhook-subscriptions/{deleted['id']}")
        service.clock.advance(minutes=2)
        await service.drain()
        assert len(sink.received) == 2
    (delivery,) = await webhooks.deliveries(api, suspended)
    assert (delivery["status"], len(delivery["attempts"])) == ("cancelled", 1)


async def test_a_deleted_subscription_leaves_no_lane_behind(service: Service, api: Client, tenant: Tenant) -> None:
    async def lanes(subscription: Any) -> int:
        own = service.db.deployment.ids.decode("webhooksubscription", subscription["id"])
        async with service.db.read() as tx:
            return int(await tx.fetchval("select count(*) from queue_lane where starts_with(lane, $1::text)", str(own)))

    async with receiver() as sink:
        deleted, left = await webhooks.subscribe(api, sink), await webhooks.subscribe(api, sink)
        await webhooks.happen(service, tenant)
        await api.post(f"/v1/webhook-subscriptions/{deleted['id']}/test", {})
        await service.drain()
        assert (await lanes(deleted), await lanes(left)) == (3, 2), "for events, replays and tests"
        await api.delete(f"/v1/webhook-subscriptions/{deleted['id']}")
        await webhooks.happen(service, tenant)
        service.clock.advance(days=3)
        await service.drain()
        assert (await lanes(deleted), await lanes(left)) == (0, 2)
        assert len(sink.received) == 4


async def test_w8_a_failing_event_holds_up_no_other(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver(None, reply(500)) as sink:
        await webhooks.subscribe(api, sink)
        first, second = await webhooks.happen(service, tenant, times=2)
        await service.drain()
        assert {got.headers["webhook-id"] for got in sink.received} == {first, second}
        assert sorted(got.headers["service-sequence"] for got in sink.received) == ["1", "2"]


async def test_w9_what_is_kept_of_an_answer_is_bounded(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver(reply(500, "ü".encode() * 20_000)) as sink:
        subscription = await webhooks.subscribe(api, sink)
        await webhooks.happen(service, tenant)
        await service.drain()
    (delivery,) = await webhooks.deliveries(api, subscription)
    assert delivery["attempts"][0]["responseBody"] == "ü" * 500


async def test_w9_a_receiver_that_is_not_there_is_told_as_such(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver() as sink:
        subscription = await webhooks.subscribe(api, sink)
    await webhooks.happen(service, tenant)
    await service.drain()
    (delivery,) = await webhooks.deliveries(api, subscription)
    (attempt,) = delivery["attempts"]
    assert (delivery["status"], attempt["statusCode"]) == ("pending", None)
    assert attempt["error"].startswith("The connection failed")


async def test_w4_two_workers_together_keep_to_the_cap_of_an_endpoint(
    service: Service, api: Client, tenant: Tenant, second: OutboundClient
) -> None:
    full = asyncio.Event()

    async def together(_request: Received, writer: asyncio.StreamWriter) -> None:
        if sink.in_flight == BURST_CAP:
            full.set()
        await full.wait()
        for _ in range(400):
            await asyncio.sleep(0)  # lets everything else go on meanwhile: one more would be seen
        writer.write(reply())
        await writer.drain()

    another = BackgroundWorker(
        service.db,
        merge_background_tasks([deliveries_jobs.tasks, delivering(service, second)]),
        service.services.telemetry,
    )
    async with receiver(together, *[reply()] * CAP) as sink:
        await webhooks.subscribe(api, sink)
        await webhooks.happen(service, tenant, times=60)
        async with asyncio.timeout(30):
            while len(sink.received) < 60:
                await asyncio.gather(service.drain(), another.drain())
    assert len({got.headers["webhook-id"] for got in sink.received}) == 60 == len(sink.received)
    assert sink.most_in_flight == BURST_CAP, "it answers within a second, and nobody else waits"


async def test_w4_a_receiver_that_never_answers_delays_nobody_else(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async def never(_request: Received, _writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    stop = asyncio.Event()
    async with receiver(never) as dead, receiver() as healthy:
        await webhooks.subscribe(api, dead)
        await webhooks.subscribe(api, healthy)
        await webhooks.happen(service, tenant, times=50)
        running = asyncio.create_task(service.services.background_worker.run(stop))
        await eventually(lambda: len(healthy.received) == 50 and dead.in_flight == 4)
        assert dead.most_in_flight == 4
    stop.set()
    await running


def delivering(service: Service, client: OutboundClient) -> BackgroundTasks:
    """What makes attempts by a client."""
    return deliveries_jobs.delivery_tasks.bind(DeliveryWorker(service.db, client, service.services.telemetry))


class _DiesAfterTheAnswer(OutboundClient):
    """A process that is killed when the receiver has answered and nothing of it is written down."""

    async def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        connection_owner: str,
        max_bytes: int = MAX_BODY_BYTES,
    ) -> OutboundResponse:
        await super().post(url, body, headers, connection_owner=connection_owner, max_bytes=max_bytes)
        raise asyncio.CancelledError


async def _claimed(service: Service) -> queue.Job:
    async with service.db.write() as tx:
        taken, _ = await queue.claim_lane_jobs(tx, "", 1)
    (job,) = taken
    return job


async def test_w7_a_crash_between_answer_and_commit_delivers_again_with_equal_bytes(
    service: Service, api: Client, tenant: Tenant
) -> None:
    await service.drain()
    dying = _DiesAfterTheAnswer(service.db.deployment.outbound_address_policy)
    async with receiver() as sink:
        subscription = await webhooks.subscribe(api, sink)
        await webhooks.happen(service, tenant)
        await service.services.background_worker.dispatcher.dispatch_next_events()
        job = await _claimed(service)
        with pytest.raises(asyncio.CancelledError):
            await delivering(service, dying).handlers[job.kind](JobContext(service.db), job)
        await service.drain()
        assert len(sink.received) == 1, "the dead worker's lease still holds"
        service.clock.advance_wall(seconds=61)
        async with service.db.write() as tx:
            assert await queue.release_expired_jobs(tx) == 1
        await service.drain()
        first, second = sink.received
    await dying.close()
    assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])
    (delivery,) = await webhooks.deliveries(api, subscription)
    assert (delivery["status"], [attempt["number"] for attempt in delivery["attempts"]]) == ("succeeded", [1])


async def test_w7_two_workers_with_one_job_record_one_attempt(
    service: Service, api: Client, tenant: Tenant, second: OutboundClient
) -> None:
    both_are_here = asyncio.Barrier(2)

    async def wait_for_both(_request: Received, writer: asyncio.StreamWriter) -> None:
        await both_are_here.wait()
        writer.write(reply(500))
        await writer.drain()

    await service.drain()
    async with receiver(wait_for_both) as sink:
        subscription = await webhooks.subscribe(api, sink)
        await webhooks.happen(service, tenant)
        await service.services.background_worker.dispatcher.dispatch_next_events()
        job = await _claimed(service)
        deliver = [delivering(service, client).handlers[job.kind] for client in (service.services.outbound, second)]
        results = await asyncio.gather(*(handler(JobContext(service.db), job) for handler in deliver))
        assert len(sink.received) == 2
        retries = [answer.result for answer in results if isinstance(answer, queue.JobResultRecorded)]
        waits = [retry.after > timedelta() for retry in retries if isinstance(retry, queue.JobRetry)]
        assert sorted(waits) == [False, True], "one recorded it, the other looks again"
    (delivery,) = await webhooks.deliveries(api, subscription)
    assert len(delivery["attempts"]) == 1


async def test_w13_a_receiver_that_switches_secrets_at_any_moment_loses_nothing(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async with receiver() as sink:
        subscription = await webhooks.subscribe(api, sink)
        path = f"/v1/webhook-subscriptions/{subscription['id']}/rotate-secret"
        old = subscription["secret"]
        new = data(await api.post(path))["secret"]
        for hours in (0, 12, 11.9):
            service.clock.advance(hours=hours)
            await webhooks.happen(service, tenant)
            await service.drain()
        assert len(sink.received) == 3
        for got in sink.received:
            assert standardwebhooks.Webhook(new).verify(got.body, got.headers)
            webhooks.verify(got, old)
        service.clock.advance(hours=0.2)
        await webhooks.happen(service, tenant)
        await service.drain()
        webhooks.verify(sink.received[-1], new)
        with pytest.raises(standardwebhooks.WebhookVerificationError):
            standardwebhooks.Webhook(old).verify(sink.received[-1].body, sink.received[-1].headers)


async def test_w13_confirming_switches_service_signature_at_once(service: Service, api: Client, tenant: Tenant) -> None:
    async with receiver() as sink:
        subscription = await webhooks.subscribe(api, sink)
        path = f"/v1/webhook-subscriptions/{subscription['id']}/rotate-secret"
        new = data(await api.post(path))["secret"]
        await api.post(path, {"confirm": True})
        await webhooks.happen(service, tenant)
        await service.drain()
        webhooks.verify(sink.received[0], new)
        assert " " not in sink.received[0].headers["webhook-signature"]


async def test_w1_an_event_is_fanned_out_once_however_often_it_is_reacted_to(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async with receiver() as sink:
        await webhooks.subscribe(api, sink)
        await webhooks.happen(service, tenant)
        await service.drain()
        async with service.db.write() as tx:
            rows = await tx.fetch(f"select {outbox.COLUMNS} from event where partner_id = $1", tenant.partner.id)
            for reaction in deliveries_jobs.tasks.declared_tasks.reactions:
                await reaction.react(tx, [outbox.event_from_row(row) for row in rows])
        await service.drain()
        assert len(sink.received) == 1

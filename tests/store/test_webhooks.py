"""The database itself refuses what must never be, for the service's own role: subscriptions, deliveries, attempts."""

import asyncio
import re
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.kit.states import Lifecycle
from almoner.platform.http.paging import RequestedPage
from almoner.webhooks.deliveries import store
from almoner.webhooks.deliveries.domain import DELIVERY, MAX_ATTEMPTS, AttemptEvaluation, DeliveryAttempt
from almoner.webhooks.deliveries.store import EvaluatedAttempt
from almoner.webhooks.subscriptions import store as subscriptions_store
from almoner.webhooks.subscriptions.domain import MAX_PREVIOUS_SECRETS, SUBSCRIPTION
from tests.support.client import Client, data
from tests.support.clock import START
from tests.support.service import Service, Tenant


@pytest.fixture
async def subscription(service: Service, api: Client) -> UUID:
    """A subscription of the partner."""
    body = {"url": "https://hooks.example.com/", "events": ["*"]}
    made = data(await api.post("/v1/webhook-subscriptions", body))
    found = service.db.deployment.ids.decode("webhooksubscription", made["id"])
    assert found is not None
    return found


async def _refuses(service: Service, sql: str, *args: object) -> None:
    with pytest.raises((asyncpg.IntegrityConstraintViolationError, asyncpg.InsufficientPrivilegeError)):
        await _runs(service, sql, *args)


async def _runs(service: Service, sql: str, *args: object) -> Any:
    async with service.db.write() as tx:
        return await tx.fetchval(sql, *args)


async def test_workers_that_record_successes_do_not_wait_for_each_other(
    service: Service, tenant: Tenant, subscription: UUID
) -> None:
    async def last_success() -> datetime | None:
        async with service.db.read() as tx:
            found = await subscriptions_store.find(tx, tenant.partner, subscription)
        assert found is not None
        return found.health.last_success_at

    record = subscriptions_store.record_successes_and_lock_other_receivers
    for _ in range(2):
        async with service.db.write() as tx:
            assert await record(tx, {subscription: False}) == {}
        assert await last_success() == tx.now
        async with asyncio.timeout(30), service.db.write() as one, service.db.write() as other:
            assert [await record(tx, {subscription: False}) for tx in (one, other)] == [{}, {}]
        service.clock.advance(timedelta(minutes=1))


_DELIVERY = """
    insert into webhook_delivery (id, partner_id, subscription_id, event_id, event_type, sequence, reason, payload,
        status, attempts, first_attempt_at, next_attempt_at, created_at, finished_at)
    select (g ->> 'id')::uuid, $1, $2, (g ->> 'event_id')::uuid, 'donation.created', (g ->> 'sequence')::bigint,
        g ->> 'reason', (g ->> 'payload')::bytea, g ->> 'status', (g ->> 'attempts')::smallint,
        (g ->> 'first_attempt_at')::timestamptz, (g ->> 'next_attempt_at')::timestamptz, now(),
        (g ->> 'finished_at')::timestamptz
    from (select $3::jsonb as g) given returning id
"""


def _delivery(**changes: object) -> dict[str, object]:
    sound = {
        "id": str(uuid4()),
        "event_id": str(uuid4()),
        "sequence": 1,
        "reason": "event",
        "status": "pending",
        "attempts": 0,
        "next_attempt_at": "2026-03-02",
    }
    return {**sound, **changes}


async def test_w7_deliveries_that_contradict_themselves_are_refused(
    service: Service, tenant: Tenant, subscription: UUID
) -> None:
    await _runs(service, _DELIVERY, tenant.partner.id, subscription, _delivery())
    for wrong in (
        {"status": "lost"},
        {"reason": "whim"},
        {"next_attempt_at": None},
        {"status": "succeeded"},
        {"status": "succeeded", "next_attempt_at": None},
        {"finished_at": "2026-03-02"},
        {"attempts": MAX_ATTEMPTS + 1, "first_attempt_at": "2026-03-02"},
        {"attempts": 1},
        {"first_attempt_at": "2026-03-02"},
        {"sequence": 0},
        {"sequence": None},
        {"payload": "x"},
        {"reason": "test"},
    ):
        await _refuses(service, _DELIVERY, tenant.partner.id, subscription, _delivery(**wrong))


async def test_w1_an_event_reaches_a_subscription_once_by_itself(
    service: Service, tenant: Tenant, subscription: UUID
) -> None:
    first = _delivery()
    await _runs(service, _DELIVERY, tenant.partner.id, subscription, first)
    again = _delivery(event_id=first["event_id"])
    await _refuses(service, _DELIVERY, tenant.partner.id, subscription, again)
    await _runs(service, _DELIVERY, tenant.partner.id, subscription, {**again, "reason": "resend"})


async def test_k10_a_delivery_belongs_to_the_partner_of_its_subscription(service: Service, subscription: UUID) -> None:
    stranger = await service.tenant()
    await _refuses(service, _DELIVERY, stranger.partner.id, subscription, _delivery())


async def test_w2_attempts_are_numbered_kept_and_never_changed(
    service: Service, tenant: Tenant, subscription: UUID
) -> None:
    delivery = await _runs(service, _DELIVERY, tenant.partner.id, subscription, _delivery())
    attempt = (
        "insert into webhook_attempt (delivery_id, number, started_at, duration_ms, status_code, error, response_body) "
        "values ($1, $2, now(), $3, $4, $5, $6)"
    )
    await _runs(service, attempt, delivery, 1, 12, 200, None, "ok")
    for number, duration, status, error, answer in (
        (1, 12, 200, None, None),
        (0, 12, 200, None, None),
        (MAX_ATTEMPTS + 1, 12, 200, None, None),
        (2, -1, 200, None, None),
        (2, 12, None, None, None),
        (2, 12, 200, None, "x" * 1001),
    ):
        await _refuses(service, attempt, delivery, number, duration, status, error, answer)
    await _refuses(service, "update webhook_attempt set status_code = 500 where delivery_id = $1", delivery)


async def test_w13_the_number_of_secrets_is_bounded(service: Service, subscription: UUID) -> None:
    change = "update webhook_subscription set secrets = $2, secrets_until = $3 where id = $1"
    when = service.clock.now()
    await _runs(service, change, subscription, [b"x"] * (MAX_PREVIOUS_SECRETS + 1), [when] * MAX_PREVIOUS_SECRETS)
    for secrets, until in (
        ([], []),
        ([b"x"], [when]),
        ([b"x", b"y"], []),
        ([b"x"] * (MAX_PREVIOUS_SECRETS + 2), [when] * (MAX_PREVIOUS_SECRETS + 1)),
    ):
        await _refuses(service, change, subscription, secrets, until)


async def test_s1_a_subscription_moves_only_as_its_table_says(service: Service, subscription: UUID) -> None:
    rows = await _moves(service, SUBSCRIPTION)
    assert rows == list(SUBSCRIPTION.transitions())
    await _refuses(service, "update webhook_subscription set status = 'lost' where id = $1", subscription)


@pytest.mark.parametrize("lifecycle", [SUBSCRIPTION, DELIVERY], ids=lambda lifecycle: lifecycle.resource)
async def test_s1_the_check_in_the_database_names_the_states_of_the_code(
    service: Service, lifecycle: Lifecycle
) -> None:
    async with service.db.read() as tx:
        checks = await tx.fetch(
            """
            select pg_get_constraintdef(oid) as rule from pg_constraint
            where contype = 'c' and conrelid = $1::regclass
            """,
            lifecycle.resource,
        )
    (rule,) = [check["rule"] for check in checks if "status = ANY" in check["rule"]]
    assert set(re.findall(r"'(\w+)'::text", rule)) == lifecycle.states()


async def _moves(service: Service, lifecycle: Lifecycle) -> list[tuple[str, str]]:
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select from_status, to_status from lifecycle_transition where resource = $1 order by 1, 2",
            lifecycle.resource,
        )
    return [(row["from_status"], row["to_status"]) for row in rows]


async def test_s1_what_has_ended_stays_as_it_ended(service: Service, tenant: Tenant, subscription: UUID) -> None:
    """An answer may come when its delivery is over, and who ends what waits may find it delivered."""
    over = {"next_attempt_at": None, "finished_at": "2026-03-02"}
    given = [
        _delivery(status="cancelled", **over),
        _delivery(status="succeeded", attempts=1, first_attempt_at="2026-03-02", **over),
    ]
    cancelled, delivered = [await _runs(service, _DELIVERY, tenant.partner.id, subscription, one) for one in given]
    late = DeliveryAttempt(1, START, 5, 200, None, None)
    ok = AttemptEvaluation("succeeded")
    outcome = EvaluatedAttempt(cancelled, tenant.partner, subscription, "https://r.example", START, late, ok)
    async with service.db.write() as tx:
        assert await store.record_attempts_and_list_delivery_ids(tx, [outcome]) == set()
        await store.end_deliveries(tx, [delivered], "cancelled")
        for delivery, status in ((cancelled, "cancelled"), (delivered, "succeeded")):
            assert await tx.fetchval("select status from webhook_delivery where id = $1", delivery) == status


async def test_k1_another_partners_deliveries_are_not_listed(
    service: Service, tenant: Tenant, subscription: UUID
) -> None:
    await _runs(service, _DELIVERY, tenant.partner.id, subscription, _delivery())
    page = RequestedPage(25, descending=True)
    another = (await service.tenant()).partner
    async with service.db.read() as tx:
        assert (await store.list_page(tx, tenant.partner, subscription, page, None))[1] == 1
        assert await store.list_page(tx, another, subscription, page, None) == ([], 0)


async def test_who_is_suspended_or_deleted_is_no_listener(service: Service, tenant: Tenant, subscription: UUID) -> None:
    async def listening() -> list[UUID]:
        async with service.db.read() as tx:
            found = await subscriptions_store.list_event_subscriptions(tx, [tenant.partner.id])
        return [one.id for one in found]

    assert await listening() == [subscription]
    await _runs(service, "update webhook_subscription set status = 'suspended' where id = $1", subscription)
    assert await listening() == []

"""Plans of regular gifts as partners see them (settled 11): the record, its list, its changes."""

from calendar import monthrange
from datetime import timedelta
from typing import Any

import pytest

from almoner.kit.time import parse_timestamp
from tests.support import factories
from tests.support.client import Client, data
from tests.support.regular_gifts import PLANS, Plan, begin_plan, pass_days, reach
from tests.support.service import Service, Tenant


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: here the clock goes far."""
    return alone


@pytest.fixture
async def plan(service: Service, api: Client) -> Plan:
    """A plan whose first gift is paid."""
    return await begin_plan(service, api, metadata={"campaign": "winter"})


async def test_the_first_gift_begins_a_plan_and_later_ones_are_charged_on_its_day(service: Service, plan: Plan) -> None:
    record, first = await plan.record(), (await plan.gifts())[0]
    now = service.clock.now()
    assert record == {
        "id": plan.id,
        "status": "active",
        "amount": 2500,
        "currencyCode": "USD",
        "frequency": "monthly",
        "organisationId": plan.organisation,
        "userId": None,
        "firstName": "Ada",
        "lastName": "Byron",
        "email": "ada@example.org",
        "startedAt": record["startedAt"],
        "nextDonationAt": record["nextDonationAt"],
        "pausedUntil": None,
        "pauseReason": None,
        "cancelledAt": None,
        "cancellationReason": None,
        "pendingChange": None,
        "paymentMethod": record["paymentMethod"],
        "donationsCount": 1,
        "totalAmount": 2500,
        "metadata": {"campaign": "winter"},
        "createdAt": record["createdAt"],
        "updatedAt": record["updatedAt"],
    }
    assert parse_timestamp(record["startedAt"]) == now
    due = parse_timestamp(record["nextDonationAt"])
    assert (due.month - now.month) % 12 == 1
    last_day = monthrange(due.year, due.month)[1]
    assert (due.day, due.time()) == (min(now.day, last_day), now.time().replace(microsecond=0))
    assert (record["paymentMethod"]["type"], record["paymentMethod"]["last4"]) == ("card", "4242")
    assert first["subscription"] == {"initial": True, "id": plan.id}
    await reach(service, record["nextDonationAt"])
    later = await plan.record()
    assert (later["donationsCount"], later["totalAmount"]) == (2, 5000)
    gift = (await plan.gifts())[1]
    assert gift["subscription"] == {"initial": False, "id": plan.id}
    assert gift["hosted"] == first["hosted"]
    assert (gift["type"], gift["status"], gift["metadata"]) == ("hosted", "RECEIVED_PAYMENT", {"campaign": "winter"})
    assert await plan.events() == ["created", "updated", "updated"]
    types = [one["eventType"] for one in data(await plan.api.get("/v1/events", direction="ASC"))]
    assert types.count("donation_session.completed") == 1
    expected = ["donation.created", "donation.hosted.payment_received", "donation.payment_successful"]
    assert [one for one in types if one in expected] == 2 * expected


async def test_a_plan_is_pending_until_its_first_gift_is_paid_and_ends_with_it(service: Service, api: Client) -> None:
    plan = await begin_plan(service, api, pays=False)
    record = await plan.record()
    assert (record["status"], record["nextDonationAt"], record["paymentMethod"]) == ("pending", None, None)
    refused = await plan.does("cancel", status=400)
    assert refused["error"]["code"] == "donation_subscription/invalid_state"
    await pass_days(service, 2)
    record = await plan.record()
    assert (record["status"], record["cancellationReason"]) == ("cancelled", "not_started")
    assert await plan.events() == ["created", "cancelled"]
    await pass_days(service, 31, by=31)
    assert (await plan.record())["email"] is None


async def test_lists_are_filtered_and_donors_are_shown_by_scope(
    service: Service, tenant: Tenant, api: Client, plan: Plan
) -> None:
    other = await begin_plan(service, api, "weekly")
    assert [one["id"] for one in data(await api.get(PLANS))] == [other.id, plan.id]
    await other.does("pause", {})
    cases: tuple[tuple[dict[str, Any], list[str]], ...] = (
        ({"organisationId": plan.organisation}, [plan.id]),
        ({"status": "paused"}, [other.id]),
        ({"email": "ADA@example.org"}, [other.id, plan.id]),
        ({"email": "somebody@example.org"}, []),
    )
    for filters, found in cases:
        reply = await api.get(PLANS, **filters)
        assert [one["id"] for one in data(reply)] == found
        assert reply.json()["totalResults"] == len(found)
    first = await api.get(PLANS, pageSize=1)
    assert [one["id"] for one in data(await api.get(first.json()["_links"]["next"]))] == [plan.id]
    tenant_key = await service.key(tenant.partner, "secret", "donation_subscriptions:read")
    masked = service.client(tenant_key)
    hidden = data(await masked.get(f"{PLANS}/{plan.id}"))
    assert (hidden["firstName"], hidden["lastName"], hidden["email"]) == (None, None, None)
    assert (await masked.get(PLANS, email="ada@example.org")).status_code == 403
    assert (await masked.post(f"{PLANS}/{plan.id}/cancel")).status_code == 403
    await masked.close()


async def test_less_holds_at_once_and_more_waits_for_the_donor(plan: Plan) -> None:
    api, path = plan.api, f"{PLANS}/{plan.id}"
    less = data(await api.patch(path, {"amount": 1000, "metadata": {"shop": "7"}}))
    assert (less["amount"], less["pendingChange"]) == (1000, None)
    assert less["metadata"] == {"campaign": "winter", "shop": "7"}
    more = data(await api.patch(path, {"amount": 3000}))
    assert (more["amount"], more["pendingChange"]["amount"]) == (1000, 3000)
    oftener = data(await api.patch(path, {"frequency": "weekly"}))
    assert (oftener["frequency"], oftener["pendingChange"]["frequency"]) == ("monthly", "weekly")
    assert oftener["pendingChange"]["amount"] == 1000
    rarer = data(await api.patch(path, {"frequency": "yearly"}))
    assert (rarer["frequency"], rarer["pendingChange"]) == ("yearly", None)
    assert parse_timestamp(rarer["nextDonationAt"]).year == parse_timestamp(rarer["startedAt"]).year + 1
    refused = await api.patch(path, {"currencyCode": "EUR"})
    assert refused.status_code == 400
    wrong = await api.patch(path, {"metadata": {"k" * 41: "v"}})
    assert wrong.json()["error"]["code"] == "donation_subscription/invalid_metadata"


async def test_a_pause_leaves_its_dates_out(service: Service, plan: Plan) -> None:
    due = (await plan.record())["nextDonationAt"]
    until = parse_timestamp(due).replace(day=20).isoformat()
    paused = await plan.does("pause", {"until": until})
    assert (paused["status"], paused["pauseReason"]) == ("paused", "partner")
    assert parse_timestamp(paused["nextDonationAt"]) > parse_timestamp(until)
    assert (await plan.does("pause", {}, 400))["error"]["code"] == "donation_subscription/invalid_state"
    assert (await plan.does("skip", None, 400))["error"]["code"] == "donation_subscription/invalid_state"
    await reach(service, until)
    resumed = await plan.record()
    assert (resumed["status"], resumed["nextDonationAt"]) == ("active", paused["nextDonationAt"])
    assert await plan.dates() == [(due[:10], "paused")]
    await reach(service, resumed["nextDonationAt"])
    assert len(await plan.paid_on()) == 2
    for until in ("2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"):
        assert (await plan.does("pause", {"until": until}, 400))["error"]["code"].endswith("invalid_pause")


async def test_a_paused_plan_of_another_frequency_says_when_it_is_charged_next(service: Service, plan: Plan) -> None:
    until = (service.clock.now() + timedelta(days=40)).isoformat()
    await plan.does("pause", {"until": until})
    changed = data(await plan.api.patch(f"{PLANS}/{plan.id}", {"frequency": "yearly"}))
    assert parse_timestamp(changed["nextDonationAt"]).year == parse_timestamp(changed["startedAt"]).year + 1
    assert changed["pausedUntil"] == (await plan.record())["pausedUntil"]


async def test_a_skipped_date_is_left_out_and_an_ended_plan_is_never_charged(service: Service, plan: Plan) -> None:
    due = (await plan.record())["nextDonationAt"]
    skipped = await plan.does("skip")
    assert await plan.dates() == [(due[:10], "partner")]
    await reach(service, skipped["nextDonationAt"])
    assert len(await plan.paid_on()) == 2
    ended = await plan.does("cancel")
    assert (ended["status"], ended["cancellationReason"], ended["nextDonationAt"]) == ("cancelled", "partner", None)
    await pass_days(service, 40, by=40)
    assert len(await plan.gifts()) == 2
    assert (await plan.does("resume", None, 400))["error"]["code"] == "donation_subscription/invalid_state"
    assert (await plan.events())[-1] == "cancelled"


async def test_other_partners_have_no_part_in_a_plan(service: Service, plan: Plan) -> None:
    stranger = service.client((await service.tenant()).secret)
    for method, path in (("GET", ""), ("PATCH", ""), ("POST", "/pause"), ("POST", "/cancel")):
        reply = await stranger.request(method, f"{PLANS}/{plan.id}{path}", json={})
        assert reply.status_code == 404, (method, path)
    assert data(await stranger.get(PLANS)) == []
    await stranger.close()
    assert (await plan.record())["status"] == "active"


async def test_the_clock_waits_for_plans(service: Service, plan: Plan) -> None:
    due = parse_timestamp((await plan.record())["nextDonationAt"])
    moved = data(await plan.api.post("/v1/sandbox/clock", {"advanceSeconds": 32 * 86400}))
    assert moved["remaining"] == 0
    assert parse_timestamp(moved["now"]) > due
    assert len(await plan.paid_on()) == 2


async def test_a_nonprofit_that_may_no_longer_receive_is_charged_nothing(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    plan = await begin_plan(service, api, organisation=organisation)
    async with service.db.write() as tx:
        found = tx.ids.decode("organisation", organisation)
        await tx.execute("update organisation set active = false where id = $1", found)
    await reach(service, (await plan.record())["nextDonationAt"])
    record = await plan.record()
    assert (record["status"], record["pauseReason"]) == ("paused", "organisation_cannot_receive")
    assert len(await plan.gifts()) == 1
    assert [reason for _, reason in await plan.dates()] == ["organisation_cannot_receive"]
    assert (await plan.does("resume", None, 400))["error"]["code"] == "donation_subscription/invalid_state"
    async with service.db.write() as tx:
        await tx.execute("update organisation set active = true where id = $1", found)
    assert (await plan.does("resume"))["status"] == "active"
    await reach(service, (await plan.record())["nextDonationAt"])
    assert len(await plan.paid_on()) == 2

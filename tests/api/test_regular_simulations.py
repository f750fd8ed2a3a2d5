"""Simulated donors who give regularly, and what their banks do (settled 11)."""

from typing import Any

import pytest

from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service

SIMULATE = "/v1/sandbox/simulate"
GIFT = {"action": "donate", "amount": 2500, "currencyCode": "USD", "firstName": "Ada", "email": "ada@example.org"}


async def begun(service: Service, api: Client, **gift: Any) -> dict[str, Any]:
    """A plan of a simulated donor."""
    session = await factories.session(service, api, frequencies=["monthly", "yearly", "one_time"])
    data(await api.post(SIMULATE, {"id": session["id"], **GIFT, **gift}))
    (plan,) = data(await api.get("/v1/donation-subscriptions"))
    return dict(plan)


async def done(api: Client, plan: dict[str, Any], action: str, **more: Any) -> dict[str, Any]:
    """The plan after something was simulated."""
    return dict(data(await api.post(SIMULATE, {"id": plan["id"], "action": action, **more})))


@pytest.mark.parametrize(("asked", "frequency"), [(None, "monthly"), ("yearly", "yearly")])
async def test_donate_begins_a_plan_of_one_of_the_sessions_frequencies(
    service: Service, api: Client, asked: str | None, frequency: str
) -> None:
    plan = await begun(service, api, **({"frequency": asked} if asked else {}))
    assert (plan["frequency"], plan["status"], plan["donationsCount"]) == (frequency, "active", 1)


async def test_donate_may_be_a_single_gift_and_nothing_that_the_session_does_not_offer(
    service: Service, api: Client
) -> None:
    session = await factories.session(service, api, frequencies=["monthly", "one_time"])
    refused = await api.post(SIMULATE, {"id": session["id"], **GIFT, "frequency": "weekly"})
    assert (refused.status_code, refused.json()["error"]["reasons"]) == (
        400,
        ["body.frequency must be one of the session's: monthly, one_time"],
    )
    by_bank = await api.post(SIMULATE, {"id": session["id"], **GIFT, "way": "transfer"})
    assert by_bank.json()["error"]["reasons"] == ["body.way must be card: regular donations are paid by card"]
    data(await api.post(SIMULATE, {"id": session["id"], **GIFT, "frequency": "one_time"}))
    assert data(await api.get("/v1/donation-subscriptions")) == []


async def test_a_renewed_card_is_shown_at_once(service: Service, api: Client) -> None:
    plan = await begun(service, api)
    expired = await done(api, plan, "expire_card")
    assert expired["paymentMethod"]["expiresAt"] < service.clock.now().isoformat()
    await service.drain()
    assert data(await api.get("/v1/sandbox/mailbox", to="ada@example.org", subject="card has been")) == []
    renewed = await done(api, plan, "renew_card")
    await service.drain()
    assert len(data(await api.get("/v1/sandbox/mailbox", to="ada@example.org", subject="card has been"))) == 1
    assert renewed["paymentMethod"]["expiresAt"] > plan["nextDonationAt"]
    assert renewed["paymentMethod"]["last4"] == "4242"


async def test_nothing_is_done_to_the_card_of_a_plan_that_has_ended(service: Service, api: Client) -> None:
    plan = await begun(service, api)
    data(await api.post(f"/v1/donation-subscriptions/{plan['id']}/cancel", {}))
    for action in ("fail_next", "expire_card", "renew_card"):
        refused = await api.post(SIMULATE, {"id": plan["id"], "action": action})
        assert refused.json()["error"]["code"] == "donation_subscription/invalid_state"


async def test_a_cancelled_plans_card_is_forgotten_at_the_provider(service: Service, api: Client) -> None:
    plan = await begun(service, api)
    await service.drain()
    async with service.db.read() as tx:
        before = await tx.fetchval("select count(*) from provider_test.payment_method")
    data(await api.post(f"/v1/donation-subscriptions/{plan['id']}/cancel", {}))
    await service.drain()
    async with service.db.read() as tx:
        assert await tx.fetchval("select count(*) from provider_test.payment_method") == before - 1

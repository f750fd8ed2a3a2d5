"""Regular gifts at Stripe, over its stub: saved there, charged by our own schedule, told by signed notices."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from almoner.kit.time import parse_timestamp
from tests.support import stripe_account, stripe_cards
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.regular_gifts import Plan, begin_plan, pass_days
from tests.support.service import Service, serving
from tests.support.stripe_account import SECRET, StripeAccount
from tests.support.stripe_stub import KEY, StripeStub, serving_stripe


@dataclass(slots=True)
class Month:
    """A service whose donors give at the stub."""

    service: Service
    api: Client
    stub: StripeStub

    @property
    def account(self) -> StripeAccount:
        """What is in it."""
        return self.stub.account

    async def hear(self, *, times: int = 1) -> None:
        """Stripe tells what has happened, each notice so many times, and what follows is done."""
        notices = [one for one in self.account.notices for _ in range(times)]
        self.account.notices.clear()
        nobody = self.service.client(None)
        for notice in notices:
            body, header = stripe_account.signed(notice, self.service.clock.real_now())
            answer = await nobody.request(
                "POST", "/callbacks/stripe", content=body, headers={"stripe-signature": header}
            )
            assert answer.status_code == 204, answer.text
        await nobody.close()
        await self.service.drain()

    async def begun(self, **body: Any) -> Plan:
        """A plan whose first gift was paid on Stripe's page."""
        plan = await begin_plan(self.service, self.api, pays=False, **body)
        (session,) = self.account.sessions
        intent = self.account.pay_with_card(session)
        self.account.tell("payment_intent.succeeded", intent)  # of a payment on a page Stripe tells twice
        await self.hear(times=2)
        return plan


@pytest.fixture
async def month(empty_database: TestDatabase) -> AsyncIterator[Month]:
    clocks: list[Service] = []

    def now() -> datetime:
        return clocks[0].clock.now() if clocks else datetime.now(UTC)

    async with serving_stripe(now) as (stub, url):
        keys: dict[str, Any] = {"stripe_secret_key": KEY, "stripe_webhook_secret": SECRET}
        async with serving(empty_database, **keys, stripe_api_url=url, stripe_pages_url=url) as service:
            clocks.append(service)
            api = service.client((await service.tenant()).secret)
            yield Month(service, api, stub)
            await api.close()


async def test_a_plan_is_begun_charged_each_month_and_ended_at_stripe(month: Month) -> None:
    plan = await month.begun()
    record = await plan.record()
    assert (record["status"], record["donationsCount"]) == ("active", 1)
    assert record["paymentMethod"] == {
        "type": "card",
        "brand": "visa",
        "last4": "4242",
        "expiresAt": "2099-12-31T23:59:59.000Z",
    }
    await pass_days(month.service, 63)
    await month.hear(times=3)
    record = await plan.record()
    assert (record["donationsCount"], record["totalAmount"], record["status"]) == (3, 7500, "active")
    assert month.stub.calls["POST /v1/payment_intents"] == 2
    (session,) = month.account.sessions
    later = [one for one in month.account.intents.values() if one["payment_method"] and not one["setup_future_usage"]]
    assert [one["metadata"]["almoner_first_payment"] for one in later] == [session] * 2
    await plan.does("cancel", {})
    await month.service.drain()
    assert not month.account.customers
    await pass_days(month.service, 31)
    assert month.stub.calls["POST /v1/payment_intents"] == 2


async def test_a_charge_whose_answer_is_lost_is_of_the_day_on_which_stripe_made_it(month: Month) -> None:
    plan = await month.begun()
    due = parse_timestamp((await plan.record())["nextDonationAt"])
    month.service.clock.advance_to(due)
    month.stub.faults.lose_posts = 3  # it is asked three times
    await month.service.drain()
    (made,) = [one for one in month.account.intents.values() if one["created"] >= due.timestamp()]
    assert made["status"] == "succeeded"
    assert (await plan.record())["donationsCount"] == 1, "we do not know of it yet"
    month.service.clock.advance(hours=20)
    await month.hear()
    assert (await plan.record())["donationsCount"] == 2
    async with month.service.db.read() as tx:
        received_at = await tx.fetchval(
            "select r.received_at from receipt r join payment p on p.id = r.payment_id where p.provider_payment = $1",
            made["id"],
        )
    assert abs(received_at - due) < timedelta(seconds=1)


async def test_a_declined_charge_is_tried_again_on_a_later_day_and_a_lost_card_never(month: Month) -> None:
    plan = await month.begun()
    (method,) = month.account.methods
    stripe_cards.decline_next(month.account, method, {"code": "card_declined", "decline_code": "insufficient_funds"})
    await pass_days(month.service, 31)
    await month.hear(times=2)
    assert (await plan.record())["donationsCount"] == 1
    await pass_days(month.service, 2)
    assert ((record := await plan.record())["donationsCount"], record["status"]) == (2, "active")
    asked = month.stub.calls["POST /v1/payment_intents"]
    assert asked == 2
    stripe_cards.decline_next(month.account, method, {"code": "card_declined", "decline_code": "lost_card"})
    await pass_days(month.service, 40)
    await month.hear()
    assert month.stub.calls["POST /v1/payment_intents"] == asked + 1
    assert (await plan.record())["status"] == "past_due"


async def test_a_card_that_its_bank_renews_is_charged_and_shown_anew(month: Month) -> None:
    plan = await month.begun()
    (method,) = month.account.methods
    stripe_cards.decline_next(month.account, method, {"code": "expired_card", "decline_code": "expired_card"})
    await pass_days(month.service, 31)
    assert (await plan.record())["status"] == "past_due"
    stripe_cards.renew_card(month.account, method, exp_year=2101)
    await month.hear(times=2)
    record = await plan.record()
    assert record["paymentMethod"]["expiresAt"] == "2101-12-31T23:59:59.000Z"
    assert (record["status"], record["donationsCount"]) == ("active", 2)


async def test_a_donor_who_tells_the_bank_to_stop_is_asked_for_nothing_more(month: Month) -> None:
    plan = await month.begun()
    (method,) = month.account.methods
    stripe_cards.decline_next(
        month.account, method, {"code": "card_declined", "decline_code": "revocation_of_authorization"}
    )
    await pass_days(month.service, 31)
    record = await plan.record()
    assert (record["status"], record["cancellationReason"]) == ("cancelled", "revoked")


async def test_v6_the_card_of_a_payment_that_pays_nothing_is_deleted(month: Month) -> None:
    plan = await begin_plan(month.service, month.api, pays=False)
    (session,) = month.account.sessions
    month.service.clock.advance(timedelta(hours=25, minutes=1))  # the session and its hour of grace are over
    month.account.pay_with_card(session)
    assert len(month.account.customers) == 1
    await month.hear(times=2)
    assert (await plan.record())["status"] != "active"
    assert not month.account.customers

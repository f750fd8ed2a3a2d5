"""What happens to gifts at Stripe and nobody here began: who would be paid waits until people have looked (M5, M7)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from almoner.giving.accounting.refunds import flows as refunds_flows
from almoner.giving.accounting.settlements.jobs import FETCH, fetch_payout_reports
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.platform.jobs.background_tasks import JobContext
from almoner.platform.jobs.queue import Job, JobDone
from tests.support import bank
from tests.support import refunds as back
from tests.support.client import Client, data
from tests.support.payouts import release, verified
from tests.support.service import Service
from tests.support.stripe_giving import AtStripe, serving_at_stripe

JOB = FETCH.decode(Job(0, FETCH.name, {}, attempt=1, failures=0, due_at=datetime(2026, 1, 1, tzinfo=UTC), lane=None))


@pytest.fixture
async def partner(alone: Service) -> AsyncIterator[Client]:
    """A partner's server."""
    api = alone.client((await alone.tenant()).secret)
    yield api
    await api.close()


@pytest.fixture
async def giving(alone: Service, partner: Client) -> AsyncIterator[AtStripe]:
    """A gift of 25 dollars that was paid, to a nonprofit that may be paid."""
    async with serving_at_stripe(alone, retries=0) as stripe:
        made = await stripe.open_session(partner)
        await made.giving.begin()
        stripe.account.pay_with_card(made.session["id"])
        assert await made.deliver() == [204]
        await verified(alone, partner, (await gift_of(made))["organisationId"])
        yield made


async def held(giving: AtStripe) -> list[tuple[str, str]]:
    """Who holds payouts to the nonprofit, and why."""
    await giving.giving.service.drain()
    async with giving.giving.service.db.read() as tx:
        return [(one.decided_by, one.note) for one in await disbursements.list_active_holds(tx)]


async def gift_of(giving: AtStripe) -> dict[str, Any]:
    """The gift as its partner reads it: the oldest."""
    return (await giving.giving.donations())[-1]


async def paid_out(giving: AtStripe) -> bool:
    """Stripe pays out what there is, and so do we: whether the gift's payout was sent."""
    service = giving.giving.service
    giving.stripe.account.pay_out()
    assert isinstance(
        await fetch_payout_reports(giving.stripe.provider.payout_report_source(), JobContext(service.db), JOB), JobDone
    )
    await service.drain()
    await bank.sent(service)
    async with service.db.read() as tx:
        found = await tx.fetchval(
            """
            select p.status from donation d join payment y on y.id = d.payment_id
            left join disbursement p on p.id = d.disbursement_id where y.provider_payment = $1
            """,
            giving.session["id"],
        )
    return bool(found == "SENT")


@pytest.mark.parametrize("told", [True, False], ids=["by notice", "by its line alone"])
async def test_m7_what_was_sent_back_in_the_dashboard_is_not_paid_to_the_nonprofit_too(
    giving: AtStripe, partner: Client, told: bool
) -> None:
    account, service = giving.stripe.account, giving.giving.service
    other = await giving.stripe.open_session(partner)  # so that Stripe has something to pay out
    await other.giving.begin()
    account.pay_with_card(other.session["id"])
    refund = account.refund_by_hand(giving.session["id"])
    if not told:
        account.notices.pop()
    assert await other.deliver(times=2) == [204] * (4 if told else 2)
    if told:
        [(who, why)] = await held(giving)
        assert (who, "25.00 USD without a refund in Almoner" in why, refund["id"] in why) == ("rule", True, True)
    assert not await paid_out(giving)
    [(who, why)] = await held(giving)
    assert (who, refund["id"] in why) == ("rule", True)
    # An officer begins it as the one that was made, and lets the nonprofit be paid for the rest.
    gift = await gift_of(giving)
    made = await back.begun(service, gift)
    await back.by_hand(service, made.id, refund["id"])
    await release(service, gift["organisationId"])
    service.clock.advance(days=1)
    await service.drain()
    assert await held(giving) == []
    assert data(await partner.get(f"/v1/donations/{gift['id']}"))["refundedAmount"] == 2500


async def test_m7_a_dispute_of_more_than_what_is_left_stops_the_payout(giving: AtStripe) -> None:
    service, account = giving.giving.service, giving.stripe.account
    refund = await back.begun(service, await gift_of(giving), 500)
    await refunds_flows.send_refund(service.db, giving.stripe.provider, refund.id)
    made = account.open_dispute(giving.session["id"])
    made["amount"] = 2500
    assert set(await giving.deliver(times=2)) == {204}
    [(who, why)] = await held(giving)
    assert (who, "a dispute of 25.00 USD, more than the remaining amount" in why) == ("rule", True)
    assert not await paid_out(giving)


async def test_m7_a_payment_that_fails_after_all_is_named_and_stops_the_payout(
    giving: AtStripe, partner: Client
) -> None:
    other = await giving.stripe.open_session(partner)
    await other.giving.begin()
    giving.stripe.account.pay_with_card(other.session["id"])
    assert await other.deliver() == [204]
    giving.stripe.account.fail_payment(giving.session["id"])
    assert not await paid_out(giving)
    [(who, why)] = await held(giving)
    assert (who, "a refund of 25.00 USD that did not start in Almoner" in why) == ("rule", True)
    async with giving.giving.service.db.read() as tx:
        reported = await tx.fetchval("select provider_payment from settlement_line where status = 'exception'")
    assert reported == giving.session["id"]


async def test_m7_our_own_refund_holds_nobody(giving: AtStripe) -> None:
    service = giving.giving.service
    refund = await back.begun(service, await gift_of(giving), 500)
    await refunds_flows.send_refund(service.db, giving.stripe.provider, refund.id)
    [made] = giving.stripe.account.refunds.values()
    for kind in ("refund.created", "refund.updated"):
        giving.stripe.account.tell(kind, made)
    assert await giving.deliver(times=2) == [204] * 4
    assert await paid_out(giving)
    assert await held(giving) == []

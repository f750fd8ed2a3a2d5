"""What Stripe has paid out: fetched from it, and booked line by line as an imported report is (M7)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from almoner.giving.accounting.settlements import jobs as settlements_jobs
from almoner.giving.accounting.settlements import service as settlements
from almoner.giving.accounting.settlements.domain import MismatchReason, UnmatchedSettlementLine
from almoner.giving.accounting.settlements.jobs import FETCH, fetch_payout_reports
from almoner.kit.money import Money
from almoner.platform.jobs.background_tasks import JobContext
from almoner.platform.jobs.queue import Job, JobDone, JobRetry
from tests.support.client import Client
from tests.support.giving import gift
from tests.support.service import Service
from tests.support.stripe_giving import AtStripe, Stripe, serving_at_stripe

JOB = FETCH.decode(Job(0, FETCH.name, {}, attempt=1, failures=0, due_at=datetime(2026, 1, 1, tzinfo=UTC), lane=None))


@pytest.fixture
def own(alone: Service) -> Service:
    return alone


@pytest.fixture
async def partner(own: Service) -> AsyncIterator[Client]:
    api = own.client((await own.tenant()).secret)
    yield api
    await api.close()


@pytest.fixture
async def stripe(own: Service) -> AsyncIterator[Stripe]:
    async with serving_at_stripe(own, retries=0) as made:
        yield made


async def paid(stripe: Stripe, api: Client, amount: int = 2500) -> AtStripe:
    """A gift that was paid, and that we know of."""
    giving = await stripe.open_session(api)
    await giving.giving.begin(gift(amount))
    stripe.account.pay_with_card(giving.session["id"])
    assert await giving.deliver() == [204]
    return giving


async def fetched(stripe: Stripe) -> JobDone | JobRetry:
    """The job, once."""
    result = await fetch_payout_reports(stripe.provider.payout_report_source(), JobContext(stripe.service.db), JOB)
    assert isinstance(result, JobDone | JobRetry)
    return result


async def unbooked(stripe: Stripe) -> list[UnmatchedSettlementLine]:
    async with stripe.service.db.read() as tx:
        return await settlements.list_unmatched_lines(tx, 100)


async def test_m7_a_payout_is_fetched_and_every_gift_in_it_is_settled(stripe: Stripe, partner: Client) -> None:
    for amount in (2500, 4000, 100):
        await paid(stripe, partner, amount)
    payout = stripe.account.pay_out()
    for _ in range(3):
        assert await fetched(stripe) == JobDone()
    assert await unbooked(stripe) == []
    async with stripe.service.db.read() as tx:
        (settlement,) = await settlements.list_newest(tx, 10)
        settled = await tx.fetch("select amount_minor, settled_minor from donation order by amount_minor")
        reported = await tx.fetchval("select count(*) from event where type = 'donation.settled'")
    assert (settlement.reference, settlement.line_count, settlement.matched_count) == (payout["id"], 3, 3)
    assert settlement.net_minor == payout["amount"]
    assert [tuple(row) for row in settled] == [(100, 97), (2500, 2427), (4000, 3884)]
    assert reported == 3


async def test_m7_pages_of_transactions_and_of_payouts_are_read_to_their_end(stripe: Stripe, partner: Client) -> None:
    await paid(stripe, partner)
    account = stripe.account
    account.most_listed = 5
    for _ in range(12):
        account._book("stripe_fee", -5, 0, "usd", next(iter(account.charges)))
    for _ in range(13):
        account.pay_out()
        account._book("stripe_fee", -5, 0, "usd", next(iter(account.charges)))
    assert (
        len(
            await stripe.provider.payout_report_source().list_payout_references(
                stripe.service.clock.now() - timedelta(days=1)
            )
        )
        == 13
    )
    assert await fetched(stripe) == JobDone()
    async with stripe.service.db.read() as tx:
        oldest = (await settlements.list_newest(tx, 200))[-1]
    assert (oldest.line_count, oldest.matched_count) == (13, 1)


async def test_m7_what_is_none_of_a_gift_is_listed_for_a_person(stripe: Stripe, partner: Client) -> None:
    giving = await paid(stripe, partner)
    account = stripe.account
    stranger = account.new_session(
        {
            "mode": "payment",
            "line_items": [{"quantity": 1, "price_data": {"currency": "usd", "unit_amount": 900}}],
            "success_url": "https://shop.example/thanks",
            "cancel_url": "https://shop.example",
        }
    )
    intent = account.pay_with_card(stranger["id"])
    fee = account._book("stripe_fee", -150, 0, "usd", next(iter(account.charges)))
    account.open_dispute(giving.session["id"])
    account.pay_out()
    assert await fetched(stripe) == JobDone()
    found = {one.stored_line.line.provider_payment_id: one.stored_line for one in await unbooked(stripe)}
    assert {name: stored.mismatch_reason for name, stored in found.items()} == {
        intent["id"]: MismatchReason.UNKNOWN_PAYMENT,
        fee: MismatchReason.UNKNOWN_PAYMENT,
        giving.session["id"]: MismatchReason.NOT_DISPUTED,
    }
    assert found[fee].line.signed_net_minor == -150


async def test_m7_a_payment_that_is_twice_in_one_payout_is_settled_once_and_listed_once(
    stripe: Stripe, partner: Client
) -> None:
    await paid(stripe, partner)
    (line,) = stripe.account.balance.values()
    number = stripe.account._book("charge", line["amount"], line["fee"], line["currency"], line["source"])
    payout = stripe.account.pay_out()
    assert await fetched(stripe) == JobDone()
    (listed,) = await unbooked(stripe)
    assert (listed.stored_line.line.provider_payment_id, listed.stored_line.mismatch_reason) == (
        number,
        MismatchReason.UNKNOWN_PAYMENT,
    )
    async with stripe.service.db.read() as tx:
        (settlement,) = await settlements.list_newest(tx, 10)
    assert (settlement.line_count, settlement.matched_count, settlement.net_minor) == (2, 1, payout["amount"])


async def test_m7_a_refund_that_a_bank_sent_back_is_listed_for_a_person(stripe: Stripe, partner: Client) -> None:
    giving = await paid(stripe, partner)
    account, number = stripe.account, giving.session["id"]
    made = await stripe.provider.refund_payment(number, "sandbox:giftrefund:failed", Money(500, "USD"))
    back = account._book("refund_failure", 500, 0, "usd", made.id)
    came_back = account.pay_out()
    returned = account._book("payout_failure", came_back["amount"], 0, "usd", came_back["id"])
    account.pay_out()
    assert await fetched(stripe) == JobDone()
    found = {one.stored_line.line.provider_payment_id: one.stored_line for one in await unbooked(stripe)}
    assert {name: stored.line.signed_net_minor for name, stored in found.items()} == {
        number: -500,  # nobody here knows of this refund
        back: 500,
        returned: came_back["amount"],
    }


async def test_m7_a_payment_that_we_know_otherwise_is_an_exception(stripe: Stripe, partner: Client) -> None:
    giving = await stripe.open_session(partner)
    await giving.giving.begin()
    stripe.account.pay_with_card(giving.session["id"])
    late = stripe.account.notices.popleft()  # and the donor closed the page
    await paid(stripe, partner)
    stripe.account.pay_out()
    assert await fetched(stripe) == JobDone()
    (one,) = await unbooked(stripe)
    assert one.stored_line.mismatch_reason is MismatchReason.NOT_PAID
    assert (await giving.send(late)).status_code == 204
    async with stripe.service.db.write() as tx:
        await settlements.recheck_unmatched_lines(tx, tx.now + timedelta(days=1))
    assert await unbooked(stripe) == []


async def test_m7_a_payout_whose_transactions_do_not_come_to_it_is_asked_for_again(
    stripe: Stripe, partner: Client
) -> None:
    await paid(stripe, partner)
    payout = stripe.account.pay_out()
    payout["amount"] += 1
    assert isinstance(await fetched(stripe), JobRetry)
    payout["amount"] -= 1
    assert await fetched(stripe) == JobDone()
    assert await unbooked(stripe) == []


async def test_a_lost_answer_is_asked_for_again(stripe: Stripe, partner: Client) -> None:
    await paid(stripe, partner)
    stripe.account.pay_out()
    stripe.stub.faults.lose = 1
    assert isinstance(await fetched(stripe), JobRetry)
    assert await fetched(stripe) == JobDone()


async def test_stripe_is_asked_every_hour_once_there_are_payments(stripe: Stripe, partner: Client) -> None:
    (schedule,) = settlements_jobs.report_tasks.bind(stripe.provider.payout_report_source()).schedules
    db = stripe.service.db
    async with db.read() as tx:
        assert await schedule.due_at(tx) is None
    await paid(stripe, partner)
    for _ in range(2):
        async with db.write() as tx:
            assert await schedule.due_at(tx) == tx.now
            assert await schedule.process_batch(tx) == 1
            assert await schedule.process_batch(tx) == 0
            assert await schedule.due_at(tx) == tx.now + settlements.FETCH_INTERVAL
        stripe.service.clock.advance(settlements.FETCH_INTERVAL)
    async with db.read() as tx:
        assert await tx.fetchval("select count(*) from job where kind = $1", FETCH.name) == 2

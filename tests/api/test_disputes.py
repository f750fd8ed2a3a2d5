"""Gifts that donors' banks want back: held meanwhile, paid out when won, refunded when lost (settled 5, 6, 9)."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from almoner import worker
from almoner.giving.accounting.disputes import jobs as disputes_jobs
from almoner.giving.accounting.disputes import service as disputes
from almoner.giving.accounting.disputes.domain import DisputeError, DisputeOutcome
from almoner.giving.checkout.payments.domain import DisputeStatus
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.kit.money import Money
from tests.support import books, factories
from tests.support import giving as donors
from tests.support import payouts as support
from tests.support import refunds as back
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.giving import Giving
from tests.support.payouts import gift, payouts, refused, run, settled, simulate, verified
from tests.support.service import Service, serving

DISPUTED = ["donation.disputed", "donation.dispute_closed"]
PAID = [*donors.PAID, "donation.settled"]
MOVES = "donation/invalid_state"


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: a disbursement run of the shared service would pay what all other tests have left."""
    return alone


async def bucket(service: Service, api: Client) -> list[int]:
    """What the open buckets hold."""
    await service.drain()
    return [one["amount"] for one in await payouts(api, status="PENDING")]


async def test_a_disputed_gift_leaves_its_bucket_and_comes_back_when_it_is_won(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service, country="SWE")
    one = await settled(service, api, nonprofit, amount=10_000, currencyCode="SEK")
    await settled(service, api, nonprofit, amount=1000, currencyCode="SEK")
    assert await bucket(service, api) == [10_725]
    one, disputed = await gift(api, one), await books.disputed(service, "SEK")
    open_ = await simulate(api, one["id"], "dispute")
    assert (open_["disputeStatus"], open_["disputedAt"] is None) == ("open", False)
    assert {**open_, "disputedAt": None, "disputeStatus": None} == one, "nothing else changes while nothing is decided"
    assert await bucket(service, api) == [975]
    assert await books.owed(service, nonprofit, "SEK") == 10_725
    assert await books.disputed(service, "SEK") == disputed + 10_000
    other = await factories.nonprofit(service, country="SWE")
    for action, body in (("reassign", {"organisationId": other}), ("disburse", {}), ("dispute", {})):
        assert (await refused(api, one["id"], action, **body))[0] == MOVES
    assert (await api.post(f"/v1/donations/{one['id']}/refund", {})).json()["error"]["code"] == MOVES
    won = await simulate(api, one["id"], "dispute", outcome="won")
    assert won == {**one, "disputedAt": open_["disputedAt"], "disputeStatus": "won"}
    assert await books.disputed(service, "SEK") == disputed
    assert await bucket(service, api) == [10_725]
    await verified(service, api, nonprofit)
    await service.drain()
    await run(service)
    assert (await gift(api, one))["status"] == "DISBURSED"
    assert await support.events_of(service, one) == [*PAID, *DISPUTED, "donation.disbursed"]
    assert await books.balanced(service)


async def test_a_lost_one_counts_as_refunded_and_the_fee_is_ours(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service, country="NOR")
    one = await settled(service, api, nonprofit, amount=10_000, currencyCode="NOK")
    fees, disputed = await books.fees(service, "NOK"), await books.disputed(service, "NOK")
    lost = await simulate(api, one["id"], "dispute", outcome="lost")
    assert (lost["status"], lost["refundedAmount"]) == ("RECEIVED_PAYMENT", 10_000)
    assert lost["refundedAt"] is not None
    assert await bucket(service, api) == []
    assert await books.owed(service, nonprofit, "NOK") == 0
    assert await books.disputed(service, "NOK") == disputed
    assert await books.fees(service, "NOK") - fees == 250
    assert await support.events_of(service, one) == [*PAID, *DISPUTED, "donation.refunded"]
    for _ in range(2):
        assert (await refused(api, one["id"], "dispute", outcome="won"))[0] == MOVES
    assert await support.events_of(service, one) == [*PAID, *DISPUTED, "donation.refunded"]
    assert await books.balanced(service)


async def test_a_gift_that_was_paid_out_is_our_loss_until_the_payout_comes_back(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service, country="DNK")
    await verified(service, api, nonprofit)
    one = await settled(service, api, nonprofit, amount=10_000, currencyCode="DKK")
    await service.drain()
    await run(service)
    fees = await books.fees(service, "DKK")
    lost = await simulate(api, one["id"], "dispute", outcome="lost")
    assert (lost["status"], lost["refundedAmount"]) == ("DISBURSED", 10_000)
    assert (await books.owed(service, nonprofit, "DKK"), await books.fees(service, "DKK") - fees) == (0, 10_000)
    (paid,) = await payouts(api)
    await support.came_back(service, paid)
    await service.drain()
    back = await gift(api, one)
    assert (back["status"], back["refundedAmount"]) == ("RECEIVED_PAYMENT", 10_000)
    assert (await books.owed(service, nonprofit, "DKK"), await books.fees(service, "DKK") - fees) == (0, 250)
    await support.release(service, nonprofit)
    await run(service)
    assert (await gift(api, one))["status"] == "RECEIVED_PAYMENT", "nothing of it is left"
    assert await support.events_of(service, one) == [
        *PAID,
        "donation.disbursed",
        *DISPUTED,
        "donation.refunded",
        "donation.payout_returned",
    ]
    assert await books.balanced(service)


async def test_one_that_is_lost_before_it_is_settled_leaves_the_fee_to_us(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service, country="POL")
    one = await factories.donation(service, api, organisation=nonprofit, amount=10_000, currencyCode="PLN")
    fees = await books.fees(service, "PLN")
    await simulate(api, one["id"], "dispute", outcome="lost")
    assert await books.owed(service, nonprofit, "PLN") == 0
    done = await simulate(api, one["id"], "settle")
    assert (done["settledAmount"]["amount"], done["refundedAmount"]) == (9750, 10_000)
    assert await books.owed(service, nonprofit, "PLN") == 0
    assert await books.fees(service, "PLN") == fees + 250
    assert await bucket(service, api) == []
    assert await books.balanced(service)


async def test_settled_9_the_card_that_disputes_does_so_a_day_later_by_the_sandbox_clock(
    service: Service, api: Client
) -> None:
    """Its notice is shown in tests/pages/test_provider.py; here the provider is asked."""
    one = await factories.donation(service, api, card="4000000000000259")
    for hours, states in ((0, []), (23, []), (1, ["open"])):
        service.clock.advance(timedelta(hours=hours))
        async with service.db.write() as tx:
            payment = await tx.fetchval(
                "select provider_payment from payment where donation_id = $1",
                support.uuid_of(service, "donation", one["id"]),
            )
            await disputes.enqueue_refresh(tx, payment)
        await service.drain()
        assert await known(service, one) == states
    assert (await refused(api, one["id"], "dispute"))[0] == MOVES
    await simulate(api, one["id"], "dispute", outcome="won")
    assert await known(service, one) == ["won"]


async def test_what_no_card_has_paid_cannot_be_disputed(service: Service, api: Client) -> None:
    made = await factories.direct(service, api)
    assert (await refused(api, made["id"], "dispute"))[0] == MOVES
    opened = await factories.session(service, api)
    assert (await refused(api, opened["id"], "dispute"))[0] == "sandbox/record_not_found"
    answer = await api.post(support.SIMULATE, {"id": made["id"], "action": "dispute", "outcome": "drawn"})
    assert answer.json()["error"]["code"] == "bad_request"


async def known(service: Service, donation: dict[str, Any]) -> list[str]:
    """The states of a donation's disputes."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select status from dispute where donation_id = $1 order by id",
            support.uuid_of(service, "donation", donation["id"]),
        )
    return [row["status"] for row in rows]


@pytest.fixture
async def paid(service: Service, api: Client) -> Giving:
    """A gift that was paid at a provider in memory."""
    return await a_paid_gift(service, api)


async def a_paid_gift(service: Service, api: Client) -> Giving:
    """A new one."""
    giving = await donors.open_session(service, api)
    await giving.begin(donors.gift(4000))
    giving.provider.pay_with_card(giving.provider.only())
    await giving.notify(giving.provider.only())
    return giving


async def events(giving: Giving) -> list[str]:
    """Told after the payment."""
    return (await giving.events())[len(donors.PAID) :]


@pytest.mark.parametrize("first", ["opened", "lost", "payment"])
async def test_m4_notices_in_any_order_any_number_of_times_have_one_effect(paid: Giving, first: str) -> None:
    payment, before = paid.provider.only(), await books.disputed(paid.service, "USD", "fake")
    paid.provider.open_dispute(payment, paid.service.clock.now())
    if first == "opened":
        assert (await paid.notify(payment, "dispute.opened")).status_code == 204
        assert await states(paid) == [("open", 4000, None)]
    paid.provider.decide_dispute(payment, DisputeStatus.LOST)
    for kind in ("dispute.lost", "dispute.opened", "dispute.lost", "payment.succeeded", "dispute.opened"):
        for _ in range(3):
            assert (await paid.notify(payment, kind)).status_code == 204
    assert await states(paid) == [("lost", 4000, 0)]
    assert await events(paid) == ["donation.disputed", "donation.dispute_closed", "donation.refunded"]
    assert await books.disputed(paid.service, "USD", "fake") == before


async def test_m4_a_dispute_heard_of_before_its_payment_brings_the_payment_along(service: Service, api: Client) -> None:
    giving = await donors.open_session(service, api)
    await giving.begin()
    payment = giving.provider.only()
    giving.provider.pay_with_card(payment)
    giving.provider.open_dispute(payment, service.clock.now())
    assert (await giving.notify(payment, "dispute.opened")).status_code == 204
    assert await giving.events() == [*donors.PAID, "donation.disputed"]
    assert await states(giving) == [("open", 2500, None)]


@pytest.mark.parametrize("wrong", ["more than was paid", "another currency", "real money"])
async def test_m5_a_dispute_that_cannot_be_of_this_payment_changes_nothing(paid: Giving, wrong: str) -> None:
    payment = paid.provider.only()
    opened = paid.provider.open_dispute(payment, paid.service.clock.now())
    changed = {
        "more than was paid": replace(opened, money=Money(4001, "USD")),
        "another currency": replace(opened, money=Money(4000, "EUR")),
        "real money": replace(opened, is_live_mode=True),
    }[wrong]
    paid.provider.disputed[payment] = [changed]
    assert (await paid.notify(payment, "dispute.opened")).status_code == 204
    assert await states(paid) == []
    assert await events(paid) == []


async def test_a_provider_that_is_away_is_asked_again_when_it_tells_again(paid: Giving) -> None:
    payment = paid.provider.only()
    paid.provider.open_dispute(payment, paid.service.clock.now())
    await paid.notify(payment, "payment.succeeded", event="tpe_again")
    paid.provider.refuse = 1
    assert (await paid.notify(payment, "dispute.opened", event="tpe_again")).status_code == 503
    assert await states(paid) == []
    assert (await paid.notify(payment, "dispute.opened", event="tpe_again")).status_code == 204
    assert await states(paid) == [("open", 4000, None)]


@pytest.mark.parametrize("outcome", ["won", "lost"])
async def test_people_note_how_one_ended_that_the_provider_does_not_tell(paid: Giving, outcome: Any) -> None:
    payment = paid.provider.only()
    paid.provider.open_dispute(payment, paid.service.clock.now())
    await paid.notify(payment, "dispute.opened")
    decided = DisputeOutcome(outcome, "operator_1", "a letter of the bank")
    async with paid.service.db.write() as tx:
        (found,) = [one for one in await disputes.list_newest(tx, ["open"], 100) if one.provider_payment_id == payment]
        ended = await disputes.record_outcome(tx, found.id, decided, DisbursementRules())
    assert (ended.status, ended.decided_by, ended.note) == (outcome, "operator_1", "a letter of the bank")
    refunded = ["donation.refunded"] if outcome == "lost" else []
    assert await events(paid) == ["donation.disputed", "donation.dispute_closed", *refunded]
    (donation,) = await paid.donations()
    assert (donation["disputeStatus"], donation["disputedAt"] is None) == (outcome, False)
    for again in ("won", "lost"):
        async with paid.service.db.write() as tx:
            with pytest.raises(DisputeError):
                await disputes.record_outcome(
                    tx, found.id, DisputeOutcome(again, "operator_1", "once more"), DisbursementRules()
                )
    paid.provider.decide_dispute(payment, DisputeStatus.WON if outcome == "lost" else DisputeStatus.LOST)
    with capture_logs() as lines:
        await paid.notify(payment, "dispute.won")
    assert [state for state, _, _ in await states(paid)] == [outcome]
    assert [line["event"] for line in lines if line["event"].startswith("dispute")] == ["dispute_outcome_conflicts"]


async def test_a_part_of_a_gift_is_lost_and_the_rest_is_paid_out(paid: Giving) -> None:
    payment = paid.provider.only()
    paid.provider.open_dispute(payment, paid.service.clock.now(), 1500)
    paid.provider.decide_dispute(payment, DisputeStatus.LOST)
    await paid.notify(payment, "dispute.lost")
    (donation,) = await paid.donations()
    assert (donation["refundedAmount"], donation["amount"]) == (1500, 4000)
    assert await books.owed(paid.service, donation["organisationId"]) == 2500


async def test_what_is_left_of_a_returned_gift_is_collected_once_its_loss_is_taken_back(
    service: Service, api: Client
) -> None:
    nonprofit = await factories.nonprofit(service, country="USA")
    giving = await donors.open_session(service, api, organisationId=nonprofit)
    await giving.begin(donors.gift(4000))
    payment = giving.provider.only()
    giving.provider.pay_with_card(payment)
    await giving.notify(payment)
    await verified(service, api, nonprofit)
    (donation,) = await giving.donations()
    one = await simulate(api, donation["id"], "settle")
    await service.drain()
    await run(service)
    giving.provider.open_dispute(payment, service.clock.now(), 1500)
    giving.provider.decide_dispute(payment, DisputeStatus.LOST)
    await giving.notify(payment, "dispute.lost")
    gift_id = support.uuid_of(service, "donation", one["id"])
    async with service.db.write() as tx:  # the job comes late: buckets are filled before it
        later = tx.now + timedelta(minutes=1)
        await disputes_jobs.RECOVER.enqueue(
            tx, disputes_jobs.RecoverLossJob(gift_id), due_at=later, unique_key=str(gift_id)
        )
    (sent,) = await payouts(api)
    await support.came_back(service, sent)
    await support.release(service, nonprofit)
    assert await bucket(service, api) == []
    service.clock.advance(minutes=2)
    assert await bucket(service, api) == [one["settledAmount"]["amount"] - 1500]
    assert await books.balanced(service)


async def test_a_bank_that_decides_while_a_refund_is_under_way_is_heard_when_that_has_ended(
    service: Service, api: Client
) -> None:
    one = await factories.donation(service, api)
    await back.begun(service, one, 1000)
    assert await refused(api, one["id"], "dispute", outcome="lost") == (
        MOVES,
        ["something else is under way with the donation; try again in a moment"],
    )
    async with service.db.write() as tx:  # as its notice does
        gift_id = support.uuid_of(service, "donation", one["id"])
        await disputes.enqueue_refresh(
            tx, await tx.fetchval("select provider_payment from payment where donation_id = $1", gift_id)
        )
    await service.drain()
    service.clock.advance(minutes=2)
    await service.drain()
    assert await known(service, one) == ["lost"]
    assert (await gift(api, one))["refundedAmount"] == 2500
    assert [refund.status for refund in await back.of(service, one)] == ["refused"]


async def test_how_many_are_open_is_a_metric(empty_database: TestDatabase) -> None:
    """On a service of its own: its loops end, and with them what others would still wait for."""
    async with serving(empty_database) as service:
        api = service.client((await service.tenant()).secret)
        paid = await a_paid_gift(service, api)
        paid.provider.open_dispute(paid.provider.only(), service.clock.now())
        await paid.notify(paid.provider.only(), "dispute.opened")
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(worker.run_worker(service.services, "server", stop))
            metrics = service.services.telemetry.render_metrics
            await eventually(lambda: b"almoner_disputes_open 1.0" in metrics(), within=30)
            stop.set()
        await api.close()


async def states(giving: Giving) -> list[tuple[str, int, int | None]]:
    """State, amount and our loss of the disputes of the provider's payment."""
    async with giving.service.db.read() as tx:
        rows = await tx.fetch(
            "select status, amount_minor, absorbed_minor from dispute where provider_payment = any($1) order by id",
            list(giving.provider.payments),
        )
    return [tuple(row) for row in rows]

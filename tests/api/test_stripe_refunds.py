"""Refunds at Stripe that fail days after they were sent, or that nobody here began: heard by notice (M4, M5, M7)."""

from collections.abc import AsyncIterator
from itertools import permutations
from typing import Any

import pytest
from structlog.testing import capture_logs

from almoner.giving.accounting.refunds import flows as refunds_flows
from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.refunds.domain import Refund, RefundError
from almoner.giving.accounting.refunds.jobs import refresh_refund
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.platform.jobs.background_tasks import JobContext
from almoner.platform.jobs.queue import Job, JobDone, JobRetry
from tests.support import books
from tests.support import refunds as back
from tests.support.client import Client
from tests.support.service import Service
from tests.support.signing_in import operator
from tests.support.stripe_account import signed
from tests.support.stripe_giving import AtStripe, serving_at_stripe


@pytest.fixture
async def giving(service: Service, api: Client) -> AsyncIterator[AtStripe]:
    async with serving_at_stripe(service) as stripe:
        made = await stripe.open_session(api)
        await made.giving.begin()
        stripe.account.pay_with_card(made.session["id"])
        assert await made.deliver() == [204]
        yield made


async def sent(giving: AtStripe, minor: int = 1000) -> Refund:
    """A refund that Stripe has made."""
    service = giving.giving.service
    refund = await begun(giving, minor)
    await back.send(service, giving.stripe.provider, refund.id)
    return (await back.of(service, (await giving.giving.donations())[0]))[-1]


async def begun(giving: AtStripe, minor: int = 1000) -> Refund:
    return await back.begun(giving.giving.service, (await giving.giving.donations())[0], minor)


async def waiting(giving: AtStripe) -> list[tuple[object, str | None]]:
    """Those of this gift that wait for a person, and why."""
    gift = await back.of(giving.giving.service, (await giving.giving.donations())[0])
    async with giving.giving.service.db.read() as tx:
        found = await refunds.list_unresolved(tx, 1000)
        assert await refunds.count_unresolved(tx) >= len(found)
    own = {one.id for one in gift}
    return [(one.id, one.ended_note) for one in found if one.id in own]


@pytest.mark.parametrize("order", [*permutations(range(3))])
async def test_m4_a_refund_that_fails_is_told_once_whatever_the_order_of_its_notices(
    giving: AtStripe, order: tuple[int, ...]
) -> None:
    service, account = giving.giving.service, giving.stripe.account
    officer = await operator(service, "finance")
    refund = await sent(giving)
    assert refund.provider_refund is not None
    account.fail_refund(refund.provider_refund)
    notices = list(account.notices)
    account.notices.clear()
    for place in (*order, *order):
        assert (await giving.send(notices[place])).status_code == 204
    assert await waiting(giving) == [(refund.id, "failed: lost_or_stolen_card")]
    [(title, text)] = await officer.mails()
    assert title == "A refund failed at Almoner"
    assert "lost_or_stolen_card" in text
    (donation,) = await giving.giving.donations()
    assert donation["refundedAmount"] == 1000
    assert await books.balanced(service)


async def test_a_refund_that_failed_waits_until_a_person_lets_it_rest(giving: AtStripe) -> None:
    refund = await sent(giving)
    with pytest.raises(RefundError):
        await let_rest(giving, refund)
    giving.stripe.account.fail_refund(refund.provider_refund or "", status="canceled")
    assert await giving.deliver() == [204, 204, 204]
    assert await waiting(giving) == [(refund.id, "canceled: lost_or_stolen_card")]
    await let_rest(giving, refund)
    assert await waiting(giving) == []
    with pytest.raises(RefundError):
        await let_rest(giving, refund)


async def let_rest(giving: AtStripe, refund: Refund) -> None:
    async with giving.giving.service.db.write() as tx:
        await refunds.resolve_failed_refund(tx, refund.id, "sent by bank today", "officer")


async def test_a_refund_that_was_pending_and_arrives_changes_nothing(giving: AtStripe) -> None:
    refund = await sent(giving)
    account = giving.stripe.account
    made = account.refunds[refund.provider_refund or ""]
    for status in ("pending", "requires_action", "succeeded"):
        made["status"] = status
        account.tell("refund.updated", made)
        account.tell("charge.refund.updated", made)
    assert set(await giving.deliver(times=2)) == {204}
    assert await waiting(giving) == []


@pytest.mark.parametrize("tampered", [{"amount": 999}, {"currency": "eur"}, {"payment_intent": "pi_other"}, "mode"])
async def test_m5_a_refund_that_is_not_as_we_sent_it_is_told_in_the_log_and_nothing_else(
    giving: AtStripe, tampered: dict[str, Any] | str
) -> None:
    refund = await sent(giving)
    account = giving.stripe.account
    made = account.fail_refund(refund.provider_refund or "")
    if isinstance(tampered, dict):
        made |= tampered
    else:
        account.sessions[giving.session["id"]]["livemode"] = True
    service = giving.giving.service
    with capture_logs() as reported:
        await refunds_flows.refresh_refund(
            refunds_flows.RefundContext(service.db, giving.stripe.provider), giving.session["id"], made["id"]
        )
    assert [one["event"] for one in reported] == ["refund_differs"]
    assert await waiting(giving) == []


@pytest.mark.parametrize("kind", ["refund.failed", "refund.updated", "charge.refund.updated"])
async def test_m5_what_a_notice_says_is_not_believed(giving: AtStripe, kind: str) -> None:
    refund = await sent(giving)
    made = giving.stripe.account.refunds[refund.provider_refund or ""]
    giving.stripe.account.tell(kind, {**made, "status": "failed"})
    (notice,) = giving.stripe.account.notices
    assert await giving.deliver() == [204]
    assert await waiting(giving) == []
    _, header = signed(notice, giving.giving.service.clock.real_now())
    assert (await giving.send({**notice, "id": "evt_other"}, header=header)).status_code == 400


@pytest.mark.parametrize("number", ["re_nowhere", "../charges/ch_1", ""])
async def test_m5_a_refund_that_stripe_does_not_know_is_refused(giving: AtStripe, number: str) -> None:
    refund = await sent(giving)
    made = giving.stripe.account.refunds[refund.provider_refund or ""]
    giving.stripe.account.tell("refund.failed", {**made, "id": number})
    assert await giving.deliver() == [400]


async def test_a_failure_that_is_told_before_its_answer_was_recorded_is_looked_at_again(giving: AtStripe) -> None:
    service, stripe = giving.giving.service, giving.stripe
    refund = await begun(giving)
    async with service.db.read() as tx:
        key = refunds.refund_idempotency_key(tx, refund.id)
    made = await stripe.provider.refund_payment(giving.session["id"], key, refund.money)
    stripe.account.fail_refund(made.id)
    assert set(await giving.deliver()) == {204}
    async with service.db.read() as tx:
        payload = await tx.fetchval(
            "select payload from job where kind = 'refunds.refresh' and unique_key = $1", made.id
        )
    assert payload is not None
    job = refunds.REFRESH.decode(Job(0, "refunds.refresh", payload, 1, 0, service.clock.now(), None))
    assert isinstance(await refresh_refund(stripe.provider, JobContext(service.db), job), JobRetry)
    async with service.db.write() as tx:
        await refunds.record_refund_sent(tx, refund.id, made.id)  # its answer said that it is pending
    assert await refresh_refund(stripe.provider, JobContext(service.db), job) == JobDone()
    assert await waiting(giving) == [(refund.id, "failed: lost_or_stolen_card")]


async def test_a_refund_that_we_did_not_ask_for_is_told_in_the_log(giving: AtStripe) -> None:
    account = giving.stripe.account
    made = account.new_refund({"payment_intent": giving.session["payment_intent"], "amount": 500})
    account.fail_refund(made["id"])
    with capture_logs() as reported:
        assert set(await giving.deliver()) == {204}
    assert {one["event"] for one in reported} == {"unknown_refund_failed"}


@pytest.mark.parametrize(
    ("ours", "by_hand", "status"),
    [(500, False, "sent"), (1000, False, "refused"), (500, True, "refused")],
    ids=["sent", "refused by Stripe", "refused by a person"],
)
async def test_m7_no_refund_of_ours_that_has_ended_hides_one_that_nobody_here_began(
    giving: AtStripe, ours: int, by_hand: bool, status: str
) -> None:
    service, account = giving.giving.service, giving.stripe.account
    refund = await begun(giving, ours)
    made = account.new_refund({"payment_intent": giving.session["payment_intent"], "amount": 2000})
    account.tell("refund.created", made)
    assert await giving.deliver() == [204]
    assert await holds_for(giving, made["id"]) == [], "it may be ours, whose answer is still to come"
    if by_hand:
        async with service.db.write() as tx:
            await refunds.mark_refused(tx, refund.id, "no account", "officer")
    else:
        await back.send(service, giving.stripe.provider, refund.id)
    assert [one.status for one in await back.of(service, (await giving.giving.donations())[0])] == [status]
    account.tell("refund.updated", made)
    assert await giving.deliver() == [204]
    assert await holds_for(giving, made["id"]) == ["rule"]


async def holds_for(giving: AtStripe, refund: str) -> list[str]:
    """Who holds payouts to the nonprofit for this refund."""
    await giving.giving.service.drain()
    async with giving.giving.service.db.read() as tx:
        return [one.decided_by for one in await disbursements.list_active_holds(tx) if refund in one.note]

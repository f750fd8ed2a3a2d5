"""Gifts of plans that cannot be charged, and what their donors do about it (settled 11)."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from almoner.access.partners import service as partners
from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations import jobs as donations_jobs
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.payments import service as payments
from almoner.giving.subscriptions.charging import jobs as charging_jobs
from almoner.giving.subscriptions.charging import service as charging
from almoner.giving.subscriptions.donation_subscriptions import service as subscriptions
from almoner.giving.subscriptions.donation_subscriptions.domain import InvalidDate
from almoner.kit.time import parse_timestamp
from almoner.nonprofits.registers.domain import CHANGED, RegisterChangedEvent
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, open_service_database
from almoner.platform.events import outbox
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import merge_background_tasks
from almoner.provider_test import service as provider_test
from almoner.provider_test.domain import Card
from tests.support import factories
from tests.support.client import Client, data
from tests.support.payouts import uuid_of
from tests.support.refusals import refusing
from tests.support.regular_gifts import AGREEMENT, CARD, Plan, begin_plan, context, pass_days, reach
from tests.support.service import Service, Tenant


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: here the clock goes far."""
    return alone


@pytest.fixture
async def plan(service: Service, api: Client) -> Plan:
    """A plan whose first gift is paid."""
    return await begin_plan(service, api)


async def declined(plan: Plan, code: str = "insufficient_funds") -> None:
    """The second gift falls due, and is declined."""
    await plan.decline_next(code)
    await reach(plan.service, (await plan.record())["nextDonationAt"])
    assert (await plan.events())[-1] in ("payment_failed", "cancelled")


async def test_a_charge_that_failed_is_tried_again_after_1_3_5_and_7_days(service: Service, plan: Plan) -> None:
    await declined(plan)
    await plan.decline_next()
    await pass_days(service, 1)
    assert (await plan.record())["status"] == "past_due"
    (_, gift) = await plan.gifts()
    assert gift["status"] == "REQUESTED_PAYMENT"
    await pass_days(service, 1)
    assert len(await plan.paid_on()) == 1, "not on the second day"
    await pass_days(service, 1)
    assert (await plan.record())["status"] == "active"
    (_, paid) = await plan.gifts()
    assert (paid["id"], paid["status"]) == (gift["id"], "RECEIVED_PAYMENT")
    assert (await plan.events())[-3:] == ["payment_failed", "payment_failed", "updated"]
    types = [one["eventType"] for one in data(await plan.api.get("/v1/events", pageSize=100))]
    assert types.count("donation.created") == 2


@pytest.mark.parametrize(("days", "became"), [(5, "paid"), (9, "too_late")])
async def test_a_paused_partners_plans_are_charged_after_the_pause_if_they_are_not_too_late(
    service: Service, tenant: Tenant, plan: Plan, days: int, became: str
) -> None:
    due = (await plan.record())["nextDonationAt"]
    async with service.db.write() as tx:
        await partners.pause(tx, tenant.partner, "Complaints about its pages")
    await reach(service, due)
    await pass_days(service, days)
    assert await plan.dates() == [], "nothing was charged, skipped or ended"
    async with service.db.write() as tx:
        await partners.resume(tx, tenant.partner)
    service.clock.advance(timedelta(hours=1, minutes=1))
    await service.drain()
    assert await plan.dates() == [(due[:10], became)]
    assert (await plan.record())["status"] == "active"


@pytest.mark.parametrize(("days", "became"), [(1, "paid"), (9, "failed")])
async def test_a_charge_that_was_not_sent_before_the_pause_waits_for_its_end(
    service: Service, tenant: Tenant, plan: Plan, days: int, became: str
) -> None:
    due = (await plan.record())["nextDonationAt"]
    service.clock.advance_to(parse_timestamp(due))
    async with service.db.write() as tx:
        await charging.process_due_subscriptions(tx)
        await partners.pause(tx, tenant.partner, "Complaints about its pages")
    await pass_days(service, days)
    assert await plan.dates() == [(due[:10], "open")]
    async with service.db.read() as tx:
        waits_at = await charging.find_oldest_unfinished_charge_or_next_due_at(tx)
    assert waits_at is None or waits_at > tx.now, "a sandbox's clock goes on"
    async with service.db.write() as tx:
        await partners.resume(tx, tenant.partner)
    service.clock.advance(timedelta(hours=1, minutes=1))
    await service.drain()
    assert await plan.dates() == [(due[:10], became)]
    assert len(await plan.paid_on()) == (2 if became == "paid" else 1)


async def test_a_plan_that_stays_past_due_ends_after_28_days(service: Service, plan: Plan) -> None:
    await declined(plan)
    for days in (1, 2, 2, 2):
        await plan.decline_next()
        await pass_days(service, days, by=days)
    await pass_days(service, 1)
    (_, gift) = await plan.gifts()
    assert gift["status"] == "CANCELLED"
    assert [outcome for _, outcome in await plan.dates()] == ["failed"]
    await pass_days(service, 20, by=20)
    record = await plan.record()
    assert (record["status"], record["cancellationReason"]) == ("cancelled", "payment_failed")
    assert (await plan.events()).count("payment_failed") == 5


@pytest.mark.parametrize("code", ["authentication_required", "lost_card", "expired_card"])
async def test_what_only_the_donor_can_put_right_is_not_tried_again(service: Service, plan: Plan, code: str) -> None:
    await declined(plan, code)
    await pass_days(service, 4, by=4)
    assert len(await plan.gifts()) == 2
    assert (await plan.events()).count("payment_failed") == 1
    work, gift = context(service), (await plan.gifts())[1]
    donation_id = service.db.deployment.ids.decode("donation", gift["id"])
    assert donation_id is not None
    before = await plan.method()
    url = await donations_flows.create_due_donation_payment_url(work, donation_id)
    assert url == await donations_flows.create_due_donation_payment_url(work, donation_id)
    async with service.db.write() as tx:
        attempt = await payments.find_current_payment(tx, donation_id)
        assert attempt is not None
        assert attempt.provider_payment_id is not None
        assert await provider_test.pay_with_card(tx, attempt.provider_payment_id, Card(CARD))
    await donations_flows.refresh_due_donation_payment(work, attempt.id)
    assert await donations_flows.create_due_donation_payment_url(work, donation_id) is None
    record = await plan.record()
    assert (record["status"], record["donationsCount"]) == ("active", 2)
    assert await plan.method() != before, "the card of this payment is charged from now on"
    await reach(service, record["nextDonationAt"])
    assert len(await plan.paid_on()) == 3


async def test_a_donor_who_told_the_bank_to_stop_is_asked_nothing_more(service: Service, plan: Plan) -> None:
    await declined(plan, "revocation_of_authorization")
    record = await plan.record()
    assert (record["status"], record["cancellationReason"]) == ("cancelled", "revoked")
    assert (await plan.gifts())[1]["status"] == "CANCELLED"
    assert [outcome for _, outcome in await plan.dates()] == ["cancelled"]


async def test_another_card_is_charged_at_once_for_what_is_past_due(service: Service, plan: Plan) -> None:
    await declined(plan, "lost_card")
    other = await begin_plan(service, plan.api)
    async with service.db.write() as tx:
        held = await subscriptions.get_for_update(tx, ALL_PARTNERS, plan.uuid)
        lent = await subscriptions.get(tx, ALL_PARTNERS, other.uuid)
        assert lent.payment_method is not None
        assert lent.first_payment_id is not None
        await tx.execute(
            "update donation_subscription set provider_payment_method = 'another' where id = $1", other.uuid
        )
        await subscriptions.set_payment_method(tx, str(lent.provider), held, lent.payment_method)
    await service.drain()
    assert (await plan.record())["status"] == "active"
    assert len(await plan.paid_on()) == 2


async def test_a_lower_amount_holds_for_what_is_past_due(service: Service, plan: Plan) -> None:
    await declined(plan)
    data(await plan.api.patch(f"/v1/donation-subscriptions/{plan.id}", {"amount": 700}))
    await pass_days(service, 1)
    (_, gift) = await plan.gifts()
    assert (gift["amount"], gift["status"]) == (700, "RECEIVED_PAYMENT")
    assert (await plan.record())["totalAmount"] == 3200


async def test_a_higher_amount_does_not_hold_for_what_is_past_due(service: Service, tenant: Tenant, plan: Plan) -> None:
    await declined(plan)
    data(await plan.api.patch(f"/v1/donation-subscriptions/{plan.id}", {"amount": 9000}))
    async with service.db.write() as tx:
        await subscriptions.confirm_change(tx, tenant.partner, plan.uuid, AGREEMENT)
    await pass_days(service, 1)
    assert [gift["amount"] for gift in await plan.gifts()] == [2500, 2500], "the donor agreed to it from the next date"
    await reach(service, (await plan.record())["nextDonationAt"])
    assert [gift["amount"] for gift in await plan.gifts()] == [2500, 2500, 9000]


async def test_a_plan_moves_to_the_successor_when_its_donor_agrees(
    service: Service, tenant: Tenant, api: Client
) -> None:
    organisation, successor = await factories.nonprofit(service), await factories.nonprofit(service)
    plan = await begin_plan(service, api, organisation=organisation)
    async with service.db.write() as tx:
        ids = [uuid_of(service, "organisation", one) for one in (organisation, successor)]
        await tx.execute(
            "update organisation set active = false, status_override = 'merged', succeeded_by = $2 where id = $1", *ids
        )
    await reach(service, (await plan.record())["nextDonationAt"])
    assert (await plan.record())["pauseReason"] == "organisation_cannot_receive"
    async with service.db.write() as tx:
        moved = await subscriptions.accept_successor_organisation(tx, tenant.partner, plan.uuid, ids[1], AGREEMENT)
        assert moved.organisation_id == ids[1]
    record = await plan.record()
    assert (record["status"], record["organisationId"]) == ("active", successor)
    await reach(service, record["nextDonationAt"])
    assert len(await replace(plan, organisation=successor).paid_on()) == 1


async def test_an_erased_user_is_charged_nothing_and_forgotten(service: Service, api: Client) -> None:
    user = data(await api.post("/v1/users"))["id"]
    plan = await begin_plan(service, api, userId=user)
    async with service.db.write() as tx:
        await tx.execute("update giving_user set deleted_at = $2 where id = $1", tx.ids.decode("user", user), tx.now)
    await reach(service, (await plan.record())["nextDonationAt"])
    record = await plan.record()
    assert (record["status"], record["cancellationReason"]) == ("cancelled", "donor_erased")
    assert {record[name] for name in ("firstName", "lastName", "email", "paymentMethod")} == {None}
    assert len(await plan.gifts()) == 1


@pytest.mark.parametrize("state", ["paused", "cancelled"])
async def test_an_erased_user_is_forgotten_at_once_in_every_state(service: Service, api: Client, state: str) -> None:
    user = data(await api.post("/v1/users"))["id"]
    plan = await begin_plan(service, api, userId=user)
    await plan.does("pause" if state == "paused" else "cancel")
    async with service.db.write() as tx:
        await tx.execute("update giving_user set deleted_at = $2 where id = $1", tx.ids.decode("user", user), tx.now)
    await service.drain()
    record = await plan.record()
    reason = "donor_erased" if state == "paused" else "partner"
    assert (record["status"], record["cancellationReason"]) == ("cancelled", reason)
    assert {record[name] for name in ("firstName", "lastName", "email", "paymentMethod")} == {None}


async def test_a_plan_of_a_merged_nonprofit_is_proposed_when_the_register_changes(service: Service, plan: Plan) -> None:
    successor = await factories.nonprofit(service)
    other = await begin_plan(service, plan.api, organisation=plan.organisation)
    await other.does("pause")
    async with service.db.write() as tx:
        ids = [tx.ids.decode("organisation", name) for name in (plan.organisation, successor)]
        await tx.execute(
            "update organisation set active = false, status_override = 'merged', succeeded_by = $2 where id = $1", *ids
        )
        await outbox.emit_internal_event(tx, CHANGED, RegisterChangedEvent(uuid4(), uuid4()))
    await service.drain()
    assert (await plan.record())["pauseReason"] == "organisation_cannot_receive"
    assert (await other.record())["pauseReason"] == "partner"
    for one in (plan, other):
        async with service.db.read() as tx:
            assert (await subscriptions.get(tx, ALL_PARTNERS, one.uuid)).proposed_organisation_id == ids[1]
    asked = data(await plan.api.get("/v1/sandbox/mailbox", subject="Would you like to continue"))
    await service.drain()
    assert len(asked) == 2


async def test_a_plan_that_fails_keeps_no_other_from_being_proposed(service: Service, plan: Plan) -> None:
    successor = await factories.nonprofit(service)
    other = await begin_plan(service, plan.api, organisation=plan.organisation)
    async with service.db.write() as tx:
        ids = [tx.ids.decode("organisation", name) for name in (plan.organisation, successor)]
        await tx.execute(
            "update organisation set active = false, status_override = 'merged', succeeded_by = $2 where id = $1", *ids
        )
        await outbox.emit_internal_event(tx, CHANGED, RegisterChangedEvent(uuid4(), uuid4()))
    first, second = sorted([plan.uuid, other.uuid])
    async with refusing(service.database, "update", "donation_subscription", f"old.id = '{first}'"):
        await service.drain()
        async with service.db.read() as tx:
            assert (await subscriptions.get(tx, ALL_PARTNERS, second)).proposed_organisation_id == ids[1]
    async with service.db.write() as tx:
        await outbox.emit_internal_event(tx, CHANGED, RegisterChangedEvent(uuid4(), uuid4()))
    await service.drain()
    async with service.db.read() as tx:
        assert (await subscriptions.get(tx, ALL_PARTNERS, first)).proposed_organisation_id == ids[1]


async def test_the_donor_chooses_another_day_and_agrees_to_more(service: Service, tenant: Tenant, plan: Plan) -> None:
    partner: Partner = tenant.partner
    data(await plan.api.patch(f"/v1/donation-subscriptions/{plan.id}", {"amount": 9000}))
    today = service.clock.now().date()
    async with service.db.write() as tx:
        changed = await subscriptions.confirm_change(tx, partner, plan.uuid, AGREEMENT)
        assert (changed.money.minor, changed.pending_change) == (9000, None)
        chosen = next(day for ahead in range(5, 9) if (day := today + timedelta(days=ahead)).day <= 28)  # every month's
        changed = await subscriptions.change_next_due_date(tx, partner, plan.uuid, chosen)
        assert (changed.next_due_on, changed.next_due_date_after(chosen).day) == (chosen, chosen.day)
        for wrong in (today, today + timedelta(days=400)):
            with pytest.raises(InvalidDate):
                await subscriptions.change_next_due_date(tx, partner, plan.uuid, wrong)
    days = (chosen - today).days + 1
    await pass_days(service, days, by=days)
    assert [gift["amount"] for gift in await plan.gifts()] == [2500, 9000]


async def test_two_workers_charge_a_date_once(service: Service, plan: Plan) -> None:
    provider = service.services.provider
    assert provider is not None
    asking = donations_jobs.provider_tasks.bind(donations_jobs.JobDependencies(provider))
    tasks = merge_background_tasks([charging_jobs.tasks, donations_jobs.tasks, asking])
    for _ in range(3):
        service.clock.advance_to(parse_timestamp((await plan.record())["nextDonationAt"]))
        workers = [BackgroundWorker(service.db, tasks, service.services.telemetry) for _ in range(3)]
        await asyncio.gather(*(worker.drain() for worker in workers))
    assert len(await plan.paid_on()) == 4
    assert [outcome for _, outcome in await plan.dates()] == ["paid"] * 3


async def test_a_due_charge_costs_few_statements(service: Service, plan: Plan) -> None:
    provider, asked, due = service.services.provider, [], (await plan.record())["nextDonationAt"]
    assert provider is not None
    async with service.db.write() as tx:  # those of other tests may be due at the same moment
        await tx.execute("update donation_subscription set wake_at = null where id <> $1", plan.uuid)
    db = await open_service_database(
        service.database.dsn, service.db.deployment, pool_size=1, on_statement=lambda query: asked.append(query.query)
    )
    service.clock.advance_to(parse_timestamp(due))
    try:
        async with db.write() as tx:
            assert await charging.process_due_subscriptions(tx) == 1
            [payment] = await tx.fetch("select id from payment where status = 'starting' and off_session")
        opened = len(asked)
        await donations_flows.charge_or_resume_interrupted_payment(PaymentContext(db, provider), payment["id"])
    finally:
        await db.close()
    assert len(await plan.paid_on()) == 2
    assert (opened <= 16, len(asked) - opened <= 28) == (True, True), "\n".join(asked)

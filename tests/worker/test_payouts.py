"""Background work of settlements and payouts: by the business clock, and what a crash left half done (settled 9)."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from almoner.giving.checkout.donations import service as donations
from almoner.giving.disbursing.disbursements import jobs as disbursements_jobs
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import SANDBOX_CONFIRMATION, DisbursementRules
from tests.support import factories
from tests.support import giving as givings
from tests.support.client import Client, data
from tests.support.fake_provider import FakeProvider
from tests.support.payouts import events_of, gift, payouts, settled, simulate, uuid_of, verified
from tests.support.reports import imported, reasons, report
from tests.support.service import Service

MIDNIGHT = datetime(2026, 3, 3, tzinfo=UTC)
MOMENT = timedelta(milliseconds=1)


@dataclass(slots=True)
class Ground:
    """A service of its own, with one partner."""

    service: Service
    api: Client

    async def advance(self, moment: datetime) -> None:
        """By the sandbox's clock, which does what is due on the way."""
        answer = await self.api.post("/v1/sandbox/clock", {"advanceTo": moment.isoformat().replace("+00:00", "Z")})
        assert data(answer)["remaining"] == 0


@pytest.fixture
async def ground(alone: Service) -> AsyncIterator[Ground]:
    """The ground, with nothing on it, on 2 March 2026 at 9:30."""
    api = alone.client((await alone.tenant()).secret)
    yield Ground(alone, api)
    await api.close()


async def test_payouts_run_every_day_as_the_clock_passes_midnight(ground: Ground) -> None:
    nonprofit = await factories.nonprofit(ground.service)
    await verified(ground.service, ground.api, nonprofit)
    made = await settled(ground.service, ground.api, nonprofit)
    await ground.advance(MIDNIGHT - MOMENT)
    assert (await gift(ground.api, made))["status"] == "RECEIVED_PAYMENT"
    assert [one["status"] for one in await payouts(ground.api)] == ["PENDING"]
    await ground.advance(MIDNIGHT)
    paid = await gift(ground.api, made)
    assert (paid["status"], paid["disbursedAt"]) == ("DISBURSED", "2026-03-03T00:00:00.000Z")
    late = await settled(ground.service, ground.api, nonprofit)
    await ground.advance(MIDNIGHT + timedelta(days=30))
    assert (await gift(ground.api, late))["disbursedAt"] == "2026-03-04T00:00:00.000Z"


async def test_a_payout_that_waits_is_sent_the_day_after_its_nonprofit_was_verified(ground: Ground) -> None:
    nonprofit = await factories.nonprofit(ground.service)
    made = await settled(ground.service, ground.api, nonprofit)
    await ground.advance(MIDNIGHT + timedelta(hours=1))
    (waiting,) = await payouts(ground.api)
    assert (waiting["status"], waiting["waitingReason"]) == ("PENDING", "verification_pending")
    verification = await verified(ground.service, ground.api, nonprofit)
    assert verification["status"]["type"] == "approved"
    await ground.service.drain()
    assert [one["waitingReason"] for one in await payouts(ground.api)] == [None]
    await ground.advance(MIDNIGHT + timedelta(days=1))
    assert (await gift(ground.api, made))["status"] == "DISBURSED"


async def test_settled_gifts_come_into_their_bucket_by_themselves(ground: Ground) -> None:
    nonprofit = await factories.nonprofit(ground.service)
    gifts = []
    for amount in (975, 1950):
        gifts.append(await settled(ground.service, ground.api, nonprofit, amount=1000))
        await ground.service.drain()
        assert [one["amount"] for one in await payouts(ground.api)] == [amount]
    other = await factories.nonprofit(ground.service)
    await simulate(ground.api, gifts[0]["id"], "reassign", organisationId=other)
    await ground.service.drain()
    assert {one["organisationId"]: one["amount"] for one in await payouts(ground.api)} == {nonprofit: 975, other: 975}


async def test_a_crash_between_two_batches_leaves_no_gift_behind(ground: Ground) -> None:
    nonprofit = await factories.nonprofit(ground.service)
    await verified(ground.service, ground.api, nonprofit)
    gifts = [await settled(ground.service, ground.api, nonprofit) for _ in range(5)]
    await ground.service.drain()
    (bucket,) = await payouts(ground.api)
    payout = uuid_of(ground.service, "disbursement", bucket["id"])
    async with ground.service.db.write() as tx:
        await disbursements.send_disbursement(tx, payout, DisbursementRules())
    async with ground.service.db.write() as tx:
        assert (await disbursements.confirm_paid(tx, payout, SANDBOX_CONFIRMATION, max_donations=2)).propagating
    assert sorted([(await gift(ground.api, made))["status"] for made in gifts]) == [
        *["DISBURSED"] * 2,
        *["RECEIVED_PAYMENT"] * 3,
    ]
    await ground.service.drain()
    assert {(await gift(ground.api, made))["status"] for made in gifts} == {"DISBURSED"}
    async with ground.service.db.write() as tx:
        await disbursements.mark_returned(tx, payout, "closed", recorded_by="officer", limit=2)
    await ground.service.drain()
    for made in gifts:
        assert (await gift(ground.api, made))["status"] == "RECEIVED_PAYMENT"
        reported = (await events_of(ground.service, made))[4:]
        assert reported == ["donation.disbursed", "donation.payout_returned"]
    async with ground.service.db.read() as tx:
        assert len(await donations.list_donations_of_disbursement(tx, payout)) == 5
        assert await disbursements.list_disbursement_ids_with_unpropagated_status(tx) == []


async def test_m7_exceptions_are_looked_at_again_every_night(ground: Ground) -> None:
    giving = await givings.open_session(ground.service, ground.api)
    giving.provider = FakeProvider(name="fake")
    await giving.begin()
    payment = giving.provider.only()
    await imported(ground.service, report(("payment", payment, 25.0, 1.0), ("payment", "tp_nobody", 1.0, 0.0)))
    assert await reasons(ground.service, payment) == ["not_paid"]
    giving.provider.pay_with_card(payment)
    await giving.come_back()
    await ground.advance(MIDNIGHT - MOMENT)
    assert (await giving.donations())[0]["settledAt"] is None
    await ground.advance(MIDNIGHT)
    assert (await giving.donations())[0]["settledAt"] == "2026-03-03T00:00:00.000Z"
    await ground.advance(MIDNIGHT + timedelta(days=3))
    assert await reasons(ground.service, payment, "tp_nobody") == ["unknown_payment"]


async def test_the_daily_run_looks_at_what_waits_for_anything(ground: Ground) -> None:
    """What ends outside of the service, such as a register's change, tells nobody."""
    nonprofit = await factories.nonprofit(ground.service)
    await verified(ground.service, ground.api, nonprofit)
    active = "update organisation set active = $2 where id = $1"
    organisation = uuid_of(ground.service, "organisation", nonprofit)
    made = await settled(ground.service, ground.api, nonprofit)
    async with ground.service.db.write() as tx:
        await tx.execute(active, organisation, False)
    await ground.advance(MIDNIGHT)
    assert [one["waitingReason"] for one in await payouts(ground.api)] == ["organisation_inactive"]
    async with ground.service.db.write() as tx:
        await tx.execute(active, organisation, True)
    await ground.advance(MIDNIGHT + timedelta(days=1))
    assert (await gift(ground.api, made))["disbursedAt"] == "2026-03-04T00:00:00.000Z"


async def test_a_payout_that_the_books_refuse_keeps_no_other_back(ground: Ground) -> None:
    nonprofits = [await factories.nonprofit(ground.service) for _ in range(3)]
    gifts = []
    for nonprofit in nonprofits:
        await verified(ground.service, ground.api, nonprofit)
        gifts.append(await settled(ground.service, ground.api, nonprofit))
        await ground.service.drain()
    async with ground.service.db.write() as tx:
        await tx.execute(
            "update disbursement set amount_minor = amount_minor + 1 where organisation_id = $1",
            uuid_of(ground.service, "organisation", nonprofits[0]),
        )
    await ground.advance(MIDNIGHT)
    assert [(await gift(ground.api, made))["status"] for made in gifts] == [
        "RECEIVED_PAYMENT",
        "DISBURSED",
        "DISBURSED",
    ]


async def test_a_gift_that_somebody_held_is_looked_for_again(ground: Ground) -> None:
    made = await settled(ground.service, ground.api, await factories.nonprofit(ground.service))
    async with ground.service.db.write() as tx:
        await tx.execute(
            "select from donation where id = $1 for no key update", uuid_of(ground.service, "donation", made["id"])
        )
        await ground.service.drain()
        assert [one["amount"] for one in await payouts(ground.api) if one["amount"]] == []
    ground.service.clock.advance(seconds=10)
    await ground.service.drain()
    assert [one["amount"] for one in await payouts(ground.api)] == [2437]


def test_in_production_a_person_runs_payouts() -> None:
    assert [one.name for one in disbursements_jobs.tasks.declared_tasks.schedules] == ["disbursements.propagate_status"]
    assert [one.name for one in disbursements_jobs.sandbox_tasks.declared_tasks.schedules] == ["disbursements.run"]

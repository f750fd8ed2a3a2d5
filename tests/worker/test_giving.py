"""Background work of giving: sweeps, attempts to be ended, calls that a crash left unrecorded (S4, S5, I5)."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from time import perf_counter
from uuid import uuid4

import pytest

from almoner.giving.checkout.donations import jobs as donations_jobs
from almoner.giving.checkout.donations.domain import CheckoutState
from almoner.giving.checkout.payments.domain import ProviderPayment, ProviderStatus, ProviderUnavailable
from almoner.giving.checkout.payments.ports import PaymentRequest
from almoner.giving.checkout.sessions import jobs as sessions_jobs
from almoner.platform.jobs import leases
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import merge_background_tasks
from tests.support import giving as support
from tests.support.client import Client
from tests.support.fake_provider import FakeProvider
from tests.support.figures import Figures
from tests.support.giving import DAY, MOMENT, PAID, Giving, gift
from tests.support.service import Service


@dataclass(slots=True)
class Ground:
    """A service of its own whose background work is giving's alone."""

    service: Service
    api: Client
    provider: FakeProvider
    background: BackgroundWorker

    async def session(self) -> Giving:
        """A new session, whose donor pays at the one provider."""
        giving = await support.open_session(self.service, self.api)
        giving.provider = self.provider
        return giving

    async def count(self, table: str, status: str) -> int:
        """Rows of a table with a status."""
        async with self.service.db.read() as tx:
            return int(await tx.fetchval(f"select count(*) from {table} where status = $1", status))


@pytest.fixture
async def ground(alone: Service) -> AsyncIterator[Ground]:
    """The ground, with nothing on it."""
    provider = FakeProvider()
    asking = donations_jobs.provider_tasks.bind(donations_jobs.JobDependencies(provider))
    duties = merge_background_tasks([sessions_jobs.tasks, donations_jobs.tasks, asking])
    background = BackgroundWorker(alone.db, duties, alone.services.telemetry)
    api = alone.client((await alone.tenant()).secret)
    yield Ground(alone, api, provider, background)
    await api.close()


async def test_s4_sweeps_run_when_their_moment_has_come(ground: Ground) -> None:
    giving = await ground.session()
    ground.service.clock.advance(hours=1)
    await giving.begin()
    ground.service.clock.advance(DAY - timedelta(hours=1) - MOMENT)
    await ground.background.drain()
    assert await ground.count("donation_session", "open") == 1
    ground.service.clock.advance(MOMENT)
    await ground.background.drain()
    assert await ground.count("donation_session", "expired") == 1
    assert await ground.count("donation", "REQUESTED_PAYMENT") == 1
    ground.service.clock.advance(hours=1)
    await ground.background.drain()
    assert await ground.count("donation", "CANCELLED") == 1
    assert await giving.events() == ["donation.created", "donation.cancelled"]


@pytest.mark.soak
async def test_s4_more_than_one_batch_is_swept_to_the_end_within_a_minute(ground: Ground, figures: Figures) -> None:
    first = await ground.session()
    await first.begin()
    due = figures.count(1100, 100_000)
    async with ground.service.db.write() as tx:
        await tx.execute(
            """
            insert into donation_session (id, partner_id, organisation_id, status, created_at, expires_at,
                                          status_changed_at)
            select gen_random_uuid(), partner_id, organisation_id, 'open', created_at, expires_at, created_at
            from donation_session, generate_series(1, $1)
            """,
            due,
        )
        await tx.execute(
            """
            insert into donation (id, partner_id, organisation_id, type, session_id, status, amount_minor, currency,
                                  consented, anonymous, metadata, created_at, status_changed_at)
            select gen_random_uuid(), s.partner_id, s.organisation_id, 'hosted', s.id, 'REQUESTED_PAYMENT', 1, 'USD',
                   true, false, '{}', s.created_at, s.created_at
            from donation_session s where s.id <> $1
            """,
            first.session_id,
        )
    ground.service.clock.advance(DAY)
    started = perf_counter()
    await ground.background.sweeper.run_due_jobs()
    seconds = perf_counter() - started
    assert await ground.count("donation_session", "expired") == due + 1
    assert await ground.count("donation", "CANCELLED") == due + 1
    assert (await first.events()).count("donation.cancelled") == due + 1
    figures.write("sweeps", "expiry and cancellation at once (S4)", f"{due:,} sessions and donations: {seconds:.1f} s")


async def test_s4_a_sweep_steps_around_what_is_being_worked_on(ground: Ground) -> None:
    busy, idle = await ground.session(), await ground.session()
    await busy.begin()
    await idle.begin()
    ground.service.clock.advance(DAY)
    async with ground.service.db.write() as tx:
        await tx.execute("select from donation where session_id = $1 for update", busy.session_id)
        assert await idle.sweep() == 1
    assert await idle.sweep() == 1
    assert await ground.count("donation", "CANCELLED") == 2


async def test_s5_a_cancelled_donations_payment_is_ended_at_the_provider(ground: Ground) -> None:
    giving = await ground.session()
    await giving.begin()
    ground.service.clock.advance(DAY)
    await ground.background.drain()
    assert giving.provider.payments[giving.provider.only()].status is ProviderStatus.CANCELLED
    assert await ground.count("payment", "cancelled") == 1
    assert await giving.held() == []


async def test_s5_an_attempt_is_ended_when_the_grace_of_its_session_is_over(ground: Ground) -> None:
    giving = await ground.session()
    ground.service.clock.advance(hours=23)
    await giving.begin()
    ground.service.clock.advance(hours=2, milliseconds=-1)
    await ground.background.drain()
    assert giving.provider.payments[giving.provider.only()].status is ProviderStatus.OPEN
    ground.service.clock.advance(MOMENT)
    await ground.background.drain()
    assert giving.provider.payments[giving.provider.only()].status is ProviderStatus.CANCELLED
    assert (await giving.donations())[0]["status"] == "REQUESTED_PAYMENT"


async def test_m6_a_payment_that_was_paid_before_it_could_be_ended_is_held(ground: Ground) -> None:
    giving = await ground.session()
    await giving.begin()
    giving.provider.pay_with_card(giving.provider.only())
    ground.service.clock.advance(DAY)
    await ground.background.drain()
    assert await giving.held() == [("donation_cancelled", 2500, "USD")]
    assert (await giving.donations())[0]["status"] == "CANCELLED"


async def test_a_provider_that_is_away_is_asked_again_a_minute_later(ground: Ground) -> None:
    giving = await ground.session()
    await giving.begin()
    ground.provider.refuse = 1
    ground.service.clock.advance(DAY)
    await ground.background.drain()
    assert await ground.count("payment", "open") == 1
    ground.service.clock.advance(minutes=1)
    await ground.background.drain()
    assert await ground.count("payment", "cancelled") == 1


async def test_a_payment_that_the_bank_is_busy_with_is_ended_later(ground: Ground) -> None:
    giving = await ground.session()
    await giving.begin()
    giving.provider.become(giving.provider.only(), ProviderStatus.PROCESSING)
    ground.service.clock.advance(DAY)
    await ground.background.drain()
    assert await ground.count("payment", "open") == 1
    giving.provider.pay_with_card(giving.provider.only())
    ground.service.clock.advance(minutes=1)
    await ground.background.drain()
    assert await giving.held() == [("donation_cancelled", 2500, "USD")]


async def test_a_payment_whose_answer_was_lost_is_ended_too(ground: Ground) -> None:
    giving = await ground.session()
    giving.provider.lose_answers = 1
    with pytest.raises(ProviderUnavailable):
        await giving.begin()
    ground.service.clock.advance(DAY)
    await ground.background.drain()
    assert giving.provider.payments[giving.provider.only()].status is ProviderStatus.CANCELLED
    assert await ground.count("payment", "cancelled") == 1


async def crashed(giving: Giving) -> None:
    """A process asked the provider and died before it could record the answer: the lease is left."""
    giving.provider.lose_answers = 1
    with pytest.raises(ProviderUnavailable):
        await giving.begin()
    async with giving.service.db.write() as tx:
        payment = await tx.fetchval(
            "select p.id from payment p join donation d on d.id = p.donation_id where session_id = $1",
            giving.session_id,
        )
        await tx.execute(
            "insert into provider_call_lease (flow, row_id, holder, leased_until) values ('payment', $1, $2, $3)",
            payment,
            uuid4(),
            tx.real_now + leases.LEASE,
        )


async def test_i5_a_job_finishes_what_a_crashed_process_left_when_the_lease_has_run_out(ground: Ground) -> None:
    ground.service.clock.stop_wall()
    giving = await ground.session()
    await crashed(giving)
    ground.service.clock.advance_wall(seconds=55)
    await ground.background.drain()
    assert await ground.count("payment", "starting") == 1
    ground.service.clock.advance_wall(seconds=6)
    await ground.background.drain()
    assert await ground.count("payment", "open") == 1
    assert giving.provider.calls == ["create", "create"]
    assert len(giving.provider.payments) == 1
    async with ground.service.db.read() as tx:
        assert await tx.fetchval("select count(*) from provider_call_lease") == 0


async def test_i5_a_later_call_waits_for_the_lease_and_takes_over(ground: Ground) -> None:
    giving = await ground.session()
    await crashed(giving)
    waiting = asyncio.create_task(giving.begin())
    done, _ = await asyncio.wait([waiting], timeout=0.3)
    assert not done
    assert giving.provider.calls == ["create"]
    ground.service.clock.advance_wall(seconds=61)
    assert (await waiting).state is CheckoutState.UNDER_WAY
    assert len(giving.provider.payments) == 1


async def test_i5_whoever_lost_the_lease_records_nothing(ground: Ground) -> None:
    giving = await ground.session()
    asked, gate = asyncio.Event(), asyncio.Event()

    class Slow(FakeProvider):
        """The first answer comes when the lease is long gone."""

        async def create_payment(self, payment_request: PaymentRequest) -> ProviderPayment:
            made = await FakeProvider.create_payment(self, payment_request)
            if self.calls == ["create"]:
                asked.set()
                await gate.wait()
            return made

    giving.provider = Slow()
    slow = asyncio.create_task(giving.begin())
    await asked.wait()
    ground.service.clock.advance_wall(seconds=61)
    first = await giving.begin(gift())
    gate.set()
    second = await slow
    assert (first.payment_url, first.state) == (second.payment_url, CheckoutState.UNDER_WAY)
    assert len(giving.provider.payments) == 1


async def test_m4_a_lost_notice_does_no_harm_to_who_comes_back(ground: Ground) -> None:
    giving = await ground.session()
    await giving.begin()
    giving.provider.pay_with_card(giving.provider.only())
    assert (await giving.come_back()).state is CheckoutState.PAID
    ground.service.clock.advance(timedelta(days=2))
    await ground.background.drain()
    assert await giving.events() == PAID
    assert await giving.held() == []
    assert await giving.status() == "completed"


async def test_two_sessions_of_one_donor_never_mix(ground: Ground) -> None:
    one, two = await ground.session(), await ground.session()
    await one.begin(gift(100))
    await two.begin(gift(200))
    first, second = ground.provider.payments
    ground.provider.pay_with_card(second)
    await one.come_back()
    await two.come_back()
    paid = {row["amount"]: row["status"] for row in await one.donations()}
    assert paid == {100: "REQUESTED_PAYMENT", 200: "RECEIVED_PAYMENT"}
    assert (await one.status(), await two.status()) == ("open", "completed")
    assert ground.provider.payments[first].status is ProviderStatus.OPEN

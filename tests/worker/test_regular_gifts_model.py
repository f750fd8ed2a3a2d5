"""Plans over months and years beside a plain model: each date is charged once, or left out by rule (settled 11)."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from heapq import heappop, heappush
from random import Random
from uuid import UUID, uuid4

import pytest

from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations import jobs as donations_jobs
from almoner.giving.checkout.donations.domain import DonationDetails
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.payments.domain import Decline, DeclineAction, ProviderStatus
from almoner.giving.subscriptions.charging import jobs as charging_jobs
from almoner.giving.subscriptions.donation_subscriptions import service as subscriptions
from almoner.giving.subscriptions.donation_subscriptions.domain import NOTICE, InvalidState, SubscriptionNoticeEvent
from almoner.kit.money import Money
from almoner.nonprofits.registers.domain import CHANGED, RegisterChangedEvent
from almoner.platform.database.postgres import PostgresServer
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import TaskRegistry, merge_background_tasks
from almoner.platform.observability.selfcheck import run_consistency_checks
from almoner.sandbox.clock import SandboxClock
from almoner.selfchecks import CHECKS
from tests.support import database, factories
from tests.support.client import Client
from tests.support.fake_provider import FakeProvider
from tests.support.figures import Figures
from tests.support.regular_gifts import AGREEMENT
from tests.support.regular_model import DONOR, RETRY, REVOKED, ModelNonprofit, ModelPlan, local_day
from tests.support.service import Service, Tenant, serving

NONPROFITS = 4
CHECKED = ("ledger", "payments", "donations", "donation_subscriptions", "suspense")
OUTAGE = timedelta(days=9)
MANY, BATCHES, MONTH = 20_000, 200, 31
AT_ONCE = 10
"""Donors who begin their plans at the same time."""
FREQUENCIES = ("monthly", "monthly", "monthly", "quarterly", "yearly", "weekly")
ACTIONS = {
    "decline": 8, "pause": 3, "resume": 9, "skip": 3, "card": 3, "cancel": 1, "block": 1, "unblock": 4, "lose": 4,
    "refuse": 4, "decide": 6,
}  # fmt: skip


@pytest.fixture
async def service(postgres_server: PostgresServer) -> AsyncIterator[Service]:
    """A service of its own, in a zone whose clocks jump."""
    async with database.copied(postgres_server) as made, serving(made, time_zone="America/New_York") as running:
        yield running


@dataclass(slots=True)
class World:
    """Plans, the provider that charges them, and the model of each."""

    service: Service
    api: Client
    partner: Partner
    random: Random
    provider: FakeProvider = field(default_factory=FakeProvider)
    nonprofits: list[ModelNonprofit] = field(default_factory=list)
    plans: dict[UUID, ModelPlan] = field(default_factory=dict)
    wakes: list[tuple[datetime, UUID]] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)

    @property
    def now(self) -> datetime:
        """Business time."""
        return self.service.clock.now()

    def worker(self) -> BackgroundWorker:
        """What charges plans, and who hears what donors are told; nothing else."""
        asking, hearing = (
            donations_jobs.provider_tasks.bind(donations_jobs.JobDependencies(self.provider)),
            TaskRegistry(),
        )

        @hearing.on_internal_event(NOTICE)
        async def on_notice(_tx: Tx, notices: Sequence[SubscriptionNoticeEvent]) -> None:
            self.told.update(notice.kind for notice in notices)

        tasks = merge_background_tasks([charging_jobs.tasks, donations_jobs.tasks, asking, hearing])
        return BackgroundWorker(self.service.db, tasks, self.service.services.telemetry)

    async def begin(self, frequency: str) -> None:
        """A donor gives for the first time."""
        nonprofit = self.random.choice(self.nonprofits)
        made = await factories.session(self.service, self.api, organisation=nonprofit.id)
        session = self.service.db.deployment.ids.decode("donationsession", made["id"])
        assert session is not None
        donor = DonationDetails(
            Money(self.random.randrange(500, 90000), "USD"),
            "Ada",
            "Byron",
            "ada@example.org",
            consented=True,
            anonymous=False,
            frequency=frequency,  # type: ignore[arg-type]
            agreement=AGREEMENT,
        )
        work = PaymentContext(self.service.db, self.provider)
        started = await donations_flows.start_payment(work, session, donor)
        assert started.donation is not None
        assert started.donation.subscription_id is not None
        assert started.payment_url is not None
        self.provider.pay_with_card(started.payment_url.rpartition("/")[2])
        await donations_flows.handle_donor_return(work, session)
        self.plans[started.donation.subscription_id] = ModelPlan(self.now, frequency, nonprofit)
        heappush(self.wakes, (self.now, started.donation.subscription_id))

    async def happen(self, action: str) -> None:
        """Something happens to a plan, to a nonprofit, or to the line to the provider."""
        plan_id = self.random.choice(list(self.plans))
        model = self.plans[plan_id]
        live = model.status in ("active", "past_due")
        async with self.service.db.write() as tx:
            if action == "decline":
                outcomes = self.random.choices([RETRY, DONOR, REVOKED], [12, 3, 1], k=self.random.choice([1, 1, 2, 5]))
                model.declines += outcomes
                method = (await subscriptions.get(tx, ALL_PARTNERS, plan_id)).payment_method
                assert method is not None
                planned = [Decline(DeclineAction(one), "declined") for one in outcomes]
                self.provider.declines.setdefault(method.id, []).extend(planned)
            elif action == "pause" and live:
                until = self.now + timedelta(days=self.random.randrange(1, 90))
                await subscriptions.pause(tx, self.partner, plan_id, until, "donor")
                model.pause(until)
            elif action == "resume" and model.status == "paused" and (model.nonprofit.active or not model.stopped):
                await subscriptions.resume(tx, self.partner, plan_id)
                model.resume(self.now)
            elif action == "skip" and live:
                await subscriptions.skip_next_due_date(tx, self.partner, plan_id, "donor")
                model.skip("donor")
            elif action == "card" and model.status != "cancelled":
                plan = await subscriptions.get_for_update(tx, ALL_PARTNERS, plan_id)
                saved = self.provider._save_card()
                await subscriptions.set_payment_method(tx, self.provider.name, plan, saved)
                model.take_card(self.now)
            elif action == "cancel" and live and self.random.random() < 0.3:
                await subscriptions.cancel(tx, self.partner, plan_id, "donor")
                model.end("donor")
            elif action in ("block", "unblock") and model.nonprofit.merged_into is None:
                model.nonprofit.active = action == "unblock"
                organisation = tx.ids.decode("organisation", model.nonprofit.id)
                await tx.execute(
                    "update organisation set active = $2 where id = $1", organisation, model.nonprofit.active
                )
            elif action == "decide" and model.proposed is not None and model.status != "cancelled":
                await self._decide(tx, plan_id, model, model.proposed)
        heappush(self.wakes, (self.now, plan_id))
        self.provider.lose_answers += action == "lose"
        self.provider.refuse += action == "refuse"

    async def _decide(self, tx: Tx, plan_id: UUID, model: ModelPlan, proposed: ModelNonprofit) -> None:
        """A donor answers the question about the other nonprofit."""
        if self.random.random() < 0.2:
            await subscriptions.decline_successor_organisation(tx, self.partner, plan_id)
            model.end("donor")
            return
        organisation = tx.ids.decode("organisation", proposed.id)
        assert organisation is not None
        accept = subscriptions.accept_successor_organisation(tx, self.partner, plan_id, organisation, AGREEMENT)
        if model.may_move:
            await accept
            model.move(self.now)
        else:
            with pytest.raises(InvalidState):
                await accept

    async def merge(self) -> None:
        """The register lists a nonprofit as merged into another, which is new."""
        nonprofit = self.random.choice([one for one in self.nonprofits if one.merged_into is None])
        successor = ModelNonprofit(await factories.nonprofit(self.service))
        self.nonprofits.append(successor)
        await self._succeed(nonprofit, successor)

    async def part(self) -> None:
        """The register takes a merger back: whoever did not agree to the other nonprofit may resume."""
        await self._succeed(self.random.choice([one for one in self.nonprofits if one.merged_into is not None]), None)

    async def _succeed(self, nonprofit: ModelNonprofit, successor: ModelNonprofit | None) -> None:
        nonprofit.active, nonprofit.merged_into = successor is None, successor
        async with self.service.db.write() as tx:
            for one in self.nonprofits:
                await tx.execute(
                    "update organisation set active = $2, status_override = $3, succeeded_by = $4 where id = $1",
                    tx.ids.decode("organisation", one.id),
                    one.active,
                    "merged" if one.successor else None,
                    tx.ids.decode("organisation", one.successor.id) if one.successor else None,
                )
            await outbox.emit_internal_event(tx, CHANGED, RegisterChangedEvent(uuid4(), uuid4()))
        for model in self.plans.values():  # a plan may be with a nonprofit that was merged before it came there
            model.follow_mergers()

    async def work(self) -> None:
        """The service does what is due; a broken line to the provider is tried again a minute later."""
        for _ in range(10):
            await self.worker().drain()
            async with self.service.db.read() as tx:
                if not await tx.fetchval("select exists (select from payment where status = 'starting')"):
                    break
            self.service.clock.advance(minutes=1)
        woken = set()
        while self.wakes and self.wakes[0][0] <= self.now:
            woken.add(heappop(self.wakes)[1])
        for plan_id in woken:
            model = self.plans[plan_id]
            model.work(self.now)
            if (wake := model.wakes_at()) is not None:
                heappush(self.wakes, (wake, plan_id))

    async def next_moment(self) -> datetime | None:
        """When anything is due."""
        async with self.service.db.read() as tx:
            return await subscriptions.next_processing_at(tx)


def actions_within(world: World, days: int) -> list[tuple[datetime, str]]:
    """What happens to the plans, one thing to each in two months on average."""
    span = days * 24 * 60
    moments = [
        world.now + timedelta(minutes=world.random.randrange(span)) for _ in range(len(world.plans) * days // 60)
    ]
    return [(moment, world.random.choices([*ACTIONS], [*ACTIONS.values()])[0]) for moment in moments]


async def live(world: World, days: int, actions: list[tuple[datetime, str]]) -> None:
    """Time goes on, from one thing to the next."""
    ends = world.now + timedelta(days=days)
    actions = sorted([*actions, (ends, "end")])
    while actions:
        due, (at, action) = await world.next_moment(), actions[0]
        if due is not None and due < at:
            world.service.clock.advance_to(max(due, world.now))
        else:
            world.service.clock.advance_to(max(at, world.now))
            del actions[0]
            if action == "outage":
                world.service.clock.advance(OUTAGE)
            elif action == "merge":
                await world.merge()
            elif action == "part":
                await world.part()
            elif action != "end":
                await world.happen(action)
        await world.work()


async def compare(world: World) -> Counter[str]:
    """Rows, money at the provider, and what donors were told are those of the model."""
    became: Counter[str] = Counter()
    settled: dict[UUID, list[tuple[date, str, date | None]]] = defaultdict(list)
    async with world.service.db.read() as tx:
        for plan_id, *charge in await tx.fetch(
            "select subscription_id, due_on, coalesce(skip_reason, status), charged_on "
            "from donation_subscription_charge where status <> 'open' order by due_on"
        ):
            settled[plan_id].append(tuple(charge))
        for plan_id, model in world.plans.items():
            plan = await subscriptions.get(tx, ALL_PARTNERS, plan_id)
            label = (plan_id, model.frequency, model.begun)
            assert {due_on: outcome for due_on, outcome, _ in settled[plan_id]} == model.dates, label
            charged = [(due_on, charged_on) for due_on, outcome, charged_on in settled[plan_id] if outcome == "paid"]
            assert charged == sorted(model.charged), label
            assert (plan.status, plan.cancellation_reason) == (model.status, model.ended_by), label
            assert plan.donations_count == 1 + len(charged), label
            assert tx.ids.encode("organisation", plan.organisation_id) == model.nonprofit.id, label
            became.update(model.dates.values())
        paid = await tx.fetchval("select count(*) from donation where status = 'RECEIVED_PAYMENT'")
        made = [one for one in world.provider.payments.values() if one.status is ProviderStatus.SUCCEEDED]
        assert len(made) == paid == len(world.plans) + became["paid"]
        expected = sum((model.told for model in world.plans.values()), Counter[str]())
        assert {kind: n for kind, n in world.told.items() if kind != "yearly_reminder"} == dict(+expected)
        mine = [one for one in CHECKS if one.name.partition(".")[0] in CHECKED]
        outcome = await run_consistency_checks(tx, mine)
        assert not outcome.findings, outcome.findings
    return became


async def test_every_date_is_charged_once_or_left_out_by_rule(
    service: Service, tenant: Tenant, api: Client, figures: Figures
) -> None:
    count, days = figures.count(20, 500), figures.count(425, 3 * 365)
    began = time.monotonic()
    world = World(service, api, tenant.partner, Random(figures.seed))
    world.nonprofits = [ModelNonprofit(await factories.nonprofit(service)) for _ in range(NONPROFITS)]
    for _ in range(count):
        await world.begin(world.random.choice(FREQUENCIES))
        service.clock.advance(hours=world.random.randrange(1, 37))
        await world.work()
    first = world.now
    actions, between = actions_within(world, days), first + timedelta(minutes=17)  # plans are due at whole hours of it
    actions += [(between + timedelta(days=days * share // 4), "outage") for share in (1, 3)]
    actions += [(between + timedelta(days=days * share // 5), "merge") for share in (2, 3)]
    actions.append((between + timedelta(days=days * 7 // 10), "part"))
    await live(world, days, actions)
    became = await compare(world)
    assert became["paid"] > count  # most plans are blocked, paused or declined for long in some draws
    assert local_day(world.now) > local_day(first)
    figures.write(
        "regular-gifts",
        "Regular donations",
        f"{count} plans over {days} days beside a plain model: " + ", ".join(f"{n} {of}" for of, n in became.items()),
        f"{time.monotonic() - began:.0f} s",
    )


@pytest.mark.soak
@pytest.mark.long  # the test before it is its short form
async def test_a_month_of_many_plans_is_charged_once_or_left_out_by_rule(
    service: Service, tenant: Tenant, api: Client, figures: Figures
) -> None:
    began = time.monotonic()
    world = World(service, api, tenant.partner, Random(figures.seed))
    world.nonprofits = [ModelNonprofit(await factories.nonprofit(service)) for _ in range(10 * NONPROFITS)]
    for _ in range(BATCHES):  # plans of one batch are due at the same moment
        for _ in range(MANY // BATCHES // AT_ONCE):
            await asyncio.gather(*(world.begin(world.random.choice(FREQUENCIES)) for _ in range(AT_ONCE)))
        service.clock.advance(minutes=world.random.randrange(5, 120))
        await world.work()
    begun, first = time.monotonic(), world.now
    actions = [*actions_within(world, MONTH), (first + timedelta(days=MONTH // 2), "outage")]
    actions += [(first + timedelta(days=day), "merge") for day in (3, 10, 27)]
    actions.append((first + timedelta(days=14), "part"))
    await live(world, MONTH, actions)
    lived = time.monotonic()
    became = await compare(world)
    assert became["paid"] > MANY // 2
    figures.write(
        "regular-gifts-month",
        "A month of regular donations",
        f"{MANY} plans over {MONTH} days beside a plain model: " + ", ".join(f"{n} {of}" for of, n in became.items()),
        f"{begun - began:.0f} s to begin them, {lived - begun:.0f} s for the days, {time.monotonic() - lived:.0f} s to "
        "compare every date",
    )


async def test_the_clock_stops_at_a_date_that_cannot_be_worked_off(
    service: Service, tenant: Tenant, api: Client, figures: Figures
) -> None:
    world = World(service, api, tenant.partner, Random(figures.seed))
    world.nonprofits = [ModelNonprofit(await factories.nonprofit(service))]
    await world.begin("monthly")
    (plan_id,) = world.plans
    due, target = await world.next_moment(), world.now + timedelta(days=50)
    assert due is not None
    world.provider.refuse = 1_000_000
    clock = SandboxClock(world.worker(), service.clock, patience_seconds=3)
    async with service.db.idempotency_transaction() as tx:
        stopped = await clock.advance_to(tx, target)
    assert stopped.outstanding_work_count > 0
    assert due <= stopped.now < due + timedelta(hours=1)
    world.provider.refuse = 0
    patient = SandboxClock(world.worker(), service.clock)
    async with service.db.idempotency_transaction() as tx:
        moved = await patient.advance_to(tx, target)
    assert (moved.now, moved.outstanding_work_count) == (target, 0)
    async with service.db.read() as tx:
        assert (await subscriptions.get(tx, ALL_PARTNERS, plan_id)).donations_count == 2

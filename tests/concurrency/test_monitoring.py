"""Many at once: no monitoring subscription takes a way that settled 5 does not know, and each change is told once."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from almoner.kit.errors import Problem
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.observability import selfcheck
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists.domain import CATEGORIES
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.applications.configurations.service import ConfigurationInput
from almoner.validation.decisions.reviews.domain import ReviewDecision, ReviewNotOpen
from almoner.validation.ongoing.matches import checks as matches_checks
from almoner.validation.ongoing.matches import service as matches
from almoner.validation.ongoing.monitoring import checks as monitoring_checks
from almoner.validation.ongoing.monitoring import monitoring_evaluation
from almoner.validation.ongoing.monitoring import service as monitoring
from almoner.validation.ongoing.monitoring.domain import SUBSCRIPTION, MonitoringResults
from almoner.validation.requests import service as validation_requests
from tests.support import factories, validation
from tests.support.figures import Figures
from tests.support.service import Service, Tenant
from tests.support.watchlists import Lists, listing

WRITERS = 8
AQSA, ZAVOD = "AL-MASJED AL-AQSA CHARITY FOUNDATION", "ZAVOD IMENI DEGTYAREVA"
SAME = ReviewDecision("accepted", None, "tests", "The same board")
OTHER = ReviewDecision("rejected", "not_the_same", "tests", "Another town")

Step = Callable[[], Awaitable[object]]


class Tries:
    """What somebody may try at any time."""

    def __init__(self, service: Service, tenant: Tenant, chance: random.Random, lists: Lists) -> None:
        self.service, self.partner, self.chance, self.lists = service, tenant.partner, chance, lists
        self.screener = Screener()
        self.organisations: list[str] = []
        self.requests: list[str] = []
        self.made: list[UUID] = []

    async def create(self) -> None:
        suffix = self.chance.choice(("", "", "", "-complianceStatus:pass-sanction:flag"))
        by_request = self.chance.random() < 0.5
        named = self.chance.choice(self.requests if by_request else self.organisations) + suffix
        async with self.service.db.write() as tx:
            of = (None, named) if by_request else (named, None)
            self.made.append((await monitoring.create(tx, self.partner, *of)).id)

    async def decide(self) -> None:
        async with self.service.db.write() as tx:
            one = tx.ids.decode("validationrequest", self.chance.choice(self.requests))
            assert one is not None
            if self.chance.random() < 0.5:
                await validation_requests.accept(tx, ALL_PARTNERS, one, ReviewDecision("accepted", None, "tests", "x"))
            else:
                await validation_requests.reject(
                    tx, ALL_PARTNERS, one, ReviewDecision("rejected", "other", "tests", "x")
                )

    async def choose(self) -> None:
        stated = MonitoringResults(None, {self.chance.choice(CATEGORIES): self.chance.choice(("clear", "flag"))})
        async with self.service.db.write() as tx:
            await monitoring.simulate_results(tx, self.partner, self.chance.choice(self.made), stated)

    async def cancel(self) -> None:
        async with self.service.db.write() as tx:
            await monitoring.cancel(tx, self.partner, self.chance.choice(self.made))

    async def evaluate(self) -> None:
        one = self.chance.choice(self.made)

        async def look(tx: Tx) -> None:
            await monitoring_evaluation.evaluate_subscription(tx, self.screener, one, "screening_changed")

        await self.screener.run_with_current_watchlists(self.service.db, look)

    async def judge(self) -> None:
        async with self.service.db.write() as tx:
            waiting = await tx.fetch("select subject_id from review where kind = 'match' and status = 'open'")
            if waiting:
                match = self.chance.choice(waiting)["subject_id"]
                await matches.decide_match(tx, ALL_PARTNERS, match, self.chance.choice((SAME, OTHER)))

    async def configure(self) -> None:
        flags = tuple(category for category in CATEGORIES if self.chance.random() < 0.5)
        async with self.service.db.write() as tx:
            own = await configurations.find_default(tx, self.partner)
            assert own is not None
            await configurations.update(tx, self.partner, own.id, ConfigurationInput(compliance_flags=flags))

    async def load(self) -> None:
        named = [listing(number, name) for number, name in enumerate((AQSA, ZAVOD)) if self.chance.random() < 0.6]
        await self.lists.load(*named, listing(9, f"SOMEBODY {self.chance.randrange(10**6)}"))

    async def work(self) -> None:
        await self.service.drain()

    def dealt(self, count: int) -> list[Step]:
        """So many of them in any order, none left out."""
        often: dict[Step, int] = {self.create: 4, self.evaluate: 6, self.choose: 1, self.cancel: 1, self.decide: 1}
        often |= {self.judge: 2, self.configure: 1, self.load: 1, self.work: 2}
        each = [step for step, times in often.items() for _ in range(times)]
        steps = each * (count // len(each)) + self.chance.choices(each, k=count % len(each))
        self.chance.shuffle(steps)
        return steps


async def test_s1_eight_writers_at_random(alone: Service, tmp_path: Path, figures: Figures) -> None:
    tenant, chance = await alone.tenant(), random.Random(figures.seed)
    api = alone.client(tenant.secret)
    attempts = Tries(alone, tenant, chance, Lists(alone.db, tmp_path))
    names = (AQSA, ZAVOD, "Casper Relief Fund")
    attempts.organisations = [await factories.nonprofit(alone, name=name) for name in names]
    attempts.requests = [(await validation.requested(api, name=chance.choice(names)))["id"] for _ in range(12)]
    await attempts.load()
    await attempts.create()
    taken: Counter[str] = Counter()
    steps = iter(attempts.dealt(figures.count(80, 2000)))

    async def writer() -> None:
        for step in steps:
            with suppress(Problem, ReviewNotOpen):
                await step()
                taken[step.__name__] += 1

    await asyncio.gather(*(writer() for _ in range(WRITERS)))
    await alone.drain()
    alone.clock.advance(minutes=30)
    assert await broken(alone) == []
    events = (await api.get("/v1/events")).json()["totalResults"]
    for one in attempts.made:  # nothing is left to be found
        async with alone.db.write() as tx:
            await monitoring.enqueue_evaluations(tx, [one], "screening_changed")
    await alone.drain()
    assert (await api.get("/v1/events")).json()["totalResults"] == events
    async with alone.db.read() as tx:
        moves = await tx.fetch(
            "select from_status, to_status from state_change where resource = 'monitoring_subscription'"
        )
        pending = await tx.fetchval("select count(*) from monitoring_subscription where status = 'pending'")
    assert {tuple(row) for row in moves} <= set(SUBSCRIPTION.transitions())
    assert pending == 0
    assert min(taken["create"], taken["evaluate"], taken["judge"], taken["load"]) > 0
    await api.close()


async def broken(service: Service) -> list[str]:
    """The promises that do not hold."""
    async with service.db.read() as tx:
        outcome = await selfcheck.run_consistency_checks(tx, (*monitoring_checks.checks, *matches_checks.checks))
    return [f"{finding.check.name} {finding.count}" for finding in outcome.findings]

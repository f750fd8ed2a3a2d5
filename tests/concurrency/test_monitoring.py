"""Many at once: no monitoring subscription takes a way that settled 5 does not know, and each change is told once."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from uuid import UUID

from almoner.kit.errors import Problem
from almoner.platform import selfcheck
from almoner.platform.db import EVERYONE, Tx
from almoner.screening.screenings.service import Screener
from almoner.screening.watchlists.domain import CATEGORIES
from almoner.validation.monitoring import checks, evaluating
from almoner.validation.monitoring import service as monitoring
from almoner.validation.monitoring.domain import SUBSCRIPTION, Results
from almoner.validation.requests import service as requests
from almoner.validation.reviews.domain import Decision
from tests.support import factories, validation
from tests.support.client import Client
from tests.support.figures import Figures
from tests.support.service import Service, Tenant

WRITERS = 8

Step = Callable[[Tx, UUID], Awaitable[object]]


async def test_s1_eight_writers_at_random(service: Service, tenant: Tenant, api: Client, figures: Figures) -> None:
    chance, screener, partner = random.Random(figures.seed), Screener(), tenant.partner
    organisations = [await factories.nonprofit(service) for _ in range(2)]
    asked = [await validation.requested(api) for _ in range(12)]
    by_text = [("validationrequest", one["id"]) for one in asked]
    request_ids = [found for type_, text in by_text if (found := service.db.deployment.ids.parse(type_, text))]
    made: list[UUID] = []

    async def create(tx: Tx, _: UUID) -> None:
        suffix = chance.choice(("", "", "-complianceStatus:pass-sanction:flag"))
        if chance.random() < 0.5:
            new = await monitoring.create(tx, partner, chance.choice(organisations) + suffix, None)
        else:
            new = await monitoring.create(tx, partner, None, chance.choice(asked)["id"] + suffix)
        made.append(new.id)

    async def decide(tx: Tx, _: UUID) -> None:
        if chance.random() < 0.5:
            await requests.accept(tx, EVERYONE, chance.choice(request_ids), Decision("accepted", None, "tests", "x"))
        else:
            await requests.reject(tx, EVERYONE, chance.choice(request_ids), Decision("rejected", "other", "tests", "x"))

    async def choose(tx: Tx, one: UUID) -> None:
        said = Results(None, {chance.choice(CATEGORIES): chance.choice(("clear", "flag"))})
        await monitoring.choose(tx, partner, one, said)

    steps: dict[str, Step] = {
        "create": create,
        "decide": decide,
        "choose": choose,
        "cancel": lambda tx, one: monitoring.cancel(tx, partner, one),
        "evaluate": lambda tx, one: evaluating.evaluate(tx, screener, one, "screening_changed"),
    }
    weights = (3, 1, 3, 1, 6)
    taken: Counter[str] = Counter()

    async def writer() -> None:
        for _ in range(figures.count(30, 1000) // WRITERS):
            [name] = chance.choices(list(steps), weights) if made else ["create"]
            with suppress(Problem):
                async with service.db.write() as tx:
                    await steps[name](tx, chance.choice(made) if made else UUID(int=0))
                taken[name] += 1

    await asyncio.gather(*(writer() for _ in range(WRITERS)))
    await service.drain()
    async with service.db.read() as tx:
        moves = await tx.fetch(
            "select from_status, to_status from state_change where resource = 'monitoring_subscription'"
        )
        assert {tuple(row) for row in moves} <= set(SUBSCRIPTION.arrows())
        assert not await tx.fetchval(
            "select count(*) from monitoring_subscription where partner_id = $1 and status = 'pending'", partner.id
        )
        outcome = await selfcheck.look(tx, checks.checks)
    assert [finding.check.name for finding in outcome.findings] == []
    assert taken["create"] > 0
    assert taken["evaluate"] > 0

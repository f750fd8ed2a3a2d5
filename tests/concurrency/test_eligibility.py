"""Many at once: no subscription takes a way that settled 5 does not know, and each new result is told once (S1)."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from almoner.nonprofits.activities.domain import SUB_TAGS
from almoner.platform.database.transactions import Tx
from almoner.platform.evidence import store as evidence
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.applications.configurations.service import ConfigurationInput
from almoner.validation.decisions.reviews.domain import ReviewDecision
from almoner.validation.ongoing.eligibility import eligibility_evaluation
from almoner.validation.ongoing.eligibility import service as eligibility
from almoner.validation.ongoing.eligibility.domain import (
    SUBSCRIPTION,
    AlreadyCancelled,
    EligibilityStatus,
    EligibilitySubscription,
    EligibilitySubscriptionInput,
    InvalidState,
)
from almoner.validation.requests import service as validation_requests
from almoner.validation.requests.domain import InvalidState as RequestDecidedAlready
from tests.support.client import Client
from tests.support.eligibility import body_of, tagged
from tests.support.figures import Figures
from tests.support.service import Service, Tenant
from tests.support.validation import requested

WRITERS = 8
CODES = ("AN101", "AN102", "AR301")

Step = Callable[[Tx, UUID], Awaitable[object]]


class Tries:
    """What somebody may try with a subscription at any time."""

    def __init__(self, tenant: Tenant, chance: random.Random, organisations: list[str], waiting: list[str]) -> None:
        self._tenant, self._chance = tenant, chance
        self._organisations, self._waiting = organisations, waiting

    async def create(self, tx: Tx, _: UUID) -> EligibilitySubscription:
        return await eligibility.create(
            tx, self._tenant.partner, EligibilitySubscriptionInput(self._chance.choice(self._organisations))
        )

    async def create_waiting(self, tx: Tx, _: UUID) -> EligibilitySubscription:
        asked = EligibilitySubscriptionInput(validation_request_id=self._chance.choice(self._waiting))
        return await eligibility.create(tx, self._tenant.partner, asked)

    async def decide(self, tx: Tx, _: UUID) -> None:
        request = tx.ids.decode("validationrequest", self._chance.choice(self._waiting))
        assert request is not None
        if self._chance.random() < 0.5:
            await validation_requests.accept(
                tx, self._tenant.partner, request, ReviewDecision("accepted", None, "tests", "Chance")
            )
        else:
            await validation_requests.reject(
                tx, self._tenant.partner, request, ReviewDecision("rejected", "other", "tests", "Chance")
            )

    async def evaluate(self, tx: Tx, one: UUID) -> None:
        await eligibility_evaluation.evaluate_subscription(tx, one, "organisation_changed")

    async def evaluate_first(self, tx: Tx, one: UUID) -> None:
        await eligibility_evaluation.evaluate_subscription(tx, one, "created")

    async def configure(self, tx: Tx, _: UUID) -> None:
        allowed = [code for code in CODES if self._chance.random() < 0.5]
        ids = [tx.ids.encode("activitysubtag", SUB_TAGS[code].id) for code in allowed]
        configuration = await configurations.find_default(tx, self._tenant.partner)
        assert configuration is not None
        change = ConfigurationInput(allowed_activity_sub_tags=ids or None)
        await configurations.update(tx, self._tenant.partner, configuration.id, change)

    async def set_results(self, tx: Tx, one: UUID) -> None:
        outcomes: tuple[EligibilityStatus | None, ...] = ("pass", "fail", None)
        status = self._chance.choice(outcomes)
        await eligibility.simulate_results(tx, self._tenant.partner, one, status, CODES[:1] if status else (), ())

    async def cancel(self, tx: Tx, one: UUID) -> None:
        if self._chance.random() < 0.3:
            await eligibility.cancel(tx, self._tenant.partner, one)

    def any(self) -> Step:
        """One of them."""
        evaluate: list[Step] = [self.evaluate, self.evaluate, self.evaluate_first]
        return self._chance.choice(
            [self.create, self.create_waiting, self.decide, *evaluate, self.configure, self.set_results, self.cancel]
        )


@pytest.mark.soak
async def test_s1_random_steps_by_eight_writers_take_no_forbidden_way(
    service: Service, api: Client, tenant: Tenant, figures: Figures
) -> None:
    chance = random.Random(figures.seed)
    organisations = [await body_of(service, {code: "ntee:D20"}) for code in CODES] + [await body_of(service, name="X")]
    waiting = [(await requested(api))["id"] for _ in range(20)]
    attempts = Tries(tenant, chance, organisations, waiting)
    async with service.db.write() as tx:
        await attempts.create(tx, UUID(int=0))
    seen: Counter[str] = Counter()

    async def write(count: int) -> None:
        for _ in range(count):
            async with service.db.read() as tx:
                known = await tx.fetch(
                    "select id from eligibility_subscription where partner_id = $1 order by id desc limit 8",
                    tenant.partner.id,
                )
            try:
                async with service.db.write() as tx:
                    await attempts.any()(tx, chance.choice(known)["id"])
                seen["done"] += 1
            except (InvalidState, AlreadyCancelled, RequestDecidedAlready):
                seen["refused"] += 1
            if chance.random() < 0.05:
                await tagged(service, organisations[0], {chance.choice(CODES): "ntee:D21"})

    rounds = figures.count(60, 5_000)
    await asyncio.gather(*(write(rounds) for _ in range(WRITERS)))
    assert seen["done"] > rounds
    assert seen["refused"] > 0
    moved = await histories(service, tenant)
    figures.write(
        "eligibility-moves",
        f"Random steps of {WRITERS} writers on eligibility subscriptions (S1)",
        f"{WRITERS * rounds:,} steps: {seen['done']:,} done, {seen['refused']:,} refused, 0 forbidden moves, "
        f"{moved:,} new results told once each",
    )


async def histories(service: Service, tenant: Tenant) -> int:
    """Of each subscription the moves and what was told of it agree; how much was told."""
    reported: dict[UUID, list[dict[str, Any]]] = {}
    async with service.db.read() as tx:
        for row in await tx.fetch(
            "select payload from event where partner_id = $1 and type = 'eligibility_subscription.updated' "
            "order by position",
            tenant.partner.id,
        ):
            record = json.loads(row["payload"])["data"]["eventData"]
            subscription = tx.ids.decode("eligibilitysubscription", record["id"])
            assert subscription is not None
            reported.setdefault(subscription, []).append(record)
        rows = await tx.fetch(
            """
            select s.id, s.status,
                array(select from_status || ' ' || to_status from state_change c
                      where c.resource_id = s.id order by c.id) as moves,
                (select count(*) from evidence e
                 where e.record_id = s.id and e.facts @> '{"resultsChanged": true}') as told
            from eligibility_subscription s where s.partner_id = $1
            """,
            tenant.partner.id,
        )
    for row in rows:
        moves = [tuple(move.split()) for move in row["moves"]]
        assert all(SUBSCRIPTION.allows_transition(*move) for move in moves)
        assert [target for _, target in moves].count("cancelled") == (row["status"] == "cancelled"), "cancelled once"
        records = reported.get(row["id"], [])
        assert len(records) == row["told"], "told once for each new result"
        for before, after in pairwise(records):
            assert (before["status"], before["results"]) != (after["status"], after["results"]), "no change, no event"
        assert all(record["status"] != "cancelled" for record in records)
        async with service.db.read() as tx:
            now = await eligibility.get(tx, tenant.partner, row["id"])
            stored = await evidence.list_evaluations(tx, row["id"])
        known = {step.name: step.verdict for step in stored[-1].steps if step.code} if stored else {}
        assert (set(now.results.rule_by_confirmed_activity), set(now.results.rejected_activities)) == (
            set(known),
            {code for code, verdict in known.items() if verdict == "fail"},
        ), "the results are those of the evidence"
    return sum(map(len, reported.values()))

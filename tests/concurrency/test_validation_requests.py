"""Many at once: no validation request takes a way that settled 5 does not know, and each decision is told once (S1)."""

import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewDecision
from almoner.validation.requests import evaluate
from almoner.validation.requests import service as validation_requests
from almoner.validation.requests.domain import REJECTION_REASONS, REQUEST, InvalidState, NonprofitDetails
from almoner.validation.requests.test_values import ACTIONS
from tests.support.figures import Figures
from tests.support.service import Service, Tenant

WRITERS, NUMBERS = 8, 3
THRESHOLD = 0.9

Step = Callable[[Tx, UUID], Awaitable[object]]


def steps(chance: random.Random, partner: Partner, base: int) -> dict[str, Step]:
    """What somebody may try with a request at any time."""

    def asked() -> NonprofitDetails:
        name = chance.choice(("Somebody", "Somebody", *ACTIONS))
        return NonprofitDetails(name, "IRS", f"{base + chance.randrange(NUMBERS):09d}", "example.org", "USA")

    def rejected() -> ReviewDecision:
        return ReviewDecision("rejected", chance.choice(REJECTION_REASONS), "tests", "Chance")

    return {
        "create": lambda tx, _: validation_requests.create(tx, partner, asked()),
        "accept": lambda tx, one: validation_requests.accept(
            tx, ALL_PARTNERS, one, ReviewDecision("accepted", None, "tests", "Chance")
        ),
        "reject": lambda tx, one: validation_requests.reject(tx, partner, one, rejected()),
        "evaluate": lambda tx, one: evaluate.evaluate_request(tx, THRESHOLD, one, "register_loaded"),
        "test value": lambda tx, one: evaluate.evaluate_request(
            tx, THRESHOLD, one, "created", chance.choice(list(ACTIONS.values()))
        ),
    }


@pytest.mark.soak
async def test_s1_random_steps_by_eight_writers_take_no_forbidden_way(
    service: Service, tenant: Tenant, figures: Figures
) -> None:
    chance = random.Random(figures.seed)
    attempts = steps(chance, tenant.partner, 200_000_000 + chance.randrange(10_000_000) * 10)
    async with service.db.write() as tx:
        await attempts["create"](tx, UUID(int=0))
    seen: Counter[str] = Counter()

    async def write(count: int) -> None:
        for _ in range(count):
            async with service.db.read() as tx:
                known = await tx.fetch(
                    "select id from validation_request where partner_id = $1 order by id desc limit 8",
                    tenant.partner.id,
                )
            try:
                async with service.db.write() as tx:
                    await attempts[chance.choice(list(attempts))](tx, chance.choice(known)["id"])
                seen["done"] += 1
            except InvalidState:
                seen["refused"] += 1

    rounds = figures.count(60, 12_500)
    await asyncio.gather(*(write(rounds) for _ in range(WRITERS)))
    assert seen["done"] > rounds
    assert seen["refused"] > rounds // 4
    moves, reported = await history(service, tenant.partner)
    for request_id, arrows in moves.items():
        assert len(arrows) <= 1, "decided once"
        assert all(REQUEST.allows_transition(*arrow) for arrow in arrows)
        assert [record["kind"] for record in reported[request_id]] == [target for _, target in arrows], "told once"
        async with service.db.read() as tx:
            record = await validation_requests.get(tx, tenant.partner, request_id)
            asked = await reviews.load_review_history(tx, validation_requests.review_subject_for(record))
        assert record.status == (arrows[0][1] if arrows else "pending")
        assert [one.decision.verdict for one in asked.decisions] == [target for _, target in arrows]
        assert asked.current_open_review is None or not arrows
    await one_organisation_for_each_number(service, tenant.partner)
    figures.write(
        "validation-request-moves",
        f"Random steps of {WRITERS} writers on validation requests (S1)",
        f"{WRITERS * rounds:,} steps: {seen['done']:,} done, {seen['refused']:,} refused, 0 forbidden moves, "
        f"{sum(map(len, moves.values())):,} decisions told once each",
    )


async def history(
    service: Service, partner: Partner
) -> tuple[dict[UUID, list[tuple[str, str]]], dict[UUID, list[dict[str, Any]]]]:
    """Of each request: the moves that the database kept, and what the partner was told of it, in order."""
    kinds = {"validation_request.approved": "accepted", "validation_request.rejected": "rejected"}
    moves: dict[UUID, list[tuple[str, str]]] = {}
    reported: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    async with service.db.read() as tx:
        for row in await tx.fetch("select id from validation_request where partner_id = $1", partner.id):
            moves[row["id"]] = []
        for row in await tx.fetch(
            "select * from state_change where resource_id = any($1::uuid[]) order by id", list(moves)
        ):
            moves[row["resource_id"]].append((row["from_status"], row["to_status"]))
        for row in await tx.fetch(
            "select type, payload from event where partner_id = $1 order by position", partner.id
        ):
            record = json.loads(row["payload"])["data"]["eventData"]
            request_id = tx.ids.decode("validationrequest", record["id"])
            assert request_id is not None
            reported[request_id].append({**record, "kind": kinds[row["type"]]})
    return moves, reported


async def one_organisation_for_each_number(service: Service, partner: Partner) -> None:
    """Accepted requests of one number lead to one organisation."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            """
            select number_key, count(distinct organisation_id) as n from validation_request
            where partner_id = $1 and status = 'accepted' group by 1
            """,
            partner.id,
        )
    assert rows
    assert {row["n"] for row in rows} == {1}

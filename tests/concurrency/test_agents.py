"""Applicants, nonprofits, reviewers and sweeps at once: settled 5 is kept, and each state is told once (S1)."""

import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

import pytest

from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.screening.screenings.service import Screener
from almoner.validation.agents import agent_review, email_confirmation
from almoner.validation.agents import service as agents
from almoner.validation.agents.domain import (
    REJECTIONS,
    VERIFICATION,
    AgentVerificationInput,
    InvalidState,
    OfficialContact,
)
from almoner.validation.applications.documents.domain import RetentionPeriods
from almoner.validation.decisions.reviews.domain import ReviewDecision
from tests.support import factories
from tests.support.figures import Figures
from tests.support.service import Service, Tenant

WRITERS = 8
ACCEPTED = ReviewDecision("accepted", None, "tests", "Chance")
EMAILS = ("ada@charity.example", "ada@elsewhere.example", "ada@gmail.com")

Step = Callable[[Tx, UUID], Awaitable[object]]


def steps(chance: random.Random, partner: Partner, organisation: str, organisation_id: UUID) -> dict[str, Step]:
    """What somebody may try with a verification at any time."""

    def reject(tx: Tx, one: UUID) -> Awaitable[object]:
        return agents.reject(
            tx, ALL_PARTNERS, one, ReviewDecision("rejected", chance.choice(REJECTIONS), "tests", "Chance")
        )

    def create(tx: Tx, _: UUID) -> Awaitable[object]:
        agent = AgentVerificationInput("Ada", "Byron", chance.choice(EMAILS), organisation_id=organisation)
        return agents.create(tx, partner, agent, requires_email_confirmation=chance.random() < 0.8)

    return {
        "create": create,
        "confirm": lambda tx, one: agents.confirm_email(tx, ALL_PARTNERS, one, "link"),
        "mail": lambda tx, one: email_confirmation.resend_confirmation(tx, one),
        "guess": lambda tx, one: email_confirmation.check_code(tx, one, "123456"),
        "approve": lambda tx, one: agents.approve(tx, ALL_PARTNERS, one, ACCEPTED),
        "reject": reject,
        "review": lambda tx, one: agent_review.review_agent(
            tx, Screener(), one, domain_accepts_mail=chance.choice((True, False, None))
        ),
        "answer": lambda tx, one: agent_review.record_representation_answer(
            tx, one, chance.choice(("confirmed", "denied"))
        ),
        "test value": lambda tx, one: agents.apply_sandbox_action(tx, one, chance.choice(("accept", "other"))),
        "metadata": lambda tx, one: agents.change_metadata(tx, partner, one, {"a": "1"}),
        "contact": lambda tx, _: agents.set_official_contact_and_enqueue_reviews(
            tx, OfficialContact(organisation_id, "info@a.example", "x"), "tests"
        ),
        "sweep": lambda tx, _: agents.expire_overdue_verifications(tx, 10),
        "forget": lambda tx, _: agents.erase_personal_data(RetentionPeriods(), tx, 10),
    }


@pytest.mark.soak
async def test_s1_random_steps_by_eight_writers_take_no_forbidden_way(
    service: Service, tenant: Tenant, figures: Figures
) -> None:
    chance = random.Random(figures.seed)
    organisation = await factories.nonprofit(service, website="https://www.charity.example")
    organisation_id = service.db.deployment.ids.decode("organisation", organisation)
    assert organisation_id is not None
    attempts = steps(chance, tenant.partner, organisation, organisation_id)
    seen: Counter[str] = Counter()
    async with service.db.write() as tx:
        await attempts["create"](tx, organisation_id)

    async def write(count: int) -> None:
        for _ in range(count):
            if chance.random() < 0.005:
                service.clock.advance(timedelta(days=chance.choice((1, 10, 30))))
            if chance.random() < 0.05:
                service.clock.advance_wall(minutes=1)
            async with service.db.read() as tx:
                rows = await tx.fetch(
                    "select id from agent_verification where partner_id = $1 order by id desc limit 8",
                    tenant.partner.id,
                )
            try:
                async with service.db.write() as tx:
                    await chance.choice(list(attempts.values()))(tx, chance.choice(rows)["id"])
                seen["done"] += 1
            except (InvalidState, NotFound):
                seen["refused"] += 1

    rounds = figures.count(80, 12_500)
    await asyncio.gather(*(write(rounds) for _ in range(WRITERS)))
    assert seen["refused"] > rounds / 2
    moves = await told_as_made(service, tenant.partner)
    figures.write(
        "agent-moves",
        f"Random steps of {WRITERS} writers on agent verifications (S1)",
        f"{WRITERS * rounds:,} steps: {seen['done']:,} done, {seen['refused']:,} refused, 0 forbidden moves, "
        f"{moves:,} moves told once each",
    )


async def told_as_made(service: Service, partner: Partner) -> int:
    """Each verification came by arrows alone to where it is, and each state was told once, in order; how many moves."""
    reported: dict[UUID, list[str]] = defaultdict(list)
    made: dict[UUID, list[tuple[str, str]]] = defaultdict(list)
    async with service.db.read() as tx:
        stored = await tx.fetch(
            "select id, status, email_check from agent_verification where partner_id = $1", partner.id
        )
        changes = "select * from state_change where resource_id = any($1::uuid[]) order by id"
        for row in await tx.fetch(changes, [row["id"] for row in stored]):
            made[row["resource_id"]].append((row["from_status"], row["to_status"]))
        for row in await tx.fetch(
            "select type, payload from event where partner_id = $1 order by position",
            partner.id,
        ):
            record = json.loads(row["payload"])["data"]["eventData"]
            verification_id = tx.ids.decode("agentverification", record["id"])
            assert verification_id is not None
            assert row["type"] == f"agent_verification.{record['status']}"
            reported[verification_id].append(record["status"])
    for row in stored:
        status = "pending" if row["email_check"] else "pending_review"
        stations = [] if row["email_check"] else [status]
        for source, target in made[row["id"]]:
            assert source == status
            assert VERIFICATION.allows_transition(source, target)
            status = target
            stations.append(target)
        assert reported[row["id"]] == stations
        assert row["status"] == status
    return sum(map(len, made.values()))

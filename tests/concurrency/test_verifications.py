"""Many officers at once: no verification takes a way that settled 5 does not know, and each step is told once (S1)."""

import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.verifications import checking
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import CHECKS, VERIFICATION, DecisionGrounds, InvalidState, Outcome
from almoner.giving.disbursing.verifications.ports import OrganisationScreener
from almoner.job_registry import WatchlistOrganisationScreener
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.screening.screenings.service import Screener
from tests.support import factories
from tests.support.client import Client
from tests.support.figures import Figures
from tests.support.service import Service, Tenant

WRITERS, ORGANISATIONS = 8, 4
EVIDENCE = DecisionGrounds("tests", "Chance")
OUTCOMES: tuple[Outcome, ...] = ("succeeded", "succeeded", "failed")

Step = Callable[[Tx, UUID], Awaitable[object]]


def steps(
    chance: random.Random, partner: Partner, organisations: list[str], screening: OrganisationScreener
) -> dict[str, Step]:
    """What somebody may try with a verification at any time."""
    return {
        "approve": lambda tx, one: verifications.approve(tx, ALL_PARTNERS, one, EVIDENCE),
        "reject": lambda tx, one: verifications.reject(tx, ALL_PARTNERS, one, "other", EVIDENCE),
        "reopen": lambda tx, one: verifications.reopen(tx, ALL_PARTNERS, one, EVIDENCE),
        "expire": lambda tx, one: verifications.expire_verification_now(tx, ALL_PARTNERS, one),
        "check": lambda tx, one: verifications.record_check_outcome(
            tx, ALL_PARTNERS, one, chance.choice(CHECKS), chance.choice(OUTCOMES), decided_by="tests"
        ),
        "look": lambda tx, one: checking.run_verification_checks(
            tx, screening, payee_bank_accounts.find_approved_account, one
        ),
        "sweep": lambda tx, _: verifications.expire_due_verifications(tx, 10),
        "create": lambda tx, _: verifications.create(tx, partner, chance.choice(organisations)),
    }


@pytest.mark.soak
async def test_s1_random_steps_by_eight_writers_take_no_forbidden_way(
    service: Service, api: Client, tenant: Tenant, figures: Figures
) -> None:
    chance = random.Random(figures.seed)
    organisations = [await factories.nonprofit(service) for _ in range(ORGANISATIONS)]
    for organisation in organisations:
        await factories.verification(service, api, organisation=organisation)
    screener = Screener()
    await screener.reload_index(service.db)
    attempts = steps(chance, tenant.partner, organisations, WatchlistOrganisationScreener(screener))
    seen: Counter[str] = Counter()

    async def write(count: int) -> None:
        for _ in range(count):
            if chance.random() < 0.02:
                service.clock.advance(timedelta(days=chance.choice((1, 10, 30))))
            async with service.db.read() as tx:
                known = [
                    row["id"]
                    for row in await tx.fetch(
                        "select id from monetary_donation_verification where partner_id = $1 order by id desc limit 8",
                        tenant.partner.id,
                    )
                ]
            name = chance.choice(list(attempts))
            if name == "create" and chance.random() < 0.5:  # who is approved once stays so
                organisations.append(await factories.nonprofit(service))
                del organisations[:-ORGANISATIONS]
            try:
                async with service.db.write() as tx:
                    await attempts[name](tx, chance.choice(known))
                seen["done"] += 1
            except InvalidState:
                seen["refused"] += 1

    rounds = figures.count(60, 12_500)
    await asyncio.gather(*(write(rounds) for _ in range(WRITERS)))
    assert seen["done"] > rounds
    assert seen["refused"] > rounds
    moves, reported = await history(service, tenant.partner)
    for verification_id, arrows in moves.items():
        status = "pending"
        for source, target in arrows:
            assert source == status
            assert VERIFICATION.allows_transition(source, target)
            status = target
        records = reported[verification_id]
        stations = pairwise(record["status"]["type"] for record in records)
        assert [way for way in stations if way[0] != way[1]] == arrows, "each move is told once, in order"
        assert records[-1]["status"]["type"] == status
        assert status != "approved" or {check["status"] for check in records[-1]["checks"]} == {"succeeded"}
    await nobody_has_two(service, tenant.partner)
    figures.write(
        "verification-moves",
        f"Random steps of {WRITERS} writers on monetary donation verifications (S1)",
        f"{WRITERS * rounds:,} steps: {seen['done']:,} done, {seen['refused']:,} refused, 0 forbidden moves, "
        f"{sum(map(len, moves.values())):,} moves told once each",
    )


async def history(
    service: Service, partner: Partner
) -> tuple[dict[UUID, list[tuple[str, str]]], dict[UUID, list[dict[str, Any]]]]:
    """Of each verification: the moves that the database kept, and the records that the partner was told, in order."""
    moves: dict[UUID, list[tuple[str, str]]] = {}
    reported: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    async with service.db.read() as tx:
        for row in await tx.fetch("select id from monetary_donation_verification where partner_id = $1", partner.id):
            moves[row["id"]] = []
        for row in await tx.fetch(
            "select * from state_change where resource_id = any($1::uuid[]) order by id", list(moves)
        ):
            moves[row["resource_id"]].append((row["from_status"], row["to_status"]))
        for row in await tx.fetch("select payload from event where partner_id = $1 order by position", partner.id):
            record = json.loads(row["payload"])["data"]["eventData"]
            verification_id = tx.ids.decode("monetarydonationverification", record["id"])
            assert verification_id is not None
            reported[verification_id].append(record)
    return moves, reported


async def nobody_has_two(service: Service, partner: Partner) -> None:
    """At most one verification that counts for each organisation, and none approved with a check outstanding."""
    async with service.db.read() as tx:
        assert not await tx.fetch(
            """
            select organisation_id from monetary_donation_verification
            where partner_id = $1 and status in ('pending', 'approved') group by 1 having count(*) > 1
            """,
            partner.id,
        )
        assert not await tx.fetch(
            """
            select v.id from monetary_donation_verification v join monetary_donation_check c on c.verification_id = v.id
            where v.partner_id = $1 and v.status = 'approved' and c.status <> 'succeeded'
            """,
            partner.id,
        )

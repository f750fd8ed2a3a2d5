"""kill -9 before and after every commit and every call to the provider while money moves (I6, M4, M6)."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from almoner.kit.time import iso_timestamp
from almoner.platform.observability import selfcheck
from almoner.selfchecks import CHECKS
from tests.chaos import money
from tests.support import factories, forks
from tests.support import giving as support
from tests.support.built_in_provider import Till, serving_provider
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.fake_provider import SECRET
from tests.support.figures import Figures
from tests.support.giving import Giving
from tests.support.service import Service, serving

MOST_POINTS = 24
MOST_POINTS_ONWARDS = 70


@pytest.fixture
async def own(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service of its own, whose real time can be moved."""
    async with serving(empty_database) as service:
        yield service


@pytest.fixture
async def partner(own: Service) -> AsyncIterator[Client]:
    api = own.client((await own.tenant()).secret)
    yield api
    await api.close()


async def kill_everywhere(simulator: Till, sessions: list[Giving], seed: int, *, onwards: bool = False) -> list[str]:
    """Run one child for each point, each with a session of its own; what became of each.

    ``onwards``: the gift is settled, paid out and returned as well.
    """
    service = simulator.service
    task: dict[str, Any] = {
        "dsn": service.database.dsn,
        "now": iso_timestamp(service.clock.now()),
        "links": service.db.deployment.base_urls.pages,
        "master_key": service.master_key,
        "url": simulator.url,
        "secret": SECRET,
        "seed": seed,
        "onwards": onwards,
        "sessions": [str(giving.session_id) for giving in sessions],
    }
    words = ("-m", "tests.chaos.money", json.dumps(task), "1", str(len(sessions)))
    _, printed = await asyncio.to_thread(forks.run, words, {})
    return [line.split(" ", 1)[1] for line in printed.splitlines()]


@pytest.mark.soak
async def test_i6_m4_a_donor_is_charged_once_wherever_the_process_dies(
    own: Service, partner: Client, figures: Figures
) -> None:
    runs = 0
    async with serving_provider(own) as simulator:
        while runs < figures.count(20, 10_000):
            sessions = [await support.open_session(own, partner) for _ in range(MOST_POINTS)]
            fates = await kill_everywhere(simulator, sessions, figures.seed + runs)
            assert fates[-1] == "lived", "the last point lies beyond the gift's end"
            assert set(fates[:-1]) == {"killed"}
            assert len(fates) > 10
            runs += len(fates)
            own.clock.advance_wall(seconds=61)
            for giving in sessions[: len(fates)]:
                await money.pay(own.db, simulator.provider, giving.session_id)
                assert await giving.status() == "completed"
            await check(own, runs)
    figures.write(
        "payment-crashes",
        "Processes killed while a donor pays (I6, M4)",
        f"{runs:,} processes killed with -9 before or after a commit or a call to the provider, "
        "which also lost one answer in five: each donor charged once, posted once, told once",
    )


@pytest.mark.soak
async def test_m3_m4_a_gift_arrives_once_wherever_the_process_dies_between_payment_and_payout(
    own: Service, partner: Client, figures: Figures
) -> None:
    runs, slowest = 0, 0.0
    async with serving_provider(own) as simulator:
        while runs < figures.count(40, 1_000):
            sessions = [await support.open_session(own, partner) for _ in range(MOST_POINTS_ONWARDS)]
            for giving in sessions:
                await factories.verification(
                    own, partner, organisation=giving.session["organisationId"], test="approve"
                )
            await own.drain()
            fates = await kill_everywhere(simulator, sessions, figures.seed + runs, onwards=True)
            assert fates[-1] == "lived", "the last point lies beyond the return of the payout"
            assert set(fates[:-1]) == {"killed"}
            assert len(fates) > 20
            runs += len(fates)
            started = time.monotonic()
            own.clock.advance_wall(seconds=61)
            for giving in sessions[: len(fates)]:
                await money.pay(own.db, simulator.provider, giving.session_id)
                await money.release(own.db, giving.session_id)
                await money.pay_out(own.db, giving.session_id)
            await own.drain()
            await check_arrived(own, runs)
            slowest = max(slowest, time.monotonic() - started)
    figures.write(
        "payout-crashes",
        "Processes killed between payment and payout (M3, M4)",
        f"{runs:,} processes killed with -9 before or after a commit of paying, settling, paying out and returning: "
        f"each gift is at its nonprofit once, the self-check clean {slowest:.0f} s after the next start at the latest",
    )


async def check_arrived(service: Service, gifts: int) -> None:
    """Every gift is disbursed, in one payout that was not returned, and nothing is left in between."""
    async with service.db.read() as tx:
        statuses = await tx.fetch("select status, count(*) from donation group by status")
        rows = await tx.fetch(
            "select kind, sum(credits_minor - debits_minor)::int owed from ledger_account group by kind"
        )
        returned = await tx.fetchval("select count(*) from disbursement where status = 'RETURNED'")
        reported = await tx.fetch("select type, count(*) from event where type like 'donation.%' group by type")
    assert {row["status"]: row["count"] for row in statuses} == {"DISBURSED": gifts}
    assert {row["kind"]: row["owed"] for row in rows if row["owed"]} == {}
    events = {row["type"]: row["count"] for row in reported}
    assert events["donation.settled"] == gifts
    assert events["donation.disbursed"] == gifts + returned
    assert events.get("donation.payout_returned", 0) == returned
    outcome = await selfcheck.run_selfcheck(service.db, CHECKS)
    assert [(finding.check.name, finding.examples) for finding in outcome.findings] == []


async def check(service: Service, paid: int) -> None:
    """One charge at the provider, one payment, one posting and one event of each kind for every gift."""
    async with service.db.read() as tx:
        row = await tx.fetchrow(
            """
            select (select count(*) from provider_test.payment where status = 'succeeded') charged,
                   (select count(*) from provider_test.payment) asked,
                   (select count(*) from payment where status = 'succeeded') counted,
                   (select count(*) from payment) begun,
                   (select count(*) from ledger_transfer) posted,
                   (select count(*) from unallocated_payment) held,
                   (select count(*) from event where type = 'donation.payment_successful') told
            """
        )
    assert row is not None
    assert dict(row) == {
        **dict.fromkeys(("charged", "asked", "counted", "begun", "posted", "told"), paid),
        "held": 0,
    }

"""kill -9 around every commit and call while donors pay at Stripe, which loses answers and repeats notices (I6, M4)."""

import asyncio
import json
import sys
from base64 import b64encode
from collections.abc import AsyncIterator
from os import urandom
from pathlib import Path
from random import Random

import pytest

from almoner.kit.time import iso
from almoner.platform import selfcheck
from almoner.selfchecks import CHECKS
from tests.chaos import stripe_gifts
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.figures import Figures
from tests.support.service import Service, serving
from tests.support.stripe_account import Thing
from tests.support.stripe_giving import AtStripe, Stripe, serving_at_stripe

ROOT = Path(__file__).parents[2]
MOST_POINTS = 24


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


async def kill_everywhere(stripe: Stripe, sessions: list[AtStripe]) -> list[str]:
    """Run one child for each point, each with a session of its own; what became of each."""
    service = stripe.service
    task = {
        "dsn": service.database.dsn,
        "now": iso(service.clock.now()),
        "links": service.db.deployment.links.pages,
        "master_key": b64encode(urandom(32)).decode(),
        "url": stripe.url,
        "sessions": [str(one.giving.session_id) for one in sessions],
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.chaos.stripe_gifts", json.dumps(task), "1", str(len(sessions))),
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}/src"},
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    return [line.split(" ", 1)[1] for line in output.decode().splitlines()]


async def notify(giving: AtStripe, notices: list[Thing], chance: Random) -> None:
    """Stripe tells all of it, in any order, each up to three times; and again what was not heard."""
    told = [notice for notice in notices for _ in range(chance.randint(1, 3))]
    chance.shuffle(told)
    for notice in told:
        while (await giving.send(notice)).status_code == 503:
            pass


@pytest.mark.soak
async def test_i6_m4_a_donor_is_charged_once_at_stripe_wherever_the_process_dies(
    own: Service, partner: Client, figures: Figures
) -> None:
    runs = 0
    async with serving_at_stripe(own, retries=0) as stripe:
        stripe.stub.faults.lost = 0.2
        stripe.stub.faults.random = chance = Random(figures.seed)
        while runs < figures.count(20, 10_000):
            sessions = [await stripe.open_session(partner) for _ in range(MOST_POINTS)]
            fates = await kill_everywhere(stripe, sessions)
            assert fates[-1] == "lived", "the last point lies beyond the gift's end"
            assert set(fates[:-1]) == {"killed"}
            assert len(fates) > 10
            runs += len(fates)
            own.clock.advance_wall(seconds=61)
            early, late = [], list(stripe.account.notices)
            stripe.account.notices.clear()
            while late and chance.random() < 0.9:
                early.append(late.pop(chance.randrange(len(late))))
            await notify(sessions[0], early, chance)
            for one in sessions[: len(fates)]:
                await stripe_gifts.pay(own.db, stripe.provider, one.giving.session_id)
                assert await one.giving.status() == "completed"
            await notify(sessions[0], [*late, *stripe.account.notices], chance)
            stripe.account.notices.clear()
            await check(stripe, runs)
    figures.write(
        "stripe-crashes",
        "Processes killed while a donor pays at Stripe (I6, M4)",
        f"{runs:,} processes killed with -9 before or after a commit or a call to the strict stub of Stripe, which "
        "also lost one answer in five and repeated and reordered its notices: each donor charged once, posted once, "
        "told once; none lost",
    )


async def check(stripe: Stripe, paid: int) -> None:
    """One session and one charge at Stripe, one payment, one posting and one event of each kind for every gift."""
    async with stripe.service.db.read() as tx:
        row = await tx.fetchrow(
            """
            select (select count(*) from payment where status = 'succeeded') counted,
                   (select count(*) from payment) begun,
                   (select count(*) from ledger_transfer) posted,
                   (select count(*) from held_payment) held,
                   (select count(*) from event where type = 'donation.payment_successful') told
            """
        )
    account = stripe.account
    assert row is not None
    assert dict(row) == {**dict.fromkeys(("counted", "begun", "posted", "told"), paid), "held": 0}
    assert len(account.sessions) == paid
    assert len({one["payment_intent"] for one in account.charges.values()}) == len(account.charges) == paid
    outcome = await selfcheck.run(stripe.service.db, CHECKS)
    assert [(finding.check.name, finding.examples) for finding in outcome.findings] == []

"""kill -9 around every commit and call while donors pay at Stripe, which loses answers and repeats notices (I6, M4)."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Iterable
from random import Random
from time import monotonic

import pytest

from almoner.kit.time import iso_timestamp
from almoner.platform.observability import selfcheck
from almoner.selfchecks import CHECKS
from tests.chaos import stripe_gifts
from tests.support import forks
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.figures import Figures
from tests.support.service import Service, serving
from tests.support.stripe_account import Thing
from tests.support.stripe_giving import AtStripe, Stripe, serving_at_stripe

MOST_POINTS = 24
LANES = 4
DONORS = 2
LIVING = 3
"""Donors whose process lives, for each whose process is killed; answers get lost and notices repeated for all."""
AT_ONCE = 6
Donor = list[AtStripe]
"""One session for each point to die at."""


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


async def kill_everywhere(stripe: Stripe, lanes: list[list[Donor]]) -> list[AtStripe]:
    """Run one child for each point of each donor, the lanes at once; the sessions in which one died, or lived."""
    service = stripe.service
    task = {
        "dsn": service.database.dsn,
        "now": iso_timestamp(service.clock.now()),
        "links": service.db.deployment.base_urls.pages,
        "master_key": service.master_key,
        "url": stripe.url,
        "lanes": [[[str(one.giving.session_id) for one in donor] for donor in lane] for lane in lanes],
    }
    _, output = await asyncio.to_thread(forks.run, ("-m", "tests.chaos.stripe_gifts", json.dumps(task)), {})
    fates: dict[tuple[int, int], list[str]] = {}
    for line in output.splitlines():
        name, fate = line.split(" ", 1)
        lane, donor, _ = map(int, name.split(":"))
        fates.setdefault((lane, donor), []).append(fate)
    assert len(fates) == sum(map(len, lanes))
    for each in fates.values():
        assert each[-1] == "lived", "the last point lies beyond the gift's end"
        assert set(each[:-1]) == {"killed"}
        assert len(each) > 10
    return [one for (lane, donor), each in fates.items() for one in lanes[lane][donor][: len(each)]]


async def at_once(work: Iterable[Coroutine[None, None, None]]) -> None:
    """All of it, a few at a time."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(each: Coroutine[None, None, None]) -> None:
        async with turn:
            await each

    await asyncio.gather(*map(one, work))


async def notify(giving: AtStripe, notices: list[Thing], chance: Random) -> None:
    """Stripe tells all of it, in any order, each up to three times; and again what was not heard."""
    reported = [notice for notice in notices for _ in range(chance.randint(1, 3))]
    chance.shuffle(reported)

    async def until_heard(notice: Thing) -> None:
        while (await giving.send(notice)).status_code == 503:
            pass

    await at_once(map(until_heard, reported))


async def give(stripe: Stripe, one: AtStripe, chance: Random) -> None:
    """A donor gives; every other one closes the window before coming back."""
    returns = chance.random() < 0.5
    await stripe_gifts.pay(stripe.service.db, stripe.provider, one.giving.session_id, returns=returns)


async def finish(stripe: Stripe, one: AtStripe) -> None:
    """The donor comes back, whatever had happened, and has given."""
    await stripe_gifts.pay(stripe.service.db, stripe.provider, one.giving.session_id)
    assert await one.giving.status() == "completed"


@pytest.mark.soak
async def test_i6_m4_a_donor_is_charged_once_at_stripe_wherever_the_process_dies(
    own: Service, partner: Client, figures: Figures
) -> None:
    runs = killed = 0
    started = monotonic()
    async with serving_at_stripe(own, retries=0) as stripe:
        stripe.stub.faults.lost = 0.2
        stripe.stub.faults.random = chance = Random(figures.seed)
        while runs < figures.count(20, 10_000):
            lanes = [
                [
                    [await stripe.open_session(partner) for _ in range(MOST_POINTS)]
                    for _ in range(figures.count(1, DONORS))
                ]
                for _ in range(figures.count(2, LANES))
            ]
            dying = sum(len(donor) for lane in lanes for donor in lane) * 2 // 3
            living = [await stripe.open_session(partner) for _ in range(figures.count(10, LIVING * dying))]
            died, _ = await asyncio.gather(
                kill_everywhere(stripe, lanes), at_once(give(stripe, one, chance) for one in living)
            )
            tried = [*died, *living]
            killed += len(died)
            runs += len(tried)
            own.clock.advance_wall(seconds=61)
            early, late = [], list(stripe.account.notices)
            stripe.account.notices.clear()
            while late and chance.random() < 0.9:
                early.append(late.pop(chance.randrange(len(late))))
            await notify(tried[0], early, chance)
            await at_once(finish(stripe, one) for one in tried)
            await notify(tried[0], [*late, *stripe.account.notices], chance)
            stripe.account.notices.clear()
            await check(stripe, runs)
    figures.write(
        "stripe-crashes",
        "Processes killed while a donor pays at Stripe (I6, M4)",
        f"{runs:,} donors at the strict stub of Stripe, which lost one answer in five and repeated and reordered its "
        "notices: each charged once, posted once, told once; none lost",
        f"{killed:,} of them in a process of their own, killed with -9 before or after a commit or a call",
        f"{(monotonic() - started) / 60:.0f} minutes",
    )


async def check(stripe: Stripe, paid: int) -> None:
    """One session and one charge at Stripe, one payment, one posting and one event of each kind for every gift."""
    async with stripe.service.db.read() as tx:
        row = await tx.fetchrow(
            """
            select (select count(*) from payment where status = 'succeeded') counted,
                   (select count(*) from payment) begun,
                   (select count(*) from ledger_transfer) posted,
                   (select count(*) from unallocated_payment) held,
                   (select count(*) from event where type = 'donation.payment_successful') told
            """
        )
    account = stripe.account
    assert row is not None
    assert dict(row) == {**dict.fromkeys(("counted", "begun", "posted", "told"), paid), "held": 0}
    assert len(account.sessions) == paid
    assert len({one["payment_intent"] for one in account.charges.values()}) == len(account.charges) == paid
    outcome = await selfcheck.run_selfcheck(stripe.service.db, CHECKS)
    assert [(finding.check.name, finding.examples) for finding in outcome.findings] == []

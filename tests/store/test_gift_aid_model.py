"""Declarations, gifts, refunds, reassignments and claims in any order: HMRC pays for what stands, to the penny."""

import random
from time import perf_counter

import pytest

from almoner.giving.gift_aid.claims import service as gift_aid_claims
from almoner.platform.database.postgres import PostgresServer
from almoner.platform.observability import selfcheck
from almoner.selfchecks import CHECKS
from tests.support import database
from tests.support.claims import cause
from tests.support.client import Client
from tests.support.figures import Figures
from tests.support.gift_aid_world import World
from tests.support.giftaid import declared
from tests.support.payouts import uuid_of
from tests.support.service import Service, serving

STEPS = 100
MANY = """
insert into donation (id, partner_id, organisation_id, type, status, amount_minor, currency, consented, anonymous,
                      metadata, created_at, status_changed_at, gift_aid_id, donation_request_id, settled_at,
                      settled_minor, settled_currency)
select gen_random_uuid(), partner_id, organisation_id, type, status, 100 + n % 5000, currency, consented, anonymous,
       metadata, created_at, status_changed_at, gift_aid_id, donation_request_id, settled_at, 100 + n % 5000,
       settled_currency
from donation, generate_series(1, $2) n where id = $1
"""
"""As one that was received."""


async def lived(service: Service, api: Client, seed: int) -> World:
    """A world in which some time has passed, and HMRC has paid for what stands."""
    world = World(service, api, random.Random(seed))
    await world.open()
    for _ in range(STEPS):
        await world.step()
    await world.settle()
    await world.expect()
    return world


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 5))])
async def test_what_is_claimed_is_what_stands_whatever_happens(service: Service, api: Client, seed: int) -> None:
    world = await lived(service, api, seed)
    await world.settle()
    await world.expect()
    assert len(world.gifts) > 5
    async with service.db.read() as tx:
        found = await selfcheck.run_consistency_checks(tx, [one for one in CHECKS if one.name.startswith("gift_aid")])
    assert found.findings == ()


@pytest.mark.soak
async def test_many_worlds_and_many_gifts(postgres_server: PostgresServer, figures: Figures) -> None:
    worlds, gifts = figures.count(3, 60), figures.count(200, 10_000)
    async with database.copied(postgres_server) as copy, serving(copy) as service:
        api = service.client((await service.tenant()).secret)
        lives = claims = back = 0
        while lives < worlds or (not back and lives < 10 * worlds):
            world = await lived(service, api, figures.seed + lives)
            lives += 1
            claims += len(await world.claims())
            back += sum([len(await of.adjusted()) for of in world.causes[:2]])
        assert back > 0, "something had to go back to HMRC"
        of = await cause(service, api)
        first = await of.received(1000, giftAidId=(await declared(api))["id"])
        async with service.db.write() as tx:
            await tx.execute(MANY, uuid_of(service, "donation", first["id"]), gifts - 1)
        started, drafted, lines = perf_counter(), 0, 0
        while (made := await of.draft()).claim is not None:
            async with service.db.write() as tx:
                await gift_aid_claims.mark_submitted(tx, made.claim.id, "CH-1", recorded_by="officer")
            drafted += made.claim.donation_count
            lines += len(await of.written(made.claim))
        seconds = perf_counter() - started
        await api.close()
    assert (drafted, lines) == (gifts, gifts)
    figures.write(
        "gift-aid-claims",
        "Gift aid claims",
        f"{lives:,} worlds of {STEPS} moves each in any order (declarations, cancellations, gifts by partners and on "
        "pages, refunds, disputes, gifts to others, claims and what becomes of them), "
        f"{claims:,} claims, {back:,} gifts claimed that went back: HMRC has paid for what stands, to the penny",
        f"{gifts:,} gifts of one charity drafted, submitted and written in claims of 1,000 lines: {seconds:.1f} s",
    )
    assert seconds < max(10, gifts / 100)

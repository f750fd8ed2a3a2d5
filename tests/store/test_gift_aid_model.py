"""Declarations, gifts, refunds, reassignments and claims in any order: HMRC pays for what stands, to the penny."""

import random

import pytest

from almoner.platform import selfcheck
from almoner.selfchecks import CHECKS
from tests.support.client import Client
from tests.support.gift_aid_world import World
from tests.support.service import Service

STEPS = 90


@pytest.mark.parametrize("seed", range(5))
async def test_what_is_claimed_is_what_stands_whatever_happens(service: Service, api: Client, seed: int) -> None:
    world = World(service, api, random.Random(seed))
    await world.open()
    for _ in range(STEPS):
        await world.step()
    await world.settle()
    await world.expect()
    await world.settle()
    await world.expect()
    assert len(world.gifts) > 5
    assert any([await of.adjusted() for of in world.causes[:2]]), "something had to go back"
    async with service.db.read() as tx:
        found = await selfcheck.look(tx, [one for one in CHECKS if one.name.startswith("gift_aid")])
    assert found.findings == ()

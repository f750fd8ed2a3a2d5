"""Keys rotated and revoked while calls are made with them (K4)."""

import asyncio
import random
from datetime import timedelta

import pytest

from almoner.access.keys import service as keys
from almoner.platform.database.transactions import Partner
from tests.support.figures import Figures
from tests.support.service import Service

AT_ONCE = 50
OVERLAP = timedelta(hours=1)


async def rotate(service: Service, key: str) -> str:
    """The successor of a key."""
    async with service.db.write() as tx:
        found = await keys.find_by_secret(tx, key)
        assert found is not None
        _, successor = await keys.rotate(tx, found.id, OVERLAP)
    return successor


@pytest.mark.soak
async def test_k4_no_call_fails_while_keys_are_rotated_under_load(service: Service, figures: Figures) -> None:
    """Each caller learns of the new key at some moment of the overlap; until then it goes on with the old one."""
    tenant = await service.tenant()
    chance = random.Random(figures.seed)
    rounds, key, failed = figures.count(4, 120), tenant.secret, 0

    async def call(known: str) -> None:
        nonlocal failed
        client = service.client(known)
        failed += (await client.get("/v1/categories")).status_code != 200
        await client.close()

    for _ in range(rounds):
        rotation = asyncio.create_task(rotate(service, key))
        await asyncio.gather(*(call(key) for _ in range(AT_ONCE)))
        successor = await rotation
        await asyncio.gather(*(call(chance.choice((key, successor))) for _ in range(AT_ONCE)))
        service.clock.advance_wall(minutes=61)
        key = successor
    assert failed == 0
    assert await _opens(service, tenant.partner) == 1
    calls = rounds * AT_ONCE * 2
    figures.write("key-rotation", "Rotation under load (K4)", f"{rounds} rotations among {calls:,} calls: 0 refused")


async def _opens(service: Service, partner: Partner) -> int:
    """How many of a partner's secret keys are valid now."""
    async with service.db.read() as tx:
        return int(
            await tx.fetchval(
                """
                select count(*) from api_key
                where partner_id = $1 and kind = 'secret' and revoked_at is null
                  and (expires_at is null or expires_at > $2)
                """,
                partner.id,
                tx.real_now,
            )
        )

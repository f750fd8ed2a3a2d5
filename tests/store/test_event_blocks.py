"""Lists of events add up blocks: they show and count what reading every event would (P7, settled 1.1)."""

import random
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events import event_blocks
from almoner.platform.events.event_blocks import SIZE
from almoner.platform.http.paging import RequestedPage
from almoner.webhooks.deliveries import store as deliveries_store
from almoner.webhooks.events import store as events_store
from almoner.webhooks.events.domain import EventFilter
from tests.support.plans import Explaining
from tests.support.service import Service

WRITTEN = 3 * SIZE + 789
TYPES = ("donation.created", "donation.settled", "donation.cancelled")
FILL = """
insert into event (id, partner_id, type, payload, created_at, sequence)
select gen_random_uuid(), $1, type, '', made, n
from unnest($2::bigint[], $3::text[], $4::timestamptz[]) g (n, type, made)
"""


@pytest.fixture
async def service(alone: Service) -> Service:
    """A service of its own: nobody else's events are counted, or swept."""
    return alone


@pytest.fixture
async def written(service: Service) -> list[tuple[int, str, datetime]]:
    """Events of a partner with their numbers: one type is rare, and some were committed long after they were made."""
    chance = random.Random(7)
    now = service.clock.now()
    rows = []
    for number in range(1, WRITTEN + 1):
        kind = TYPES[2] if number % 4001 == 0 else TYPES[chance.random() < 0.3]
        late = chance.randint(0, 3_000) if chance.random() < 0.01 else chance.randint(0, 3)
        rows.append((number, kind, now - timedelta(minutes=WRITTEN - number + late)))
    async with service.db.write() as tx:
        partner = UUID(int=7)
        await tx.execute(FILL, partner, *[list(column) for column in zip(*rows, strict=True)])
        await tx.execute("insert into event_counter (partner_id, last_sequence) values ($1, $2)", partner, WRITTEN)
    return rows


async def built(service: Service) -> int:
    """All that can be counted is; how many blocks that were."""
    blocks = 0
    while True:
        async with service.db.write() as tx:
            if not await event_blocks.store_event_counts_of_full_sequence_blocks(tx):
                return blocks
        blocks += 1


async def agrees(service: Service, rows: list[tuple[int, str, datetime]], seed: int) -> None:
    """Pages and totals are those of reading all of it, from any position, either way."""
    chance = random.Random(seed)
    first, last = rows[0][2], rows[-1][2]
    for _ in range(20):
        moments = sorted(first + (last - first) * chance.uniform(-0.1, 1.1) for _ in range(2))
        asked = EventFilter(
            chance.choice((None, *TYPES, "none")), *[chance.choice((None, moment)) for moment in moments]
        )
        position = chance.choice((None, (chance.randint(1, WRITTEN),)))
        page = RequestedPage(chance.choice((1, 25, 100)), chance.random() < 0.5, position, chance.random() < 0.5)
        matching = [
            number
            for number, kind, made in rows
            if asked.type in (None, kind) and (not asked.period_start or made >= asked.period_start)
            if not asked.period_end or made < asked.period_end
        ]
        ahead = matching[::-1] if page.fetches_descending else matching
        if position is not None:
            ahead = [one for one in ahead if (one < position[0] if page.fetches_descending else one > position[0])]
        async with service.db.read() as tx:
            found, total = await events_store.list_page(tx, Partner(UUID(int=7)), page, asked)
        assert ([one.sequence for one in found], total) == (ahead[: page.fetch_limit], len(matching)), (asked, page)


async def test_lists_show_what_is_there_whatever_is_counted_or_removed_by_then(
    service: Service, written: list[tuple[int, str, datetime]]
) -> None:
    await agrees(service, written, 1)
    async with service.db.write() as tx:
        assert await event_blocks.next_sequence_block_count_due_at(tx) == tx.now
        assert await event_blocks.store_event_counts_of_full_sequence_blocks(tx) == 1
    await agrees(service, written, 2)
    assert await built(service) == WRITTEN // SIZE - 1
    async with service.db.read() as tx:
        assert await event_blocks.next_sequence_block_count_due_at(tx) is None
        assert await tx.fetchval("select sum(events) from event_block") == WRITTEN // SIZE * SIZE
    await agrees(service, written, 3)
    for gone in (1, SIZE - 1, SIZE, SIZE + 1, 2 * SIZE + 10, WRITTEN - 5):
        async with service.db.write() as tx:
            await tx.execute("delete from event where sequence <= $1", gone)
        await agrees(service, written[gone:], gone)
        async with service.db.write() as tx:
            await event_blocks.delete_event_counts_of_purged_blocks(tx)
            lowest = await tx.fetchval("select min(block) from event_block")
        assert lowest == (gone // SIZE if gone < 3 * SIZE else None)
        await agrees(service, written[gone:], gone + 1)


async def test_p7_deliveries_are_counted_from_their_index_alone(service: Service) -> None:
    async with service.db.write() as tx:
        for way in ("seqscan", "bitmapscan", "sort"):
            await tx.execute(f"set local enable_{way} = off")
        explaining = Explaining(tx)
        await deliveries_store.list_page(
            cast("Tx", explaining), Partner(uuid4()), uuid4(), RequestedPage(25, descending=True), None
        )
    counted = {one["Index Name"] for one in explaining.nodes() if one["Node Type"] == "Index Only Scan"}
    assert "webhook_delivery_subscription" in counted
    assert explaining.scans() == set()


async def test_p7_only_blocks_at_the_ends_are_read(service: Service, written: list[tuple[int, str, datetime]]) -> None:
    async with service.db.write() as tx:  # before they were counted: there is a way past them
        await tx.execute("delete from event where sequence <= $1", SIZE + 10)
    assert await built(service) == WRITTEN // SIZE
    await agrees(service, written[SIZE + 10 :], 4)
    owner = await asyncpg.connect(service.database.owner_dsn)
    await owner.execute("vacuum analyze event, event_block, event_counter")
    await owner.close()
    asked = EventFilter(TYPES[2], written[SIZE + 15][2], written[-5][2])
    async with service.db.read() as tx:
        explaining = Explaining(tx)
        await events_store.list_page(
            cast("Tx", explaining), Partner(UUID(int=7)), RequestedPage(25, descending=True), asked
        )
    assert "event" not in explaining.scans()
    read = [one for one in explaining.nodes() if one.get("Relation Name") == "event"]
    assert {one["Index Name"] for one in read} == {"event_sequence"}
    assert {one["Node Type"] for one in read} == {"Index Only Scan", "Index Scan"}

"""Lists of donations between any two moments: exact whatever happened to the gifts, and never a day read for a page."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from typing import Any, cast
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.giving.checkout.donations import store_lists as donations_store_lists
from almoner.giving.checkout.donations.domain import DonationFilters
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.paging import RequestedPage
from tests.store.test_donation_lists import wanted
from tests.support import factories
from tests.support.payouts import uuid_of
from tests.support.service import Service, Tenant

MS, HOUR, DAY = timedelta(milliseconds=1), timedelta(hours=1), timedelta(days=1)
FIRST = datetime(2026, 3, 1, tzinfo=UTC)
STATUSES = ("ACTIVE", "REQUESTED_PAYMENT", "RECEIVED_PAYMENT", "DISBURSED", "CANCELLED")


class Undone(Exception):
    """What was written for a test is not kept."""


@dataclass
class World:
    """A partner's nonprofits, users and request, in a transaction that is not kept."""

    tx: Tx
    partner: Partner
    nonprofits: list[UUID]
    users: list[UUID]
    request: UUID


async def lay(tx: Tx, partner: Partner, nonprofits: list[UUID]) -> World:
    """The users and the request."""
    users, request = [uuid4(), uuid4()], uuid4()
    for user in users:
        await tx.execute(
            "insert into giving_user (id, partner_id, created_at) values ($1, $2, $3)", user, partner.id, FIRST
        )
    await tx.execute(
        """
        insert into donation_request (id, partner_id, currency, amount_minor, donations, paid_minor, allocated_minor,
                                      status, reference, cutoff_at, collecting, allocating, created_at, due_at,
                                      status_changed_at)
        values ($1, $2, 'GBP', 100, 1, 0, 0, 'OPEN', $3, $4, true, false, $4, $4, $4)
        """,
        request,
        partner.id,
        f"ALM-{request.hex[:5].upper()}-WINDW",
        FIRST,
    )
    return World(tx, partner, nonprofits, users, request)


async def three(service: Service) -> list[UUID]:
    return [uuid_of(service, "organisation", await factories.nonprofit(service)) for _ in range(3)]


@pytest.fixture
def worlds(service: Service, tenant: Tenant) -> Any:
    @asynccontextmanager
    async def opened() -> AsyncIterator[World]:
        nonprofits = await three(service)
        with suppress(Undone):
            async with service.db.write() as tx:
                yield await lay(tx, tenant.partner, nonprofits)
                raise Undone

    return opened


NEW = """
insert into donation (id, partner_id, organisation_id, user_id, type, status, amount_minor, currency, consented,
                      anonymous, metadata, created_at, cover_minor, status_changed_at)
values ($1, $2, $3, $4, 'direct', 'ACTIVE', 1000, 'GBP', false, false, '{}', $5, 0, $5)
"""
CHANGES = (
    "update donation set status = 'CANCELLED', cancelled_at = created_at where id = $1 and status = 'ACTIVE'",
    "update donation set organisation_id = $2 where id = $1 and status = 'ACTIVE'",
    "update donation set status = 'REQUESTED_PAYMENT', donation_request_id = $3 where id = $1 and status = 'ACTIVE'",
    """
    update donation set status = 'RECEIVED_PAYMENT', settled_at = created_at, settled_minor = 1000,
                        settled_currency = 'GBP' where id = $1 and status = 'REQUESTED_PAYMENT'
    """,
    """
    update donation set reassigned_from = organisation_id, organisation_id = $2, reassigned_at = created_at
    where id = $1 and status = 'RECEIVED_PAYMENT' and organisation_id <> $2
    """,
    """
    insert into refund (id, donation_id, provider, amount_minor, currency, deducted_minor, status, started_at,
                        status_changed_at)
    select gen_random_uuid(), id, 'test', 10, currency, 0, 'pending', created_at, created_at
    from donation where id = $1 and status = 'RECEIVED_PAYMENT' and withdrawn_minor < 900
    """,
)


def moments(chance: Random) -> Iterator[datetime]:
    """Of five days, those before and after midnight, noon and a whole second above all."""
    while True:
        near = FIRST + chance.randrange(10) * DAY / 2
        yield chance.choice(
            [near, near - MS, near + MS, near + chance.randrange(12 * 3600) * timedelta(seconds=1, microseconds=7)]
        )


async def give(world: World, chance: Random, at: datetime) -> None:
    """One gift; its identifier may be off, as of a process whose clock was set back."""
    off = chance.choice([0, 0, 0, 3, 900, 45 * 60_000, -20_000, 30 * 3600_000])
    ms = (at - datetime(1970, 1, 1, tzinfo=UTC)) // MS + off
    gift = UUID(int=ms << 80 | 7 << 76 | 1 << 63 | uuid4().int & 2**62 - 1)
    user = chance.choice([*world.users, None])
    await world.tx.execute(NEW, gift, world.partner.id, chance.choice(world.nonprofits), user, at)


async def change(world: World, chance: Random, gift: UUID) -> None:
    """Something that may happen to it, if it may now."""
    sql = chance.choice(CHANGES)
    values = [gift, chance.choice(world.nonprofits), world.request]
    await world.tx.execute(sql.replace("$3", "$2"), *[values[0], *(values[n] for n in (1, 2) if f"${n + 1}" in sql)])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
async def test_p7_any_window_of_any_filters_is_what_a_reader_would_count(worlds: Any, seed: int) -> None:
    chance = Random(seed)
    when = moments(chance)
    async with worlds() as world:
        for _ in range(5):
            for _ in range(40):
                await give(world, chance, next(when))
            rows = await world.tx.fetch("select id from donation where partner_id = $1", world.partner.id)
            for row in rows:
                await change(world, chance, row["id"])
            await donations_store_lists.refresh_donation_list_counts(world.tx, chance.choice([0, 30, 10_000]))
            every = [dict(row) for row in await world.tx.fetch("select * from donation where partner_id = $1",
                                                               world.partner.id)]  # fmt: skip
            for _ in range(60):
                await compare(world, chance, every, next(when), next(when))


async def compare(world: World, chance: Random, every: list[dict[str, Any]], one: datetime, other: datetime) -> None:
    """A page somewhere in the list of some filters, with its total."""
    filters = DonationFilters(
        chance.choice([None, None, world.users[0]]),
        chance.choice([None, world.nonprofits[0]]),
        chance.choice([None, *STATUSES]),
        chance.choice([None, None, world.request]),
        chance.choice([None, one, every[0]["created_at"]]),
        chance.choice([None, other, every[-1]["created_at"]]),
    )
    if filters == DonationFilters():
        return  # counted as it is made, which these were not
    expected = [gift for gift in wanted(every, filters) if filters.donation_request_id in (None, asked_by(every, gift))]
    descending = chance.random() < 0.5
    if not descending:
        expected.reverse()
    at = chance.randrange(len(expected) + 1)
    position = (expected[at - 1].bytes,) if at else None
    page = RequestedPage(chance.choice([3, 25]), descending=descending, position=position)
    found, total = await donations_store_lists.list_page(world.tx, world.partner, page, filters)
    assert total == len(expected), filters
    assert [gift.id for gift in found] == expected[at : at + page.fetch_limit], filters


async def test_p7_the_ends_of_time_are_moments_as_others_are(worlds: Any) -> None:
    chance = Random(4)
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    async with worlds() as world:
        for at in (FIRST, FIRST + DAY / 2, FIRST + DAY - MS):
            await give(world, chance, at)
        for start, end in product((None, first, first + DAY, FIRST), (None, last, last - DAY, FIRST + DAY)):
            if start or end:
                filters = DonationFilters(start=start, end=end)
                found, total = await donations_store_lists.list_page(
                    world.tx, world.partner, RequestedPage(25, descending=True), filters
                )
                assert (len(found), total) == (3, 3), filters
        for start, end in ((last, None), (None, first), (last - DAY, last), (first, first), (last, first)):
            filters = DonationFilters(start=start, end=end)
            found, total = await donations_store_lists.list_page(
                world.tx, world.partner, RequestedPage(25, descending=True), filters
            )
            assert (found, total) == ([], 0), filters


def asked_by(every: list[dict[str, Any]], gift: UUID) -> UUID | None:
    return next((row["donation_request_id"] for row in every if row["id"] == gift), None)


MANY = """
insert into donation (id, partner_id, organisation_id, user_id, type, status, amount_minor, currency, consented,
                      anonymous, metadata, created_at, cancelled_at, cover_minor, status_changed_at,
                      donation_request_id)
select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3)
        || '8' || substr(md5(n::text), 4, 15))::uuid,
       $1, case when mod(n, 3) = 0 then $3::uuid when mod(n, 100) = 1 then $4 else $5 end,
       case when mod(n, 50) = 3 then $6::uuid end, 'direct', status, 100, 'GBP', false, false, '{}', at,
       case status when 'CANCELLED' then at end, 0, at, case status when 'REQUESTED_PAYMENT' then $7::uuid end
from (
    select n, case when n < 8000 then $2::timestamptz + n * interval '18 min'
                   else $2::timestamptz + interval '100 days' + (n - 8000) * interval '10.8 s' end as at,
           case mod(n, 20) when 7 then 'CANCELLED' when 9 then 'REQUESTED_PAYMENT' else 'ACTIVE' end as status
    from generate_series(0, 15999) n
) gift
"""
"""Eighty a day, and eight thousand on the hundredth."""
BUSY = FIRST + 100 * DAY
WINDOWS: dict[str, dict[str, Any]] = {
    "no dates": {},
    "days": {"start": FIRST + 5 * DAY, "end": BUSY},
    "parts of the busy day": {"start": BUSY + HOUR / 20, "end": BUSY + DAY - HOUR / 20},
    "up to the busy day": {"end": BUSY - HOUR / 20},
}
NARROWED = (
    "organisation_id status",
    "organisation_id",
    "status",
    "user_id",
    "user_id status",
    "donation_request_id",
    "donation_request_id organisation_id",
    "",
)
LOOKED_AT = 250
"""Three minutes at each end of the busy day, and the page."""
COUNTED = {"user_id": 2 * 320, "donation_request_id": 2 * 800}
"""What the user and the request have is counted, and looked through for the page."""


class Kept:
    """A transaction that runs what it is asked as a prepared statement, and keeps what it did."""

    def __init__(self, tx: Tx, mode: str) -> None:
        self._tx, self._mode = tx, mode
        self.nodes: list[dict[str, Any]] = []

    async def fetch(self, sql: str, *args: object) -> Any:
        name = f"kept_{uuid4().hex}"
        written = ", ".join(str(arg) if isinstance(arg, int) else f"'{arg}'" for arg in args)
        await self._tx.execute(f"set local plan_cache_mode = force_{self._mode}_plan")
        await self._tx.execute(f"prepare {name} as {sql}")
        (row,) = await self._tx.fetch(f"explain (analyze, timing off, format json) execute {name}({written})")
        await self._tx.execute(f"deallocate {name}")
        waiting = [json.loads(row[0])[0]["Plan"]]
        while waiting:
            self.nodes.append(node := waiting.pop())
            waiting += node.get("Plans", [])
        return await self._tx.fetch(sql, *args)

    def plan(self) -> list[dict[str, Any]]:
        """What was done to donations, and how much of it was expected."""
        told = ("Node Type", "Index Name", "Index Cond", "Filter", "Plan Rows", "Actual Rows", "Total Cost")
        return [
            {name: node[name] for name in told if name in node}
            for node in self.nodes
            if node.get("Relation Name") == "donation" or "Bitmap Index" in node["Node Type"]
        ]

    def looked_at(self) -> float:
        """The donations that were read, of the sixteen thousand that a wrong index would lead to."""
        return sum(
            float((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
            for node in self.nodes
            if node.get("Relation Name") == "donation"
        )


async def test_p1_no_list_reads_more_than_its_page_and_the_parts_of_its_days(service: Service, tenant: Tenant) -> None:
    nonprofits = await three(service)
    owner = await asyncpg.connect(service.database.owner_dsn)  # who alone may analyze
    trial = owner.transaction()
    await trial.start()
    try:
        world = await lay(cast("Tx", owner), tenant.partner, nonprofits)
        small, middle, big = nonprofits
        await owner.execute(MANY, world.partner.id, FIRST, big, small, middle, world.users[0], world.request)
        await owner.execute("analyze donation, donation_tally, donation_tally_change")
        of = {"organisation_id": big, "user_id": world.users[0], "donation_request_id": world.request}
        for narrowed, window, mode, down in product(NARROWED, WINDOWS, ("generic", "custom"), (True, False)):
            if not narrowed and not WINDOWS[window]:
                continue  # the list of all, which has its counter
            known: dict[str, Any] = {name: of.get(name, "ACTIVE") for name in narrowed.split()}
            stored = Kept(world.tx, mode)
            filters = DonationFilters(**known, **WINDOWS[window])
            await donations_store_lists.list_page(
                cast("Tx", stored), world.partner, RequestedPage(25, descending=down), filters
            )
            asked = (narrowed, window, mode, "down" if down else "up")
            most = LOOKED_AT + COUNTED.get(narrowed.split(" ")[0], 0)
            assert stored.looked_at() <= most, (asked, stored.plan())
        # No other index looks nearly as cheap: without its own one, a request's list does not go by the status.
        await owner.execute("drop index donation_of_request")
        stored = Kept(world.tx, "custom")
        filters = DonationFilters(donation_request_id=world.request)
        await donations_store_lists.list_page(
            cast("Tx", stored), world.partner, RequestedPage(25, descending=True), filters
        )
        assert "donation_with_status" not in {node.get("Index Name") for node in stored.nodes}
    finally:
        await trial.rollback()
        await owner.close()

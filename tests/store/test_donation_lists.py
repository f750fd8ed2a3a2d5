"""Lists of donations by any filters: the exact total from tallies, the rows along one index (settled 1.1; P1, P7)."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from typing import Any
from uuid import UUID, uuid4

import pytest

from almoner.giving.checkout.donations import store_lists as donations_store_lists
from almoner.giving.checkout.donations.domain import DonationFilters
from almoner.platform.database.transactions import Partner
from almoner.platform.http.paging import RequestedPage
from tests.support import factories
from tests.support.service import Service, Tenant

DAY = timedelta(days=1)
BEGAN = datetime(2026, 1, 1, 22, 30, tzinfo=UTC)
INSERT = """
insert into donation (id, partner_id, organisation_id, user_id, type, status, amount_minor, currency, consented,
                      anonymous, metadata, created_at, cover_minor, status_changed_at)
values ($1, $2, $3, $4, 'direct', 'ACTIVE', 100, 'GBP', false, false, '{}', $5, 0, $5)
"""


async def fill(service: Service, partner: Partner, seed: int) -> tuple[list[UUID], list[UUID]]:
    """Donations of five days, some cancelled: the nonprofits and the users."""
    chance, parse = Random(seed), service.db.deployment.ids.decode
    named = [parse("organisation", await factories.nonprofit(service)) for _ in range(2)]
    nonprofits = [one for one in named if one]
    async with service.db.write() as tx:
        users = []
        for _ in range(2):
            users.append(tx.new_id())
            await tx.execute(
                "insert into giving_user (id, partner_id, created_at) values ($1, $2, $3)",
                users[-1],
                partner.id,
                tx.now,
            )
        made = []
        for _ in range(120):
            at = BEGAN + chance.randrange(5 * 24 * 3600) * timedelta(seconds=1)
            made.append(UUID(int=int(at.timestamp() * 1000) << 80 | 7 << 76 | 1 << 63 | uuid4().int & 2**62 - 1))
            await tx.execute(INSERT, made[-1], partner.id, chance.choice(nonprofits), chance.choice([*users, None]), at)
    async with service.db.write() as tx:
        gone = chance.sample(made, 40)
        await tx.execute(
            "update donation set status = 'CANCELLED', cancelled_at = created_at where id = any($1)", gone[:20]
        )
        await tx.execute(
            "update donation set organisation_id = $2 where id = any($1) and status = 'ACTIVE'",
            gone[20:],
            nonprofits[0],
        )
    return nonprofits, users


def wanted(rows: Sequence[Mapping[str, Any]], filters: DonationFilters) -> list[UUID]:
    """What the filters leave, newest first, as a reader would pick them by hand."""
    return sorted(
        (
            row["id"]
            for row in rows
            if filters.user_id in (None, row["user_id"])
            and filters.organisation_id in (None, row["organisation_id"])
            and filters.status in (None, row["status"])
            and (filters.start is None or row["created_at"] >= filters.start)
            and (filters.end is None or row["created_at"] < filters.end)
        ),
        reverse=True,
    )


@pytest.mark.parametrize("gathered", ["nothing", "all", "half"])
async def test_every_combination_of_filters_has_its_rows_and_the_exact_total(
    service: Service, tenant: Tenant, gathered: str
) -> None:
    nonprofits, users = await fill(service, tenant.partner, 11)
    moments = [None, BEGAN + DAY, datetime(2026, 1, 3, tzinfo=UTC), datetime(2026, 1, 5, tzinfo=UTC), BEGAN + 9 * DAY]
    async with service.db.write() as tx:
        if gathered != "nothing":
            while (
                await donations_store_lists.refresh_donation_list_counts(tx, 50 if gathered == "half" else 10_000)
                and gathered == "all"
            ):
                pass
        rows = [dict(row) for row in await tx.fetch("select * from donation where partner_id = $1", tenant.partner.id)]
        for user, nonprofit, status, start, end in product(
            (None, users[0]), (None, nonprofits[0]), (None, "ACTIVE", "DISBURSED"), moments, moments
        ):
            filters = DonationFilters(user, nonprofit, status, None, start, end)
            if filters == DonationFilters():
                continue  # counted as it is made, which these were not
            expected = wanted(rows, filters)
            page = RequestedPage(25, descending=True)
            seen: list[UUID] = []
            while True:
                found, total = await donations_store_lists.list_page(tx, tenant.partner, page, filters)
                assert total == len(expected), filters
                seen += [one.id for one in found[:25]]
                if len(found) <= 25:
                    break
                page = RequestedPage(25, descending=True, position=(found[24].id.bytes,))
            assert seen == expected, filters


async def test_tallies_are_the_donations_whatever_was_gathered_when(service: Service, tenant: Tenant) -> None:
    await fill(service, tenant.partner, 12)
    async with service.db.write() as tx:
        await donations_store_lists.refresh_donation_list_counts(tx, 7)
    async with service.db.write() as tx:
        while await donations_store_lists.refresh_donation_list_counts(tx, 10_000):
            pass
        tallied = await tx.fetch(
            "select organisation_id, status, day, donations from donation_tally "
            "where partner_id = $1 and donations <> 0",
            tenant.partner.id,
        )
        counted = await tx.fetch(
            """
            select coalesce(organisation_id, '00000000-0000-0000-0000-000000000000') as organisation_id, status, day, n
            from (
                select organisation_id, status, (created_at at time zone 'UTC')::date as day, count(*) as n
                from donation where partner_id = $1 group by grouping sets ((1, 2, 3), (2, 3))
            ) counted
            """,
            tenant.partner.id,
        )
    assert sorted(map(tuple, tallied)) == sorted(map(tuple, counted))


async def test_the_plan_of_a_narrowed_page_is_kept(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        await tx.execute("set local plan_cache_mode = auto")  # as the service runs, and no other test
        for _ in range(10):
            await donations_store_lists.list_page(
                tx, tenant.partner, RequestedPage(25, descending=True), DonationFilters(status="ACTIVE")
            )
        stored = await tx.fetchval(
            "select sum(generic_plans) from pg_prepared_statements where statement like '%donation_tally%'"
        )
    assert stored > 0

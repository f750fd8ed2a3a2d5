"""Lists by id with their counters: planned once, and by the key alone, whoever asks."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import cast
from uuid import UUID

import pytest

from almoner.giving.checkout.donation_requests import store as requests_store
from almoner.giving.checkout.donations import store as donations_store
from almoner.giving.checkout.donations import store_lists as donations_store_lists
from almoner.giving.checkout.donations.domain import DonationFilters
from almoner.giving.checkout.sessions import store as sessions_store
from almoner.giving.subscriptions.donation_subscriptions import store as plans_store
from almoner.giving.subscriptions.donation_subscriptions.domain import SubscriptionFilters
from almoner.platform.database import counters
from almoner.platform.database.transactions import Tx
from almoner.platform.http.paging import RequestedPage
from tests.support.plans import Explaining
from tests.support.service import Service, Tenant

PAGES = [
    RequestedPage(25, descending=True),
    RequestedPage(25, descending=False),
    RequestedPage(25, descending=True, position=(UUID(int=7).bytes,)),
    RequestedPage(25, descending=True, position=(UUID(int=7).bytes,), backwards=True),
]


@pytest.mark.parametrize("page", PAGES)
async def test_p1_a_page_is_a_range_of_the_key(service: Service, tenant: Tenant, page: RequestedPage) -> None:
    async with service.db.write() as tx:
        for way in ("seqscan", "sort", "incremental_sort"):  # as if there were many rows
            await tx.execute(f"set local enable_{way} = off")
        asked = Explaining(tx)
        await donations_store_lists.list_page(cast("Tx", asked), tenant.partner, page, DonationFilters())
        await sessions_store.list_page(cast("Tx", asked), tenant.partner, page)
    wanted = {"donation_partner_id_id_key", "donation_session_partner_id_id_key", "list_counter_pkey", "partner_pkey"}
    assert asked.indexes() == wanted
    assert not asked.sorts_before_limit()


@pytest.mark.parametrize("place", PAGES)
async def test_a_sorted_page_is_a_range_of_its_index(service: Service, tenant: Tenant, place: RequestedPage) -> None:
    def at(*values: object) -> RequestedPage:
        return replace(place, position=place.position and (*values, *place.position))

    now, partner = service.clock.now(), tenant.partner
    async with service.db.write() as tx:
        for way in ("seqscan", "sort", "incremental_sort"):
            await tx.execute(f"set local enable_{way} = off")
        asked = Explaining(tx)
        sorting = cast("Tx", asked)
        await donations_store_lists.list_page(sorting, partner, at("USD", 100), DonationFilters(), "amount")
        await requests_store.list_page(sorting, partner, at(now), "dueAt")
        await plans_store.list_page(sorting, partner, at(None), SubscriptionFilters(), "nextDonationAt")
    wanted = {"donation_with_amount", "donation_request_with_due_date", "donation_subscription_with_next_donation"}
    assert asked.indexes() == wanted | {"list_counter_pkey", "partner_pkey"}
    assert not asked.sorts_before_limit()


async def test_the_plan_of_a_page_is_kept(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        for _ in range(10):
            await donations_store_lists.list_page(tx, tenant.partner, PAGES[0], DonationFilters())
        stored = await tx.fetchval(
            "select sum(generic_plans) from pg_prepared_statements where statement like '%from donation where%'"
        )
    assert stored > 0


async def test_p7_the_total_is_told_when_no_row_is_left(service: Service, tenant: Tenant) -> None:
    partner = tenant.partner
    async with service.db.write() as tx:
        await counters.add_to_list_total(tx, partner, donations_store.LIST, 3)
        assert await donations_store_lists.list_page(tx, partner, PAGES[2], DonationFilters()) == ([], 3)
        assert await counters.get_list_total(tx, partner, donations_store.LIST) == 3


async def test_writers_of_one_partner_count_without_waiting_for_each_other(service: Service, tenant: Tenant) -> None:
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(service.db.write()) for _ in range(4)]
        numbers = [await tx.fetchval("select pg_backend_pid()") for tx in opened]
        apart = {number % counters.SLOTS: tx for number, tx in zip(numbers, opened, strict=True)}
        assert len(apart) > 1
        async with asyncio.timeout(30):
            for tx in apart.values():
                await counters.add_to_list_total(tx, tenant.partner, "donation", 1)
    async with service.db.read() as tx:
        assert await counters.get_list_total(tx, tenant.partner, "donation") == len(apart)

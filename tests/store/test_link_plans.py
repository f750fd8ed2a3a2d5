"""What is asked of links, standing and followers is answered from indexes, however many bodies there are."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import cast
from uuid import UUID

import pytest

from almoner.giving.checkout.donations import store as donations
from almoner.nonprofits.categories import store as categories
from almoner.nonprofits.legal_status import store as standing
from almoner.nonprofits.merges import store as links
from almoner.nonprofits.organisations import store, store_history
from almoner.platform.database.transactions import EVERYONE, Tx
from almoner.platform.http.paging import Page
from tests.support.plans import Explaining
from tests.support.service import Service

ONE, DAY = UUID(int=1), datetime(2026, 4, 13, tzinfo=UTC)
SHORT = {"registry", "register_source", "register_part", "register_load", "register_load_part", "register_link"}
"""Tables of few rows, which are read whole."""
LISTS = ["irs-bmf", "irs-revocations", "irs-990n"]


@pytest.fixture
async def asked(service: Service) -> AsyncIterator[Explaining]:
    async with service.db.write() as tx:
        await tx.execute("set local enable_seqscan = off")
        yield Explaining(tx)


async def test_records_are_found_by_either_id_or_number_in_one_statement(asked: Explaining) -> None:
    tx = cast("Tx", asked)
    await store.find(tx, EVERYONE, ONE)
    assert len(asked.plans) == 1
    await store.find_by_number(tx, EVERYONE, ONE, "530196605")
    await store.find_many(tx, EVERYONE, [ONE])
    await store.records_of(tx, EVERYONE, [ONE])
    await store.answering(tx, EVERYONE, [ONE], ["530196605"])
    assert asked.scans() <= SHORT
    wanted = {"organisation_pkey", "organisation_same", "organisation_branches", "register_entry_current"}
    assert wanted <= asked.indexes()


async def test_what_else_tells_of_a_record_is_seen_in_the_index_alone(asked: Explaining) -> None:
    await store.find_many(cast("Tx", asked), EVERYONE, [ONE])
    kinds = {
        node["Alias"]: node["Node Type"] for node in asked.nodes() if node.get("Relation Name") == "register_entry"
    }
    assert kinds == {"other": "Index Only Scan", "e": "Index Scan"}


async def test_history_and_followers_are_found_by_load_and_organisation(asked: Explaining) -> None:
    tx = cast("Tx", asked)
    await store_history.every_change(tx, EVERYONE, ONE)
    await store_history.page_of_changes(tx, EVERYONE, ONE, Page(25, descending=True))
    await store_history.listed_at(tx, EVERYONE, ONE, DAY)
    await store_history.sources_at(tx, EVERYONE, [ONE], DAY)
    await store_history.changed_by(tx, EVERYONE, ONE, ONE, 100)
    await store_history.notified_before(tx, EVERYONE, ONE, [ONE])
    await store_history.joined_at(tx, EVERYONE, ONE, DAY)
    await store_history.had_branches(tx, EVERYONE, ONE, DAY)
    await store_history.shown_at(tx, EVERYONE, ONE, DAY)
    await categories.followers(tx, EVERYONE, [ONE])
    await donations.followers(tx, EVERYONE, [ONE])
    assert asked.scans() <= SHORT
    wanted = {"organisation_change_organisation", "organisation_change_load", "category_member_organisation"}
    wanted |= {
        "register_entry_current",
        "register_entry_history",
        "organisation_change_left_branch",
        "organisation_branding_change_organisation",
    }
    assert wanted | {"donation_to_organisation"} <= asked.indexes()


async def test_what_links_say_is_joined_by_number(asked: Explaining) -> None:
    tx = cast("Tx", asked)
    await links.steps(tx, EVERYONE)
    await links.pairs(tx, EVERYONE)
    await links.same(tx, EVERYONE)
    await links.status_overrides(tx, EVERYONE, [ONE])
    await links.overridden_by(tx, EVERYONE, ["merged"], [ONE])
    await standing.find(tx, EVERYONE, ONE, LISTS)
    await standing.find_central(tx, EVERYONE, ONE, "1961", LISTS)
    await standing.doubtful(tx, EVERYONE, ONE, LISTS, ONE, 100)
    assert asked.scans() <= SHORT
    wanted = {"organisation_number", "organisation_same", "organisation_status_override", "organisation_central"}
    assert wanted <= asked.indexes()

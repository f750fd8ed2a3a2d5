"""What is asked of links, standing and followers is answered from indexes, however many bodies there are."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import cast
from uuid import UUID

import pytest

from almoner.giving.checkout.donations import store as donations_store
from almoner.nonprofits.categories import store as categories_store
from almoner.nonprofits.legal_status import store as legal_status_store
from almoner.nonprofits.merges import store as merges_store
from almoner.nonprofits.organisations import store as organisations_store
from almoner.nonprofits.organisations import store_history as organisations_store_history
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.http.paging import RequestedPage
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
    await organisations_store.find(tx, ALL_PARTNERS, ONE)
    assert len(asked.plans) == 1
    await organisations_store.find_by_number(tx, ALL_PARTNERS, ONE, "530196605")
    await organisations_store.load_organisations_by_id(tx, ALL_PARTNERS, [ONE])
    await organisations_store.load_primary_record_ids_by_record_id(tx, [ONE])
    await organisations_store.list_registry_ids_of_primary_records(tx, [ONE], ["530196605"])
    assert asked.scans() <= SHORT
    wanted = {"organisation_pkey", "organisation_same", "organisation_branches", "register_entry_current"}
    assert wanted <= asked.indexes()


async def test_what_else_tells_of_a_record_is_seen_in_the_index_alone(asked: Explaining) -> None:
    await organisations_store.load_organisations_by_id(cast("Tx", asked), ALL_PARTNERS, [ONE])
    kinds = {
        node["Alias"]: node["Node Type"] for node in asked.nodes() if node.get("Relation Name") == "register_entry"
    }
    assert kinds == {"other": "Index Only Scan", "e": "Index Scan"}


async def test_history_and_followers_are_found_by_load_and_organisation(asked: Explaining) -> None:
    tx = cast("Tx", asked)
    await organisations_store_history.list_changes(tx, ONE)
    await organisations_store_history.list_changes_page(tx, ONE, RequestedPage(25, descending=True))
    await organisations_store_history.was_listed_as_active_at(tx, ONE, DAY)
    await organisations_store_history.list_sources_at(tx, [ONE], DAY)
    await organisations_store_history.list_records_changed_by_import(tx, ONE, ONE, 100)
    await organisations_store_history.find_already_notified_record_ids(tx, ONE, [ONE])
    await organisations_store_history.list_merged_record_ids_at(tx, ONE, DAY)
    await organisations_store_history.had_branches_at(tx, ONE, DAY)
    await organisations_store_history.find_branding_at(tx, ONE, DAY)
    await categories_store.load_categorising_partner_ids_by_organisation(tx, [ONE])
    await donations_store.load_partner_ids_with_donations_by_organisation(tx, [ONE])
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
    await merges_store.list_register_successions(tx, staged_only=False)
    await merges_store.list_duplicate_pairs(tx, staged_only=False)
    await merges_store.load_primary_record_ids_by_duplicate_id(tx, staged_only=False)
    await merges_store.list_status_overrides(tx, [ONE])
    await merges_store.list_status_overrides_by_kind_or_id(tx, ["merged"], [ONE], staged_only=False)
    await legal_status_store.find_organisation_entries(tx, ONE, LISTS)
    await legal_status_store.find_central_organisation(tx, ONE, "1961", LISTS)
    await legal_status_store.list_organisations_with_possible_status_override(tx, ONE, LISTS, ONE, 100)
    assert asked.scans() <= SHORT
    wanted = {"organisation_number", "organisation_same", "organisation_status_override"}
    assert wanted <= asked.indexes()

"""Every hot question to organisations is answered from an index, over a part of the real sample of the register.

It is small enough that reading it whole is often cheapest, so sequential scans are priced out first: one that
still there means that no index can serve.
"""

from collections.abc import AsyncIterator
from itertools import combinations
from typing import cast
from uuid import UUID

import pytest

from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.nonprofits.categories import service as categories
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations import store_search as organisations_store_search
from almoner.nonprofits.organisations.filters import OrganisationFilters
from almoner.nonprofits.organisations.store_search import SearchRequest
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registries import service as registries
from almoner.platform.database.postgres import PostgresServer
from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.http.paging import RequestedPage
from tests.support import database, irs_month
from tests.support.plans import Explaining
from tests.support.service import serving

PARTNER = Partner(UUID(int=1))
RED_CROSS = "530196605"


def part() -> bytes:
    """Every fifth row of the District, and those that are asked for."""
    header, *rows = irs_month.april().content.splitlines(keepends=True)
    stored = (row for at, row in enumerate(rows) if at % 5 == 0 or b"RED CROSS" in row or b"SMITHSONIAN" in row)
    return b"".join([header, *stored])


@pytest.fixture(scope="module")
async def register(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Database]:
    """A database with that part of the sample."""
    file = tmp_path_factory.mktemp("register") / "eo_dc.csv"
    file.write_bytes(part())
    async with database.copied(postgres_server) as made, serving(made) as service:
        await registers_flows.import_files(service.db, IrsBmfReader(), [file])
        yield service.db


@pytest.fixture
async def asked(register: Database) -> AsyncIterator[Explaining]:
    async with register.write() as tx:
        await tx.execute("set local enable_seqscan = off")
        yield Explaining(tx)


def as_tx(asked: Explaining) -> Tx:
    return cast("Tx", asked)


async def test_a_number_is_looked_up_by_its_index(asked: Explaining) -> None:
    found = await organisations.get_by_number(as_tx(asked), PARTNER, "USA", "IRS", "53-0196605")
    assert found.name == "AMERICAN NATIONAL RED CROSS"
    assert "organisation_number" in asked.indexes()
    assert asked.scans() <= {"registry"}  # seventeen rows that are read whole
    again = await organisations.get(as_tx(asked), PARTNER, found.id)
    assert again == found
    assert "organisation_pkey" in asked.indexes()


async def test_p1_a_page_reads_the_key_and_sorts_nothing(asked: Explaining) -> None:
    middle = (
        (
            await organisations.list_page(
                as_tx(asked), PARTNER, OrganisationFilters(), RequestedPage(25, descending=True)
            )
        )
        .organisations[24]
        .id
    )
    asked.plans.clear()
    for page in (
        RequestedPage(25, descending=True, position=(middle.bytes,)),
        RequestedPage(25, descending=False, position=(middle.bytes,)),
    ):
        await organisations.list_page(as_tx(asked), PARTNER, OrganisationFilters(), page)
    assert "organisation_search_pkey" in asked.indexes()
    assert "organisation" not in asked.scans()  # what is counted is read in the order it lies, no further than 10,001
    assert asked.sorts_before_limit() == []


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        (OrganisationFilters(country_code="GBR"), "organisation_search_country"),
        (OrganisationFilters(number_keys=(RED_CROSS,)), "organisation_number"),
        (OrganisationFilters(active=False), "organisation_search_inactive"),
        (OrganisationFilters(types=("education",)), "organisation_search_kinds"),
        (OrganisationFilters(tags=((UUID(int=1),),)), "organisation_search_tags"),
        (OrganisationFilters(categories=((UUID(int=1),),)), "category_member"),
    ],
)
async def test_a_rare_filter_has_an_index(asked: Explaining, filters: OrganisationFilters, index: str) -> None:
    await organisations.list_page(as_tx(asked), PARTNER, filters, RequestedPage(25, descending=True))
    assert any(name.startswith(index) for name in asked.indexes()), asked.indexes()
    assert not {"organisation", "organisation_search"} & asked.scans()


async def test_words_are_matched_by_their_index(asked: Explaining) -> None:
    found = await organisations.search_by_text(
        as_tx(asked), PARTNER, OrganisationFilters(), "red cross", 0, 25, best_first=True
    )
    assert found.organisations[0].registry_number == RED_CROSS
    assert {"organisation_search_words", "organisation_search_foremost", "organisation_search_name"} <= asked.indexes()
    assert not {"organisation", "organisation_search", "organisation_search_term"} & asked.scans()


async def test_the_statements_of_a_search_that_vary_in_nothing_but_values_are_planned_once(register: Database) -> None:
    async def planned(tx: Tx) -> int:
        return int(
            await tx.fetchval(
                "select sum(custom_plans) from pg_prepared_statements "
                "where statement like any ('{%as registry_code%,%near.word%,%known.word%}')"
            )
        )

    async def search(tx: Tx, text: str) -> None:
        await organisations.search_by_text(tx, PARTNER, OrganisationFilters(), text, 0, 25, best_first=True)

    async with register.write() as tx:
        await tx.execute("set local plan_cache_mode = auto")  # as the service runs, and no other test
        for _ in range(6):
            await search(tx, "amrican natinal red cros")
            await search(tx, "qzxv smithsonianinstitution")
        before = await planned(tx)
        for text in ("american red cross", "smithsonian inst", "amrican natinal", "the", "association of", "qzxv"):
            await search(tx, text)
        assert (before > 0, await planned(tx) - before) == (True, 0)


async def test_misspelt_words_are_looked_up_in_the_dictionary_by_its_indexes(asked: Explaining) -> None:
    found = await organisations.search_by_text(
        as_tx(asked), PARTNER, OrganisationFilters(), "amrican natinal red cros", 0, 25, best_first=True
    )
    assert found.organisations[0].registry_number == RED_CROSS
    assert {"organisation_search_term_variants", "organisation_search_term_pkey"} <= asked.indexes()
    assert not {"organisation", "organisation_search", "organisation_search_term"} & asked.scans()


async def test_words_like_nothing_one_slip_away_are_looked_up_by_trigrams(asked: Explaining) -> None:
    await organisations.search_by_text(
        as_tx(asked), PARTNER, OrganisationFilters(), "qzxv smithsonianinstitution", 0, 25, best_first=True
    )
    assert "organisation_search_term_trigrams" in asked.indexes()
    assert not {"organisation", "organisation_search", "organisation_search_term"} & asked.scans()


async def test_names_that_lack_a_word_are_looked_up_by_the_index_for_each_way(asked: Explaining) -> None:
    ways = tuple(combinations(("'smithsonian'", "'institution'", "'american'", "'museum'"), 2))
    wanted = SearchRequest(ways, (), "smithsonian institution american museum", similarity_measure="letters")
    found = await organisations_store_search.find_word_matches(
        as_tx(asked), PARTNER, OrganisationFilters(), wanted, 0, 25
    )
    assert found.candidates
    assert {"organisation_search_words", "organisation_search_foremost"} <= asked.indexes()
    assert not {"organisation", "organisation_search"} & asked.scans()


async def test_what_belongs_to_an_organisation_is_found_by_it(asked: Explaining) -> None:
    red_cross = await organisations.get_by_number(as_tx(asked), PARTNER, "USA", "IRS", RED_CROSS)
    asked.plans.clear()
    await organisations.get_effective_branding(as_tx(asked), PARTNER, red_cross.id)
    await organisations.list_donation_milestones(
        as_tx(asked), PARTNER, red_cross.id, RequestedPage(25, descending=True)
    )
    await organisations.list_changes(as_tx(asked), PARTNER, red_cross.id, RequestedPage(25, descending=True))
    await categories.load_categories_by_organisation(as_tx(asked), PARTNER, [red_cross.id])
    await registries.list_by_country(as_tx(asked), "USA")
    assert asked.scans() == set()

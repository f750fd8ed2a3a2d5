"""What is asked of lists, subjects and matches is answered from indexes, however many there are."""

from collections.abc import AsyncIterator
from typing import cast
from uuid import UUID

import pytest

from almoner.platform.database.transactions import Tx
from almoner.screening.screenings import store as screenings_store
from almoner.screening.watchlists import store as watchlists_store
from tests.support.plans import Explaining
from tests.support.service import Service

ONE = UUID(int=1)
SHORT = {"watchlist", "watchlist_load"}
"""Tables of few rows, which are read whole."""


@pytest.fixture
async def asked(service: Service) -> AsyncIterator[Explaining]:
    async with service.db.write() as tx:
        await tx.execute("set local enable_seqscan = off")
        yield Explaining(tx)


async def test_entries_are_found_by_list_and_by_load(asked: Explaining) -> None:
    tx = cast("Tx", asked)
    await watchlists_store.list_current_entries(tx, "ofac-sdn", "", 100)
    await watchlists_store.find_entries(tx, "ofac-sdn", ["1"])
    await watchlists_store.list_entries_added_by_import(tx, ONE)
    await watchlists_store.list_entries_ended_by_import(tx, ONE)
    assert asked.scans() <= SHORT
    assert {"watchlist_entry_current", "watchlist_entry_since", "watchlist_entry_until"} <= asked.indexes()
    assert asked.sorts_before_limit() == []


async def test_subjects_and_matches_are_found_by_record_by_entry_and_in_turn(asked: Explaining) -> None:
    tx = cast("Tx", asked)
    await screenings_store.lock_subject(tx, "organisation", ONE)
    await screenings_store.list_monitored_subjects(tx, ONE, 100)
    await screenings_store.list_monitored_subjects_between(tx, ONE, ONE)
    await screenings_store.list_subject_ids_screened_by_older_engine(tx, 2, ONE, 100)
    await screenings_store.has_subjects_screened_by_older_engine(tx, 2)
    await screenings_store.list_current_matches(tx, "organisation", ONE)
    await screenings_store.list_matches(tx, ONE)
    await screenings_store.list_subject_ids_with_current_matches(tx, "ofac-sdn", ["1"])
    await screenings_store.find_match(tx, ONE)
    assert asked.scans() == set()
    wanted = {"screening_subject_monitored", "screening_subject_type_subject_id_key", "screening_match_once"}
    assert wanted | {"screening_match_of_entry", "screening_subject_outdated"} <= asked.indexes()

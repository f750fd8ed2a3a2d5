"""Listed bodies are found again under every name in every form, and no registered one is taken for one of them.

Everything is asked as the service asks it: what its readers read, by ``ScreeningIndex.find_hits``. The whole lists are
asked by ``python -m bench.matching``; here those that lie in the repository are, with the same forms of their names.
"""

import csv
import gzip
from collections import Counter
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final
from uuid import UUID

import pytest

from almoner.adapters.watchlist_ofac import SAMPLE, SDN
from almoner.screening.matching.service import ENGINE_VERSION
from almoner.screening.screenings.domain import SubjectDetails
from almoner.screening.screenings.indexing import ScreeningIndex, index_entry
from almoner.screening.watchlists.domain import ListedEntity, ListedName, WatchlistEntry
from bench.matching_lists import read, version
from bench.matching_screening import ASKED_FROM, asked_of, found, places
from bench.matching_slips import KINDS

TESTS: Final = Path(__file__).parents[1]
SAMPLES: Final = TESTS.parent / "src" / "almoner" / "samples"
SEED: Final = 20261122
RECALL: Final = {ASKED_FROM[0]: 0.97, ASKED_FROM[1]: 0.97, ASKED_FROM[2]: 0.95}
"""At least so many are found, by where the body is that bears the name."""
NOBODY: Final = UUID(int=0)
SHORTER: Final = [pytest.param(1, marks=pytest.mark.long), 3]
"""All are asked, or every third one."""


@cache
def shipped() -> tuple[WatchlistEntry, ...]:
    with_addresses = read(SAMPLE, sorted((SAMPLES / "ofac_sdn" / "2024-05-03").glob("*.csv")))
    return (*with_addresses, *read(SDN, [TESTS / "data" / "ofac" / "sdn_2024-05-03.csv"]))


@cache
def lists() -> ScreeningIndex:
    stored = [one for one in map(index_entry, shipped()) if one is not None]
    return ScreeningIndex(stored, [version(code) for code in dict.fromkeys(one.origin.list for one in stored)])


def bodies() -> list[WatchlistEntry]:
    return [one for one in shipped() if one.listed.kind == "organisation"]


def registered() -> Iterator[dict[str, str]]:
    for path in sorted((SAMPLES / "us_irs_bmf" / "2026-04-13").glob("*.csv.gz")):
        with gzip.open(path, "rt", newline="") as lines:
            yield from csv.DictReader(lines)


@pytest.mark.parametrize("share", SHORTER)
def test_listed_names_are_found_again_in_other_forms(share: int) -> None:
    random = Random(SEED)
    asked, right = 0, Counter[str]()
    for entry in random.sample(bodies(), 80 // share):
        for listed in entry.listed.names:
            for change in KINDS.values():
                name = change(listed.text, random)
                asked += 1
                for way, countries in zip(ASKED_FROM, places(entry), strict=True):
                    right[way] += found(lists(), entry, "organisation", name, countries)
    assert asked > 800 // share
    shares = {way: right[way] / asked for way in ASKED_FROM}
    assert all(shares[way] >= least for way, least in RECALL.items()), shares


@pytest.mark.parametrize("share", SHORTER)
def test_hardly_any_registered_body_is_flagged(share: int) -> None:
    rows = list(registered())[::share]
    flagged = [(row["NAME"], hit.listed_name) for row in rows for hit in lists().find_hits(asked_of(row))]
    assert len(rows) > 20_000 // share
    assert len(flagged) <= len(rows) / 10_000, flagged


@pytest.mark.parametrize("share", SHORTER)
def test_no_registered_body_is_flagged_for_the_bare_name_of_somebody_abroad(share: int) -> None:
    rows = [row for row in registered() if row["STATE"]][:: 7 * share]
    named = [
        ListedEntity(row["EIN"], "organisation", (ListedName(f"{row['NAME']} LLC", "primary"),), ("RUS",))
        for row in rows
    ]
    stored = [index_entry(WatchlistEntry("own", one, "sanction", b"", NOBODY)) for one in named]
    abroad = ScreeningIndex([one for one in stored if one is not None], [version("own")])
    flagged = [row["NAME"] for row in rows if abroad.find_hits(asked_of(row))]
    assert len(rows) > 2_500 // share
    assert flagged == []
    there = SubjectDetails("organisation", (rows[0]["NAME"],), ("RUS",))
    assert [hit.entry_key for hit in abroad.find_hits(there)] == [rows[0]["EIN"]], "where it is at home it is found"


SCORED: Final = {16: "e60d3880b8211c42"}
"""What the scores below come to, by the version of the engine."""


def test_a_changed_score_has_a_new_version_of_the_engine() -> None:
    """If this fails, raise ``matching.service.ENGINE_VERSION``, so that all are compared anew, and name its digest."""
    random, scores = Random(SEED), []
    for entry in random.sample(bodies(), 100):
        name = KINDS["two slips"](entry.listed.names[0].text, random)
        for countries in places(entry):
            scores += [
                round(hit.score, 4) for hit in lists().find_hits(SubjectDetails("organisation", (name,), countries))
            ]
    assert len(scores) > 200
    assert {ENGINE_VERSION: sha256(repr(scores).encode()).hexdigest()[:16]} == SCORED

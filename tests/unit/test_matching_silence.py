"""Who is listed without a country is found by the very name; who bears a listed name by chance is not."""

import csv
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from almoner.adapters.watchlist_ofac import SAMPLE
from almoner.screening.matching.domain import PreparedEntry as Compared
from almoner.screening.matching.service import prepare_name
from almoner.screening.matching.watchlist_matcher import (
    WatchlistMatcher,
    is_exact_name_match_sufficient,
    match_entry,
    prepare_subject,
)
from almoner.screening.screenings import programmes
from almoner.screening.screenings.domain import HOME_COUNTRIES
from almoner.screening.screenings.indexing import index_entry
from almoner.screening.watchlists.domain import Kind, ListedEntity, WatchlistEntry
from almoner.screening.watchlists.domain import ListedName as Name

TESTS = Path(__file__).parents[1]
SHIPPED = TESTS.parent / "src" / "almoner" / "samples" / "ofac_sdn" / "2024-05-03"
WITHOUT_ADDRESSES = TESTS / "data" / "ofac" / "sdn_2024-05-03.csv"
COLLISIONS = TESTS / "data" / "collisions" / "bodies.csv"
FOUND = 0.9
"""The share of strong names of entries without a country that a body in the United States is told of."""


def compared(key: str, kind: Kind, names: tuple[Name, ...], *of: str, told: tuple[str, ...] = ()) -> Compared:
    listed = ListedEntity(key, kind, names, countries=told, programmes=of)
    one = index_entry(WatchlistEntry("ofac-sdn-sample", listed, "sanction", b"", UUID(int=0)))
    assert one is not None
    return one.prepared_entry


def sampled(files: list[Path]) -> Iterator[Compared]:
    for one in SAMPLE.read_entries(files):
        if isinstance(one, ListedEntity) and one.kind == "organisation":
            yield compared(one.key, one.kind, one.names, *one.programmes, told=one.countries)


@pytest.mark.parametrize("files", [sorted(SHIPPED.glob("*.csv")), [WITHOUT_ADDRESSES]], ids=["shipped", "no addresses"])
def test_the_very_name_of_who_is_listed_without_a_country_is_found(files: list[Path]) -> None:
    watched = WatchlistMatcher(sampled(files), HOME_COUNTRIES)
    asked = [
        (one.id, listed)
        for one in watched.entries
        for listed in one.names
        if not one.countries and listed not in one.weak_names
    ]
    assert len(asked) > 50
    missed = [
        name
        for key, name in asked
        if all(one.entry_id != key for one in watched.find_matches(prepare_subject([name], ["USA"])))
    ]
    assert 1 - len(missed) / len(asked) >= FOUND, missed


@pytest.mark.parametrize("name", ["HAMAS", "AL-QAIDA", "AL-QAIDA IN MESOPOTAMIA", "VTB BANK BELARUS", "KACH"])
def test_who_everybody_knows_is_seen_without_a_country(name: str) -> None:
    listed = compared("1", "organisation", (Name(name, "primary"),))
    assert match_entry(prepare_subject([name.title()], ["USA"]), listed, home_countries=HOME_COUNTRIES).requires_review
    elsewhere = compared("1", "organisation", (Name(name, "primary"),), told=("RUS",))
    assert not match_entry(
        prepare_subject([name.title()], ["USA"]), elsewhere, home_countries=HOME_COUNTRIES
    ).requires_review


def test_a_weak_alias_of_one_word_needs_more() -> None:
    weak = compared("1", "organisation", (Name("HAMAS", "weak_alias"),))
    assert not match_entry(prepare_subject(["Hamas"], ["USA"]), weak, home_countries=HOME_COUNTRIES).requires_review


@pytest.mark.parametrize("name", ["THE YOUTH", "PKK", "ALEPH", "JEWISH LEGION", "KNIGHTS OF COLUMBUS", "313"])
def test_common_words_and_initials_say_nobody(name: str) -> None:
    assert not is_exact_name_match_sufficient(prepare_name(name))


def collisions() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    with COLLISIONS.open(newline="") as lines:
        for row in csv.DictReader(lines):
            found.setdefault(f"{row['body']}, {row['state']}", []).append(row)
    return found


@pytest.mark.parametrize("rows", [pytest.param(rows, id=body) for body, rows in collisions().items()])
def test_nobody_is_flagged_for_bearing_a_listed_name_by_chance(rows: list[dict[str, str]]) -> None:
    for row in rows:
        listed, weak = row["listed"], row["kind"] == "weak_alias"
        body = prepare_subject([row["body"]], ["USA"])
        reported = Compared(
            row["entry"], (listed,), frozenset(row["countries"].split()), weak_names=(listed,) if weak else ()
        )
        assert WatchlistMatcher([reported], HOME_COUNTRIES).find_matches(body) == []
        bare = Compared(row["entry"], (listed,))
        assert WatchlistMatcher([bare], HOME_COUNTRIES).find_matches(body) == [], (
            "nor would it be, were the name strong and no country told"
        )
        near = WatchlistMatcher([reported], HOME_COUNTRIES).find_matches(
            prepare_subject([row["body"]], reported.countries)
        )
        assert near or not reported.countries, "where it is at home it is found"


def test_there_are_twelve_of_them() -> None:
    assert len(collisions()) == 12


def test_a_programme_speaks_for_its_country_and_against_nobody() -> None:
    assert programmes.countries_of_sanctions_programmes(["SDGT", "IRGC", "DPRK3", "BELARUS"]) == {"IRN", "PRK", "BLR"}
    one_word = (Name("PHOENIX", "primary"),)
    listed = compared("1", "organisation", one_word, "IRAN")
    assert match_entry(prepare_subject(["Phoenix"], ["IRN"]), listed, home_countries=HOME_COUNTRIES).requires_review
    assert not match_entry(prepare_subject(["Phoenix"], ["USA"]), listed, home_countries=HOME_COUNTRIES).requires_review
    very = compared("2", "organisation", (Name("VTB BANK BELARUS", "primary"),), "BELARUS")
    found = match_entry(prepare_subject(["VTB Bank Belarus"], ["USA"]), very, home_countries=HOME_COUNTRIES)
    assert found.requires_review
    assert all(part.finding != "country" for part in found.parts)

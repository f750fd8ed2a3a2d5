"""The readers of the Canadian list and of T3010 identification, on files made by hand."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from almoner.adapters.registers_cra import (
    CraIdentificationReader,
    CraReader,
    parse_registration_number,
    split_bilingual_name,
)
from almoner.nonprofits.registers.domain import ImportRefused
from tests.support.register_files import read

HAND = Path(__file__).parents[1] / "data" / "registers_by_hand"


def test_the_list_with_status() -> None:
    reading = read(CraReader(), HAND / "cra_list.txt")
    assert (len(reading.entries), len(reading.bad)) == (5, 4)
    assert [bad.line_number for bad in reading.bad] == [7, 8, 9, 10]
    cross = reading.number("119219814RR0001")
    assert cross.name == "THE CANADIAN RED CROSS SOCIETY"
    assert cross.display_name == "The Canadian Red Cross Society"
    assert cross.other_names == ["LA SOCIÉTÉ CANADIENNE DE LA CROIX-ROUGE"]
    assert cross.registration_date == datetime(1967, 1, 1, tzinfo=UTC)
    assert (cross.city, cross.state, cross.postcode) == ("OTTAWA", "ON", "K2P2H8")


def test_the_status_decides_who_is_active() -> None:
    reading = read(CraReader(), HAND / "cra_list.txt")
    assert {entry.number: (entry.active, entry.facts["Status"]) for entry in reading.entries} == {
        "119219814RR0001": (True, "Registered"),
        "100000009RR0001": (False, "Revoked"),
        "100000009RR0002": (True, "Registered"),
        "100000017RR0001": (False, "Annulled"),
        "876543216RR0001": (False, "Suspended"),
    }
    revoked = reading.number("100000009RR0001")
    assert revoked.facts["Effective Date of Status"] == "2019-05-11"
    assert revoked.registration_date is None  # that day is the end, not the beginning
    assert revoked.address_line_1 is None  # it names a person


def test_a_charity_that_was_registered_again_is_registered() -> None:
    rows = ["119219814RR0001,Again,Revoked,2010-02-03", "119219814RR0001,Again,Registered,2015-02-03"]
    for given in (rows, rows[::-1]):
        text = "\n".join(["BN,Legal Name,Status,Effective Date", *given])
        assert read(CraReader(), text).one.active


def test_an_unknown_status_is_a_bad_row() -> None:
    text = "BN,Legal Name,Status,Effective Date\n119219814RR0001,A,Pending,2001-02-03\n"
    (bad,) = read(CraReader(), text).bad
    assert "status" in bad.reason


def test_identification_is_no_list() -> None:
    assert not CraIdentificationReader.lists_organisations
    assert CraReader.is_format_unverified
    assert CraIdentificationReader.is_format_unverified
    with pytest.raises(ImportRefused, match="Status"):
        read(CraReader(), HAND / "cra_ident_2023.csv")


def test_identification_by_year_under_three_names_of_its_column_and_two_encodings() -> None:
    newest = read(CraIdentificationReader(), HAND / "cra_ident_2023.csv")
    older = read(CraIdentificationReader(), HAND / "cra_ident_2015.csv")
    oldest = read(CraIdentificationReader(), HAND / "cra_ident_2003.csv")
    assert (len(newest.entries), len(newest.bad)) == (2, 1)
    assert (len(older.entries), len(older.bad)) == (3, 1)
    assert (len(oldest.entries), len(oldest.bad)) == (1, 0)
    names = [reading.number("119219814RR0001").name for reading in (newest, older, oldest)]
    assert names == ["THE CANADIAN RED CROSS SOCIETY"] * 3
    assert older.number("119219814RR0001").other_names == ["LA SOCIÉTÉ CANADIENNE DE LA CROIX-ROUGE"]
    assert {entry.part for entry in newest.entries} == {"T3010 2023"}
    assert newest.number("100000009RR0002").facts == {
        "Category": "0002", "Sub Category": "02", "Designation": "A", "Country": "CA", "year": "2023",
    }  # fmt: skip


def test_a_quote_that_is_never_closed_costs_its_own_row() -> None:
    reading = read(CraIdentificationReader(), HAND / "cra_ident_2015.csv")
    (bad,) = reading.bad
    assert (bad.line_number, bad.content) == (4, "100000009RR0001")
    assert "never closed" in bad.reason
    assert reading.number("876543216RR0001").name == "Invented Northern Trust"
    assert "Érable" in reading.number("100000017RR0001").name


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("11921981RR0001", "leading zero was lost"),
        ("011921981RR0001", "check digit"),
        ("119219815RR0001", "check digit"),
        ("119219814", "no RR"),
        ("119219814RC0001", "RR and four digits"),
        ("119219814RR1", "RR and four digits"),
        ("000000000RR0001", "check digit"),
        ("", "RR and four digits"),
        ("Jane Roe", "RR and four digits"),
    ],
)
def test_a_number_is_never_completed(written: str, reason: str) -> None:
    number, wrong = parse_registration_number(written)
    assert number is None
    assert reason in wrong


@pytest.mark.parametrize("written", ["119219814RR0001", "119219814 RR 0001", "119219814rr0001"])
def test_spellings_of_one_number(written: str) -> None:
    assert parse_registration_number(written).number == "119219814RR0001"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("English name/Nom français", ["English name", "Nom français"]),
        ("English name / Nom français", ["English name", "Nom français"]),
        ("English name | Nom français", ["English name", "Nom français"]),
        ("A/C Club of Ottawa", ["A/C Club of Ottawa"]),
        ("Centre 24/7", ["Centre 24/7"]),
        ("Plain Name", ["Plain Name"]),
        (" / ", [""]),
    ],
)
def test_names_in_two_languages_are_split(name: str, parts: list[str]) -> None:
    assert split_bilingual_name(name) == parts

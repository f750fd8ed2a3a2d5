"""The reader of the Australian register, on 20 real rows and on rows made after them."""

import csv
import io
from datetime import UTC, datetime
from pathlib import Path

import pytest

from almoner.adapters.registers_acnc import (
    BENEFICIARIES,
    NEEDED,
    PURPOSES,
    STATES,
    AcncReader,
    other_organisation_names,
)
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry, RegisterLink
from tests.support.register_files import File, Reading, read, table

EXCERPT = Path(__file__).parents[1] / "data" / "au_acnc" / "datadotgov_main_excerpt.csv"
COLUMNS = next(csv.reader(io.StringIO(EXCERPT.read_text())))
GOOD = "46253211955"


def body(**columns: str) -> dict[str, str]:
    return {"ABN": GOOD, "Charity_Legal_Name": "INVENTED HARBOUR TRUST", "State": "QLD", **columns}


def taken(*rows: dict[str, str], columns: list[str] = COLUMNS) -> Reading:
    return read(AcncReader(), table(rows, columns))


def test_the_real_excerpt_is_read_to_the_last_row() -> None:
    reading = read(AcncReader(), EXCERPT)
    assert len(COLUMNS) == 69
    assert (len(reading.entries), len(reading.unnumbered), len(reading.bad), len(reading.links)) == (17, 3, 0, 1)
    assert [row.line_number for row in reading.unnumbered] == [2, 3, 4]
    university = reading.number(GOOD)
    assert university == RegisterEntry(
        number=GOOD,
        part="all",
        name="James Cook University",
        other_names=[],
        types=["nonprofit"],
        websites=[],
        address_line_1="Financial and Business Services James",
        address_line_2="James Cook University Douglas",
        city="Townsville",
        state="QLD",
        postcode="4811",
        registration_date=datetime(2012, 12, 3, tzinfo=UTC),
        prominence=7,
        facts={
            "Charity_Size": "Large",
            "purposes": ["Advancing_Education"],
            "beneficiaries": ["Aboriginal_or_TSI", "General_Community_in_Australia", "Other_Charities"],
            "operates_in": list(STATES),
            "Operating_Countries": ["SGP"],
            "Address_Type": "Business",
            "Date_Organisation_Established": "1970-01-01",
            "Financial_Year_End": "31-Dec",
            "Number_of_Responsible_Persons": "16",
        },
    )
    assert {number for entry in reading.entries if (number := entry.number)} & AcncReader.canary_numbers


def test_flags_of_the_excerpt_are_facts_and_lists() -> None:
    entries = read(AcncReader(), EXCERPT).entries
    assert sum(entry.facts.get("PBI") == "Y" for entry in entries) == 4
    assert sum(entry.facts.get("HPC") == "Y" for entry in entries) == 1
    for entry in entries:
        for fact, names in (("purposes", PURPOSES), ("beneficiaries", BENEFICIARIES)):
            assert set(entry.facts.get(fact, ())) <= set(names)  # type: ignore[call-overload]
    cut = [entry.name for entry in entries if entry.facts.get("name_may_be_cut")]
    assert cut == ["Christ Church Blacktown Anglican Church Of Australia Parish Of Blackto"]


def test_a_name_in_capitals_is_shown_readably_and_stays_what_it_is() -> None:
    entry = read(AcncReader(), EXCERPT).number("56632449211")
    assert (entry.name, entry.display_name) == ("DEAD PUPPET SOCIETY LIMITED", "Dead Puppet Society Limited")


def test_websites_are_cleaned() -> None:
    reading = read(AcncReader(), EXCERPT)
    sites = {site for entry in reading.entries for site in entry.websites}
    assert "http://legacy.com.au/taree" in sites
    assert "https://newstead2021.wordpress.com" in sites
    assert taken(body(Charity_Website="jane@harbour.example")).one.websites == []


def test_countries_by_name_are_not_taken_for_codes() -> None:
    reading = taken(body(Operating_Countries="KENYA, FIJI"))
    assert reading.one.facts.get("Operating_Countries") is None
    assert [lost.column for lost in reading.unread] == ["Operating_Countries"]
    assert taken(body(Operating_Countries="BGD, KEN;FJI")).one.facts["Operating_Countries"] == ["BGD", "KEN", "FJI"]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Careflight", ["Careflight"]),
        ("Email", []),
        ("Jane Roe", []),
        ("jane.roe@harbour.example", []),
        ("Previously known as ABN 48608437966", []),
        ("INVENTED HARBOUR TRUST", []),
        ("Harbour Trust", ["Harbour Trust"]),
        ("IHT", ["IHT"]),
        ("Jane Roe, Invented Harbour Community Services, N/A", ["Invented Harbour Community Services"]),
        ("Shirley Temple", []),
        ("Baptist Church of Somewhere", ["Baptist Church of Somewhere"]),
        ("0400 000 000", []),
        ("Harbour Trust, harbour trust", ["Harbour Trust"]),
    ],
)
def test_of_the_other_names_only_what_cannot_be_a_person_is_taken(written: str, kept: list[str]) -> None:
    assert other_organisation_names("INVENTED HARBOUR TRUST", written) == kept


def test_no_person_of_the_excerpt_is_taken_along() -> None:
    assert "REDACTED" not in repr(read(AcncReader(), EXCERPT))


def test_an_earlier_number_is_a_link_and_no_name() -> None:
    assert read(AcncReader(), EXCERPT).links == [
        RegisterLink("reregistered", "ACNC", "48608437966", "ACNC", "46352295826")
    ]
    wrong = taken(body(Other_Organisation_Names="Previously known as ABN 48608437967"))
    assert wrong.links == []


@pytest.mark.parametrize("number", ["46253211956", "4625321195", "462532119555", "٤٦٢٥٣٢١١٩٥٥", "none", "Jane Roe"])
def test_a_number_with_a_wrong_check_digit_is_a_bad_row(number: str) -> None:
    (bad,) = taken(body(ABN=number, Other_Organisation_Names="Jane Roe")).bad
    assert bad.line_number == 2
    assert "check digit" in bad.reason
    assert "Jane" not in bad.content + bad.reason


def test_a_number_with_blanks_is_the_same_number() -> None:
    assert taken(body(ABN="46 253 211 955")).one.number == GOOD


def test_a_row_without_a_number_is_legal_whatever_else_it_has() -> None:
    reading = taken(body(ABN="", Charity_Legal_Name="431228-D7J7F3"))
    assert (reading.entries, reading.bad, len(reading.unnumbered)) == ([], [], 1)


def test_older_files_name_and_order_their_columns_otherwise() -> None:
    older = ["CABN" if name == "ABN" else name.replace("_", " ") for name in reversed(COLUMNS)]
    given = body(
        Advancing_Education="Y", Charity_Size="Small", Other_Organisation_Names="IHT", Registration_Date="03/12/2012"
    )
    renamed = {"CABN" if name == "ABN" else name.replace("_", " "): value for name, value in given.items()}
    assert taken(renamed, columns=older).entries == taken(given).entries


@pytest.mark.parametrize("column", [name if isinstance(name, str) else name[0] for name in (*NEEDED, *PURPOSES)])
def test_a_file_without_a_needed_column_is_refused(column: str) -> None:
    with pytest.raises(ImportRefused, match="its format has changed"):
        taken(body(), columns=[name if name != column else f"{name}_renamed" for name in COLUMNS])


def test_a_line_that_names_a_person_is_no_address() -> None:
    entry = taken(body(Address_Line_1="C/- Jane Roe", Address_Line_2="PO Box 1")).one
    assert (entry.address_line_1, entry.address_line_2) == ("PO Box 1", None)


def test_broken_downloads_are_refused_or_told() -> None:
    text = EXCERPT.read_bytes()
    for broken in (b"", b"<!DOCTYPE html><html><body>Not found</body></html>", text.decode().encode("utf-16")):
        with pytest.raises(ImportRefused):
            read(AcncReader(), File(broken))
    cut = read(AcncReader(), File(text[:-60]))
    assert (len(cut.entries), len(cut.bad)) == (16, 1)
    emptied = taken(*[body(Charity_Legal_Name="") for _ in range(3)])
    assert (len(emptied.entries), len(emptied.bad)) == (0, 3)

"""The reader of the IRS business master file: columns by name, codes, and what goes to quarantine."""

import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime

import pytest

from almoner.adapters.capitals import readable
from almoner.adapters.registers_irs_bmf import NEEDED, IrsBmf, types_of
from almoner.nonprofits.registers.domain import BadRow, Entry, ImportRefused
from tests.support.bmf import COLUMNS, body


def read(rows: Iterable[dict[str, str]], columns: Iterable[str] = COLUMNS) -> list[Entry | BadRow]:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(columns), extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    file.seek(0)
    return list(IrsBmf().read(file))


def one(**columns: str) -> Entry:
    (entry,) = read([body("530196605", "NORTH PLATTE RELIEF FUND INC", **columns)])
    assert isinstance(entry, Entry)
    return entry


def test_a_row_becomes_an_entry() -> None:
    entry = one(RULING="196811", INCOME_CD="7", SORT_NAME="CASPER CHAPTER")
    assert entry == Entry(
        number="530196605",
        part="WY",
        name="NORTH PLATTE RELIEF FUND INC",
        display_name="North Platte Relief Fund Inc",
        other_name="CASPER CHAPTER",
        types=["nonprofit"],
        address_line_1="1 MAIN ST",
        address_line_2=None,
        city="LARAMIE",
        state="WY",
        postcode="82070-1234",
        registration_date=datetime(1968, 11, 1, tzinfo=UTC),
        group_key=None,
        is_branch_parent=False,
        usa_group_exempt=False,
        prominence=7,
    )


def test_columns_are_found_by_name_in_any_order_and_further_ones_ignored() -> None:
    row = body("530196605", "NORTH PLATTE RELIEF FUND", NEW="x")
    assert read([row], [*reversed(COLUMNS), "NEW"]) == read([row])


@pytest.mark.parametrize("column", NEEDED)
def test_a_file_without_a_needed_column_is_refused(column: str) -> None:
    with pytest.raises(ImportRefused, match=column):
        read([body("530196605", "A")], [name for name in COLUMNS if name != column])


def test_the_personal_column_is_never_taken_along() -> None:
    good, bad = read([body("530196605", "A FUND", ICO="% JANE ROE"), body("000000000", "B FUND", ICO="% JOHN ROE")])
    assert isinstance(good, Entry)
    assert isinstance(bad, BadRow)
    assert "ROE" not in repr(good)
    assert "ROE" not in bad.content
    assert "B FUND" in bad.content


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (body("12345678", "A"), "nine digits"),
        (body("000000000", "A"), "nine digits"),
        (body("\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669", "A"), "nine digits"),
        (body("530196605", "  "), "NAME is empty"),
        (body("530196605", "A\ufffdB"), "not UTF-8"),
    ],
)
def test_a_bad_row_is_put_aside_with_its_line_and_reason(row: dict[str, str], reason: str) -> None:
    good, bad = read([body("530196606", "GOOD"), row])
    assert isinstance(good, Entry)
    assert isinstance(bad, BadRow)
    assert bad.line == 3
    assert reason in bad.reason


def test_a_row_of_another_width_is_put_aside_without_its_fields() -> None:
    lines = io.StringIO(",".join(COLUMNS) + "\n530196605,A FUND,% JANE ROE,EXTRA\n", newline="")
    (bad,) = IrsBmf().read(lines)
    assert bad == BadRow(2, "the row has 4 fields, the header has 28", "530196605,A FUND")


@pytest.mark.parametrize(
    ("subsection", "deductibility", "foundation", "types"),
    [
        ("03", "1", "15", ["nonprofit"]),
        ("03", "0", "04", ["nonprofit"]),
        ("03", "1", "11", ["nonprofit", "education"]),
        ("03", "1", "13", ["nonprofit", "education"]),
        ("92", "0", "04", ["nonprofit"]),
        ("04", "2", "00", ["social_impact"]),
        ("04", "1", "00", ["nonprofit"]),
        ("19", "1", "00", ["nonprofit"]),
        ("06", "2", "00", []),
        ("07", "2", "00", []),
        ("05", "2", "00", []),
    ],
)
def test_types_follow_from_the_codes(subsection: str, deductibility: str, foundation: str, types: list[str]) -> None:
    assert types_of(subsection, deductibility, foundation) == types


def test_subordinates_and_central_bodies_of_a_group() -> None:
    subordinate, central = one(GROUP="1961", AFFILIATION="9"), one(GROUP="1961", AFFILIATION="6")
    assert (subordinate.usa_group_exempt, subordinate.is_branch_parent, subordinate.group_key) == (True, False, "1961")
    assert (central.usa_group_exempt, central.is_branch_parent, central.group_key) == (False, True, "1961")
    assert one(GROUP="0000", AFFILIATION="9").usa_group_exempt is False


def test_unknown_dates_and_places_are_null() -> None:
    assert one(RULING="000000").registration_date is None
    assert one(RULING="201213").registration_date is None
    assert one(ZIP="00000-0000").postcode is None
    assert one(ZIP="82070-0000").postcode == "82070"


def test_abroad_the_city_column_holds_the_country() -> None:
    entry = one(STATE="", STREET="OSLO 0150", CITY="NORWAY")
    assert (entry.part, entry.state, entry.city) == ("abroad", None, None)
    assert (entry.address_line_1, entry.address_line_2) == ("OSLO 0150", "NORWAY")


@pytest.mark.parametrize(
    ("capitals", "shown"),
    [
        ("MORNING STAR BAPTIST CHURCH", "Morning Star Baptist Church"),
        ("DAUGHTERS OF THE AMERICAN REVOLUTION", "Daughters of the American Revolution"),
        ("THE LIGHTHOUSE", "The Lighthouse"),
        ("YMCA OF CASPER INC", "YMCA of Casper Inc"),
        ("VFW POST 22ND ST", "VFW Post 22nd St"),
        ("ST LUKES-ROOSEVELT & MCDONALD", "St Lukes-Roosevelt & McDonald"),
        ("P A T T", "P A T T"),
        ("KNIGHTS OF COLUMBUS XII", "Knights of Columbus XII"),
        ("4-H CLUB", "4-H Club"),
        ("Already Readable", "Already Readable"),
    ],
)
def test_names_in_capitals_are_shown_readably(capitals: str, shown: str) -> None:
    assert readable(capitals) == shown

"""The reader of the IRS business master file: columns by name, codes, and what goes to quarantine."""

import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime

import pytest

from almoner.adapters.registers_irs_bmf import NEEDED, IrsBmfReader, organisation_types
from almoner.kit.title_case import to_title_case
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry, RejectedRow
from tests.support.bmf import COLUMNS, body
from tests.support.register_files import File


def read(rows: Iterable[dict[str, str]], columns: Iterable[str] = COLUMNS) -> list[RegisterEntry | RejectedRow]:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(columns), extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    found = IrsBmfReader().read([File(file.getvalue().encode(), "eo_wy.csv")])
    return [row for row in found if isinstance(row, RegisterEntry | RejectedRow)]


def written(lines: Iterable[str]) -> File:
    return File("".join(f"{line}\n" for line in lines).encode(), "eo_wy.csv")


def one(**columns: str) -> RegisterEntry:
    (entry,) = read([body("530196605", "NORTH PLATTE RELIEF FUND INC", **columns)])
    assert isinstance(entry, RegisterEntry)
    return entry


def test_a_row_becomes_an_entry() -> None:
    entry = one(RULING="196811", INCOME_CD="7", SORT_NAME="CASPER CHAPTER")
    assert entry == RegisterEntry(
        number="530196605",
        part="WY",
        name="NORTH PLATTE RELIEF FUND INC",
        display_name="North Platte Relief Fund Inc, Casper Chapter",
        secondary_name="CASPER CHAPTER",
        types=("nonprofit",),
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
        facts={
            "EIN": "530196605",
            "NAME": "NORTH PLATTE RELIEF FUND INC",
            "STREET": "1 MAIN ST",
            "CITY": "LARAMIE",
            "STATE": "WY",
            "ZIP": "82070-1234",
            "GROUP": "0000",
            "SUBSECTION": "03",
            "AFFILIATION": "3",
            "RULING": "196811",
            "DEDUCTIBILITY": "1",
            "FOUNDATION": "15",
            "STATUS": "01",
            "INCOME_CD": "7",
            "SORT_NAME": "CASPER CHAPTER",
        },
    )


def test_every_column_that_is_not_personal_is_a_fact_under_its_name() -> None:
    """Amounts are numbers; what only looks like one is text and keeps its zeros; what is empty is left out."""
    columns = [column for column in COLUMNS if column != "ICO"]
    amounts: dict[str, object] = {"ASSET_AMT": 0, "INCOME_AMT": -20, "REVENUE_AMT": 90_000_000_000}
    codes = {column: f"0{nth}" for nth, column in enumerate(columns) if column not in ("EIN", *amounts)}
    codes |= {
        "STATE": "WY",
        "DEDUCTIBILITY": "1",
        "AFFILIATION": "3",
        "GROUP": "0000",
        "INCOME_CD": "2",
        "RULING": "000000",
    }
    facts = one(ICO="% JANE ROE", **codes, **{column: str(amount) for column, amount in amounts.items()}).facts
    assert facts == {"EIN": "530196605", **codes, **amounts}
    assert len(facts) == 27
    assert "STATUS" not in one(STATUS="").facts


def test_a_file_may_lack_what_no_verdict_rests_on() -> None:
    rest = [column for column in COLUMNS if column in NEEDED]
    (entry,) = read([body("530196605", "A", ACTIVITY="001")], rest)
    assert isinstance(entry, RegisterEntry)
    assert "ACTIVITY" not in entry.facts


def test_quiet_columns_say_how_big_a_body_is_and_when_it_filed() -> None:
    """None of them says who the body is, where it is, or by what right gifts to it are deductible."""
    assert set(COLUMNS) - IrsBmfReader.ignored_columns == {
        *"ICO EIN NAME STREET CITY STATE ZIP GROUP SUBSECTION AFFILIATION CLASSIFICATION RULING".split(),
        *"DEDUCTIBILITY FOUNDATION ORGANIZATION STATUS NTEE_CD SORT_NAME".split(),
    }


@pytest.mark.parametrize("status", ["01", "02", "12", "25"])
def test_the_status_is_a_fact_and_says_nothing_of_being_active(status: str) -> None:
    entry = one(STATUS=status)
    assert (entry.facts["STATUS"], entry.active) == (status, True)


def test_columns_are_found_by_name_in_any_order_and_further_ones_ignored() -> None:
    row = body("530196605", "NORTH PLATTE RELIEF FUND", NEW="x")
    assert read([row], [*reversed(COLUMNS), "NEW"]) == read([row])


@pytest.mark.parametrize("column", NEEDED)
def test_a_file_without_a_needed_column_is_refused(column: str) -> None:
    with pytest.raises(ImportRefused, match=column):
        read([body("530196605", "A")], [name for name in COLUMNS if name != column])


def test_the_personal_column_is_never_taken_along() -> None:
    good, bad = read([body("530196605", "A FUND", ICO="% JANE ROE"), body("000000000", "B FUND", ICO="% JOHN ROE")])
    assert isinstance(good, RegisterEntry)
    assert isinstance(bad, RejectedRow)
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
        (body("530196605", "A\ufffdB"), "NAME is empty or damaged"),
        (body("530196605", "A\x00B"), "NAME is empty or damaged"),
        (body("530196605", "A", STATE="Wyoming"), "STATE is not a code"),
        (body("530196605", "A", SUBSECTION="3"), "SUBSECTION is not a code"),
        (body("530196605", "A", SUBSECTION="06", DEDUCTIBILITY="yes"), "DEDUCTIBILITY is not a code"),
    ],
)
def test_a_bad_row_is_put_aside_with_its_line_and_reason(row: dict[str, str], reason: str) -> None:
    good, bad = read([body("530196606", "GOOD"), row])
    assert isinstance(good, RegisterEntry)
    assert isinstance(bad, RejectedRow)
    assert bad.line_number == 3
    assert reason in bad.reason


def test_of_a_row_of_another_width_the_number_alone_is_kept() -> None:
    lines = [",".join(COLUMNS), "530196605,A FUND,% JANE ROE,EXTRA", "JANE ROE,530196605", ""]
    assert list(IrsBmfReader().read([written(lines)])) == [
        RejectedRow(2, "the row has 4 fields, the header has 28", "530196605", number_key="530196605"),
        RejectedRow(3, "the row has 2 fields, the header has 28", ""),
    ]


def test_a_quote_that_does_not_end_spoils_its_own_row_alone() -> None:
    """Read as CSV over the ends of lines it would swallow the bodies that follow, and they would seem to be gone."""
    good, other = body("530196605", "A"), body("530196606", "B")
    lines = [",".join(COLUMNS), *(",".join(row.values()) for row in (good, body("530196607", '"BIG FUND'), other))]
    first, bad, last = IrsBmfReader().read([written(lines)])
    assert isinstance(first, RegisterEntry)
    assert isinstance(bad, RejectedRow)
    assert isinstance(last, RegisterEntry)


def test_quoted_fields_hold_commas() -> None:
    entry = one(STREET="VANCOUVER,BC,V6A 4G2", SORT_NAME='THE "BIG" ONE')
    assert (entry.address_line_1, entry.secondary_name) == ("VANCOUVER,BC,V6A 4G2", 'THE "BIG" ONE')


def test_blanks_around_fields_are_no_part_of_them() -> None:
    entry = one(SORT_NAME=" CHAPTER ", NTEE_CD="X20 ", CITY=" CASPER")
    assert (entry.secondary_name, entry.facts["NTEE_CD"], entry.city) == ("CHAPTER", "X20", "CASPER")


def test_persons_in_whose_care_a_body_is_are_left_out_of_other_columns_too() -> None:
    named = body("530196605", "A CLUB C/O JANE ROE 1 ELM ST")
    (entry,) = read([named])
    assert isinstance(entry, RegisterEntry)
    assert (entry.name, entry.facts["NAME"]) == ("A CLUB", "A CLUB")
    entry = one(STREET="C/O JANE ROE 9 ELM ST", SORT_NAME="ATTN JOHN ROE")
    assert (entry.address_line_1, entry.facts["STREET"]) == ("9 ELM ST", "9 ELM ST")
    assert (entry.secondary_name, entry.facts.get("SORT_NAME")) == (None, None)
    assert one(STREET="C/O JANE ROE").address_line_1 is None


@pytest.mark.parametrize(
    ("state", "part"),
    [("DC", "DC"), ("PR", "PR"), ("AK", "AK"), ("", "abroad"), ("VI", "abroad"), ("AE", "abroad"), ("FM", "abroad")],
)
def test_a_part_is_what_a_file_of_its_own_is_published_for(state: str, part: str) -> None:
    """A part of two rows could vanish from one month to the next, and nothing would say that its bodies are gone."""
    assert one(STATE=state).part == part


def test_several_files_are_read_one_after_another() -> None:
    header = ",".join(COLUMNS)
    files = [written([header, ",".join(body(ein, "A").values())]) for ein in ("530196605", "000000000")]
    entry, bad = IrsBmfReader().read(files)
    assert isinstance(entry, RegisterEntry)
    assert isinstance(bad, RejectedRow)
    assert (bad.file_position, bad.line_number) == (1, 2)


@pytest.mark.parametrize(
    ("subsection", "deductibility", "foundation", "types"),
    [
        ("03", "1", "15", ("nonprofit",)),
        ("03", "0", "04", ("nonprofit",)),
        ("03", "1", "11", ("nonprofit", "education")),
        ("03", "1", "13", ("nonprofit", "education")),
        ("92", "0", "04", ("nonprofit",)),
        ("04", "2", "00", ("social_impact",)),
        ("04", "1", "00", ("nonprofit",)),
        ("19", "1", "00", ("nonprofit",)),
        ("06", "2", "00", ()),
        ("07", "2", "00", ()),
        ("05", "2", "00", ()),
    ],
)
def test_types_follow_from_the_codes(
    subsection: str, deductibility: str, foundation: str, types: tuple[str, ...]
) -> None:
    assert organisation_types(subsection, deductibility, foundation) == types


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
    assert to_title_case(capitals) == shown


def test_a_second_line_that_the_first_contains_is_shown_once() -> None:
    assert one(SORT_NAME="NORTH PLATTE RELIEF FUND").display_name == "North Platte Relief Fund Inc"
    assert one(SORT_NAME="RELIEF").display_name == "North Platte Relief Fund Inc"
    assert one(SORT_NAME="PLATTE RELIE").display_name == "North Platte Relief Fund Inc, Platte Relie"


@pytest.mark.parametrize(
    ("second", "kept"),
    [
        ("ROE JANE TTEE", None),
        ("ROE JANE & JOHN CO-TTEES", None),
        ("ROE JANE TTEE ET AL", None),
        ("JANE ROE - TREAS", None),
        ("JANE ROE EXEC DIR", None),
        ("C-O JANE ROE SECRETARY", None),
        ("C-O JANE ROE", None),
        ("CO JANE ROE", None),
        ("TREAS JANE ROE", None),
        ("FIRST STATE BANK TTEE", "FIRST STATE BANK TTEE"),
        ("BOARD OF TRUSTEES", "BOARD OF TRUSTEES"),
        ("SCHIPS TREASURE", "SCHIPS TREASURE"),
        ("COUNTY COMMITTEE", "COUNTY COMMITTEE"),
    ],
)
def test_trustees_and_officers_who_are_people_are_no_second_name(second: str, kept: str | None) -> None:
    entry = one(SORT_NAME=second)
    assert entry.secondary_name == kept
    assert ("SORT_NAME" in entry.facts) is bool(kept)

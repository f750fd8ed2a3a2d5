"""The register of the Charity Commission for Northern Ireland."""

import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from almoner.adapters.registers_ccni import NEEDED, CcniReader
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry
from tests.support.register_files import File, read
from tests.support.uk_registers import DATA, MAIL, PERSON, PHONE, ccni, northern_irish

SOURCE = CcniReader()


def one(**columns: str) -> RegisterEntry:
    """The entry of one charity."""
    return read(SOURCE, ccni([northern_irish(**columns)])).one


def test_real_rows() -> None:
    """The excerpt in the bytes of the export: every row, Windows-1252, both forms of days."""
    found = read(SOURCE, DATA / "gb_ccni" / "charitydetails.csv")
    assert (len(found.entries), found.bad) == (29, [])
    assert Counter(entry.facts["status"] for entry in found.entries) == {
        "Received": 15, "Registered": 10, "Removed": 3, "Overdue": 1,
    }  # fmt: skip
    assert sum(not entry.active for entry in found.entries) == 3
    action = found.number("100004")
    assert action.registration_date == datetime(2014, 6, 18, tzinfo=UTC)
    assert action.facts["financial_year_end"] == "2021-03-31"
    assert action.facts["reporting_days"] == 64
    assert "“the beneficiaries”" in action.description
    assert found.number("100490").name == "Bóthar Ltd"
    assert found.number("100050").city is None  # "Charity No Longer Operates"
    assert found.number("109005").facts["company_number"].startswith("NI")  # type: ignore[attr-defined]


@pytest.mark.soak
def test_whole_given_file(given_files: Path) -> None:
    """All rows of the file as published."""
    found = read(SOURCE, given_files / "gb_ccni" / "charitydetails.csv")
    assert (len(found.entries), len(found.bad), len(found.unnumbered)) == (365, 0, 0)
    assert Counter(entry.facts["status"] for entry in found.entries) == {
        "Registered": 169, "Received": 130, "Removed": 36, "Overdue": 30,
    }  # fmt: skip
    assert sum("company_number" in entry.facts for entry in found.entries) == 48
    purposes = [purpose for entry in found.entries for purpose in entry.facts["purposes"]]  # type: ignore[attr-defined]
    assert (len(purposes), len(set(purposes))) == (745, 12)
    assert "@" not in repr([entry.websites for entry in found.entries])


@pytest.mark.parametrize(
    ("status", "active", "facts"),
    [
        ("Registered", True, ("Registered", None)),
        ("Received: on time", True, ("Received", None)),
        ("Received: 9 days late", True, ("Received", 9)),
        ("Overdue: 838 days", True, ("Overdue", 838)),
        ("Removed", False, ("Removed", None)),
        ("De-registered", False, ("De-registered", None)),
    ],
)
def test_status(status: str, active: bool, facts: tuple[str, int | None]) -> None:
    """How a body reports is no loss of its registration; the days, which move each day, are told apart."""
    entry = one(Status=status)
    assert entry.active is active
    assert (entry.facts["status"], entry.facts.get("reporting_days")) == facts
    assert "reporting_days" in SOURCE.ignored_columns


def test_lists() -> None:
    """Items hold commas themselves."""
    need = "The relief of those in need by reason of youth, age, ill-health"
    entry = one(
        What_the_charity_does=f"The advancement of education,{need}",
        Who_the_charity_helps="Children (5-13 year olds),Men",
        How_the_charity_works="Arts",
    )
    assert entry.facts["purposes"] == ["The advancement of education", need]
    assert entry.facts["beneficiaries"] == ["Children (5-13 year olds)", "Men"]
    assert entry.facts["activities"] == ["Arts"]


@pytest.mark.parametrize(
    ("written", "number"), [("0", None), ("999999", None), ("", None), ("22996", "NI022996"), ("631720", "NI631720")]
)
def test_company_number(written: str, number: str | None) -> None:
    """Six digits after NI; 0 and 999999 are none."""
    assert one(Company_number=written).facts.get("company_number") == number


def test_names() -> None:
    """A backtick is an apostrophe; what people write for none is no name."""
    entry = one(Charity_name="Women`s Aid", Other_name="N/A")
    assert (entry.name, list(entry.other_names)) == ("Women's Aid", [])
    assert list(one(Other_name="PRF").other_names) == ["PRF"]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-8-sig"])
def test_encodings(encoding: str) -> None:
    """Windows-1252 as published, or UTF-8 should they change: never one read as the other."""
    rows = [northern_irish(Charity_name="Bóthar – “Cúnamh” Índia")]
    assert read(SOURCE, ccni(rows, encoding=encoding)).one.name == "Bóthar – “Cúnamh” Índia"


def test_parts_without_a_number() -> None:
    """Older exports list parts of a charity, which have no number of their own."""
    rows = [northern_irish(Sub_charity_number="0"), northern_irish(Sub_charity_number="2", Charity_name="Part")]
    found = read(SOURCE, ccni(rows, further=["Sub charity number"]))
    assert found.one.name == "Plain Relief Fund"
    assert [row.line_number for row in found.unnumbered] == [3]


def test_no_personal_data() -> None:
    """Contacts are not read, also where a website is expected; persons are cut out of addresses."""
    entry = one(Website=MAIL, Public_address=f"c/o {PERSON}, 1 High Street, Newry, BT34 1AA", Charitable_purposes=PHONE)
    assert not any(word in repr(entry) for word in (MAIL, PHONE, "Bloggs"))
    assert (entry.address_line_1, entry.city, entry.postcode) == ("1 High Street", "Newry", "BT34 1AA")


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"Reg_charity_number": "1"}, "Reg charity number has not six digits"),
        ({"Charity_name": ""}, "Charity name is empty or damaged"),
        ({"Status": ""}, "Status is empty"),
        ({"Status": "13/12/2013"}, "Status is no word"),
    ],
)
def test_bad_rows(columns: dict[str, str], reason: str) -> None:
    """A row that cannot be trusted is put aside, without contacts."""
    (bad,) = read(SOURCE, ccni([northern_irish(**columns)])).bad
    assert (bad.line_number, bad.reason) == (2, reason)
    assert MAIL not in bad.content


@pytest.mark.parametrize("column", NEEDED)
def test_every_needed_column(column: str) -> None:
    """Without any of them the file is refused."""
    header, rest = ccni([northern_irish()]).content.split(b"\r\n", 1)
    names = [b"Gone" if name == column.encode() else name for name in header.split(b",")]
    with pytest.raises(ImportRefused, match=re.escape(f"no column {column}")):
        read(SOURCE, File(b",".join(names) + b"\r\n" + rest))


def test_web_page() -> None:
    """An error page in place of the file."""
    with pytest.raises(ImportRefused, match="it is a web page"):
        read(SOURCE, b"<html><body>Too many requests</body></html>\n")

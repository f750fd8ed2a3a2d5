"""The registers of the Scottish charity regulator: no whole file was to be had, so bodies are made by hand."""

import re
from datetime import UTC, datetime

import pytest

from almoner.adapters.registers_oscr import NEEDED, OscrReader
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry
from tests.support.register_files import File, read
from tests.support.uk_registers import MAIL, PERSON, PHONE, oscr, scottish

SOURCE = OscrReader()
TRUST = "Trust (founding document is a deed of trust) (other than educational endowment)"


def one(**columns: str) -> RegisterEntry:
    """The entry of one live charity."""
    return read(SOURCE, oscr([scottish(**columns)])).one


def test_columns() -> None:
    """Blanks around the names of columns are no part of them; lists have single quotes and hold commas."""
    entry = one(
        Known_As="PRF",
        Purposes="'The prevention or relief of poverty','The relief of those in need by reason of age, ill health'",
        Beneficiaries="'Children / young people', 'Older people'",
        Activities="'It carries out activities or services itself'",
        Objectives="To feed\nthe hungry.",
        Website="www.example.org",
        Designated_religious_body="No",
        Most_recent_year_income="1200000.50",
    )
    assert (entry.number, entry.part, entry.active) == ("SC000001", "live", True)
    assert entry.registration_date == datetime(2013, 6, 17, tzinfo=UTC)
    assert list(entry.other_names) == ["PRF"]
    assert entry.facts["purposes"] == [
        "The prevention or relief of poverty",
        "The relief of those in need by reason of age, ill health",
    ]
    assert entry.facts["beneficiaries"] == ["Children / young people", "Older people"]
    assert entry.facts["activities"] == ["It carries out activities or services itself"]
    assert entry.facts["designated_religious_body"] is False
    assert (entry.facts["income"], entry.prominence) == (1_200_000, 6)
    assert entry.description == "To feed the hungry."
    assert list(entry.websites) == ["http://www.example.org"]


def test_cross_border() -> None:
    """A body that another regulator has too says so; its number there is in the list of double registrations."""
    assert one(Regulatory_Type="Cross Border").facts["regulatory_type"] == "Cross Border"


def test_both_registers() -> None:
    """A number in both is a charity today, in whatever order the files are named."""
    live = oscr([scottish(), scottish(Charity_Number="SC000002")])
    former = oscr(
        [
            scottish(Charity_Name="BEFORE", Ceased_Date="01/02/2010"),
            scottish(
                Charity_Number="SC000003", Charity_Status="Removed", Ceased_Date="31/12/2020",
                Reason_for_Removal="Charity has wound up",
            ),
        ],
        former=True,
    )  # fmt: skip
    for files in ([live, former], [former, live]):
        found = read(SOURCE, *files)
        assert [(entry.number, entry.part, entry.active) for entry in found.entries] == [
            ("SC000001", "live", True),
            ("SC000002", "live", True),
            ("SC000003", "former", False),
        ]
        assert found.entries[2].facts["removed"] == "2020-12-31"
        assert found.entries[2].until == datetime(2020, 12, 31, tzinfo=UTC)
        assert found.entries[2].facts["removal_reason"] == "Charity has wound up"


def test_parents() -> None:
    """A parent in this register is a parent; one in another register is a fact."""
    assert one(Parent_charity_number="SC000009", Parent_Charity_Name="Mother").parent_number == "SC000009"
    abroad = one(Parent_charity_number="1100001", Parent_charity_country_of_registration="England and Wales")
    assert abroad.parent_number is None
    assert abroad.facts["parent"] == {"number": "1100001", "country": "England and Wales"}


def test_office_or_trustee() -> None:
    """The address of a body corporate is its office; of others it may be a trustee's home: town and district alone."""
    office = one()
    assert (office.address_line_1, office.city, office.postcode) == ("1 High Street", "Edinburgh", "EH3 9AB")
    home = one(
        Constitutional_Form=TRUST, **{"Principal Office/Trustees Address": f"{PERSON}, 1 High Street, Edinburgh"}
    )
    assert (home.address_line_1, home.city, home.postcode) == (None, "Edinburgh", "EH3")
    assert "High Street" not in repr(home)
    alone = one(Constitutional_Form=TRUST, **{"Principal Office/Trustees Address": "Rose Cottage"})
    assert "Rose" not in repr(alone)


def test_no_contacts() -> None:
    """No e-mail address and no telephone number stays."""
    entry = one(Objectives=f"Write to {MAIL} or call {PHONE}", Website=MAIL)
    assert MAIL not in repr(entry)
    assert PHONE not in repr(entry)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"Charity_Number": "000001"}, "Charity Number is not SC and six digits"),
        ({"Charity_Name": " "}, "Charity Name is empty or damaged"),
    ],
)
def test_bad_rows(columns: dict[str, str], reason: str) -> None:
    """A row that cannot be trusted is put aside."""
    (bad,) = read(SOURCE, oscr([scottish(**columns)])).bad
    assert (bad.line_number, bad.reason) == (2, reason)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([oscr([scottish()]), oscr([scottish()])], "2 and 0 were named"),
        ([oscr([scottish()], former=True)], "0 and 1 were named"),  # of which numbers are in use again is not known
        ([File(b"")], "has no header"),
        ([File(b"<!DOCTYPE html>\n<html></html>")], "it is a web page"),
        ([File(oscr([]).content.replace(b"Charity Name ", b"Name"))], "no column Charity Name"),
    ],
)
def test_refused(files: list[File], words: str) -> None:
    """What is not the register is refused in one sentence."""
    with pytest.raises(ImportRefused, match=re.escape(words)):
        read(SOURCE, *files)


@pytest.mark.parametrize("column", NEEDED)
def test_every_needed_column(column: str) -> None:
    """Without any of them the file is refused."""
    content = oscr([scottish()]).content
    header, rest = content.split(b"\r\n", 1)
    names = [b"Gone" if name.strip() == column.encode() else name for name in header.split(b",")]
    with pytest.raises(ImportRefused, match=re.escape(f"no column {column}")):
        read(SOURCE, File(b",".join(names) + b"\r\n" + rest))

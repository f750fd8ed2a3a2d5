"""The extract of the Charity Commission for England and Wales."""

import io
import json
from datetime import UTC, datetime
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from almoner.adapters.registers_ccew import CcewReader
from almoner.adapters.registers_ccew_tables import TABLES
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry
from tests.support.register_files import File, read
from tests.support.uk_registers import (
    DATA,
    MAIL,
    PERSON,
    PHONE,
    ccew_files,
    ccew_json,
    ccew_text,
    charity,
    columns_of,
    said,
)

SOURCE = CcewReader()


def one(*others: File, **columns: str) -> RegisterEntry:
    """The entry of one charity."""
    return read(SOURCE, ccew_text("charity", [{**charity(), **columns}]), *others).one


LISTED = ("classification", "events", "working_names", "previous_names", "regulators", "areas")


def listed(entries: list[RegisterEntry], fact: str) -> int:
    """How many items a fact has in all entries."""
    found: list[Any] = [entry.facts.get(fact, ()) for entry in entries]
    return sum(sum(map(len, items.values())) if isinstance(items, dict) else len(items) for items in found)


def test_whole_extract_in_its_true_layout() -> None:
    """Every row of every table is used: the counts are those of the files."""
    found = read(SOURCE, *ccew_files(DATA / "gb_ccew"))
    assert found.bad == []
    assert len(found.entries) == 572
    assert sum(not entry.active for entry in found.entries) == 175
    assert sum(entry.parent_number is not None for entry in found.entries) == 372
    assert sum(entry.is_branch_parent for entry in found.entries) == 22
    counts = {fact: listed(found.entries, fact) for fact in LISTED}
    assert counts == {
        "classification": 1278,
        "events": 951,
        "working_names": 122,
        "previous_names": 100,
        "regulators": 32,
        "areas": 413,
    }
    assert sum("governing_document" in entry.facts for entry in found.entries) == 572
    assert [link.kind for link in found.links].count("merged") == 66
    assert [link.kind for link in found.links].count("reregistered") == 3
    assert found.number("1173550").facts["reports"] == [
        {"name": "STATEMENT OF INQUIRY", "published": "2022-04-25"},
        {"name": "INTERIM MANAGER", "published": "2023-02-10"},
    ]
    assert not {MAIL, "charity_contact_email"} & set(repr(found).split("'"))


def test_order_of_the_files_does_not_matter() -> None:
    """Tables come in any order."""
    files = ccew_files(DATA / "gb_ccew")
    assert read(SOURCE, *files).entries == read(SOURCE, *reversed(files)).entries


def test_json_is_the_same_as_text() -> None:
    """Numbers, booleans, nulls and ISO days of the JSON form say what the text says."""
    events = said(event_type="Standard registration", date_of_event="2001-02-03T00:00:00")
    in_json = read(
        SOURCE,
        ccew_json(
            "charity",
            [
                {
                    **charity(),
                    "organisation_number": 1,
                    "registered_charity_number": 1100001,
                    "linked_charity_number": 0,
                    "latest_income": 5000.0,
                    "charity_insolvent": False,
                    "date_of_registration": "2001-02-03T00:00:00",
                }
            ],
        ),
        ccew_json("charity_event_history", [events]),
        ccew_json("charity_classification", [said(classification_code="102")]),
    )
    in_text = read(
        SOURCE,
        ccew_text("charity", [charity(latest_income="5000")]),
        ccew_text("charity_event_history", [events]),
        ccew_text("charity_classification", [said(classification_code="102")]),
    )
    assert in_json.entries == in_text.entries
    assert in_json.one.prominence == 1
    assert in_json.one.facts["classification"] == ["102"]


def test_numbers_of_main_and_linked_charities() -> None:
    """All linked charities share the number of the main one."""
    found = read(
        SOURCE,
        ccew_text(
            "charity", [charity(7), charity(8, linked_charity_number="2"), charity(9, linked_charity_number="3")]
        ),
    )
    assert [entry.number for entry in found.entries] == ["1100001", "1100001-2", "1100001-3"]
    assert [entry.parent_number for entry in found.entries] == [None, "1100001", "1100001"]
    assert [entry.is_branch_parent for entry in found.entries] == [True, False, False]
    assert found.entries[1].facts["organisation_number"] == "8"


def test_number_in_use_again() -> None:
    """Of two organisations with one number the registered one is the body; the other's name is a previous one."""
    removed = charity(5, charity_name="OLD TRUST", charity_registration_status="Removed", date_of_removal="2010-01-01")
    entry = read(SOURCE, ccew_text("charity", [removed, charity(6)])).one
    assert (entry.facts["organisation_number"], entry.active) == ("6", True)
    assert entry.facts["earlier_organisation_numbers"] == ["5"]
    assert entry.facts["previous_names"] == ["OLD TRUST"]
    assert list(entry.other_names) == ["OLD TRUST"]


def test_removed_with_its_reason() -> None:
    """Inactive, with the day and the reason of the last removal."""
    entry = one(
        ccew_text(
            "charity_event_history",
            [
                said(event_type="Standard registration", date_of_event="1970-03-12 00:00:00.0000000"),
                said(event_type="Removed", date_of_event="2009-08-09", reason="Does not operate"),
                said(event_type="Re-registered", date_of_event="2011-08-13"),
                said(event_type="Removed", date_of_event="2018-11-06", reason="Ceased to exist"),
            ],
        ),
        charity_registration_status="Removed",
        date_of_registration="2011-08-13 00:00:00.0000000",
        date_of_removal="2018-11-06 00:00:00.0000000",
    )
    assert not entry.active
    assert entry.facts["removed"] == "2018-11-06"
    assert entry.until == datetime(2018, 11, 6, tzinfo=UTC)
    assert entry.facts["removal_reason"] == "Ceased to exist"
    assert entry.facts["first_registered"] == "1970-03-12"
    assert entry.facts["reregistered"] == ["2011-08-13"]
    assert entry.registration_date == datetime(2011, 8, 13, tzinfo=UTC)


def test_warnings_are_facts() -> None:
    """Insolvent, in administration, twice without accounts: registered all the same."""
    entry = one(
        charity_insolvent="True", charity_in_administration="True", charity_gift_aid="",
        charity_reporting_status="Submission Double Default",
    )  # fmt: skip
    assert entry.active
    assert entry.facts["insolvent"] is True
    assert entry.facts["in_administration"] is True
    assert entry.facts["reporting_status"] == "Submission Double Default"
    assert "gift_aid" not in entry.facts  # not known is not False
    assert one(charity_gift_aid="False").facts["gift_aid"] is False


MERGER = {"event_type": "Asset transfer out", "date_of_event": "2020-05-01", "assoc_organisation_number": "2"}


@pytest.mark.parametrize(
    ("events", "links"),
    [
        ([MERGER], [("merged", "1100001", "1100002")]),
        ([{**MERGER, "reason": "Funds transferred (incor)"}], [("reregistered", "1100001", "1100002")]),
        ([{**MERGER, "date_of_event": "2012-05-01"}], []),  # years before: a gift
        ([{**MERGER, "assoc_organisation_number": "1"}], []),
        ([MERGER, {**MERGER, "assoc_organisation_number": "3"}], []),  # wound up, with gifts to several
        ([{**MERGER, "assoc_organisation_number": "4055225"}], []),  # to somebody who is not registered
        (
            [{**MERGER, "assoc_organisation_number": "99", "assoc_registered_charity_number": "1100099"}],
            [("merged", "1100001", "1100099")],
        ),
    ],
)
def test_mergers(events: list[dict[str, str]], links: list[tuple[str, str, str]]) -> None:
    """A removed charity went into another when all its assets did, on the day of its removal."""
    rows = [
        charity(1, charity_registration_status="Removed", date_of_removal="2020-05-01"),
        charity(2, registered_charity_number="1100002"),
        charity(3, registered_charity_number="1100003"),
    ]
    history = ccew_text("charity_event_history", [said(1, **event) for event in events])
    found = read(SOURCE, ccew_text("charity", rows), history)
    assert [(link.kind, link.number, link.to_number) for link in found.links] == links
    assert all(link.at == datetime(2020, 5, 1, tzinfo=UTC) for link in found.links)


def test_merger_told_by_the_one_that_took_over() -> None:
    """A transfer in tells the same; twice told is one link, and one that was registered again is no link."""
    arrived = said(2, event_type="Asset transfer in", date_of_event="2020-05-01", assoc_organisation_number="1")
    rows = [
        charity(1, charity_registration_status="Removed", date_of_removal="2020-05-01"),
        charity(2, registered_charity_number="1100002", linked_charity_number="4"),
    ]
    events = ccew_text("charity_event_history", [arrived, said(1, **MERGER)])
    (link,) = read(SOURCE, ccew_text("charity", rows), events).links
    assert (link.number, link.to_number) == ("1100001", "1100002-4")
    assert read(SOURCE, ccew_text("charity", [charity(1), rows[1]]), events).links == []


def test_names() -> None:
    """Working and previous names find the charity, each once; Welsh ones are names as others."""
    names = [
        ("Working name", "Plain Relief"),
        ("Previous name", "YORK RELIEF FUND"),
        ("Working name", "plain relief"),
        ("Working name", "CRONFA GYMORTH"),
        ("Working name", "Plain Relief Fund"),
    ]
    rows = [said(charity_name_type=kind, charity_name=name) for kind, name in names]
    entry = one(ccew_text("charity_other_names", rows))
    assert list(entry.other_names) == ["Plain Relief", "CRONFA GYMORTH", "YORK RELIEF FUND"]
    assert entry.facts["previous_names"] == ["YORK RELIEF FUND"]
    assert (entry.name, entry.display_name) == ("PLAIN RELIEF FUND", "Plain Relief Fund")


def test_broken_and_escaped_rows() -> None:
    """A row broken before a tab is one row; a backslash escapes; a lone line end stands inside a text."""
    header = "\t".join(columns_of("charity"))
    values = {"date_of_extract": "2023-09-07", **charity()}
    values["charity_activities"] = "Feeds\nthe hungry in \\\\York"
    values["charity_name"] = 'PLAIN \\"RELIEF\\" FUND'
    line = "\t".join(values.get(column, "") for column in columns_of("charity"))
    broken = line.replace("\t1 High Street", "\r\n\t1 High Street")
    entry = read(SOURCE, File(f"{header}\r\n{broken}\r\n".encode(), "publicextract.charity.txt")).one
    assert entry.description == "Feeds the hungry in \\York"
    assert entry.name == 'PLAIN "RELIEF" FUND'
    assert entry.city == "YORK"


def test_text_that_ends_in_a_backslash() -> None:
    """It escapes no tab: the number of fields tells."""
    assert one(charity_contact_address1="2 High Street\\").city == "YORK"


def test_converted_line_ends() -> None:
    """A file with bare line feeds reads the same."""
    file = ccew_text("charity", [charity(1), charity(2, registered_charity_number="1100002")])
    converted = File(file.content.replace(b"\r\n", b"\n"), file.name)
    assert read(SOURCE, converted).entries == read(SOURCE, file).entries


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"registered_charity_number": "12"}, "registered_charity_number has not 6 or 7 digits"),
        ({"linked_charity_number": ""}, "linked_charity_number is not a number"),
        ({"organisation_number": "x"}, "organisation_number is not a number"),
        ({"charity_name": " "}, "charity_name is empty or damaged"),
        ({"charity_registration_status": ""}, "charity_registration_status is neither Registered nor Removed"),
        ({"charity_name": "A\x00B"}, "charity_name is empty or damaged"),
        ({"charity_name": "A\tB"}, "the row has 35 fields, the header has 34"),
    ],
)
def test_bad_rows(columns: dict[str, str], reason: str) -> None:
    """A row that cannot be trusted is put aside with its reason, without contacts."""
    row = {**charity(1), **columns}
    bad = read(SOURCE, ccew_text("charity", [row])).bad
    assert [found.reason for found in bad] == [reason]
    assert MAIL not in repr(bad)
    assert PHONE not in repr(bad)


def test_same_organisation_twice() -> None:
    """The second row is put aside."""
    found = read(SOURCE, ccew_text("charity", [charity(1), charity(1)]))
    assert len(found.entries) == 1
    assert "the organisation number stands twice in the table" in [row.reason for row in found.bad]


def test_what_tables_are_lacking_is_told() -> None:
    """A load without a table counts, and says what it does not know."""
    found = read(SOURCE, ccew_text("charity", [charity()]))
    assert len(found.notes) == len(TABLES) - 1
    assert found.bad == []
    assert found.notes[1].text == (
        "the table charity_classification is not among the files; not known: classification, and with it activity tags"
    )


def zipped(content: bytes, name: str) -> bytes:
    """A zip of one file."""
    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


class CutOff(File):
    """A member of a zip that ends before its time."""

    def lines(self, encoding: str) -> "io.TextIOWrapper":
        """Lines, then the error of the zip."""
        packed = bytearray(zipped(self.content, self.name))
        packed[60] ^= 0xFF
        return io.TextIOWrapper(ZipFile(io.BytesIO(packed)).open(self.name), encoding=encoding)


CHARITIES = ccew_text("charity", [charity(nth, registered_charity_number=str(1100000 + nth)) for nth in range(1, 500)])
IN_JSON = ccew_json("charity", [charity(1), charity(2, registered_charity_number="1100002")])


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([], "the table 'charity' is not among the files"),
        ([ccew_text("charity_classification", [])], "the table 'charity' is not among the files"),
        ([CHARITIES, CHARITIES], "the table charity is there twice"),
        ([File(b"", "charity.xlsx")], "charity.xlsx is not a table of the extract"),
        ([File(b"", CHARITIES.name)], "has no column organisation_number"),
        ([File(b"<!DOCTYPE html>\r\n<html>", CHARITIES.name)], "has no column organisation_number"),
        ([File(IN_JSON.content, CHARITIES.name)], "contains JSON: its name must end in .json"),
        ([File(b"[{}]", CHARITIES.name)], "contains JSON: its name must end in .json"),
        ([File(CHARITIES.content.decode().encode("utf-16"), CHARITIES.name)], "has no column"),
        ([ccew_text("charity", [], columns=columns_of("charity")[:-4])], "has no column charity_gift_aid, charity_has"),
        ([CutOff(CHARITIES.content, CHARITIES.name)], "is cut off or damaged"),
        ([File(IN_JSON.content[:-40], IN_JSON.name)], "is not JSON, or is truncated"),
        ([File(b'{"value": []}', IN_JSON.name)], "is not a JSON array"),
        ([File(b"<html>", IN_JSON.name)], "is not JSON, or is truncated"),
        ([File(b'[{"a": "\xff"}]', IN_JSON.name)], "is not JSON, or is truncated"),
        ([File(b'[{"a": ' + b"9" * 5000 + b"}]", IN_JSON.name)], "more than a thousand digits"),
        ([File(b'[{"a": 1e' + b"9" * 900 + b"}]", IN_JSON.name)], "is not JSON, or is truncated"),
        ([File(b"[" * 100_000, IN_JSON.name)], "nested deeper"),
    ],
)
def test_refused(files: list[File], words: str) -> None:
    """What is no extract, or not whole, is refused in one sentence."""
    with pytest.raises(ImportRefused, match=words.replace("(", r"\(")):
        read(SOURCE, *files)


def test_no_personal_data() -> None:
    """Contacts are not read; persons are cut out of addresses, contacts out of texts and websites."""
    entry = one(
        ccew_text("charity_governing_document", [said(charitable_objects=f"RELIEF. ASK {MAIL} OR {PHONE}.")]),
        charity_contact_address1=f"c/o {PERSON}",
        charity_contact_address2="2 Low Road",
        charity_contact_address3="LEEDS",
        charity_contact_address4="WEST YORKSHIRE",
        charity_contact_web=MAIL,
        charity_activities=f"Food for all. Call {PHONE} or write to {MAIL}",
    )
    assert not any(word in repr(entry) for word in (MAIL, PHONE, "Bloggs"))
    assert (entry.address_line_1, entry.city, entry.state) == ("2 Low Road", "LEEDS", "WEST YORKSHIRE")
    assert list(entry.websites) == []


def test_trustees_are_never_read() -> None:
    """The table may lie among the files; it is not opened."""

    class Closed(File):
        def lines(self, encoding: str) -> "io.TextIOWrapper":
            raise AssertionError(encoding)

    trustees = Closed(json.dumps({"trustee_name": PERSON}).encode(), "publicextract.charity_trustee.txt")
    assert read(SOURCE, ccew_text("charity", [charity()]), trustees).one.name == "PLAIN RELIEF FUND"

"""The reader of the New Zealand register, on files made by hand."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from almoner.adapters.registers_nzcs import NzcsReader, parse_odata_date
from almoner.nonprofits.registers.domain import ImportRefused
from tests.support.register_files import File, read

HAND = Path(__file__).parents[1] / "data" / "registers_by_hand"


@pytest.mark.parametrize("name", ["nzcs_plain.json", "nzcs_results.json"])
def test_both_envelopes_give_the_same(name: str) -> None:
    reading = read(NzcsReader(), HAND / name)
    assert (len(reading.entries), len(reading.bad)) == (2, 1)
    trust, ended = reading.entries
    assert (trust.number, trust.name, trust.display_name) == (
        "CC12345",
        "INVENTED HARBOUR TRUST",
        "Invented Harbour Trust",
    )
    assert (trust.active, trust.registration_date) == (True, datetime(2013, 6, 17, tzinfo=UTC))
    assert (trust.address_line_1, trust.address_line_2, trust.city) == ("1 Invented Road", "Harbour", "Wellington")
    assert trust.websites == ["http://www.harbour.example"]
    assert trust.facts["MainSectorId"] == "4"
    assert trust.facts["IsIncorporated"] == "true"
    assert (ended.active, ended.facts["DeregistrationDate"]) == (False, "2017-07-14")
    assert ended.until == datetime(2017, 7, 14, tzinfo=UTC)
    assert ended.address_line_1 == "PO Box 1"
    assert (reading.bad[0].line_number, reading.bad[0].content) == (3, "number=CC123; Name=Number Too Short")


@pytest.mark.parametrize("name", ["nzcs_plain.json", "nzcs_results.json", "nzcs.csv"])
def test_officers_and_their_addresses_are_never_read(name: str) -> None:
    assert "Jane" in (HAND / name).read_text()
    assert "jane" not in repr(read(NzcsReader(), HAND / name)).lower()
    assert "555" not in repr(read(NzcsReader(), HAND / name))


def test_the_same_as_csv() -> None:
    reading = read(NzcsReader(), HAND / "nzcs.csv")
    assert (len(reading.entries), len(reading.bad)) == (2, 0)
    trust, ended = reading.entries
    assert trust.registration_date == datetime(2013, 6, 17, tzinfo=UTC)
    assert (ended.active, ended.facts["DeregistrationDate"]) == (False, "2017-07-14")


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("/Date(1371427200000)/", "2013-06-17"),
        ("/Date(1371427200000+1200)/", "2013-06-17"),
        ("/Date(-2208988800000)/", "1900-01-01"),
        ("/Date(999999999999999)/", None),
        ("/Date()/", None),
        ("2013-06-17T00:00:00", "2013-06-17"),
        ("", None),
    ],
)
def test_days(written: str, day: str | None) -> None:
    found = parse_odata_date(written)
    assert (f"{found:%Y-%m-%d}" if found else None) == day


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b'{"d":[]}',
        b'{"d":[{"Name":"A"}]}',
        b"<html></html>",
        b'{"d":[{"Name":"A"',
        b"[" * 50_000,
        b"\xff",
        b'{"value":[]}',
    ],
)
def test_what_is_not_this_register_is_refused(content: bytes) -> None:
    with pytest.raises(ImportRefused):
        read(NzcsReader(), File(content, "Organisations.json"))


def test_a_text_without_an_end_and_endless_nesting_are_refused() -> None:
    with pytest.raises(ImportRefused, match="many megabytes"):
        read(NzcsReader(), b'{"d":[{"Name":"' + b"x" * (20 << 20) + b'"}]}')
    with pytest.raises(ImportRefused, match="nested"):
        read(NzcsReader(), b'{"d":[{"a":' + b"[" * 1000 + b"]" * 1000 + b"}]}")


def test_a_renamed_member_is_refused() -> None:
    text = (HAND / "nzcs_plain.json").read_text().replace("CharityRegistrationNumber", "CharityNumber")
    with pytest.raises(ImportRefused, match="CharityRegistrationNumber"):
        read(NzcsReader(), text)


def test_text_that_cannot_be_stored_is_no_reason_to_stop() -> None:
    row = {"Name": "A\ud800\x00B", "CharityRegistrationNumber": "CC12345", "RegistrationStatus": "Registered"}
    reading = read(NzcsReader(), json.dumps({"d": [row, {**row, "Name": 7}]}))
    for entry in reading.entries:
        entry.name.encode("utf-8")
        assert "\x00" not in entry.name
    assert len(reading.entries) + len(reading.bad) == 2


def test_statuses_that_nobody_knows_are_bad_rows() -> None:
    row = {"Name": "A", "CharityRegistrationNumber": "CC12345", "RegistrationStatus": "Paused"}
    (bad,) = read(NzcsReader(), json.dumps({"d": [row]})).bad
    assert "status" in bad.reason

"""The reader of the Dutch register, on a file made by hand."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from almoner.adapters.registers_anbi import AnbiReader
from almoner.adapters.registers_rulings import select_current_or_latest_rulings
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry
from tests.support.register_files import File, read

HAND = Path(__file__).parents[1] / "data" / "registers_by_hand"
TEXT = (HAND / "anbi.xml").read_text("utf-8")


def record(**members: str) -> str:
    return "<beschikking>" + "".join(f"<{name}>{value}</{name}>" for name, value in members.items()) + "</beschikking>"


def test_the_records_of_the_file() -> None:
    reading = read(AnbiReader(), HAND / "anbi.xml")
    assert (len(reading.entries), len(reading.unnumbered), len(reading.bad)) == (3, 1, 1)
    assert reading.entries[0] == RegisterEntry(
        number="123456782",
        part="all",
        name="Stichting Verzonnen Haven",
        other_names=["De Haven & Vrienden"],
        types=["nonprofit"],
        websites=["http://www.haven.example"],
        city="ROTTERDAM",
        registration_date=datetime(2008, 1, 1, tzinfo=UTC),
    )
    assert reading.unnumbered[0].line_number == 6
    assert "eleven test" in reading.bad[0].reason
    assert reading.bad[0].line_number == 7


def test_a_ruling_that_ended_is_not_active_and_winding_up_is_told() -> None:
    reading = read(AnbiReader(), HAND / "anbi.xml")
    ended = reading.number("100000010")
    assert (ended.active, ended.facts) == (False, {"eindDatum": "2020-12-31"})
    winding_up = reading.number("100000009")
    assert (winding_up.active, winding_up.facts) == (True, {"in_liquidatie": True})


def test_an_end_that_is_no_day_tells_neither_that_it_stands_nor_that_it_ended() -> None:
    (bad,) = read(AnbiReader(), f"<a>{record(fiscaalNummer='123456782', naam='A', eindDatum='onbekend')}</a>").bad
    assert bad.number_key == "123456782"


@pytest.mark.parametrize("end", ["99991231", "9999-12-31", "00010101", "00000000"])
def test_an_end_that_is_not_in_sight_is_none(end: str) -> None:
    entry = read(AnbiReader(), f"<a>{record(fiscaalNummer='123456782', naam='A', eindDatum=end)}</a>").one
    assert (entry.active, entry.until, entry.facts) == (True, None, {})


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_a_body_stands_when_one_of_its_rulings_does(order: tuple[int, ...]) -> None:
    number = {"fiscaalNummer": "123456782"}
    rulings = [
        record(**number, naam="Oud", eindDatum="20101231"),
        record(**number, naam="Nieuw", ingangsDatum="20150101"),
        record(**number, naam="Tussen", eindDatum="20141231"),
    ]
    entry = read(AnbiReader(), f"<a>{''.join(rulings[place] for place in order)}</a>").one
    assert (entry.name, entry.active) == ("Nieuw", True)


def test_of_rulings_that_all_ended_the_latest_is_told() -> None:
    number = {"fiscaalNummer": "123456782"}
    older, newer = (record(**number, naam=day, eindDatum=day) for day in ("20101231", "20141231"))
    for document in (f"<a>{older}{newer}</a>", f"<a>{newer}{older}</a>"):
        entry = read(AnbiReader(), document).one
        assert (entry.name, entry.active) == ("20141231", False)


def test_more_ended_rulings_than_any_register_has_are_refused() -> None:
    entries = [entry for entry in read(AnbiReader(), HAND / "anbi.xml").entries if not entry.active]
    with pytest.raises(ImportRefused, match="have ended"):
        list(select_current_or_latest_rulings([(entry, None) for entry in entries], max_ended_organisations=0))


@pytest.mark.parametrize(
    "document",
    [
        '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><a><beschikking><naam>&b;</naam></beschikking></a>',
        '<!DOCTYPE a [<!ENTITY a0 "ha"><!ENTITY a1 "&a0;&a0;&a0;"><!ENTITY a2 "&a1;&a1;&a1;">]><a>&a2;</a>',
        '<!DOCTYPE a SYSTEM "http://example.com/a.dtd"><a/>',
    ],
)
def test_documents_with_a_dtd_are_refused(document: str) -> None:
    with pytest.raises(ImportRefused, match="DTD"):
        read(AnbiReader(), document)


@pytest.mark.parametrize(
    "document", [b"", b"<a>", b"no xml", b"<html><body>Not found</body></html>", TEXT.encode()[:-40], b"\xff\xfe\x00"]
)
def test_broken_downloads_are_refused(document: bytes) -> None:
    with pytest.raises(ImportRefused):
        read(AnbiReader(), File(document, "anbi.xml"))


def test_a_renamed_element_is_refused() -> None:
    with pytest.raises(ImportRefused, match="fiscaalNummer"):
        read(AnbiReader(), TEXT.replace("fiscaalNummer", "rsin"))


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(ImportRefused, match="nested"):
        read(AnbiReader(), "<a>" * 1000)


def test_an_endless_text_is_cut() -> None:
    entry = read(AnbiReader(), f"<a>{record(fiscaalNummer='123456782', naam='A' * 1_000_000)}</a>").one
    assert len(entry.name) < 200_000


def test_names_with_a_prefix_and_other_encodings() -> None:
    document = TEXT.replace("<beschikking>", "<n:beschikking>").replace("</beschikking>", "</n:beschikking>")
    document = document.replace("<anbi>", '<anbi xmlns:n="urn:a">').replace('encoding="UTF-8"', 'encoding="ISO-8859-1"')
    assert read(AnbiReader(), document.encode("latin-1")).entries == read(AnbiReader(), TEXT).entries


def test_the_day_on_which_a_ruling_ends_is_told() -> None:
    entry = read(AnbiReader(), f"<a>{record(fiscaalNummer='123456782', naam='A', eindDatum='20991231')}</a>").one
    assert (entry.active, entry.until) == (False, datetime(2099, 12, 31, tzinfo=UTC))

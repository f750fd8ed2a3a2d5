"""Tables of text as registers publish them, and values in their many spellings."""

import random
import re
import tracemalloc
from collections.abc import Iterator

import pytest

from almoner.adapters.registers_tables import (
    MAX_LINE_BYTES,
    DelimitedTable,
    TableRow,
    build_line_decoder,
    decode_utf8_or_windows_1252,
    read_lines,
)
from almoner.adapters.registers_values import (
    drop_care_of_lines,
    parse_compact_date,
    parse_date,
    parse_day_month_year_date,
    parse_iso_date,
    parse_websites,
    redact_non_numeric_text,
    single_line_address,
    strip_contact_details,
    two_line_address,
)
from almoner.nonprofits.registers.domain import ImportRefused, RejectedRow
from tests.support.register_files import File


def rows(text: str | bytes, **options: object) -> list[list[str] | str]:
    content = text if isinstance(text, bytes) else text.encode()
    table = DelimitedTable(File(content), **options)  # type: ignore[arg-type]
    return [row.fields if isinstance(row, TableRow) else row.reason for row in table]


def test_rows_under_their_header() -> None:
    assert rows('\ufeffa,b\r\n1,"2, or 3"\r\n\r\n4,"say ""so"""\r\n') == [["1", "2, or 3"], ["4", 'say "so"']]


def test_lines_are_utf_8_or_windows_1252_each_by_itself() -> None:
    text = "a,b\n1,é\n".encode() + "2,é “x”\n".encode("cp1252") + b"3,\x81\n"
    assert rows(text) == [["1", "é"], ["2", "é “x”"], ["3", "\x81"]]
    assert decode_utf8_or_windows_1252(b"plain") == "plain"
    assert build_line_decoder("utf-8")(b"\xff") == "\ufffd"


def test_a_field_may_hold_lines() -> None:
    assert rows('a,b\n1,"x\r\ny"\n2,z\n') == [["1", "x\ny"], ["2", "z"]]


def test_a_quote_inside_a_field_is_a_letter() -> None:
    assert rows('a,b\n1,5" pipe\n2,"x" and y\n') == [["1", '5" pipe'], ["2", "x and y"]]


def test_a_quote_that_is_never_closed_costs_its_own_row() -> None:
    found = rows('a,b\n1,"x\n' + "".join(f"{nth},y\n" for nth in range(500)))
    assert found[0] == "a quote in the row is never closed"
    assert found[1:] == [[str(nth), "y"] for nth in range(500)]


def test_two_such_quotes_cost_what_lies_between_no_more() -> None:
    found = rows('a,b\n1,"x\n2,y\n3,"z\n4,w\n')
    assert [row for row in found if isinstance(row, list)] == [["2", "y"], ["4", "w"]]


def test_rows_of_another_width_tell_their_number_alone() -> None:
    table = DelimitedTable(File(b"n,a\nW123,Jane Roe,x\n"), number=re.compile("W[0-9]+"))
    assert list(table) == [RejectedRow(2, "the row has 3 fields, the header has 2", "W123")]


def test_empty_columns_at_the_end_are_passed_over() -> None:
    assert rows("a,b\n1,2,,\n") == [["1", "2"]]


def test_a_line_without_an_end_takes_no_memory() -> None:
    content = b"a,b\n" + b"x" * (MAX_LINE_BYTES * 3) + b"\n1,2\n"
    assert rows(content) == ["the line is longer than a mebibyte", ["1", "2"]]
    assert list(read_lines(File(b"y" * (MAX_LINE_BYTES + 1)).open_binary())) == [None]


@pytest.mark.parametrize("content", [b"", b"\n\n", "a,b\n".encode("utf-16"), b"\x00\n"])
def test_a_file_without_a_header_is_refused(content: bytes) -> None:
    with pytest.raises(ImportRefused, match="no header"):
        DelimitedTable(File(content))


def test_missing_columns_are_named_and_a_web_page_is_told() -> None:
    with pytest.raises(ImportRefused, match="no column b, c: it is not this register"):
        DelimitedTable(File(b"a\n")).get_column_indexes("a", "b", ("c", "d"))
    with pytest.raises(ImportRefused, match="web page"):
        DelimitedTable(File(b"<!DOCTYPE html>\n")).get_column_indexes("a")
    with pytest.raises(ImportRefused, match="twice"):
        DelimitedTable(File(b"a,A\n")).get_column_indexes("a")


class Endless:
    """A file of many rows that is never in memory as a whole."""

    name = "endless.csv"

    def __init__(self, size: int) -> None:
        self._left, self._row = size, b'1,"' + b"x" * 200 + b'"\n'
        self._begun = False

    def open_binary(self) -> "Endless":
        return self

    def lines(self, encoding: str) -> Iterator[str]:
        raise AssertionError

    def read(self, size: int) -> bytes:
        if not self._begun:
            self._begun = True
            return b"a,b\n"
        if self._left <= 0:
            return b""
        count = size // len(self._row)
        self._left -= count * len(self._row)
        return self._row * count


def test_memory_does_not_grow_with_the_file() -> None:
    def peak(size: int) -> int:
        tracemalloc.start()
        try:
            for row in DelimitedTable(Endless(size)):  # type: ignore[arg-type]
                assert isinstance(row, TableRow)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(4 << 20) < peak(1 << 20) * 1.5


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("www.a.example", ["http://www.a.example"]),
        ("HTTPS://A.example/", ["https://a.example"]),
        ("http:/a.example/b?c=1", ["http://a.example/b?c=1"]),
        ("a.example; b.example, a.example", ["http://a.example", "http://b.example"]),
        ("jane@a.example", []),
        ("none", []),
        ("N/A", []),
        ("http://", []),
        ("javascript:alert(1)", []),
        ("mailto:jane@a.example", []),
        ("http://jane:pass@a.example", []),
        ("hafen-für-alle.example", ["http://hafen-für-alle.example"]),
        ("192.0.2.1", []),
    ],
)
def test_websites(written: str, found: list[str]) -> None:
    assert parse_websites(written) == found


@pytest.mark.parametrize(
    "line",
    ["c/o Jane Roe", "C/- J Roe", "C/O: Jane", "Care of Jane", "% Jane", "Attn: Jane", "chez Mme Roe", "Mme Roe",
     "t.a.v. J. Roe", "Mrs J Roe", "jane@a.example", "p/a: Roe"],
)  # fmt: skip
def test_lines_that_name_a_person_are_no_address(line: str) -> None:
    assert drop_care_of_lines([line, "1 Invented Road"]) == ["1 Invented Road"]


@pytest.mark.parametrize(
    "line", ["Chezwick Lane 1", "Attnang 3", "Drury Lane", "Mission House", "Corner of A and B", "Moore St"]
)
def test_other_lines_stay(line: str) -> None:
    assert drop_care_of_lines([line]) == [line]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("PO Box 1, c/o Jane Roe", "PO Box 1"),
        ("PO Box 1 C/- Jane Roe, Leeds", "PO Box 1"),
        ("1 rue Inventée chez Mme Roe", "1 rue Inventée"),
        ("12 Cedar Avenue", "12 Cedar Avenue"),
        ("Maison Chez Nous", "Maison Chez Nous"),
    ],
)
def test_what_names_a_person_at_the_end_of_a_line_is_cut(line: str, kept: str) -> None:
    assert drop_care_of_lines([line]) == [kept]


def test_addresses_of_one_and_of_many_columns() -> None:
    assert single_line_address("c/o Jane Roe, 1 Road, , Cork") == "1 Road, Cork"
    assert single_line_address("c/o Jane Roe") is None
    assert two_line_address(["", " 1  Road", "Flat 2", "Area"]) == ("1 Road", "Flat 2, Area")
    assert two_line_address([]) == (None, None)


def test_free_text_without_contacts() -> None:
    assert strip_contact_details("To help. Write to jane@a.example or +353 1 555 0199.") == "To help. Write to  or ."
    assert strip_contact_details("Founded 1999 with 2000000 trees") == "Founded 1999 with 2000000 trees"


def test_days_in_their_spellings() -> None:
    spellings = [
        parse_iso_date("2013-06-17T00:00:00+12:00"),
        parse_iso_date("2013-06-17"),
        parse_day_month_year_date("17/6/2013 12:00:00 AM"),
        parse_compact_date("20130617"),
    ]
    assert {f"{day:%Y-%m-%d}" for day in spellings if day} == {"2013-06-17"}
    assert None not in spellings
    for nothing in ("", "0001-01-01", "2013-13-01", "2013-02-30", "٢٠١٣-٠٦-١٧", "x"):
        assert parse_iso_date(nothing) is None
    assert parse_day_month_year_date("31/02/2013") is None
    for written in ("17.06.2013", "17.6.2013 00:00:00", "2013/06/17", "2013.06.17", "17th June 2013", "17-JUN-2013"):
        assert parse_date(written) == spellings[0], written
    for written in ("June 17, 2013", "Jun 17 2013", "JUNE 17TH, 2013"):
        assert parse_date(written) == spellings[0], written
    for written in ("2013-6-17", "2013/6/17", "2013-06-17 12:00 AM", "2013-06-17 00:00:00 UTC", "2013-06-17T00:00:00z"):
        assert parse_date(written) == spellings[0], written
    assert parse_date("5 Sept 2010") == parse_date("Sept 5, 2010") == parse_date("2010-09-05")
    for unclear in ("17-06-2013", "06-17-2013", "17/06.2013", "2013-06/17", "17 Juni 2013", "17/06/13", "June 2013"):
        assert parse_date(unclear) is None, unclear
    assert parse_compact_date("00000000") is None


def test_what_stands_in_the_place_of_a_number_is_shown_only_if_it_looks_like_one() -> None:
    assert redact_non_numeric_text("119219814RR0001") == "119219814RR0001"
    assert redact_non_numeric_text("Jane Roe") == "(no number)"


def test_any_mixture_of_quotes_gives_rows_or_reasons() -> None:
    chance = random.Random(7)
    for _ in range(300):
        text = "a,b\n" + "".join(chance.choice('ab,"\n\r;x') for _ in range(200))
        assert all(row for row in rows(text))

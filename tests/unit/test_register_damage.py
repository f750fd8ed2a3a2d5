"""One damaged value, in each column of each register: the row is read without it, or is rejected under its number.

Nothing disappears: what the merge needs to know whose row it was (its number, or else its name) is always told.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from almoner.adapters import registers_ccni, registers_oscr
from almoner.adapters.registers_irs_990n import Irs990NReader
from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.adapters.registers_irs_pub78 import IrsPub78Reader
from almoner.adapters.registers_irs_revocations import IrsRevocationsReader
from almoner.adapters.registers_mapped import MappedRegisterReader
from almoner.adapters.registers_mapping import load_mapping
from almoner.adapters.registers_values import ValueReader as Values
from almoner.adapters.registers_values import clean_text, parse_date, parse_whole_amount, redact_unreadable_value
from almoner.nonprofits.registers.ports import RegisterSource
from almoner.nonprofits.registries.domain import parse_number_key
from almoner.sources import REGISTER_SOURCES
from tests.support import bmf
from tests.support.register_files import File, Reading, read
from tests.support.uk_registers import DAY, charity, columns_of, northern_irish, scottish
from tests.support.workbooks import COLUMNS, USUAL, workbook

DATA = Path(__file__).parents[1] / "data"
HAND = DATA / "registers_by_hand"
MAPPINGS = Path(__file__).parents[2] / "docs" / "guides" / "mappings"

UNREADABLE: dict[str, str] = {
    "letters": "12k",
    "null": "NULL",
    "serial": "45000",
    "n/a": "N/A",
    "dash": "-",
    "scientific": "1.2E+06",
    "no such day": "2023-99-99",
    "no such year": "31/12/9999",
    "long": "x" * 3000,
    "damaged": "a\ufffdb",
    "nul": "a\0b",
    "word": "Perhaps",
}
"""No day, no amount but for the serial number, no flag, no status, no number, whatever the column."""
GOOD: int = 2
TIDY: dict[str, Callable[[str], str]] = {
    "blank": lambda text: f"{text} ",
    "no-break space": lambda text: f"\u00a0{text}\u00a0",
    "byte order mark": lambda text: f"\ufeff{text}",
    "case": str.swapcase,
}
"""What says the same."""


Build = Callable[[Sequence[str], list[str]], bytes]


def delimited(delimiter: str, *, quote: bool = True, good: list[str] | None = None) -> Build:
    """Rows under their header, or else behind some ``good`` ones."""

    def build(columns: Sequence[str], row: list[str]) -> bytes:
        text = io.StringIO(newline="")
        for fields in [*[good] * GOOD, row] if good else [columns, row]:
            if quote:
                csv.writer(text, delimiter=delimiter).writerow(fields)
            else:
                text.write(delimiter.join(fields) + "\r\n")
        return text.getvalue().encode()

    return build


@dataclass(frozen=True)
class Case:
    """A register with one good row. ``typed``: columns that hold days, amounts or flags, and may be empty."""

    source: RegisterSource
    columns: Sequence[str]
    row: list[str]
    number: str
    typed: Sequence[str]
    build: Build
    name: str = "file.csv"
    listed: bool = False

    def file(self, row: list[str], columns: Sequence[str] | None = None) -> File:
        return File(self.build(columns or self.columns, row), self.name)

    def read(self, file: File) -> Reading:
        """What the one row gives."""
        reading = read(self.source, file)
        if self.listed:
            del reading.entries[:GOOD]
        return reading

    def key(self, number: str | None) -> str | None:
        return parse_number_key(self.source.registry_code, number) if number else None

    def changed(self, column: str, text: str) -> File:
        return self.file(
            [text if each == column else value for each, value in zip(self.columns, self.row, strict=True)]
        )


def sample(path: Path, delimiter: str) -> tuple[list[str], list[str]]:
    """The header and the first row of a file that begins with something."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        text = path.read_text("latin-1")
    header, *rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    return header, next(row for row in rows if row[0])


def told(columns: Sequence[str], given: dict[str, str]) -> list[str]:
    return [given.get(column, "") for column in columns]


def cases() -> Iterator[tuple[str, Case]]:
    source = REGISTER_SOURCES
    columns = columns_of("charity")
    row = told(columns, charity(date_of_extract=DAY, latest_income="5", date_of_removal="2020-01-01"))
    typed: Sequence[str] = (
        "latest_income",
        "latest_expenditure",
        "date_of_registration",
        "date_of_removal",
        "charity_gift_aid",
    )
    build = delimited("\t", quote=False)
    yield (
        "ccew",
        Case(source["ccew"], columns, row, "registered_charity_number", typed, build, "publicextract.charity.txt"),
    )
    columns = list(registers_oscr.NEEDED)
    typed = ("Registered Date", "Most recent year income", "Designated religious body")
    yield "oscr", Case(source["oscr"], columns, told(columns, scottish()), "Charity Number", typed, delimited(","))
    columns = list(registers_ccni.NEEDED)
    typed = ("Date registered", "Date for financial year ending", "Total income", "Total spending")
    row = told(columns, northern_irish())
    yield "ccni", Case(source["ccni"], columns, row, "Reg charity number", typed, delimited(","))
    columns, row = sample(DATA / "au_acnc" / "datadotgov_main_excerpt.csv", ",")
    typed = ("Registration_Date", "Date_Organisation_Established", "Advancing_Education", "Operates_in_ACT")
    yield "acnc", Case(source["acnc"], columns, row, "ABN", typed, delimited(","))
    columns, row = sample(HAND / "cra_list.txt", "\t")
    typed = ("Effective Date of Status",)
    yield "cra", Case(source["cra"], columns, row, columns[0], typed, delimited("\t"), "list.txt")
    columns, row = sample(HAND / "cra_ident_2015.csv", ",")
    yield "cra-t3010", Case(source["cra-t3010"], columns, row, columns[0], (), delimited(","), "Ident_2015.csv")
    columns, row = sample(HAND / "nzcs.csv", ",")
    typed = ("DateRegistered", "DeregistrationDate")
    yield "nzcs", Case(source["nzcs"], columns, row, "CharityRegistrationNumber", typed, delimited(","))
    columns, row = sample(HAND / "rna_waldec_20240101_dpt_75.csv", ";")
    typed = ("date_creat", "date_publi", "date_disso")
    yield "rna", Case(source["rna"], columns, row, "id", typed, delimited(";"), "rna_waldec.csv")
    columns, row = sample(HAND / "npo_like.csv", ";")
    mapped = MappedRegisterReader(load_mapping(MAPPINGS / "npo-like.toml"))
    yield "mapped", Case(mapped, columns, row, columns[0], ("Registration Date", "Last Report"), delimited(";"))
    columns, row = list(bmf.COLUMNS), list(bmf.body("530196605", "RED CROSS").values())
    typed = ("RULING", "ASSET_AMT", "INCOME_AMT", "AFFILIATION", "GROUP")
    yield "irs-bmf", Case(IrsBmfReader(), columns, row, "EIN", typed, delimited(","))
    row = "135562976|Boys & Girls Clubs|Atlanta|GA|United States|GROUP".split("|")
    columns = ["EIN", "name", "CITY", "STATE", "COUNTRY", "DEDUCTIBILITY"]
    yield (
        "irs-pub78",
        Case(
            IrsPub78Reader(),
            columns,
            row,
            "EIN",
            (),
            delimited("|", quote=False, good=["010000009", *row[1:]]),
            listed=True,
        ),
    )
    row = "010019709|LODGE|X|7 ELM ST|HOULTON|ME|04730|US|10|15-MAY-2011|22-FEB-2012|15-MAY-2013".split("|")
    columns = (
        "EIN name second street city STATE ZIP COUNTRY type REVOCATION_DATE POSTING_DATE REINSTATEMENT_DATE".split()
    )
    yield (
        "irs-revocations",
        Case(
            IrsRevocationsReader(),
            columns,
            row,
            "EIN",
            ("POSTING_DATE",),
            delimited("|", quote=False, good=["010000009", *row[1:]]),
            listed=True,
        ),
    )
    row = (
        "271710297|2022|SOCIETY|T|F|06-01-2022|05-31-2023||JANE ROE|9 ROE ST|ROE FLAT|Roe Town||MN|55449|US|"
        "1 ORG ST||Minneapolis||MN|55455|US|BUILDERS||"
    ).split("|")
    columns = ["EIN", "year", "name", "small", "TERMINATED", "PERIOD_BEGIN", "PERIOD_END", *map(str, range(19))]
    yield (
        "irs-990n",
        Case(
            Irs990NReader(),
            columns,
            row,
            "EIN",
            ("PERIOD_BEGIN", "PERIOD_END"),
            delimited("|", quote=False, good=["010000009", *row[1:]]),
            listed=True,
        ),
    )


def anbi(columns: Sequence[str], row: list[str]) -> bytes:
    members = "".join(f"<{name}>{text}</{name}>" for name, text in zip(columns, row, strict=True))
    return f"<a><beschikking>{members}</beschikking></a>".encode()


CASES = dict(cases())
CASES["anbi"] = Case(
    REGISTER_SOURCES["anbi"],
    ("fiscaalNummer", "naam", "aliasNaam", "vestigingsPlaats", "webSite", "ingangsDatum", "eindDatum"),
    ["123456782", "Stichting Haven", "Haven", "ROTTERDAM", "haven.example", "20080101", ""],
    "fiscaalNummer",
    ("ingangsDatum",),
    anbi,
)
_DAYS = ("date", "Date", "RULING", "PERIOD", "ingangs", "Last Report")


@pytest.mark.parametrize("register", CASES)
def test_no_row_disappears_and_no_body_ends(register: str) -> None:
    case = CASES[register]
    good = case.read(case.file(case.row)).one
    identity = (case.number, "linked_charity_number")
    for column in case.columns:
        for kind, text in UNREADABLE.items():
            if kind in ("damaged", "nul") and register == "anbi" and "\0" in text:
                continue  # no XML holds it: the file is refused
            reading = case.read(case.changed(column, text))
            at = (register, column, kind)
            assert len(reading.entries) + len(reading.bad) + len(reading.unnumbered) == 1, at
            for entry in reading.entries:
                assert entry.active == good.active, at
                assert entry.number == good.number or column in identity, at
            for bad in reading.bad:
                by_name = column in identity and bad.organisation_name == good.name
                assert by_name or case.key(bad.number_key) == case.key(good.number), (at, bad)


@pytest.mark.parametrize("register", CASES)
def test_an_optional_value_that_cannot_be_read_is_reported(register: str) -> None:
    case = CASES[register]
    for column in case.typed:
        for kind, text in UNREADABLE.items():
            if (kind == "serial" and not any(word in column for word in _DAYS)) or (
                register == "anbi" and "\0" in text
            ):
                continue
            reading = case.read(case.changed(column, text))
            assert len(reading.entries) == 1, (register, column, kind, reading.bad)
            assert reading.unread, (register, column, kind)
            assert {found.line_number for found in reading.unread} <= set(range(1, 4)), (register, column, kind)


@pytest.mark.parametrize("register", CASES)
def test_blanks_marks_and_case_say_the_same(register: str) -> None:
    case = CASES[register]
    good = case.read(case.file(case.row)).one
    for column, value in zip(case.columns, case.row, strict=True):
        for kind, tidy in TIDY.items():
            if (kind == "case" and column in (case.number, "naam")) or not value:
                continue
            reading = case.read(case.changed(column, tidy(value)))
            at = (register, column, kind)
            if kind == "case":
                assert all(case.key(bad.number_key) == case.key(good.number) for bad in reading.bad), at
                assert all(entry.active == good.active for entry in reading.entries), at
            else:
                assert reading.entries, (at, reading.bad)
                assert reading.entries[0] == good, at


@pytest.mark.parametrize("register", [name for name in CASES if name != "anbi"])
def test_a_row_that_is_too_long_or_too_short_is_known_by_its_number(register: str) -> None:
    case = CASES[register]
    good = case.read(case.file(case.row)).one
    for row in ([*case.row, "further"], case.row[:-1]):
        reading = case.read(case.file(row))
        if not reading.entries:  # the IRS lets names hold what parts the fields
            assert [case.key(bad.number_key) for bad in reading.bad] == [case.key(good.number)], register


def name_column(case: Case) -> str:
    return next(column for column in case.columns if column.lower() in _NAMES)


@pytest.mark.parametrize("register", ["acnc", "oscr", "ccni", "rna", "mapped", "nzcs"])
def test_a_name_stands_on_one_line(register: str) -> None:
    case = CASES[register]
    reading = case.read(case.changed(name_column(case), "Invented\r\nHarbour \n Trust"))
    assert [entry.name for entry in reading.entries] == ["Invented Harbour Trust"]


@pytest.mark.parametrize("register", CASES)
def test_every_reader_tidies_names_alike(register: str) -> None:
    """Controls, blanks of every kind, what nobody sees, and signs as web pages write them."""
    case = CASES[register]
    name = name_column(case)
    given = {
        "Friends &AMP; Families": "Friends & Families",
        "CAF&Eacute; &amp;amp; M&OUML;WE": "CAF\u00c9 & M\u00d6WE",
        "Saint Mary&#39;s &#X26; St&#8217;s": "Saint Mary's & St\u2019s",
        "Rock &roll; Fund": "Rock &roll; Fund",
        "\u00a0Harbour\u2003 \u3000Trust\u00a0": "Harbour Trust",
        "Har\u00adbour\u200b \u202aTrust\u202c\ufeff": "Harbour Trust",
        "Har\x07bour\x7f Trust\x01": "Harbour Trust",
        "Cafe\u0301 Trust": "Caf\u00e9 Trust",
    }
    for written, meant in given.items():
        text = written
        if register == "anbi":  # XML writes the sign for the sign itself, and holds no controls
            text = "".join(sign for sign in written if sign >= " ").replace("&", "&amp;")
        reading = case.read(case.changed(name, text))
        assert [entry.name for entry in reading.entries] == [meant], written


_NAMES = (
    "charity_legal_name", "charity name", "charity_name", "titre", "organisation name", "name", "naam", "legal name",
)  # fmt: skip


def test_a_workbook() -> None:
    """All at once: a workbook takes long to write."""
    columns = [column for column in COLUMNS if column not in ("Registered Charity Number", COLUMNS[-1])]
    damages = [(column, text) for column in columns for text in UNREADABLE.values() if "\0" not in text]
    rows = [{"Registered Charity Number": 20000001 + nth, column: text} for nth, (column, text) in enumerate(damages)]
    odd = {**USUAL, "Registered Charity Number": "N/A"}
    untidy = {
        "Registered Charity Number": 20999999,
        "Registered Charity Name": "Har\u200bbour &AMP; \nQuay\u00a0 Trust",
    }
    reading = read(REGISTER_SOURCES["cri"], File(workbook([*rows, untidy, odd]), "register.xlsx"))
    tidied = reading.entries.pop()
    assert (tidied.number, tidied.name) == ("20999999", "Harbour & Quay Trust")
    seen = {entry.number for entry in reading.entries} | {bad.number_key for bad in reading.bad}
    assert seen == {*(str(20000001 + nth) for nth in range(len(damages))), None}
    assert all(entry.active for entry in reading.entries)
    assert reading.bad[-1].organisation_name == USUAL["Registered Charity Name"]


def test_days_and_amounts_in_every_form() -> None:
    june = parse_date("2013-06-17")
    assert june is not None
    for text in (
        "17/06/2013",
        "17 June 2013",
        "17-JUN-2013",
        "20130617",
        "2013-06-17 00:00:00.0000000",
        "2013-06-17T00:00:00Z",
    ):
        assert parse_date(text) == june, text
    for text in (
        "45000",
        "31/02/2020",
        "9999-01-01",
        "0001-01-01",
        "June",
        "x" * 3000,
        "\u0662\u0660\u0661\u0663-06-17",
    ):
        assert parse_date(text) is None, text
    read_as = {"1234": 1234, "1,234,567": 1234567, "1 234": 1234, "1\u00a0234": 1234, "\u00a31,234.50": 1234}
    read_as |= {"1234.0": 1234, "-5": -5, "0": 0}
    assert {text: parse_whole_amount(text) for text in read_as} == read_as
    for text in ("12k", "1.2E+06", "1,23,4", "--5", "9" * 5000, "", "£", "\u0661"):
        assert parse_whole_amount(text) is None, text


def test_what_nobody_sees_is_left_out() -> None:
    assert clean_text("\ufeff A\u00a0\u200bB\r\nC ") == "A B C"


@pytest.mark.parametrize("text", ["Jane Roe", "jo@example.org", "028 9012 3456", "02890123456", "Bloggs", "x" * 3000])
def test_no_person_and_no_contact_is_shown(text: str) -> None:
    values = Values()
    assert values.read_whole_amount("column", text) is None or text.isdigit()
    assert redact_unreadable_value(text) == f"(a text of {len(text)} characters)"

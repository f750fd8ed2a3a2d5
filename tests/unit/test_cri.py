"""The reader of the Irish workbook, on workbooks made here."""

import pytest

from almoner.adapters.registers_cri import NEEDED, CriReader, WorkbookLimits
from almoner.nonprofits.registers.domain import ImportRefused
from tests.support.register_files import File, Reading, read
from tests.support.workbooks import COLUMNS, workbook, workbook_by_excel

CLASSIFIED = COLUMNS[4]


def taken(*rows: dict[str, object], columns: tuple[str, ...] = COLUMNS) -> Reading:
    return read(CriReader(), File(workbook(rows, columns), "register.xlsx"))


EXCEL = [
    list(COLUMNS),
    ["20015763", "Invented Harbour Trust", "", "Registered", "", "1 Invented Road", "", "", "", "", "", "", "Jane Roe"],
]


def test_the_rows_of_the_register() -> None:
    reading = taken(
        {
            "Also Known As": "Harbour Trust; The Harbour",
            CLASSIFIED: "Health [Hospital (Sub)]",
            "CRO Number": 123456,
            "Charitable Purpose": "Advancement of education",
            "Charitable Objects": "To help. Write to jane@harbour.example",
        },
        {"Registered Charity Number": "20000001", "Status": "Deregistered", "CRO Number": 0},
        {"Registered Charity Number": 20000002, "Status": "Deregistered S40 by Revenue", "CRO Number": 20000002},
        {"Registered Charity Number": 7, "Registered Charity Name": "Wrong"},
        {"Registered Charity Number": 20000003, "Status": "Pending"},
        {"Registered Charity Number": 20000004, "Registered Charity Name": ""},
    )
    assert (len(reading.entries), len(reading.bad)) == (3, 3)
    trust, ended, revenue = reading.entries
    assert (trust.number, trust.name) == ("20015763", "Invented Harbour Trust")
    assert trust.other_names == ["Harbour Trust", "The Harbour"]
    assert trust.description == "To help. Write to"
    assert trust.address_line_1 == "1 Invented Road, Cork, T12 X123, Ireland"
    assert trust.facts["Classification"] == ["Health", "Hospital (Sub)"]
    assert trust.facts["CRO Number"] == "123456"
    assert [entry.active for entry in reading.entries] == [True, False, False]
    assert "CRO Number" not in {**ended.facts, **revenue.facts}
    assert [bad.line_number for bad in reading.bad] == [5, 6, 7]


def test_trustees_are_never_read() -> None:
    reading = taken({}, {"Registered Charity Number": 7})
    assert (len(reading.entries), len(reading.bad)) == (1, 1)
    assert "Roe" not in repr(reading)


def test_columns_are_found_by_name_in_any_order() -> None:
    assert taken({}, columns=tuple(reversed(COLUMNS))).entries == taken({}).entries


@pytest.mark.parametrize("column", NEEDED)
def test_a_workbook_without_a_needed_column_is_refused(column: str) -> None:
    renamed = tuple(name if name != column else "Renamed" for name in COLUMNS)
    with pytest.raises(ImportRefused, match=column):
        taken({}, columns=renamed)


def test_a_workbook_without_the_sheet_is_refused() -> None:
    with pytest.raises(ImportRefused, match="Public Register"):
        read(CriReader(), workbook([], sheet="Register"))


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"<html></html>", workbook([{}])[:-30], workbook([{}])[:200], b"a,b\n1,2"]
)
def test_what_is_no_workbook_is_refused(content: bytes) -> None:
    with pytest.raises(ImportRefused):
        read(CriReader(), content)


def test_texts_that_lie_in_one_table() -> None:
    assert read(CriReader(), workbook_by_excel(EXCEL)).one.name == "Invented Harbour Trust"


@pytest.mark.parametrize("part", ["workbook", "sheet", "strings"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "<",
        "<a/>",
        '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><a>&b;</a>',
    ],
)
def test_damaged_parts_and_entities_end_in_a_refusal(part: str, text: str) -> None:
    with pytest.raises(ImportRefused):
        read(CriReader(), workbook_by_excel(EXCEL, **{part: text}))


@pytest.mark.parametrize(
    "limits", [WorkbookLimits(max_shared_string_bytes=100_000), WorkbookLimits(max_unpacked_bytes=100_000)]
)
def test_a_workbook_that_unpacks_to_too_much_is_refused(limits: WorkbookLimits) -> None:
    bomb = workbook_by_excel(EXCEL, strings=" " * 1_000_000)
    assert len(bomb) < 10_000
    with pytest.raises(ImportRefused, match="unpacks"):
        read(CriReader(limits), bomb)


def test_a_workbook_of_countless_texts_is_refused() -> None:
    assert read(CriReader(), workbook_by_excel(EXCEL)).one.number == "20015763"
    with pytest.raises(ImportRefused, match="unpacks"):
        read(CriReader(WorkbookLimits(max_shared_string_count=10)), workbook_by_excel(EXCEL))


def test_a_row_far_below_does_not_take_the_time_of_all_above() -> None:
    sheet = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        '<row r="99999999999"><c r="A99999999999"><v>1</v></c></row></sheetData></worksheet>'
    )
    with pytest.raises(ImportRefused):
        read(CriReader(), workbook_by_excel(EXCEL, sheet=sheet))

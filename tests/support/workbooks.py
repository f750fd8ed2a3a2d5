"""Workbooks in the format of the Irish register, with organisations that do not exist."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

import openpyxl

COLUMNS = (
    "Registered Charity Number",
    "Registered Charity Name",
    "Also Known As",
    "Status",
    "Charity Classification: Primary [Secondary (Sub)]",
    "Primary Address",
    "Also Operates In",
    "Governing Form",
    "CRO Number",
    "Country Established",
    "Charitable Purpose",
    "Charitable Objects",
    "Trustees (Start Date)",
)
USUAL = {
    "Registered Charity Number": 20015763,
    "Registered Charity Name": "Invented Harbour Trust",
    "Status": "Registered",
    "Primary Address": "c/o Jane Roe, 1 Invented Road, Cork, T12 X123, Ireland",
    "Trustees (Start Date)": "Jane Roe (Chair) (01/02/2003); John Roe (Trustee) (01/02/2003)",
}


def workbook(
    rows: Sequence[Mapping[str, object]], columns: Sequence[str] = COLUMNS, sheet: str = "Public Register"
) -> bytes:
    """The bytes of a workbook with the register's two sheets."""
    book = openpyxl.Workbook()
    first = book.active
    first.title = sheet
    first.append(list(columns))
    for row in rows:
        given = {**USUAL, **row}
        first.append([given.get(column) for column in columns])
    second = book.create_sheet("Annual Reports")
    second.append(["Registered Charity Number", "Philantrophic"])
    second.append([20015763, "Jane Roe"])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_PARTS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def workbook_by_excel(rows: Sequence[Sequence[str]], **replaced: str) -> bytes:
    """A workbook with shared strings, as Excel writes it; ``replaced`` are the contents of its parts."""
    texts = list(dict.fromkeys(text for row in rows for text in row))
    cells = ["<row>" + "".join(f'<c t="s"><v>{texts.index(text)}</v></c>' for text in row) + "</row>" for row in rows]
    kinds = {"workbook": "sheet.main", "sheet": "worksheet", "strings": "sharedStrings"}
    names = {"workbook": "xl/workbook.xml", "sheet": "xl/worksheets/sheet1.xml", "strings": "xl/sharedStrings.xml"}
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{_PARTS}.{kinds[part]}+xml"/>' for part, name in names.items()
    )
    parts = {
        "workbook": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="Public Register" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "sheet": f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(cells)}</sheetData></worksheet>',
        "strings": f'<sst xmlns="{_MAIN}">' + "".join(f"<si><t>{escape(text)}</t></si>" for text in texts) + "</sst>",
        **replaced,
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{_TYPES}">{overrides}</Types>')
        archive.writestr("_rels/.rels", _related("officeDocument", "xl/workbook.xml"))
        archive.writestr("xl/_rels/workbook.xml.rels", _related("worksheet", "worksheets/sheet1.xml"))
        for part, name in names.items():
            archive.writestr(name, parts[part])
    return content.getvalue()


def _related(kind: str, target: str) -> str:
    return (
        f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="rId1" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        "</Relationships>"
    )

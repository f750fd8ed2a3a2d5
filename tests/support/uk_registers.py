"""Files in the formats of the registers of the United Kingdom, with charities that do not exist."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from zipfile import ZipFile

from almoner.adapters import registers_ccew_tables, registers_ccni, registers_oscr
from tests.support.register_files import File, table

DATA = Path(__file__).parents[1] / "data"

MAIL, PHONE, PERSON = "jo.bloggs@example.org", "028 9012 3456", "Mrs Jo Bloggs"
DAY = "2023-09-07 00:00:00.0000000"

_CHARITY = {
    "registered_charity_number": "1100001",
    "linked_charity_number": "0",
    "charity_name": "PLAIN RELIEF FUND",
    "charity_type": "Trust",
    "charity_registration_status": "Registered",
    "date_of_registration": "2001-02-03 00:00:00.0000000",
    "charity_reporting_status": "Submission Received",
    "charity_contact_address1": "1 High Street",
    "charity_contact_address2": "YORK",
    "charity_contact_postcode": "YO1 1AA",
    "charity_contact_phone": PHONE,
    "charity_contact_email": MAIL,
    "charity_insolvent": "False",
    "charity_in_administration": "False",
}


def charity(organisation: int = 1, **columns: str) -> dict[str, str]:
    """One row of the table charity."""
    return {**_CHARITY, "organisation_number": str(organisation), **columns}


def said(organisation: int = 1, **columns: str) -> dict[str, str]:
    """One row of another table."""
    return {"organisation_number": str(organisation), **columns}


def columns_of(name: str) -> list[str]:
    """The relevant columns of a table as published."""
    contacts = ["charity_contact_phone", "charity_contact_email"] if name == registers_ccew_tables.CHARITY.name else []
    return ["date_of_extract", *registers_ccew_tables.TABLES[name].columns, *contacts]


def ccew_text(name: str, rows: Iterable[Mapping[str, str]], *, columns: Iterable[str] | None = None) -> File:
    """A table in the text form."""
    header = list(columns or columns_of(name))
    lines = ["\t".join(header)]
    lines += ["\t".join({"date_of_extract": DAY, **row}.get(column, "") for column in header) for row in rows]
    return File("".join(f"{line}\r\n" for line in lines).encode(), f"publicextract.{name}.txt")


def ccew_json(name: str, rows: Iterable[Mapping[str, object]]) -> File:
    """A table in the JSON form."""
    header = columns_of(name)
    items = [{column: {"date_of_extract": DAY, **row}.get(column) for column in header} for row in rows]
    return File(b"\xef\xbb\xbf" + json.dumps(items).encode(), f"publicextract.{name}.json")


def unpacked(path: Path) -> File:
    """The only member of a ZIP file, under its own name."""
    with ZipFile(path) as archive:
        (name,) = archive.namelist()
        return File(archive.read(name), name)


def ccew_files(folder: Path) -> list[File]:
    """The tables of an extract."""
    return [unpacked(path) for path in sorted(folder.glob("publicextract.*.zip"))]


_OSCR = {
    "Charity Number": "SC000001",
    "Charity Name": "PLAIN RELIEF FUND",
    "Registered Date": "17/06/2013",
    "Charity Status": "Active",
    "Postcode": "EH3 9AB",
    "Constitutional Form": "SCIO (Scottish Charitable Incorporated Organisation)",
    "Main Operating Location": "Edinburgh City",
    "Purposes": "'The prevention or relief of poverty'",
    "Principal Office/Trustees Address": "1 High Street, Edinburgh, EH3 9AB",
    "Regulatory Type": "Standard",
}


def scottish(**columns: str) -> dict[str, str]:
    """One row of the Scottish register; column names contain blanks."""
    return {**_OSCR, **{name.replace("_", " "): value for name, value in columns.items()}}


def oscr(rows: Iterable[Mapping[str, str]], *, former: bool = False) -> File:
    """A Scottish register, live or former, with the stray blanks of its header."""
    extra = [registers_oscr.CEASED_DATE, registers_oscr.REMOVAL_REASON] if former else []
    header = [*registers_oscr.NEEDED, *extra]
    text = table([dict(row) for row in rows], header).split("\r\n", 1)
    return File(f"{', '.join(header[:2])} ,{','.join(header[2:])}\r\n{text[1]}".encode(), "CharityExport.csv")


_CCNI = {
    "Reg charity number": "100001",
    "Charity name": "Plain Relief Fund",
    "Date registered": "13/12/2013",
    "Status": "Registered",
    "Date for financial year ending": "31 March 2025",
    "Public address": "Old Hall, 1 High Street, Newry, County Down, BT34 1AA",
    "Email": MAIL,
    "Telephone": PHONE,
    "Company number": "0",
}


def northern_irish(**columns: str) -> dict[str, str]:
    """One row of the register of Northern Ireland."""
    return {**_CCNI, **{name.replace("_", " "): value for name, value in columns.items()}}


def ccni(rows: Iterable[Mapping[str, str]], *, encoding: str = "cp1252", further: Iterable[str] = ()) -> File:
    """The export, with its empty last column."""
    header = [*registers_ccni.NEEDED, "Email", "Telephone", *further, ""]
    return File(table([dict(row) for row in rows], header).encode(encoding), "charitydetails.csv")

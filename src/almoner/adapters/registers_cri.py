"""Read the public register of Ireland's Charities Regulator (xlsx, its first sheet; CC BY 4.0).

Written from the documented layout only. The column of trustees names persons and is never read, nor is the sheet of
annual reports.
"""

import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, Final, cast

from defusedxml.common import DefusedXmlException

from almoner.adapters.registers_values import (
    ValueReader,
    distinct_other_names,
    drop_empty_facts,
    format_rejected_row_content,
    redact_non_numeric_text,
    single_line_address,
    strip_contact_details,
)
from almoner.kit.title_case import to_title_case
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry, RejectedRow
from almoner.nonprofits.registers.ports import SourceFile, SourceRow

_SHEET: Final = "Public Register"
NUMBER: Final = "Registered Charity Number"
_NAME: Final = "Registered Charity Name"
_STATUS: Final = "Status"
NEEDED: Final = (NUMBER, _NAME, "Also Known As", _STATUS, "Primary Address", "Charitable Purpose")
_CLASSIFICATION: Final = "Charity Classification"
"""The start of its column's name, which continues in brackets."""
_FACTS: Final = ("Also Operates In", "Governing Form", "CRO Number", "Country Established", "Charitable Purpose")
_OBJECTS: Final = "Charitable Objects"
_STATUSES: Final = {"registered": True, "deregistered": False, "deregistered s40 by revenue": False}

_NUMBER: Final = re.compile(r"20[0-9]{6}", re.ASCII)
_NO_COMPANY: Final = re.compile(r"0*|20[0-9]{6}", re.ASCII)
"""Invalid company numbers: zeros, and charity numbers entered by mistake."""
_MOST_COLUMNS: Final = 40
_MOST_ROWS: Final = 200_000
_MOST_MEMBERS: Final = 1_000
_COPIED_IN_MEMORY: Final = 8 << 20
_BROKEN: Final = (
    ArithmeticError, AttributeError, DefusedXmlException, EOFError, LookupError, OSError,
    SyntaxError, RuntimeError, TypeError, ValueError, zipfile.BadZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip
"""The exceptions that openpyxl raises for invalid Excel files."""


@dataclass(frozen=True, slots=True)
class WorkbookLimits:
    """Limits of a workbook: unpacked bytes, and bytes and number of its shared strings.

    A string takes some sixty bytes beside its letters.
    """

    max_unpacked_bytes: int = 400 << 20
    max_shared_string_bytes: int = 160 << 20
    max_shared_string_count: int = 1_500_000


class CriReader:
    """The reader of the register's workbook."""

    code = "cri"
    registry_code = "CRI"
    lists_organisations = True
    is_format_unverified = True
    has_repeated_numbers = False
    reads_files_together = False
    ignored_columns: frozenset[str] = frozenset()
    canary_numbers: frozenset[str] = frozenset()  # no number is certain without a real file

    def __init__(self, limits: WorkbookLimits | None = None) -> None:
        self._limits = limits or WorkbookLimits()

    def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
        """Read the rows. Raises ImportRefused if it is no such workbook, or a required column is missing."""
        for place, file in enumerate(files):
            with _seekable(file, self._limits) as content:
                rows = _read_rows(content, self._limits)
                columns = _columns(_header_row(rows))
                reading = ValueReader(place)
                for line, row in rows:
                    if any(value is not None for value in row):
                        found = _entry(line, row, columns, place, reading)
                        if isinstance(found, RejectedRow):
                            reading.discard_unreadable_values()
                        yield found
                        yield from reading.pop_unreadable_values(line)


@contextmanager
def _seekable(file: SourceFile, limits: WorkbookLimits) -> Iterator[BinaryIO]:
    """A seekable copy of the file: a workbook is a ZIP file, read from its end."""
    with SpooledTemporaryFile(_COPIED_IN_MEMORY) as copied:
        content = file.open_binary()
        left = limits.max_unpacked_bytes
        while chunk := content.read(1 << 20):
            left -= len(chunk)
            if left < 0:
                raise ImportRefused(
                    f"{file.name} is larger than {limits.max_unpacked_bytes >> 20} MiB: it is not this register"
                )
            copied.write(chunk)
        copied.seek(0)
        yield cast("BinaryIO", copied)


def _read_rows(content: BinaryIO, limits: WorkbookLimits) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The rows of the register's sheet with their numbers. Raises ImportRefused if the file is no workbook."""
    import openpyxl  # on first use: 20 MB
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        _check_sizes(content, limits)
        book = openpyxl.load_workbook(content, read_only=True, data_only=True, keep_links=False)
        if _SHEET not in book.sheetnames:
            named = ", ".join(book.sheetnames[:10])
            raise ImportRefused(f"the workbook has no sheet '{_SHEET}' (it has {named}): fetch the register again")
        sheet = book[_SHEET]
        sheet.reset_dimensions()  # the size stated in the file may be wrong
        for line, row in enumerate(sheet.iter_rows(max_col=_MOST_COLUMNS, values_only=True), start=1):
            if line > _MOST_ROWS:
                raise ImportRefused(f"the sheet has more than {_MOST_ROWS} rows: it is not this register")
            yield line, row
    except (*_BROKEN, InvalidFileException) as error:
        raise ImportRefused(f"the file is not an Excel workbook, or is damaged ({error}): download it again") from error


def _check_sizes(content: BinaryIO, limits: WorkbookLimits) -> None:
    with zipfile.ZipFile(content) as archive:
        members = archive.infolist()
        tables = [member for member in members if "strings" in member.filename.lower()]
        strings = sum(member.file_size for member in tables)
        unpacked = sum(member.file_size for member in members)
        small = (
            len(members) <= _MOST_MEMBERS
            and unpacked <= limits.max_unpacked_bytes
            and strings <= limits.max_shared_string_bytes
        )
        if not small or sum(_count_texts(archive, member) for member in tables) > limits.max_shared_string_count:
            raise ImportRefused("the workbook unpacks to more than any register has: it is not loaded")
    content.seek(0)


def _count_texts(archive: zipfile.ZipFile, table: zipfile.ZipInfo) -> int:
    """The number of shared strings of a table."""
    ends = 0
    with archive.open(table) as content:
        while chunk := content.read(1 << 20):
            ends += chunk.count(b"si>")
    return ends // 2


def _header_row(rows: Iterator[tuple[int, tuple[Any, ...]]]) -> tuple[Any, ...]:
    """The header: the first row that is not empty."""
    return next((row for _, row in rows if any(value is not None for value in row)), ())


def _columns(header: tuple[Any, ...]) -> dict[str, int]:
    named = {" ".join(str(value).split()): place for place, value in enumerate(header) if value is not None}
    if missing := [name for name in NEEDED if name not in named]:
        raise ImportRefused(
            f"the sheet '{_SHEET}' has no column {', '.join(missing)}: its format has changed. Look at its header"
        )
    wanted: tuple[str, ...] = (*NEEDED, *_FACTS, _OBJECTS)
    taken = {name: named[name] for name in wanted if name in named}
    classified = next((place for name, place in named.items() if name.startswith(_CLASSIFICATION)), None)
    return taken if classified is None else {**taken, _CLASSIFICATION: classified}


def _entry(
    line: int, row: tuple[Any, ...], columns: dict[str, int], file: int, reading: ValueReader
) -> RegisterEntry | RejectedRow:
    stated = {name: _text(row[place]) if place < len(row) else "" for name, place in columns.items()}
    names = stated["Also Known As"]
    stated = reading.clean_texts_in_place(stated)
    number, name, status = stated[NUMBER], stated[_NAME], stated[_STATUS]
    active = _STATUSES.get(status.casefold())
    if not _NUMBER.fullmatch(number):
        reason = "the number is not eight digits beginning with 20"
    elif not name:
        reason = "the name is empty or damaged"
    elif active is None:
        reason = "the status is unknown"
    else:
        company = "" if _NO_COMPANY.fullmatch(stated.get("CRO Number", "")) else stated.get("CRO Number", "")
        classified = [part.strip() for part in re.split(r"[\[\];]", stated.get(_CLASSIFICATION, "")) if part.strip()]
        return RegisterEntry(
            number=number,
            part="all",
            name=name,
            display_name=to_title_case(name) if name.isupper() else None,
            other_names=distinct_other_names(name, re.split(r"[;|\n]", names if stated["Also Known As"] else "")),
            description=strip_contact_details(stated.get(_OBJECTS, "")),
            types=["nonprofit"],
            active=active,
            address_line_1=single_line_address(stated["Primary Address"]),
            facts=drop_empty_facts(
                {
                    **{column: stated.get(column, "") for column in _FACTS},
                    "CRO Number": company,
                    _STATUS: status,
                    "Classification": classified,
                }
            ),
        )
    known = number if _NUMBER.fullmatch(number) else None
    return RejectedRow(
        line, reason, format_rejected_row_content(RCN=redact_non_numeric_text(number), Name=name), file, known, name
    )


def _text(value: Any) -> str:
    """A cell as text: numbers without a fraction; NUL marks invalid text."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).replace("\x00", "\ufffd").strip()

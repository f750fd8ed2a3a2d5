"""Lines of CSV files that people open in spreadsheets."""

import csv
import io
import re
from collections.abc import Iterable
from typing import Final

_FORMULA: Final = re.compile(r"\s*[=+@\uff1d\uff0b\uff20-]|[\t\r\n]")
"""What spreadsheets take for the beginning of a formula, also after blanks and in wide letters (CSV injection)."""


def csv_line(cells: Iterable[str]) -> bytes:
    """RFC 4180; an apostrophe stands before what a spreadsheet would run."""
    written = io.StringIO()
    csv.writer(written).writerow(f"'{cell}" if _FORMULA.match(cell) else cell for cell in cells)
    return written.getvalue().encode()

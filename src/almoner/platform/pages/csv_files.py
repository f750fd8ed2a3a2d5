"""Lines of CSV files that people open in spreadsheets."""

import csv
import io
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Final

_FORMULA: Final = re.compile(r"\s*[=+@\uff1d\uff0b\uff20-]|[\t\r\n]")
"""What spreadsheets take for the beginning of a formula, also after blanks and in wide letters (CSV injection)."""


def csv_line(cells: Iterable[str | Decimal]) -> bytes:
    """RFC 4180; an apostrophe stands before a text that a spreadsheet would run; numbers stay as they are."""
    written = io.StringIO()
    csv.writer(written).writerow(
        f"{cell:f}" if isinstance(cell, Decimal) else f"'{cell}" if _FORMULA.match(cell) else cell for cell in cells
    )
    return written.getvalue().encode()

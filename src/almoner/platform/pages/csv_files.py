"""File downloads, and CSV lines for spreadsheets."""

import codecs
import csv
import io
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from decimal import Decimal
from typing import Final

from starlette.responses import StreamingResponse

from almoner.kit.text import escape_spreadsheet_formula
from almoner.platform.pages.headers import NO_PAGE

_NEGATIVE_NUMBER: Final = re.compile(r"-[0-9]+(\.[0-9]+)?")
"""No formula: spreadsheets add it up."""
_READ_AHEAD: Final = 2
"""The number of parts that are read in advance: the head of the file and its first rows."""


async def stream_file_download(
    chunks: AsyncIterator[bytes], name: str, media_type: str = "text/csv; charset=utf-8"
) -> StreamingResponse:
    """Send a file as a download while it is written.

    Its head and first rows are read before the response starts: an error until then gives an error response, and
    afterwards truncates the file.
    """
    first = list[bytes]()
    with suppress(StopAsyncIteration):
        for _ in range(_READ_AHEAD):
            first.append(await anext(chunks))
    headers = {**NO_PAGE, "Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(_chain(first, chunks), media_type=media_type, headers=headers)


async def _chain(first: Iterable[bytes], rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    for part in first:
        yield part
    async for part in rest:
        yield part


def csv_header_line(columns: Iterable[str]) -> bytes:
    """The first line of a CSV file. Without the byte order mark, Excel reads UTF-8 as Windows-1252."""
    return codecs.BOM_UTF8 + csv_line(columns)


def csv_line(cells: Iterable[str | Decimal]) -> bytes:
    """A CSV line (RFC 4180). Texts that a spreadsheet would run as formulas get an apostrophe."""
    written = io.StringIO()
    csv.writer(written).writerow(
        f"{cell:f}"
        if isinstance(cell, Decimal)
        else cell
        if _NEGATIVE_NUMBER.fullmatch(cell)
        else escape_spreadsheet_formula(cell)
        for cell in cells
    )
    return written.getvalue().encode()

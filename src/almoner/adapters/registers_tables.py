"""Read delimited text as registers publish it: by column name, in bounded memory, one bad row at a time.

A quote that is never closed loses only its own row, not the thousands after it (T3010, 2013 to 2018). Lines that are
not UTF-8 are read as Windows-1252. A byte order mark, blank lines and empty columns at the end of a row are skipped.
"""

import codecs
import csv
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, Final, NamedTuple
from zipfile import BadZipFile

from almoner.adapters.registers_values import clean_text
from almoner.nonprofits.registers.domain import ImportRefused, RejectedRow
from almoner.nonprofits.registers.ports import SourceFile

MAX_LINE_BYTES: Final = 1 << 20
"""The maximum number of bytes of a line; a longer one is no row of a register."""
_LINES_OF_A_ROW: Final = 50
_CHUNK: Final = 1 << 18
_NOTHING: Final = re.compile(r"(?!)")

Decode = Callable[[bytes], str]


class TableRow(NamedTuple):
    """A row with its line number, and as many fields as the header."""

    line_number: int
    fields: list[str]


class _Line(NamedTuple):
    number: int
    text: str
    wrong: str | None = None


def _as_1252(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes in a UTF-8 line that are not UTF-8 as Windows-1252, which leaves five bytes undefined."""
    assert isinstance(error, UnicodeDecodeError)
    wrong = error.object[error.start : error.end]
    return "".join(bytes([byte]).decode("cp1252" if byte not in _OPEN else "latin-1") for byte in wrong), error.end


_OPEN: Final = frozenset(b"\x81\x8d\x8f\x90\x9d")
AS_1252: Final = "almoner_as_1252"
"""The error handler that reads what is not UTF-8 as Windows-1252."""
codecs.register_error(AS_1252, _as_1252)


def decode_utf8_or_windows_1252(raw: bytes) -> str:
    """Decode a line, as UTF-8 with single bytes in Windows-1252."""
    return raw.decode("utf-8", AS_1252)


def build_line_decoder(encoding: str) -> Decode:
    """Return a decoder of lines; undecodable bytes become U+FFFD."""

    def decode(raw: bytes) -> str:
        return raw.decode(encoding, "replace")

    return decode


def read_lines(content: BinaryIO) -> Iterator[bytes | None]:
    """The lines without their ends; None for one that is too long.

    Raises ImportRefused if the file cannot be unpacked.
    """
    rest, skipping = b"", False
    try:
        while chunk := content.read(_CHUNK):
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            for line in lines:
                yield None if skipping or len(line) > MAX_LINE_BYTES else line
                skipping = False
            if len(rest) > MAX_LINE_BYTES:
                rest, skipping = b"", True
    except (EOFError, OSError, zlib.error, BadZipFile) as error:
        raise ImportRefused(f"the file cannot be unpacked ({error}): download it again") from error
    if rest or skipping:
        yield None if skipping else rest


class DelimitedTable:
    """The rows of one file under its header, read once.

    ``number`` finds the registration number in a row that cannot be split: only that is kept, since which of its fields
    are personal is then unknown. NUL and undecodable text become U+FFFD. Raises ImportRefused if there is no header.
    """

    def __init__(
        self,
        file: SourceFile,
        *,
        delimiter: str = ",",
        quote: str = '"',
        decode: Decode = decode_utf8_or_windows_1252,
        number: re.Pattern[str] = _NOTHING,
        place: int = 0,
    ) -> None:
        self._delimiter, self._quote, self._decode = delimiter, quote, decode
        self._number, self._place = number, place
        self._key_at: tuple[int, Callable[[str], str | None]] | None = None
        self._held: deque[_Line] = deque()
        self._lines = self._texts(file)
        self.header: tuple[str, ...] = ()
        for line in self._lines:
            if line.wrong is None and line.text.strip() and "\ufffd" not in line.text:
                self.header = tuple(name.strip() for name in self._split(line.text) or [])
                break
        if not self.header:
            raise ImportRefused(f"{file.name} has no header: it is empty, or not text")

    def get_column_indexes(self, *names: str | Sequence[str]) -> list[int]:
        """The positions of columns with these (alternative) names. Raises ImportRefused if one is missing."""
        folded = [name.casefold() for name in self.header]
        found: list[int] = []
        missing: list[str] = []
        for name in names:
            spellings = (name,) if isinstance(name, str) else name
            at = [place for place, column in enumerate(folded) if column in {each.casefold() for each in spellings}]
            if len(at) == 1:
                found.append(at[0])
            else:
                missing.append(f"{spellings[0]} (twice)" if at else spellings[0])
        if missing:
            page = "it is a web page; " if self.header[0].startswith("<") else ""
            raise ImportRefused(
                f"the file has no column {', '.join(missing)}: {page}"
                "it is not this register, or its format has changed. Download it again, or check its header"
            )
        return found

    def set_key_column(self, column_index: int, parse_key: Callable[[str], str | None]) -> None:
        """Set the column of the number: a row that cannot be split after it is still identified by it."""
        self._key_at = column_index, parse_key

    def find_column_index(self, *spellings: str) -> int | None:
        """The position of an optional column; None if it is missing."""
        folded = [name.casefold() for name in self.header]
        return next((folded.index(each.casefold()) for each in spellings if each.casefold() in folded), None)

    def __iter__(self) -> Iterator[TableRow | RejectedRow]:
        width = len(self.header)
        while (line := self._next()) is not None:
            if line.wrong is not None:
                yield self._bad(line, line.wrong)
            elif line.text.strip():
                yield self._row(line, width)

    def _row(self, line: _Line, width: int) -> TableRow | RejectedRow:
        text = line.text
        taken: list[_Line] = []
        while (fields := self._split(text, alone=not taken)) is None:
            following = self._next() if len(taken) < _LINES_OF_A_ROW else None
            if following is None or following.wrong is not None:
                self._push_back(taken if following is None else [*taken, following])
                return self._bad(line, "a quote in the row is never closed")
            taken.append(following)
            text = f"{text}\n{following.text}"
        if len(fields) > width and not any(fields[width:]):
            del fields[width:]
        if len(fields) != width:
            self._push_back(taken)
            return self._bad(line, f"the row has {len(fields)} fields, the header has {width}")
        return TableRow(line.number, fields)

    def _split(self, text: str, *, alone: bool = True) -> list[str] | None:
        """The fields, or None while a quoted one is still open.

        A stray quote is kept as a character in a single line (``alone``), but not over several: they may be several
        records.
        """
        if not self._quote or self._quote not in text:
            return text.split(self._delimiter)
        try:
            return next(csv.reader([text], delimiter=self._delimiter, quotechar=self._quote, strict=True))
        except csv.Error as error:
            if "unexpected end" in str(error):
                return None
            if not alone:
                return []
        try:
            return next(csv.reader([text], delimiter=self._delimiter, quotechar=self._quote))
        except csv.Error:
            return []

    def _bad(self, line: _Line, reason: str) -> RejectedRow:
        found = self._number.search(line.text)
        content = found.group()[:40] if found else ""
        return RejectedRow(line.number, reason, content, self._place, self._number_of(line.text))

    def _number_of(self, text: str) -> str | None:
        if self._key_at is None:
            return None
        at, key = self._key_at
        fields = text.split(self._delimiter, at + 1)
        return key(clean_text(fields[at].strip(self._quote or None))) if len(fields) > at else None

    def _next(self) -> _Line | None:
        return self._held.popleft() if self._held else next(self._lines, None)

    def _push_back(self, lines: list[_Line]) -> None:
        self._held.extendleft(reversed(lines))

    def _texts(self, file: SourceFile) -> Iterator[_Line]:
        for number, raw in enumerate(read_lines(file.open_binary()), start=1):
            if raw is None:
                yield _Line(number, "", "the line is longer than a mebibyte")
                continue
            bare = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
            text = self._decode(bare.rstrip(b"\r"))
            yield _Line(number, text.replace("\x00", "\ufffd") if "\x00" in text else text)

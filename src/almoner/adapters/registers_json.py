"""Read JSON of any size and content as events, in bounded memory.

The C parser of ijson (3.6.0) crashes the interpreter on an integer of more than 4,300 digits, and its item builder
keeps the path of every level of nesting: so numbers are checked beforehand, and its plain events are used.
"""

import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

import ijson

from almoner.nonprofits.registers.domain import ImportRefused

_MOST_AT_ONCE: Final = 8 << 20
"""The maximum number of bytes between two tokens: a longer text would be held in memory as a whole."""
_DEEPEST: Final = 50
_NO_NUMBER: Final = re.compile(rb"[0-9]{1000}")
_OVERLAP: Final = 1000
_MARK: Final = b"\xef\xbb\xbf"


class _BoundedStream:
    """Bytes for the parser without a UTF-8 byte order mark, counted since its last token."""

    def __init__(self, content: BinaryIO) -> None:
        self._content = content
        self._started = False
        self._before = b""
        self.since = 0

    def read(self, size: int) -> bytes:
        """Read more bytes. Raises ImportRefused if a token is longer than any in a register."""
        chunk = self._content.read(size)
        if size and not self._started:
            self._started = True
            chunk = chunk.removeprefix(_MARK) or self._content.read(size)
        self.since += len(chunk)
        if self.since > _MOST_AT_ONCE:
            raise ImportRefused("the file has a text of many megabytes: it is not this register")
        if _NO_NUMBER.search(self._before + chunk):
            raise ImportRefused(
                "the file has a number of more than a thousand digits: it is damaged, download it again"
            )
        self._before = chunk[-_OVERLAP:]
        return chunk


def parse_json_incrementally(content: BinaryIO) -> Iterator[tuple[str, Any]]:
    """(event, value) as ijson names them; numbers are int and Decimal. Raises ImportRefused if it is no JSON."""
    watched, depth = _BoundedStream(content), 0
    try:
        for event, value in ijson.basic_parse(watched, use_float=False):
            watched.since = 0
            depth += event.startswith("start_") - event.startswith("end_")
            if depth > _DEEPEST:
                raise ImportRefused("the file is nested deeper than this register is: it is not loaded")
            yield event, value
    except (ijson.JSONError, ValueError, ArithmeticError) as error:
        # The error's text would show a piece of the file, which may be personal.
        raise ImportRefused(
            f"the file is not JSON, or is truncated ({type(error).__name__}): download it again"
        ) from error


def read_array_items(content: BinaryIO) -> Iterator[dict[str, Any] | None]:
    """The objects of an array with their scalar members; None for other items. Raises ImportRefused."""
    depth, name = 0, ""
    item: dict[str, Any] | None = None
    for event, value in parse_json_incrementally(content):
        if depth == 0 and event != "start_array":
            raise ImportRefused("the file is not a JSON array: it is not this register, or its format has changed")
        if event == "map_key":
            name = value
        elif event in ("start_map", "start_array"):
            depth += 1
            if depth == 2:
                item = {} if event == "start_map" else None
        elif event in ("end_map", "end_array"):
            depth -= 1
            if depth == 1:
                yield item
        elif depth == 1:
            yield None
        elif depth == 2 and item is not None:
            item[name] = value

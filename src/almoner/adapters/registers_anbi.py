"""Read the public benefit organisations of the Dutch tax authority (``anbi.xml``; CC0, weekly).

Written from the documented layout only. The fiscal number is the RSIN, checked by the eleven test; some records have
none. A ruling with an end date is active until that day.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final
from xml.parsers import expat  # nosec: documents with a DTD, where entities are declared, are refused

from stdnum.nl import bsn

from almoner.adapters.registers_rulings import select_current_or_latest_rulings
from almoner.adapters.registers_values import (
    ValueReader,
    distinct_other_names,
    drop_empty_facts,
    format_date,
    format_rejected_row_content,
    is_missing_date,
    parse_date,
    parse_websites,
    redact_non_numeric_text,
)
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry, RejectedRow, RowWithoutNumber
from almoner.nonprofits.registers.ports import SourceFile, SourceRow

_RECORD: Final = "beschikking"
NUMBER: Final = "fiscaalNummer"
_NAME: Final = "naam"
_END_DATE: Final = "eindDatum"
_READ_ELEMENTS: Final = frozenset(
    {NUMBER, _NAME, _END_DATE, "aliasNaam", "vestigingsPlaats", "webSite", "ingangsDatum"}
)

_NUMBER: Final = re.compile(r"[0-9]{9}", re.ASCII)
_WINDING_UP: Final = re.compile(r"\bin liquidatie\b", re.IGNORECASE)
_NO_END: Final = re.compile(r"9999-?12-?31.*")
_LONGEST: Final = 10_000
"""The maximum number of characters kept of an element."""
_DEEPEST: Final = 50
_CHUNK: Final = 1 << 16


class AnbiReader:
    """The reader of ``anbi.xml``."""

    code = "anbi"
    registry_code = "ANBI"
    lists_organisations = True
    is_format_unverified = True
    has_repeated_numbers = False
    reads_files_together = False
    ignored_columns: frozenset[str] = frozenset()
    canary_numbers: frozenset[str] = frozenset()  # no number is certain without a real file

    def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
        """Read the records. Raises ImportRefused if the file is no such XML, or has a DTD."""
        for place, file in enumerate(files):
            seen: set[str] = set()
            yield from select_current_or_latest_rulings(_read_rulings(file, place, seen))
            if missing := [name for name in (NUMBER, _NAME) if name not in seen]:
                raise ImportRefused(
                    f"{file.name} is not this register: it has no <{_RECORD}> with {', '.join(missing)}. Fetch it again"
                )


def _read_rulings(file: SourceFile, place: int, seen: set[str]) -> Iterator[tuple[SourceRow, datetime | None]]:
    """The records with the dates on which they ended; adds the names of their members to ``seen``."""
    reading = ValueReader(place)
    for line, record in _read_records(file):
        seen.update(record)
        found = _entry(line, reading.clean_texts_in_place(record), place, reading)
        if not isinstance(found, RegisterEntry):
            reading.discard_unreadable_values()
        yield found, found.until if isinstance(found, RegisterEntry) else None
        for lost in reading.pop_unreadable_values(line):
            yield lost, None


def _read_records(file: SourceFile) -> Iterator[tuple[int, dict[str, str]]]:
    """The records, each with its line. Raises ImportRefused if the file is no XML or is truncated."""
    parsing = _RecordParser()
    content = file.open_binary()
    try:
        while chunk := content.read(_CHUNK):
            parsing.parser.Parse(chunk, False)
            yield from parsing.completed_records()
        parsing.parser.Parse(b"", True)
    except (expat.ExpatError, ValueError) as error:
        raise ImportRefused(f"{file.name} is not XML, or is truncated ({error}): download it again") from error
    yield from parsing.completed_records()


class _RecordParser:
    """Collects the children of one record at a time; names are compared without namespace prefixes."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._refused
        self.parser.StartElementHandler = self._started
        self.parser.EndElementHandler = self._ended
        self.parser.CharacterDataHandler = self._on_text
        self._depth = 0
        self._record: dict[str, str] | None = None
        self._at = 0
        self._line = 0
        self._member: str | None = None
        self._done: list[tuple[int, dict[str, str]]] = []

    def completed_records(self) -> list[tuple[int, dict[str, str]]]:
        """Return the records completed since the last call."""
        done, self._done = self._done, []
        return done

    def _refused(self, *_: object) -> None:
        raise ImportRefused("the XML has a DTD, which this register has not: it is not loaded")

    def _started(self, name: str, _: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ImportRefused("the XML is nested deeper than this register is: it is not loaded")
        bare = name.rpartition(":")[2]
        if self._record is None:
            if bare == _RECORD:
                self._record, self._at, self._line = {}, self._depth, self.parser.CurrentLineNumber
        elif self._depth == self._at + 1 and bare in _READ_ELEMENTS:
            self._member = bare
            self._record[bare] = ""

    def _ended(self, _: str) -> None:
        if self._record is not None and self._depth == self._at:
            self._done.append((self._line, self._record))
            self._record = None
        elif self._depth == self._at + 1:
            self._member = None
        self._depth -= 1

    def _on_text(self, text: str) -> None:
        if self._record is not None and self._member is not None and len(self._record[self._member]) < _LONGEST:
            self._record[self._member] += text


def _entry(
    line: int, stated: dict[str, str], file: int, reading: ValueReader
) -> RegisterEntry | RejectedRow | RowWithoutNumber:
    number, name, ended = stated.get(NUMBER, ""), stated.get(_NAME, ""), stated.get(_END_DATE, "")
    if is_missing_date(ended) or _NO_END.fullmatch(ended):
        ended = ""
    ends = parse_date(ended)
    if not number:
        return RowWithoutNumber(line, file, name)
    known = number if _NUMBER.fullmatch(number) and bsn.is_valid(number) else None
    if known is None:
        reason = "the fiscal number is not nine digits that pass the eleven test"
    elif not name:
        reason = "the name is empty or damaged"
    elif ended and ends is None:
        reason = f"{_END_DATE} is not a date: it is unknown whether the ruling has ended"
    else:
        return RegisterEntry(
            number=number,
            part="all",
            name=name,
            other_names=distinct_other_names(name, [stated.get("aliasNaam", "")]),
            types=["nonprofit"],
            active=not ended,
            websites=parse_websites(stated.get("webSite", "")),
            city=stated.get("vestigingsPlaats") or None,
            registration_date=reading.read_date("ingangsDatum", stated.get("ingangsDatum", "")),
            until=ends,
            facts=drop_empty_facts({_END_DATE: format_date(ends), "in_liquidatie": bool(_WINDING_UP.search(name))}),
        )
    return RejectedRow(
        line, reason, format_rejected_row_content(number=redact_non_numeric_text(number), naam=name), file, known, name
    )

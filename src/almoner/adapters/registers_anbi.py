"""Reads the public benefit organisations of the Dutch tax authority (``anbi.xml``; CC0, weekly).

Written from the documented layout alone. The fiscal number is the RSIN, checked by the eleven test; some records have
none. A ruling that has an end is active until that day.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final
from xml.parsers import expat  # nosec: documents with a DTD, where entities are declared, are refused

from stdnum.nl import bsn

from almoner.adapters.registers_rulings import latest
from almoner.adapters.registers_values import (
    Reading,
    any_day,
    number_shown,
    other_than,
    present,
    shown,
    websites,
    written_day,
)
from almoner.nonprofits.registers.domain import BadRow, Entry, ImportRefused, Unnumbered
from almoner.nonprofits.registers.ports import Row, SourceFile

RECORD: Final = "beschikking"
NUMBER: Final = "fiscaalNummer"
NAME: Final = "naam"
ENDS: Final = "eindDatum"
TAKEN: Final = frozenset({NUMBER, NAME, ENDS, "aliasNaam", "vestigingsPlaats", "webSite", "ingangsDatum"})

_NUMBER: Final = re.compile(r"[0-9]{9}", re.ASCII)
_WINDING_UP: Final = re.compile(r"\bin liquidatie\b", re.IGNORECASE)
_LONGEST: Final = 10_000
"""Characters of an element that are kept."""
_DEEPEST: Final = 50
_CHUNK: Final = 1 << 16


class Anbi:
    """The reader of ``anbi.xml``."""

    code = "anbi"
    registry_code = "ANBI"
    lists = True
    unverified = True
    repeats = False
    joined = False
    ignored_columns: frozenset[str] = frozenset()
    canaries: frozenset[str] = frozenset()  # none is certain without a real file: most numbers must stay (guards)

    def read(self, files: Sequence[SourceFile]) -> Iterator[Row]:
        """The records. Raises ImportRefused when it is no such XML, or has a DTD."""
        for place, file in enumerate(files):
            seen: set[str] = set()
            yield from latest(_rulings(file, place, seen))
            if missing := [name for name in (NUMBER, NAME) if name not in seen]:
                raise ImportRefused(
                    f"{file.name} is not this register: it has no <{RECORD}> with {', '.join(missing)}. Fetch it again"
                )


def _rulings(file: SourceFile, place: int, seen: set[str]) -> Iterator[tuple[Row, datetime | None]]:
    """The records with the days on which they ended; ``seen`` learns the names of their members."""
    reading = Reading(place)
    for line, record in _records(file):
        seen.update(record)
        found = _entry(line, reading.texts(record), place, reading)
        if not isinstance(found, Entry):
            reading.forget()
        yield found, found.until if isinstance(found, Entry) else None
        for lost in reading.unread(line):
            yield lost, None


def _records(file: SourceFile) -> Iterator[tuple[int, dict[str, str]]]:
    """The records, each with its line. Raises ImportRefused when it is no XML or was cut off."""
    parsing = _Parsing()
    content = file.binary()
    try:
        while chunk := content.read(_CHUNK):
            parsing.parser.Parse(chunk, False)
            yield from parsing.taken()
        parsing.parser.Parse(b"", True)
    except (expat.ExpatError, ValueError) as error:
        raise ImportRefused(f"{file.name} is no XML, or was cut off ({error}): fetch it again") from error
    yield from parsing.taken()


class _Parsing:
    """Keeps the children of one record at a time; names are compared without their namespace's prefix."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._refused
        self.parser.StartElementHandler = self._started
        self.parser.EndElementHandler = self._ended
        self.parser.CharacterDataHandler = self._said
        self._depth = 0
        self._record: dict[str, str] | None = None
        self._at = 0
        self._line = 0
        self._member: str | None = None
        self._done: list[tuple[int, dict[str, str]]] = []

    def taken(self) -> list[tuple[int, dict[str, str]]]:
        """The records that are whole since this was last asked."""
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
            if bare == RECORD:
                self._record, self._at, self._line = {}, self._depth, self.parser.CurrentLineNumber
        elif self._depth == self._at + 1 and bare in TAKEN:
            self._member = bare
            self._record[bare] = ""

    def _ended(self, _: str) -> None:
        if self._record is not None and self._depth == self._at:
            self._done.append((self._line, self._record))
            self._record = None
        elif self._depth == self._at + 1:
            self._member = None
        self._depth -= 1

    def _said(self, text: str) -> None:
        if self._record is not None and self._member is not None and len(self._record[self._member]) < _LONGEST:
            self._record[self._member] += text


def _entry(line: int, said: dict[str, str], file: int, reading: Reading) -> Entry | BadRow | Unnumbered:
    number, name, ended = said.get(NUMBER, ""), said.get(NAME, ""), said.get(ENDS, "")
    ends = any_day(ended)
    if not number:
        return Unnumbered(line, file, name)
    known = number if _NUMBER.fullmatch(number) and bsn.is_valid(number) else None
    if known is None:
        reason = "the fiscal number is not nine digits that pass the eleven test"
    elif not name:
        reason = "the name is empty or damaged"
    elif ended and ends is None:
        reason = f"{ENDS} is no day: whether the ruling has ended is unsure"
    else:
        return Entry(
            number=number,
            part="all",
            name=name,
            other_names=other_than(name, [said.get("aliasNaam", "")]),
            types=["nonprofit"],
            active=not ended,
            websites=websites(said.get("webSite", "")),
            city=said.get("vestigingsPlaats") or None,
            registration_date=reading.day("ingangsDatum", said.get("ingangsDatum", "")),
            until=ends,
            facts=present({ENDS: written_day(ends), "in_liquidatie": bool(_WINDING_UP.search(name))}),
        )
    return BadRow(line, reason, shown(number=number_shown(number), naam=name), file, known, name)

"""Files as register readers get them, from bytes or from disk."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from almoner.nonprofits.registers.domain import (
    RegisterEntry,
    RegisterFileRemark,
    RegisterLink,
    RejectedRow,
    RowWithoutNumber,
    UnreadableValue,
)
from almoner.nonprofits.registers.ports import RegisterSource


@dataclass(frozen=True)
class File:
    """One file of an import, in memory."""

    content: bytes
    name: str = "file"

    def lines(self, encoding: str) -> Iterator[str]:
        """Its text with unchanged line ends."""
        return iter(io.TextIOWrapper(io.BytesIO(self.content), encoding=encoding, errors="replace", newline=""))

    def open_binary(self) -> BinaryIO:
        """Its bytes."""
        return io.BytesIO(self.content)


def on_disk(path: Path) -> File:
    """The file with its name."""
    return File(path.read_bytes(), path.name)


@dataclass(frozen=True)
class Reading:
    """The rows that a reader returned, by kind."""

    entries: list[RegisterEntry]
    links: list[RegisterLink]
    bad: list[RejectedRow]
    unnumbered: list[RowWithoutNumber]
    unread: list[UnreadableValue]
    notes: list[RegisterFileRemark]

    @property
    def one(self) -> RegisterEntry:
        """The only entry."""
        (entry,) = self.entries
        return entry

    def number(self, number: str) -> RegisterEntry:
        """The only entry with that number."""
        (entry,) = [entry for entry in self.entries if entry.number == number]
        return entry


def read(source: RegisterSource, *files: File | bytes | str | Path) -> Reading:
    """Read all rows of the files together."""
    reading = Reading([], [], [], [], [], [])
    kinds = {
        RegisterEntry: reading.entries,
        RegisterLink: reading.links,
        RejectedRow: reading.bad,
        RowWithoutNumber: reading.unnumbered,
        UnreadableValue: reading.unread,
        RegisterFileRemark: reading.notes,
    }
    for row in source.read([_file(file) for file in files]):
        kinds[type(row)].append(row)  # type: ignore[attr-defined]
    return reading


def _file(file: File | bytes | str | Path) -> File:
    if isinstance(file, File):
        return file
    if isinstance(file, Path):
        return on_disk(file)
    return File(file.encode() if isinstance(file, str) else file)


def table(rows: Sequence[dict[str, str]], columns: Sequence[str], delimiter: str = ",") -> str:
    """The text of a file with these rows, quoted where needed."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(columns), extrasaction="ignore", delimiter=delimiter, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()

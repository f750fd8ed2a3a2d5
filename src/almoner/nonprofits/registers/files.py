"""Files of a register as they lie on disk: plain, gzip or zip, hashed by content, read as text once."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from gzip import GzipFile
from hashlib import file_digest
from pathlib import Path
from typing import Final, cast
from zipfile import BadZipFile, ZipExtFile, ZipFile

from almoner.nonprofits.registers.domain import FileFacts, ImportRefused

_Content = io.BufferedReader | GzipFile | ZipExtFile

_DAY: Final = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")


@contextmanager
def _content(path: Path) -> Iterator[tuple[_Content, io.BufferedReader]]:
    """(content, file on disk): the second tells how far reading is."""
    with path.open("rb") as raw:
        if path.suffix == ".gz":
            with GzipFile(fileobj=raw) as unpacked:
                yield unpacked, raw
        elif path.suffix == ".zip":
            with ZipFile(raw) as archive, archive.open(_only_member(archive, path)) as member:
                yield cast("ZipExtFile", member), raw
        else:
            yield raw, raw


def _only_member(archive: ZipFile, path: Path) -> str:
    names = [member.filename for member in archive.infolist() if not member.is_dir()]
    if len(names) != 1:
        raise ImportRefused(f"{path} holds {len(names)} files; unpack it and name the one to load")
    return names[0]


def facts(path: Path) -> FileFacts:
    """Name, hash and size. Raises ImportRefused when it cannot be read."""
    try:
        with _content(path) as (content, _):
            return FileFacts(path.name, file_digest(content, "sha256").digest(), path.stat().st_size)
    except (OSError, EOFError, BadZipFile) as error:
        raise ImportRefused(f"{path} cannot be read: {error}") from error


class Lines:
    """The lines of a file; ``position`` is how many bytes of it were read."""

    def __init__(self, content: _Content, raw: io.BufferedReader, encoding: str) -> None:
        self._raw = raw
        # What is not text in this encoding becomes U+FFFD, and the row goes to quarantine.
        self._text = io.TextIOWrapper(content, encoding=encoding, errors="replace", newline="")

    @property
    def position(self) -> int:
        """Bytes of the file on disk that were read."""
        return self._raw.tell()

    def __iter__(self) -> Iterator[str]:
        return iter(self._text)


@contextmanager
def lines(path: Path, encoding: str) -> Iterator[Lines]:
    """The text of a file, for reading once."""
    with _content(path) as (content, raw):
        yield Lines(content, raw, encoding)


def day_of(paths: list[Path]) -> datetime:
    """The day of the data: the latest one that a file or its folder names, else the day the newest was written."""
    named = [day for path in paths if (day := _named_day(path))]
    if named:
        return max(named)
    written = datetime.fromtimestamp(max(path.stat().st_mtime for path in paths), UTC)
    return written.replace(hour=0, minute=0, second=0, microsecond=0)


def _named_day(path: Path) -> datetime | None:
    for name in (path.name, path.absolute().parent.name):
        for year, month, day in _DAY.findall(name):
            try:
                return datetime(int(year), int(month), int(day), tzinfo=UTC)
            except ValueError:
                continue
    return None

"""Register files on disk: plain, gzip, zip or a folder."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from gzip import GzipFile
from hashlib import file_digest
from pathlib import Path
from typing import BinaryIO, Final, cast
from zipfile import ZipExtFile, ZipFile

from almoner.nonprofits.registers.domain import ImportedFile, ImportRefused
from almoner.platform.outbound import remote_files

_Content = io.BufferedReader | GzipFile | ZipExtFile

_MAX_LINE_LENGTH: Final = 1 << 20
"""The maximum number of characters of a line; a longer one is no row of a register."""


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file, or a member of a ZIP file, to load. ``imported_file.bytes``: the size of its content."""

    path: Path
    zip_member: str | None
    imported_file: ImportedFile


class OpenedImportFile:
    """A file that is read once."""

    def __init__(self, name: str, content: _Content) -> None:
        self.name = name
        self._content = content
        self._text: io.TextIOWrapper | None = None

    @property
    def bytes_read(self) -> int:
        """How many bytes of the content have been read, including through ``open_binary``."""
        return 0 if self._content.closed else self._content.tell()

    def lines(self, encoding: str) -> Iterator[str]:
        """The lines of the file; undecodable bytes become U+FFFD, and the row is quarantined.

        Raises ImportRefused at a line longer than any valid one: a file without line ends is not a table.
        """
        self._text = io.TextIOWrapper(self._content, encoding=encoding, errors="replace", newline="")
        while line := self._text.readline(_MAX_LINE_LENGTH):
            if len(line) == _MAX_LINE_LENGTH:
                raise ImportRefused(f"{self.name} has a line of over a million characters: it is not a register file")
            yield line

    def open_binary(self) -> BinaryIO:
        """Open the unpacked bytes of the file."""
        return cast("BinaryIO", self._content)

    def close(self) -> None:
        """Close the file after the last line, or when reading stops early."""
        if self._text is not None:
            self._text.close()
        self._content.close()


def find_import_files(paths: Sequence[Path]) -> list[ImportFile]:
    """The files at these paths, including those in folders and ZIP files, by name.

    Raises ImportRefused when one cannot be read, or when two have the same content.
    """
    found = [one for path in paths for one in _files_at(path)]
    if not found:
        raise ImportRefused("no file was given" if not paths else f"there is no file in {paths[0]}")
    seen: dict[bytes, ImportFile] = {}
    for one in found:
        if (twin := seen.setdefault(one.imported_file.sha256, one)) is not one:
            raise ImportRefused(
                f"two of the files have the same content: {twin.imported_file.name} and {one.imported_file.name}. "
                "Name one of them"
            )
    return found


def _files_at(path: Path) -> Iterator[ImportFile]:
    try:
        if path.is_dir():
            for inner in remote_files.list_files(path):
                yield from _files_at(inner)
        elif path.suffix.lower() == ".zip":
            with ZipFile(path) as archive:
                names = [member.filename for member in remote_files.list_zip_members(archive)]
            for name in names:
                yield ImportFile(path, name, _describe_file(path, name))
        else:
            yield ImportFile(path, None, _describe_file(path, None))
    except remote_files.UNREADABLE_ARCHIVE_ERRORS as error:
        raise ImportRefused(f"{path} cannot be read ({error}): download it again") from error


@contextmanager
def _content(path: Path, member: str | None) -> Iterator[_Content]:
    with path.open("rb") as raw:
        if member is not None:
            with ZipFile(raw) as archive, archive.open(member) as unpacked:
                yield cast("ZipExtFile", unpacked)
        elif path.suffix.lower() == ".gz":
            with GzipFile(fileobj=raw) as unzipped:
                yield unzipped
        else:
            yield raw


def _describe_file(path: Path, member: str | None) -> ImportedFile:
    name = path.name if member is None else member.rpartition("/")[2]
    with _content(path, member) as content:
        sha256 = file_digest(content, "sha256").digest()
        return ImportedFile(name, sha256, content.tell())


@contextmanager
def open_import_file(import_file: ImportFile) -> Iterator[OpenedImportFile]:
    """Open a file for reading once."""
    with _content(import_file.path, import_file.zip_member) as content:
        file = OpenedImportFile(import_file.imported_file.name, content)
        try:
            yield file
        finally:
            file.close()


def data_date_of_files(import_files: Sequence[ImportFile]) -> datetime:
    """The date of the data: from file or folder names, else the newest modification time."""
    named = [day for one in import_files if (day := _date_in_name(one))]
    if named:
        return max(named)
    written = datetime.fromtimestamp(max(one.path.stat().st_mtime for one in import_files), UTC)
    return written.replace(hour=0, minute=0, second=0, microsecond=0)


def _date_in_name(one: ImportFile) -> datetime | None:
    """The date in the file's own name, else its archive's, else its folder's; None without one."""
    names = (one.zip_member or "", one.path.name, one.path.absolute().parent.name)
    return next((day for name in names if (day := remote_files.date_in_file_name(name))), None)

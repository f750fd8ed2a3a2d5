"""The file name, size and plausibility of a downloaded file."""

import lzma
import re
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit
from zipfile import BadZipFile, ZipFile, ZipInfo

_NAMED: Final = re.compile(r"filename\*?\s*=\s*(?:UTF-8'')?\"?([^\";]+)", re.IGNORECASE)
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_RANGE: Final = re.compile(r"bytes ([0-9]+)-[0-9]+/([0-9]+)")
_PAGE: Final = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_DAY: Final = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_LONGEST_NAME: Final = 100
_HEAD_BYTES: Final = 4096
UNREADABLE_ARCHIVE_ERRORS: Final = (
    *(BadZipFile, zlib.error, lzma.LZMAError),
    *(EOFError, OSError, ValueError, NotImplementedError, RuntimeError),
)
"""What the standard library raises for archives that are damaged, truncated, encrypted, or packed in unknown ways."""


class FetchRefused(Exception):
    """A file cannot be downloaded; the message says why and what to do."""


def published_file_name(url: str, headers: Mapping[str, str]) -> str:
    """A safe file name from Content-Disposition, else from the URL."""
    stated = _NAMED.search(headers.get("Content-Disposition", ""))
    last = unquote(stated.group(1)) if stated else unquote(urlsplit(url).path).rstrip("/")
    safe = _UNSAFE.sub("_", last.replace("\\", "/").rpartition("/")[2]).lstrip(".")[-_LONGEST_NAME:]
    return safe or "file"


def parse_content_length(headers: Mapping[str, str]) -> int | None:
    """The Content-Length, if given."""
    stated = headers.get("Content-Length", "")
    return int(stated) if stated.isascii() and stated.isdigit() else None


def parse_content_range(headers: Mapping[str, str]) -> tuple[int, int]:
    """(first byte, total size) of a partial response; (-1, -1) if unknown."""
    found = _RANGE.fullmatch(headers.get("Content-Range", ""))
    return (int(found.group(1)), int(found.group(2))) if found else (-1, -1)


def find_content_problem(file: Path) -> str | None:
    """Why the content is not data, such as an HTML error page; else None."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD_BYTES)
    if not head:
        return "is empty"
    if _PAGE.match(head.removeprefix(b"\xef\xbb\xbf")):
        return "sends a web page instead of a file: open it in a browser to see why"
    return None


def add_file_suffix(file_name: str, file: Path) -> str:
    """The file name with the suffix that its content needs."""
    with file.open("rb") as opened:
        magic = opened.read(4)
    if magic.startswith(b"\x1f\x8b"):
        return file_name if file_name.endswith(".gz") else f"{file_name}.gz"
    if magic == b"PK\x03\x04" and not file_name.endswith((".zip", ".xlsx")):
        return f"{file_name}{'.xlsx' if _is_workbook(file) else '.zip'}"
    return file_name


def _is_workbook(file: Path) -> bool:
    try:
        with ZipFile(file) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except UNREADABLE_ARCHIVE_ERRORS:
        return False


def date_in_file_name(file_name: str) -> datetime | None:
    """The date in a file name: ``sdn_2024-05-03.csv``."""
    for year, month, day in _DAY.findall(file_name):
        try:
            return datetime(int(year), int(month), int(day), tzinfo=UTC)
        except ValueError:
            continue
    return None


def list_files(folder: Path) -> Iterator[Path]:
    """The visible files of a folder, by name."""
    return (inner for inner in sorted(folder.iterdir()) if inner.is_file() and not inner.name.startswith("."))


def list_zip_members(archive: ZipFile) -> list[ZipInfo]:
    """The files in a zip, without macOS metadata."""
    return [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]

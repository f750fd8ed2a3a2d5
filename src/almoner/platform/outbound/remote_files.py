"""What a server says of a file that it sends, and whether what came can be a published file at all."""

import re
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


class FetchRefused(Exception):
    """A file that cannot be had; the message says why, and what to do."""


def published_file_name(url: str, headers: Mapping[str, str]) -> str:
    """The published name, as it may stand in a folder: what the server calls it, else the end of the address."""
    stated = _NAMED.search(headers.get("Content-Disposition", ""))
    last = unquote(stated.group(1)) if stated else unquote(urlsplit(url).path).rstrip("/")
    safe = _UNSAFE.sub("_", last.replace("\\", "/").rpartition("/")[2]).lstrip(".")[-_LONGEST_NAME:]
    return safe or "file"


def content_length(headers: Mapping[str, str]) -> int | None:
    """The bytes that will come, if the server tells."""
    stated = headers.get("Content-Length", "")
    return int(stated) if stated.isascii() and stated.isdigit() else None


def content_range(headers: Mapping[str, str]) -> tuple[int, int]:
    """(first byte, bytes of the whole file) of a part; (-1, -1) when that is not told."""
    found = _RANGE.fullmatch(headers.get("Content-Range", ""))
    return (int(found.group(1)), int(found.group(2))) if found else (-1, -1)


def content_problem(file: Path) -> str | None:
    """Why what came is no file of data: servers answer 200 with a page that says what is wrong."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD_BYTES)
    if not head:
        return "is empty"
    if _PAGE.match(head.removeprefix(b"\xef\xbb\xbf")):
        return "sends a web page instead of a file: open it in a browser to see why"
    return None


def add_file_suffix(file_name: str, file: Path) -> str:
    """The name with the suffix that its content asks for: some addresses have none, some servers compress."""
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
    except BadZipFile:
        return False


def date_in_name(file_name: str) -> datetime | None:
    """The day that a name tells: ``sdn_2024-05-03.csv``."""
    for year, month, day in _DAY.findall(file_name):
        try:
            return datetime(int(year), int(month), int(day), tzinfo=UTC)
        except ValueError:
            continue
    return None


def list_files(folder: Path) -> Iterator[Path]:
    """The files of a folder, by their names; not the hidden ones."""
    return (inner for inner in sorted(folder.iterdir()) if inner.is_file() and not inner.name.startswith("."))


def list_zip_members(archive: ZipFile) -> list[ZipInfo]:
    """The files of a zip; not what macOS adds."""
    return [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]

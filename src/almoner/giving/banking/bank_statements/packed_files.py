"""Unpacks bank files from zip, tar and gzip archives, in memory and within limits."""

import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import Final, Protocol

from almoner.giving.banking.bank_statements.domain import StatementError
from almoner.giving.banking.bank_statements.unsupported_files import describe_unsupported_zip

_MOST_BYTES: Final = 64 * 1024 * 1024
_MOST_FILES: Final = 2000
_LAYERS: Final = 3
_PICTURES: Final = (".pdf", ".tif", ".tiff", ".jpg", ".jpeg", ".png", ".gif", ".htm", ".html")
"""Images of slips and documents that banks add beside statements."""
_BROKEN: Final = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError),
    *(EOFError, OSError, ValueError, NotImplementedError, RuntimeError),
)


def unpack_archive(content: bytes) -> list[tuple[str, bytes]]:
    """Return the files in an archive with their names, or the file itself if it is none. Raises StatementError."""
    found: list[tuple[str, bytes]] = []
    left = _MOST_BYTES
    for name, inner in _files("", content, _LAYERS):
        left -= len(inner)
        if left < 0 or len(found) >= _MOST_FILES:
            raise StatementError(
                f"The archive holds more than {_MOST_BYTES // 1024 // 1024} MB or {_MOST_FILES:,} files: import them "
                "in parts."
            )
        found.append((name, inner))
    if not found:
        raise StatementError("The archive contains no statement.")
    return found


def _files(name: str, content: bytes, layers: int) -> Iterator[tuple[str, bytes]]:
    is_zip, is_gzip = content.startswith(b"PK\x03\x04"), content.startswith(b"\x1f\x8b")
    is_tar = content[257:262] == b"ustar"
    if not (is_zip or is_gzip or is_tar):
        yield name, content
        return
    if layers == 0:
        raise StatementError(f"{name or 'The archive'} holds archives in archives: unpack it first.")
    try:
        if is_gzip:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as opened:
                members = [(name.removesuffix(".gz"), _read(opened))]
        elif is_tar:
            with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
                members = list(_tar_members(archive))
        else:
            with zipfile.ZipFile(io.BytesIO(content)) as packed:
                if unsupported := describe_unsupported_zip(packed):
                    raise StatementError(f"{name or 'This'} is not a bank statement: the file is {unsupported}")
                members = list(_zip_members(packed))
    except _BROKEN as error:
        encrypted = "password" in str(error) or "encrypted" in str(error)
        why = "is protected by a password: unpack it first" if encrypted else "cannot be unpacked: download it again"
        raise StatementError(f"{name or 'The archive'} {why}.") from error
    for inner, data in members:
        yield from _files(inner, data, layers - 1)


def _zip_members(packed: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    for member in packed.infolist()[: _MOST_FILES + 1]:
        if not member.is_dir() and _is_wanted(member.filename):
            with packed.open(member) as opened:
                yield member.filename, _read(opened)


def _tar_members(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    for member in archive:
        if member.isfile() and _is_wanted(member.name) and (opened := archive.extractfile(member)) is not None:
            yield member.name, _read(opened)


def _is_wanted(name: str) -> bool:
    base = name.replace("\\", "/").rpartition("/")[2]
    return not base.startswith(".") and "__MACOSX/" not in name and not name.lower().endswith(_PICTURES)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _read(opened: _Readable) -> bytes:
    """Read the whole content. Raises StatementError above the limit."""
    content = opened.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise StatementError(f"A file in the archive has more than {_MOST_BYTES // 1024 // 1024} MB.")
    return content

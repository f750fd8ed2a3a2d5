"""Unpacks bank files from zip, tar and gzip archives, in memory and within limits."""

import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from almoner.giving.banking.bank_statements.domain import BankStatementError
from almoner.giving.banking.bank_statements.unsupported_files import describe_unsupported_zip

_MOST_BYTES: Final = 64 * 1024 * 1024
_MOST_FILES: Final = 2000
_TOO_MUCH: Final = (
    f"The archive holds more than {_MOST_BYTES // 1024 // 1024} MB or {_MOST_FILES:,} files: import them in parts."
)
_LAYERS: Final = 3
_PICTURES: Final = (".pdf", ".tif", ".tiff", ".jpg", ".jpeg", ".png", ".gif", ".htm", ".html")
"""Images of slips and documents that banks add beside statements."""
_BROKEN: Final = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError),
    *(EOFError, OSError, ValueError, NotImplementedError, RuntimeError),
)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Budget:
    """What the archives of one layer may still hold; their files are read one after the other, never more than this."""

    def __init__(self) -> None:
        self._bytes, self._files = _MOST_BYTES, _MOST_FILES

    def read(self, opened: _Readable) -> bytes:
        """Read a whole file. Raises BankStatementError above the limits."""
        content = opened.read(self._bytes + 1)
        if len(content) > _MOST_BYTES:
            raise BankStatementError(f"A file in the archive has more than {_MOST_BYTES // 1024 // 1024} MB.")
        self._bytes -= len(content)
        self._files -= 1
        if self._bytes < 0 or self._files < 0:
            raise BankStatementError(_TOO_MUCH)
        return content


class UnpackedFile(NamedTuple):
    """A file of an archive, or a file that is no archive."""

    name: str
    content: bytes


def unpack_archive(content: bytes) -> list[UnpackedFile]:
    """Return the files in an archive, or the file itself if it is none. Raises BankStatementError."""
    found = list(_files("", content, _LAYERS, [_Budget() for _ in range(_LAYERS)]))
    if not found:
        raise BankStatementError("The archive contains no statement.")
    unpacked = [one.content for one in found if one.content is not content]
    if sum(map(len, unpacked)) > _MOST_BYTES or len(unpacked) > _MOST_FILES:
        raise BankStatementError(_TOO_MUCH)
    return found


def _files(name: str, content: bytes, layers: int, budgets: Sequence[_Budget]) -> Iterator[UnpackedFile]:
    is_zip, is_gzip = content.startswith(b"PK\x03\x04"), content.startswith(b"\x1f\x8b")
    is_tar = content[257:262] == b"ustar"
    if not (is_zip or is_gzip or is_tar):
        yield UnpackedFile(name, content)
        return
    if layers == 0:
        raise BankStatementError(f"{name or 'The archive'} holds archives in archives: unpack it first.")
    members = _gzip_member if is_gzip else _tar_members if is_tar else _zip_members
    try:
        for inner, data in members(name, content, budgets[layers - 1]):
            yield from _files(inner, data, layers - 1, budgets)
    except _BROKEN as error:
        encrypted = "password" in str(error) or "encrypted" in str(error)
        why = "is protected by a password: unpack it first" if encrypted else "cannot be unpacked: download it again"
        raise BankStatementError(f"{name or 'The archive'} {why}.") from error


def _gzip_member(name: str, content: bytes, budget: _Budget) -> Iterator[tuple[str, bytes]]:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as opened:
        yield name.removesuffix(".gz"), budget.read(opened)


def _zip_members(name: str, content: bytes, budget: _Budget) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        if unsupported := describe_unsupported_zip(packed):
            raise BankStatementError(f"{name or 'This'} is not a bank statement: the file is {unsupported}")
        for member in packed.infolist():
            if not member.is_dir() and _is_wanted(member.filename):
                with packed.open(member) as opened:
                    yield member.filename, budget.read(opened)


def _tar_members(_name: str, content: bytes, budget: _Budget) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        for member in archive:
            if member.isfile() and _is_wanted(member.name) and (opened := archive.extractfile(member)) is not None:
                yield member.name, budget.read(opened)


def _is_wanted(name: str) -> bool:
    base = name.replace("\\", "/").rpartition("/")[2]
    return not base.startswith(".") and "__MACOSX/" not in name and not name.lower().endswith(_PICTURES)

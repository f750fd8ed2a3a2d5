"""Archives that are damaged, or that unpack to far more than they are, are refused in words."""

import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from random import Random

import pytest

from almoner.giving.banking.bank_statements.domain import BankStatementError
from almoner.giving.banking.bank_statements.packed_files import unpack_archive
from almoner.nonprofits.registers.domain import ImportRefused
from almoner.nonprofits.registers.files import find_import_files
from almoner.platform.outbound.remote_files import add_file_suffix
from almoner.screening.watchlists.domain import WatchlistImportRefused
from almoner.screening.watchlists.files import open_import_files

MEBIBYTE = 1024 * 1024


def packed(method: int = zipfile.ZIP_DEFLATED, name: str = "list.csv") -> bytearray:
    """A zip with one file, whose content starts at its 64th byte at the latest."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr(name, Random(1).randbytes(3000).hex())
    return bytearray(out.getvalue())


def with_broken_content(method: int) -> bytes:
    """The zip with other bytes in its content."""
    content = packed(method)
    content[64:96] = bytes(byte ^ 0xFF for byte in content[64:96])
    return bytes(content)


def of_a_later_version() -> bytes:
    """A zip that says that a program of the future is needed to unpack it."""
    content = packed()
    content[content.rindex(b"PK\x01\x02") + 6] = 150
    return bytes(content)


DAMAGED = {
    "deflate": with_broken_content(zipfile.ZIP_DEFLATED),
    "lzma": with_broken_content(zipfile.ZIP_LZMA),
    "bzip2": with_broken_content(zipfile.ZIP_BZIP2),
    "stored": with_broken_content(zipfile.ZIP_STORED),
    "name": bytes(packed(name="b\u00fcro.csv").replace(b"\xc3\xbc", b"\xff\xbc")),
    "version": of_a_later_version(),
}


def open_watchlist(path: Path) -> None:
    with open_import_files([path]):
        pass


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize(
    ("opening", "refusal"),
    [
        (open_watchlist, WatchlistImportRefused),
        (lambda path: find_import_files([path]), ImportRefused),
        (lambda path: unpack_archive(path.read_bytes()), BankStatementError),
    ],
    ids=["watchlist", "register", "statement"],
)
def test_a_damaged_archive_is_refused(
    damage: str, opening: Callable[[Path], object], refusal: type[Exception], tmp_path: Path
) -> None:
    (path := tmp_path / "list.zip").write_bytes(DAMAGED[damage])
    with pytest.raises(refusal, match="download it again"):
        opening(path)


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_archive_that_was_fetched_is_named_as_an_archive(damage: str, tmp_path: Path) -> None:
    (path := tmp_path / "fetched").write_bytes(DAMAGED[damage])
    assert add_file_suffix("list", path) == "list.zip"


def test_an_archive_of_many_large_files_is_refused_before_they_are_unpacked() -> None:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(10):
            archive.writestr(f"{number}.xml", b" " * (30 * MEBIBYTE))
    tracemalloc.start()
    try:
        with pytest.raises(BankStatementError, match="more than 64 MB"):
            unpack_archive(out.getvalue())
        assert tracemalloc.get_traced_memory()[1] < 150 * MEBIBYTE
    finally:
        tracemalloc.stop()


def test_a_packed_tar_may_hold_as_much_as_other_archives() -> None:
    content, out = b"0" * (40 * MEBIBYTE), BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        member = tarfile.TarInfo("statement.csv")
        member.size = len(content)
        archive.addfile(member, BytesIO(content))
    assert unpack_archive(out.getvalue()) == [("statement.csv", content)]

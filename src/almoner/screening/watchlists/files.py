"""The files of a list on disk: plain, in a folder or in a ZIP file, hashed by their content."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from zipfile import ZipFile

from almoner.platform.outbound import remote_files
from almoner.screening.watchlists.domain import ImportedFile, WatchlistImportRefused

_MOST_UNPACKED: Final = 4 << 30


@dataclass(frozen=True, slots=True)
class ImportFiles:
    """The unpacked files of an import.

    ``sha256``: of all files' hashes. ``latest_date_in_file_names``: the latest date in a file name.
    """

    paths: Sequence[Path]
    files: Sequence[ImportedFile]
    sha256: bytes
    retrieved_at: datetime
    latest_date_in_file_names: datetime | None


@contextmanager
def open_import_files(source_paths: Sequence[Path]) -> Iterator[ImportFiles]:
    """Yield the files at these paths; ZIP files are unpacked into a temporary folder.

    Raises WatchlistImportRefused if one cannot be read.
    """
    with TemporaryDirectory(prefix="almoner-watchlist-") as folder:
        try:
            paths = [path for place in source_paths for path in _files_at(place, Path(folder))]
            if not paths:
                raise WatchlistImportRefused(
                    f"there is no file in {source_paths[0]}" if source_paths else "no file was given"
                )
            facts = sorted((_describe_file(path) for path in paths), key=lambda one: one.sha256)
            written = max(place.stat().st_mtime for place in (*source_paths, *paths))
        except remote_files.UNREADABLE_ARCHIVE_ERRORS as error:
            raise WatchlistImportRefused(f"a file cannot be read ({error}): download it again") from error
        whole = sha256(b"".join(bytes.fromhex(one.sha256) for one in facts)).digest()
        days = [day for path in (*source_paths, *paths) if (day := remote_files.date_in_file_name(path.name))]
        yield ImportFiles(paths, facts, whole, datetime.fromtimestamp(written, UTC), max(days, default=None))


def _files_at(place: Path, folder: Path) -> Iterator[Path]:
    if place.is_dir():
        for inner in remote_files.list_files(place):
            yield from _files_at(inner, folder)
    elif place.suffix.lower() == ".zip":
        yield from _unpack(place, folder)
    else:
        yield place


def _unpack(archive: Path, folder: Path) -> Iterator[Path]:
    with ZipFile(archive) as packed:
        members = remote_files.list_zip_members(packed)
        if sum(one.file_size for one in members) > _MOST_UNPACKED:
            raise WatchlistImportRefused(f"{archive.name} unpacks to over 4 GiB: it is not a watchlist")
        for number, member in enumerate(members):
            inner = folder / f"{archive.name}-{number}"
            inner.mkdir()
            path = inner / Path(member.filename).name
            with packed.open(member) as content, path.open("wb") as out:
                shutil.copyfileobj(content, out)
            yield path


def _describe_file(path: Path) -> ImportedFile:
    with path.open("rb") as content:
        return ImportedFile(path.name, file_digest(content, "sha256").hexdigest(), path.stat().st_size)

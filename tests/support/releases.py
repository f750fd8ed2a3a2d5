"""The releases in ``docs/releases.md``, and their code from the repository."""

import io
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Final, NamedTuple

from tools.reference import PROJECT

FOLDER: Final = PROJECT / "docs" / "releases"
"""The API description of each release."""
TABLE: Final = FOLDER.with_suffix(".md")
_ROW: Final = re.compile(
    r"^\| (\d+\.\d+\.\d+) \| (\d{4}-\d{2}-\d{2}) \| ([0-9a-f]{40}|) ?\| (r0001_[0-9a-f]{12})", re.MULTILINE
)
_ANY_ROW: Final = re.compile(r"^\| \[?\d", re.MULTILINE)


class Release(NamedTuple):
    """A row of the table, without its last revision. ``commit`` is empty until the next commit names it."""

    version: str
    day: str
    commit: str
    baseline: str


def releases() -> list[Release]:
    """The releases, newest first. Raises ValueError for an invalid row."""
    text = TABLE.read_text()
    found = [Release(*row) for row in _ROW.findall(text)]
    if len(found) != len(_ANY_ROW.findall(text)):
        raise ValueError(f"{TABLE.name}: a row is `| version | day | commit, 40 digits | first and last revision |`")
    return found


def read_file(release: Release, path: str) -> bytes:
    """A file as released."""
    return _git("show", f"{release.commit}:{path}")


def export_source(release: Release, place: Path) -> Path:
    """Export the code of a release into a folder; returns the folder of its package."""
    with tarfile.open(fileobj=io.BytesIO(_git("archive", "--format=tar", release.commit, "src"))) as files:
        files.extractall(place, filter="data")
    return place / "src"


def is_in_clone(release: Release) -> bool:
    """Whether this clone has the release's commit; a shallow clone tries to fetch it. A full clone must have it."""
    shallow = _git("rev-parse", "--is-shallow-repository").strip() == b"true"
    return (
        not shallow
        or _succeeds("cat-file", "-e", f"{release.commit}^{{commit}}")
        or _succeeds("fetch", "--quiet", "--depth=1", "origin", release.commit)
    )


def _succeeds(*words: str) -> bool:
    return subprocess.run(["git", *words], cwd=PROJECT, check=False, capture_output=True).returncode == 0


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=PROJECT, check=True, stdout=subprocess.PIPE).stdout

"""What was released, as ``docs/releases.md`` lists it, and the code of it, taken from the repository."""

import io
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Final, NamedTuple

from tools.reference import PROJECT

FOLDER: Final = PROJECT / "docs" / "releases"
"""The description of the API of each release."""
TABLE: Final = FOLDER.with_suffix(".md")
_ROW: Final = re.compile(
    r"^\| (\d+\.\d+\.\d+) \| (\d{4}-\d{2}-\d{2}) \| ([0-9a-f]{40}|) ?\| (r0001_[0-9a-f]{12})", re.MULTILINE
)
_ANY_ROW: Final = re.compile(r"^\| \[?\d", re.MULTILINE)


class Release(NamedTuple):
    """A row of the table, without its last revision. ``commit`` is empty until the commit after it names it."""

    version: str
    day: str
    commit: str
    baseline: str


def releases() -> list[Release]:
    """The newest first. Raises ValueError for a row of another form."""
    text = TABLE.read_text()
    found = [Release(*row) for row in _ROW.findall(text)]
    if len(found) != len(_ANY_ROW.findall(text)):
        raise ValueError(f"{TABLE.name}: a row is `| version | day | commit, 40 digits | first and last revision |`")
    return found


def read_file(release: Release, path: str) -> bytes:
    """A file as it was released."""
    return _git("show", f"{_known(release.commit)}:{path}")


def export_source(release: Release, place: Path) -> Path:
    """Put the code of a release into a folder; the folder that its package lies in."""
    with tarfile.open(fileobj=io.BytesIO(_git("archive", "--format=tar", _known(release.commit), "src"))) as files:
        files.extractall(place, filter="data")
    return place / "src"


def _known(commit: str) -> str:
    """The commit, fetched where a shallow clone lacks it."""
    if subprocess.run(["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=PROJECT, capture_output=True).returncode:
        _git("fetch", "--quiet", "--depth=1", "origin", commit)
    return commit


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=PROJECT, check=True, stdout=subprocess.PIPE).stdout

"""Clones that the tests of this suite share: installing takes most of their time."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.newcomer import clones
from tests.newcomer.clones import Clone


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here is of one kind."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.newcomer)
            item.add_marker(pytest.mark.timeout(600))  # the first of them installs, beside another suite


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    """A folder that everybody may enter."""
    folder = Path(tempfile.mkdtemp(prefix="newcomer-")).resolve()
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def ordinary(place: Path) -> Iterator[Clone]:
    """A clone of somebody without rights, another account when root runs the tests: with 150 characters of path."""
    account = clones.ORDINARY_USER if os.geteuid() == 0 else None
    folder = place / "ordinary"
    folder.mkdir()
    if account:
        shutil.chown(folder, account)
    made = clones.clone(clones.lengthen(folder, 150), account)
    yield made
    made.remove()


@pytest.fixture(scope="session")
def private(place: Path) -> Iterator[Clone]:
    """A clone of whoever runs the tests (root in CI): a 0700 folder above, 150 characters of path, a strict umask."""
    made = clones.private(place / "closed")
    yield made
    made.remove()


@pytest.fixture(scope="session")
def installed(private: Clone, ordinary: Clone) -> Clone:
    """That clone with the environment that the ordinary one has installed for itself."""
    with ordinary.started("tools/bootstrap", "service") as installing:
        assert installing.process.wait(clones.FIRST_START_SECONDS) == 0, installing.printed
    clones.share_environment(ordinary, private)
    found = private.run("tools/bootstrap", "service")
    assert (found.returncode, found.stdout) == (0, ""), found.stdout
    return private


@pytest.fixture(scope="session")
def bare(place: Path) -> Iterator[Clone]:
    """A clone in which nothing was done yet, and nothing is: what is refused there leaves nothing."""
    made = clones.clone(place / "bare" / "almoner", None)
    yield made
    assert not (made.path / ".venv").exists()

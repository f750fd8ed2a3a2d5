"""One sandbox and one browser for all tests of a worker that only ask: to start `almoner run` takes seconds of work."""

import shutil
import subprocess
import tarfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.pages.site import open_browser
from tests.support.running import Running, folder, running
from tools.reference import PROJECT


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Running]:
    """The whole sandbox as `make run` starts it, its data where the documents say it is, without limits."""
    with folder("e2e") as made, running(made / "var", rate_limit_secret="10000/10000") as service:
        yield service
        assert service.process.poll() is None, f"it ended by itself:\n{service.tail(100)}"


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium, which may leave this machine no more than the tests may."""
    async with open_browser("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1") as launched:
        yield launched


@pytest.fixture(scope="session")
def typescript_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as npm would publish it, made and unpacked; nothing that it needs is missing in it."""
    copy = tmp_path_factory.mktemp("typescript") / "client"
    ignored = shutil.ignore_patterns("dist", "node_modules")
    shutil.copytree(PROJECT / "clients" / "typescript", copy, ignore=ignored)
    npm = ["npm", "--silent", "--no-audit", "--no-fund"]
    subprocess.run([*npm, "install"], cwd=copy, check=True)
    subprocess.run([*npm, "pack"], cwd=copy, check=True)
    (packed,) = copy.glob("almoner-client-*.tgz")
    with tarfile.open(packed) as files:
        files.extractall(copy.parent, filter="data")
    return copy.parent / "package"

"""One sandbox and one browser for all tests of a worker that only ask: to start `almoner run` takes seconds of work."""

from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser

from tests.pages.site import open_browser
from tests.support.running import Running, folder, running


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

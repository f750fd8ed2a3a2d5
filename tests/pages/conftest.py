"""One running site and one browser for all page tests of a worker."""

from collections.abc import AsyncIterator

import pytest

from tests.pages.site import AXE, Site, open_site
from tests.support.database import TestDatabase


@pytest.fixture(scope="session")
async def _site(session_database: TestDatabase) -> AsyncIterator[Site]:
    async with open_site(session_database) as made:
        yield made


@pytest.fixture
def site(_site: Site) -> Site:
    """The site, with nothing seen yet."""
    _site.seen.clear()
    _site.complaints.clear()
    return _site


@pytest.fixture
def axe() -> None:
    """For tests that ask axe."""
    if not AXE.exists():
        pytest.skip("axe-core is missing: tools/browser fetches it")

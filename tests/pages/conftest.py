"""One running site and one browser for all page tests of a worker."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser

from almoner.platform.pages.translations import TranslationCatalogues
from tests.pages import site as sites
from tests.pages.site import AXE, KINDS, Site, open_browser, open_site
from tests.support.database import TestDatabase


def pytest_configure(config: pytest.Config) -> None:
    """Among the long figures, axe is asked about every page."""
    sites.every_page = bool(config.getoption("--soak"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A way through all pages in every offered language among the long figures, else in one of each kind."""
    if "spoken_language" in metafunc.fixturenames:
        languages = TranslationCatalogues().offered_languages if metafunc.config.getoption("--soak") else KINDS
        metafunc.parametrize("spoken_language", languages)


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium, for every site of a worker."""
    async with open_browser() as launched:
        yield launched


@pytest.fixture(scope="session")
async def _site(session_database: TestDatabase, browser: Browser) -> AsyncIterator[Site]:
    async with open_site(session_database, browser) as made:
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

"""The operator's notices by country: on giving links, and before a donor agrees to a regular donation."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from almoner.platform.database.postgres import PostgresServer
from tests.api.test_giving_link_pages import opened
from tests.support import database, factories
from tests.support.browsing import Browser
from tests.support.client import Client
from tests.support.service import Service, serving

NOTICES = """
[[notice]]
country = "USA"
text = "Registered with the state."

[[notice]]
country = "USA"
state = "California"
text = "We remind you every year & you can cancel at any time."
regular = true

[[notice]]
country = "GBR"
text = "For charities in Britain."
regular = true
"""
ALWAYS, REGULAR = "Registered with the state.", "California</bdi></strong>: <bdi>We remind you every year"


@pytest.fixture(scope="module")
def notices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The operator's file."""
    file = tmp_path_factory.mktemp("notices") / "notices.toml"
    file.write_text(NOTICES)
    return file


@pytest.fixture(scope="module")
async def service(postgres_server: PostgresServer, notices: Path) -> AsyncIterator[Service]:
    """A service whose operator has notices."""
    async with database.copied(postgres_server) as made, serving(made, giving_notices=notices) as running:
        yield running


async def test_notices_of_regular_donations_stand_above_the_button_of_links_and_sessions(
    service: Service, api: Client
) -> None:
    link = await factories.giving_link(service, api, frequencies=["one_time", "monthly"])
    _, page = await opened(service, link)
    assert (ALWAYS in page, page.count(REGULAR), "Britain" in page) == (True, 1, False)
    session = await factories.session(service, api, frequencies=["monthly"])
    page = (await Browser(service.app, service.db.deployment.base_urls.pages).open(session["url"])).text
    assert (ALWAYS in page, page.count(REGULAR)) == (False, 1)
    assert re.search(rf'<p class="several">[^\n]*{re.escape(REGULAR)}[^\n]*</p>\s*<button', page)


async def test_without_regular_donations_only_the_others_are_shown(service: Service, api: Client) -> None:
    _, page = await opened(service, await factories.giving_link(service, api))
    assert (ALWAYS in page, REGULAR in page) == (True, False)

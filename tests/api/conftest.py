"""What several tests of the API and its pages begin with."""

from collections.abc import AsyncIterator

import pytest

from almoner.platform.database.postgres import PostgresServer
from tests.support import database
from tests.support.browsing import Browser
from tests.support.card_testing import Street, open_street, open_town
from tests.support.emptied import Emptied, emptied
from tests.support.members import Desk, desk
from tests.support.service import Service, Tenant


@pytest.fixture
async def owner(service: Service, tenant: Tenant) -> AsyncIterator[Desk]:
    """An owner of the fresh partner's account, signed in."""
    made = await desk(service, tenant, "owner")
    yield made
    await made.close()


@pytest.fixture
async def browser(service: Service) -> AsyncIterator[Browser]:
    """The browser of somebody who opens a mailed link."""
    made = Browser(service.app, service.db.deployment.base_urls.pages)
    yield made
    await made.close()


@pytest.fixture(scope="module")
async def town(postgres_server: PostgresServer) -> AsyncIterator[Emptied]:
    """A service with strict limits against card testing, of the module's own."""
    async with database.copied(postgres_server) as made, open_town(made) as service, emptied(service) as stored:
        yield stored


@pytest.fixture
async def street(town: Emptied) -> AsyncIterator[Street]:
    """A street with nobody on it."""
    async with town.used() as service, open_street(service) as made:
        yield made

"""Commands that change what a service of their own has: its clock and its records are nobody else's."""

from collections.abc import AsyncIterator

import pytest

from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.service import Service, serving


@pytest.fixture
async def service(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service of its own that lives in the time of the commands."""
    async with serving(empty_database) as made:
        made.clock.advance_to(made.clock.real_now())
        yield made


@pytest.fixture
async def api(service: Service) -> AsyncIterator[Client]:
    """Calls of a partner."""
    client = service.client((await service.tenant()).secret)
    yield client
    await client.close()

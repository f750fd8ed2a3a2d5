"""Commands on a service in which nobody else does anything: its clock and its records are nobody else's."""

from collections.abc import AsyncIterator

import pytest

from tests.support.client import Client
from tests.support.service import Service


@pytest.fixture
def service(alone: Service) -> Service:
    """It lives in the time of the commands."""
    alone.clock.advance_to(alone.clock.real_now())
    return alone


@pytest.fixture
async def api(service: Service) -> AsyncIterator[Client]:
    """Calls of a partner."""
    client = service.client((await service.tenant()).secret)
    yield client
    await client.close()

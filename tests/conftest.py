"""Fixtures of every test that needs the service; ``tests/unit`` needs none of them."""

import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from almoner.platform import postgres
from almoner.platform.postgres import Server
from tests.support import closed_network, database
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.figures import Figures
from tests.support.service import Service, Tenant, serving

CLUSTER = Path(__file__).parents[1] / ".cache" / "test-cluster"

closed_network.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--soak`` is given by `make soak`."""
    parser.addoption("--soak", action="store_true", help="full figures, written to docs/evidence")


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """How much to do, and where to write what was seen."""
    seed = getattr(request.config.option, "randomly_seed", None)
    return Figures(bool(request.config.getoption("--soak")), seed if isinstance(seed, int) else random.getrandbits(32))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """The embedded server, shared by the workers of this run and by runs at the same time."""
    with postgres.running(CLUSTER) as server:
        yield server


@pytest.fixture(scope="session")
async def session_database(postgres_server: Server) -> AsyncIterator[TestDatabase]:
    """The database of this worker."""
    async with database.copied(postgres_server) as made:
        yield made


@pytest.fixture
async def empty_database(postgres_server: Server) -> AsyncIterator[TestDatabase]:
    """A database for one test alone."""
    async with database.copied(postgres_server) as made:
        yield made


@pytest.fixture(scope="session")
async def service(session_database: TestDatabase) -> AsyncIterator[Service]:
    """The service of this worker: real commits, so every test brings its own partner."""
    async with serving(session_database) as made:
        yield made


@pytest.fixture
async def tenant(service: Service) -> Tenant:
    """A fresh partner."""
    return await service.tenant()


@pytest.fixture
async def api(service: Service, tenant: Tenant) -> AsyncIterator[Client]:
    """Calls with the fresh partner's secret key."""
    client = service.client(tenant.secret)
    yield client
    await client.close()


@pytest.fixture
async def publishable(service: Service, tenant: Tenant) -> AsyncIterator[Client]:
    """Calls with the same partner's publishable key."""
    client = service.client(tenant.publishable)
    yield client
    await client.close()


@pytest.fixture
async def other(service: Service) -> AsyncIterator[Client]:
    """Calls with another partner's secret key."""
    client = service.client((await service.tenant()).secret)
    yield client
    await client.close()


@pytest.fixture
async def anonymous(service: Service) -> AsyncIterator[Client]:
    """Calls without a key."""
    client = service.client(None)
    yield client
    await client.close()

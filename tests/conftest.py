"""Fixtures of every test that needs the service; ``tests/unit`` needs none of them."""

import asyncio
import gc
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import pytest
import uvloop

from almoner.access.credentials import hashing
from almoner.platform.database import postgres
from almoner.platform.database.postgres import PostgresServer
from tests.support import array_types, closed_network, cluster, database, emptied, hanging, statements
from tests.support import given_files as outside
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.emptied import Emptied
from tests.support.figures import Figures
from tests.support.people import LEAST_COST
from tests.support.scim import ScimClient
from tests.support.service import Service, Tenant, serving

SHORT, LONG = 40, 500
"""Examples of each property, unless it says otherwise."""
for profile, examples in (("short", SHORT), ("long", LONG)):
    hypothesis.settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,  # on a busy machine none is too slow
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )

gc.disable()  # until all is imported, of which nothing is garbage
if find_spec("sniffio") is None:  # httpx asks for it at each request, and all folders would be searched each time
    sys.modules["sniffio"] = None  # type: ignore[assignment]
closed_network.close()
hashing.set_hash_cost(LEAST_COST)
asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())  # as the service runs
recorded = statements.record()
array_types.remember()


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--soak`` is given by `make soak`."""
    parser.addoption("--soak", action="store_true", help="full figures, written to docs/evidence")
    parser.addoption("--minutes", type=float, help="how long the hostile hour takes")


def pytest_configure(config: pytest.Config) -> None:
    """More examples of every property among the long figures; Ctrl-C by a handler that has a short name.

    asyncio takes the default one's place with its own, and whoever asks for it pays for the text of its whole task:
    fixtures and tests do so several times each, with the service in it (a fifth of all processor time).
    """
    hypothesis.settings.load_profile("long" if config.getoption("--soak") else "short")
    signal.signal(signal.SIGINT, _interrupted)


def _interrupted(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Among the long figures: what is marked so, and whole files as published, where their folder is named."""
    soak = config.getoption("--soak")
    left_out = set() if soak else {item for item in items if item.get_closest_marker("long")}
    if not soak or outside.folder() is None:
        left_out |= {item for item in items if "given_files" in getattr(item, "fixturenames", ())}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """What was imported stays: no look for garbage goes through it again, and there are few, as in a server."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What the service asked of PostgreSQL is looked at when all suites have run: ``tests/plans``."""
    first = Path(session.config.args[0].partition("::")[0]).resolve().relative_to(cluster.PROJECT)
    recorded.write("-".join((*first.parts[1:2], first.stem, os.environ.get("PYTEST_XDIST_WORKER", "alone"))))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test that hangs says what it waits for."""
    with hanging.watched(item.nodeid):
        return (yield)


@pytest.fixture
def given_files() -> Path:
    """The folder of whole files; a test that asks for it runs in `make soak`, where one is named."""
    folder = outside.folder()
    assert folder is not None, "without one, the test is left out"
    return folder


@pytest.fixture
def hashes_of_today() -> Iterator[None]:
    """Passwords are hashed as the service does."""
    hashing.set_hash_cost(hashing.CURRENT_COST)
    yield
    hashing.set_hash_cost(LEAST_COST)


@pytest.fixture
def minutes(request: pytest.FixtureRequest) -> float | None:
    """How long the hostile hour takes, where somebody says so."""
    given: float | None = request.config.getoption("--minutes")
    return given


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """How much to do, and where to write what was seen."""
    seed = getattr(request.config.option, "randomly_seed", None)
    return Figures(bool(request.config.getoption("--soak")), seed if isinstance(seed, int) else random.getrandbits(32))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The embedded server, shared by the workers of this run and by runs at the same time."""
    with postgres.run_embedded_server(cluster.folder()) as server:
        hanging.servers.append(server)
        yield server


@pytest.fixture(scope="session")
async def session_database(postgres_server: PostgresServer) -> AsyncIterator[TestDatabase]:
    """The database of this worker."""
    async with database.copied(postgres_server) as made:
        yield made


@pytest.fixture
async def empty_database(postgres_server: PostgresServer) -> AsyncIterator[TestDatabase]:
    """A database for one test alone."""
    async with database.copied(postgres_server) as made:
        yield made


@pytest.fixture(scope="session")
async def service(session_database: TestDatabase) -> AsyncIterator[Service]:
    """The service of this worker: real commits, so every test brings its own partner."""
    async with serving(session_database) as made:
        yield made


@pytest.fixture
def standing_time(service: Service) -> Iterator[None]:
    """Real time passes only where the test moves it, for limits of a second or two on a busy machine."""
    with service.clock.wall_stopped():
        yield


@pytest.fixture(scope="session")
async def emptied_service(postgres_server: PostgresServer) -> AsyncIterator[Emptied]:
    """The one that ``alone`` gives."""
    async with database.copied(postgres_server) as made, serving(made) as service, emptied.emptied(service) as stored:
        yield stored


@pytest.fixture
async def alone(emptied_service: Emptied) -> AsyncIterator[Service]:
    """A service with nothing in its database, in which nobody else does anything."""
    async with emptied_service.used() as service:
        yield service


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


@pytest.fixture
async def scim(service: Service, tenant: Tenant) -> AsyncIterator[ScimClient]:
    """Calls below /scim/v2 with the fresh partner's SCIM key."""
    async with await ScimClient.for_partner(service, tenant) as client:
        yield client


@pytest.fixture
async def foreign_scim(service: Service) -> AsyncIterator[ScimClient]:
    """Calls below /scim/v2 with another partner's SCIM key."""
    async with await ScimClient.for_partner(service, await service.tenant()) as client:
        yield client

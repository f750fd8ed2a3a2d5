"""The whole service in this process, with its own database and clocks that tests move."""

import asyncio
import base64
import itertools
import socket
from collections.abc import AsyncIterator, Hashable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from tempfile import TemporaryDirectory

from starlette.types import ASGIApp

from almoner import app as application
from almoner import settings as configuration
from almoner import wiring, worker
from almoner.access.keys import service as keys
from almoner.access.keys.domain import Kind
from almoner.access.partners import service as partners
from almoner.cli.serve import serve_application
from almoner.platform.database.transactions import Database, Partner
from almoner.platform.http.caller import PERSONAL
from almoner.platform.http.endpoints import Endpoint
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.pages.translations import TranslationCatalogues
from almoner.validation.applications.configurations import service as configurations
from tests.support import card_numbers
from tests.support.client import Client
from tests.support.clock import TestClock
from tests.support.database import TestDatabase

NO_LIMIT = configuration.RequestRate(100_000, 100_000)


@dataclass(frozen=True, slots=True)
class Tenant:
    """A partner with one key of each kind."""

    partner: Partner
    name: str
    secret: str
    publishable: str


@dataclass(slots=True)
class Service:
    """The application, its database and its clocks for a test. ``lines`` are its log lines as written."""

    services: wiring.Services
    clock: TestClock
    database: TestDatabase
    lines: list[bytes] = field(default_factory=list)
    _names: "itertools.count[int]" = field(default_factory=itertools.count)
    _app: ASGIApp | None = None

    @property
    def app(self) -> ASGIApp:
        """The application, built when it is first called."""
        if self._app is None:
            self._app = application.create_app(self.services, _description(self.services))
        return self._app

    @property
    def master_key(self) -> str:
        """For processes that do its work: repeated provider calls must have the same keys."""
        key = self.services.settings.master_key
        assert key is not None
        return key.get_secret_value()

    @property
    def db(self) -> Database:
        """The service's own pool."""
        return self.services.db

    @property
    def endpoints(self) -> Sequence[Endpoint]:
        """Every declared endpoint."""
        return [endpoint for group in self.services.routes for endpoint in group.endpoints]

    async def drain(self) -> None:
        """Number events, run reactions, sweeps and jobs until nothing is due."""
        await worker.run_due_work(self.services)

    async def tenant(self, *, scopes: frozenset[str] = frozenset()) -> Tenant:
        """Create a partner."""
        name = f"Partner {next(self._names)}"
        async with self.db.write() as tx:
            account = await partners.create(tx, name)
            partner = Partner(account.id)
            await partners.set_scim_allowed(tx, partner, allowed=True)
            await configurations.create_default(tx, partner)
            _, secret = await keys.create(
                tx, partner, "secret", "tests", scopes or frozenset({"*", "sandbox_clock", PERSONAL})
            )
            _, publishable = await keys.create(tx, partner, "publishable", "tests")
        return Tenant(partner, name, secret, publishable)

    async def key(self, partner: Partner, kind: Kind = "secret", *scopes: str) -> str:
        """Create another key of a partner."""
        async with self.db.write() as tx:
            given = scopes or (("*", PERSONAL) if kind == "secret" else ())
            _, secret = await keys.create(tx, partner, kind, "tests", frozenset(given))
        return secret

    def client(self, key: str | None, *, address: str = "127.0.0.1") -> Client:
        """A client with a key, or without one."""
        return Client(self.app, self.db.deployment.base_urls.api, key, address)


_descriptions: dict[Hashable, bytes] = {}


def _description(services: wiring.Services) -> bytes:
    """Built once for all services with the same endpoints and address: building it takes longer than a test."""
    declared = tuple((endpoint.method, endpoint.path) for group in services.routes for endpoint in group.endpoints)
    same = (services.db.deployment.base_urls.api, services.settings.sandbox, declared, tuple(services.events))
    if same not in _descriptions:
        _descriptions[same] = application.build_server_openapi_document(services)
    return _descriptions[same]


_catalogues = cache(TranslationCatalogues)
"""Read once for all services."""


def settings_for(database: TestDatabase, **given: object) -> configuration.Settings:
    """Settings of a sandbox without limits."""
    values: dict[str, object] = {
        "environment": "sandbox",
        "database_url": database.dsn,
        "master_key": base64.b64encode(sha256(database.name.encode()).digest()).decode(),  # one key per database
        "disk_reserve_mb": 0,  # regardless of the free space where tests run
        "rate_limit_secret": NO_LIMIT,
        "rate_limit_publishable": NO_LIMIT,
        "rate_limit_address": NO_LIMIT,
        "rate_limit_wrong_keys": NO_LIMIT,
    }
    return configuration.read_settings(**{**values, **given})


def _answer_once_called(group: asyncio.TaskGroup, app: ASGIApp, listening: socket.socket, stop: asyncio.Event) -> None:
    """Start when somebody connects: most tests never do, and stopping a server takes a tenth of a second."""
    loop = asyncio.get_running_loop()

    def begin() -> None:
        loop.remove_reader(listening)
        group.create_task(serve_application(app, [listening], stop))

    loop.add_reader(listening, begin)


@asynccontextmanager
async def serving(
    database: TestDatabase, *, catalogues: TranslationCatalogues | None = None, **settings: object
) -> AsyncIterator[Service]:
    """The service until the block ends, with the test payment provider on its own port."""
    clock = TestClock()
    lines: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))
    provider_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    heads = TemporaryDirectory(prefix="almoner-heads-")
    documents = TemporaryDirectory(prefix="almoner-documents-")
    status = TemporaryDirectory(prefix="almoner-status-")
    folders = {"audit_heads": heads.name, "documents_url": documents.name, "status_dir": status.name}
    given = settings_for(database, **{"provider_url": provider_url, **folders, **settings})
    services = await wiring.build_services(
        given, clock=clock, telemetry=Telemetry(lines.append), catalogues=catalogues or _catalogues()
    )
    stop = asyncio.Event()
    try:
        async with asyncio.TaskGroup() as group:
            if services.provider_app is not None:
                _answer_once_called(group, services.provider_app, listening, stop)
            yield Service(services, clock, database, lines)
            # H5: after all tests, no card number is stored or logged anywhere.
            found = [*await card_numbers.in_database(database), *card_numbers.in_lines(lines)]
            assert found == [], f"card numbers: {found}"
            stop.set()
    finally:
        if listening.fileno() >= 0:  # the provider's server closes it, if it was started
            asyncio.get_running_loop().remove_reader(listening)
        listening.close()
        await services.close()
        for folder in (heads, documents, status):
            folder.cleanup()

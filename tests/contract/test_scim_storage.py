"""The storage of SCIM keeps the rules of scim2-server, all of them: its suite over PostgreSQL."""

import asyncio
from collections.abc import Iterator
from typing import TypeAlias

import pytest
from scim2_models import Bulk, ETag, Filter, ScimProvider, Sort
from scim2_server.storage import ScimStorage
from scim2_server.testing import AsyncScimStorageContract, BlockingStorage

from almoner.platform.database.transactions import Database, open_database
from tests.support import scim_rows
from tests.support.database import TestDatabase

Connected: TypeAlias = tuple[asyncio.Runner, Database]


@pytest.fixture(scope="module")
def connected(session_database: TestDatabase) -> Iterator[Connected]:
    """One connection, which has planned what it is asked, and the loop that it belongs to."""
    with asyncio.Runner() as runner:
        db = runner.run(open_database(session_database.dsn, scim_rows.deployment(), pool_size=1))
        yield runner, db
        runner.run(db.close())


class TestPostgresStorage(AsyncScimStorageContract):
    """Each test has a partner of its own, and a transaction that is undone."""

    @pytest.fixture
    def provider(self) -> ScimProvider:
        """That of the suite, made once: no test changes it."""
        return scim_rows.PROVIDER

    @pytest.fixture
    def storage(self, connected: Connected) -> Iterator[ScimStorage]:
        runner, db = connected
        writing = db.write()
        tx = runner.run(writing.__aenter__())
        partner = runner.run(scim_rows.partner(tx, "Directory"))
        yield BlockingStorage(scim_rows.storage(tx, partner), runner)
        interruption = RuntimeError()
        runner.run(writing.__aexit__(RuntimeError, interruption, None))

    @pytest.fixture(autouse=True)
    def skips_nothing(self, provider: ScimProvider) -> None:
        """What is announced is what is tested."""
        config = provider.config
        assert config is not None
        announced: list[Bulk | ETag | Filter | Sort | None] = [config.filter, config.sort, config.etag, config.bulk]
        assert all(one is not None and one.supported for one in announced)

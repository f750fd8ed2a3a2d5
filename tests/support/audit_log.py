"""The audit log of one scope, and tampering with it as the owner of the tables, whom triggers do not stop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import asyncpg

from almoner.kit.ids import new_id
from almoner.platform.audit import heads as audit_heads
from almoner.platform.audit import log as audit
from almoner.platform.audit import verification as audit_verification
from almoner.platform.audit.chain import AuditChainBuilder
from almoner.platform.audit.log import Actor
from almoner.platform.audit.verification import ChainVerification
from almoner.platform.database.transactions import Database
from almoner.platform.observability.telemetry import Telemetry
from tests.support.service import Service

KEY = Actor("key", "sandbox_apikey_0")


@dataclass(frozen=True, slots=True)
class Log:
    """The log of a scope that nobody else writes to; its heads are exported to ``folder``."""

    service: Service
    scope: UUID
    folder: Path

    @property
    def file(self) -> Path:
        """The file of its exported heads."""
        return self.folder / (
            audit_heads.audit_scope_name(self.service.db.deployment.ids, self.scope) + audit_heads.SUFFIX
        )

    async def write(self, entries: int = 1, server: Database | None = None) -> None:
        """Write entries and chain them; ``server``: another process that writes them."""
        async with (server or self.service.db).write() as tx:
            for number in range(entries):
                await audit.record_entry(
                    tx,
                    self.scope,
                    KEY,
                    f"thing.{number}",
                    "thing_1",
                    ip_address="192.0.2.1",
                    request_id="req_1",
                    details={"n": number, "of": ["a", "b"]},
                )
        await self.chain()

    async def chain(self) -> None:
        """Chain all waiting entries."""
        chainer = AuditChainBuilder(self.service.db, Telemetry(lambda _: None))
        while await chainer.chain_next_entries():
            pass

    async def sign(self) -> None:
        """Sign and export new heads."""
        async with self.service.db.write() as tx:
            await audit_heads.sign_heads_of_grown_chains(tx)
        async with self.service.db.write() as tx:
            await audit_heads.export_signed_chain_heads(tx, self.folder)

    async def prove(self, *, heads: bool = True) -> ChainVerification:
        """Verify the log."""
        return await audit_verification.verify_chain(self.service.db, self.scope, self.folder if heads else None)

    @asynccontextmanager
    async def tampering(self) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
        """A connection as the owner of the tables, without triggers; commits at the end."""
        owner = await asyncpg.connect(self.service.database.owner_dsn)
        tables = ("audit_entry", "audit_head", "audit_chain")
        try:
            async with owner.transaction():
                for table in tables:
                    await owner.execute(f"alter table {table} disable trigger user")
                yield owner
                for table in tables:
                    await owner.execute(f"alter table {table} enable trigger user")
        finally:
            await owner.close()

    async def tamper(self, *statements: str) -> None:
        """Run statements as the owner; ``$1`` is the scope, if used."""
        async with self.tampering() as owner:
            for sql in statements:
                await owner.execute(sql, *([self.scope] if "$1" in sql else []))


async def begun(service: Service, folder: Path, entries: int = 9) -> Log:
    """Create a log of its own scope, signed and exported after two thirds of its entries."""
    log = Log(service, new_id(service.clock.real_now()), folder)
    await log.write(entries - entries // 3)
    await log.sign()
    await log.write(entries // 3)
    return log

"""Checks in every process whether its database is a copy (``copy_detection``), and raises the generation."""

import asyncio
from datetime import datetime, timedelta
from typing import Final

from almoner.platform.database import copy_detection
from almoner.platform.database.copy_detection import DeploymentClaim, DeploymentGeneration, ServerState
from almoner.platform.database.identity import ADVICE, DatabaseCopyNotice, DeploymentIdentity, UnreleasedDatabaseCopy
from almoner.platform.database.transactions import Database
from almoner.platform.files.storage import DeploymentRecordStore, StorageUnavailable
from almoner.platform.jobs.wakeup import wait_until_set
from almoner.platform.observability.failures import DATABASE_ERRORS, failure_log_fields
from almoner.platform.observability.telemetry import Telemetry

_LOOK_SECONDS: Final = 1.0
_TELL_AGAIN: Final = timedelta(hours=1)


class CopiedDatabaseMonitor:
    """Checks for signs of a copied database, raises the generation, and updates this process's identity.

    Call ``check`` first, then ``run`` until stopped, and ``close`` at the end.
    """

    def __init__(self, db: Database, marks: DeploymentRecordStore, dsn: str, telemetry: Telemetry) -> None:
        self._db = db
        self._marks = marks
        self._address = copy_detection.server_address(dsn)
        self._telemetry = telemetry
        self._identity: DeploymentIdentity = db.deployment.identity
        self._awaiting_since: datetime | None = None
        self._raised = 0
        self._reported: datetime | None = None

    async def check_whether_database_was_copied(self, *, at_shutdown: bool = False) -> None:
        """Inspect the database once, and raise the generation if it is due."""
        if not at_shutdown and self._raised > 1 and await self._is_fresh():
            return
        found = await copy_detection.detect_database_copy(self._db, self._marks, self._address)
        if found.storage_error is not None:
            self._log("storage_waits", found.storage_error)
        if found.verdict not in copy_detection.LIVE_VERDICTS:
            await self._handle_copy(found.claim, found.verdict)
        elif found.verdict == "promoted" and self._awaits_former_server():
            self._identity.awaits_promotion = True
        elif found.claim is not None or found.storage_error is None:
            await self._claim_or_raise(found.claim, found.server, at_end=at_shutdown)

    async def ensure_owns_storage(self) -> None:
        """Check the storage before deleting there. Raises StorageUnavailable, UnreleasedDatabaseCopy."""
        self._identity.ensure_active()
        content = (
            None if self._identity.id is None else await self._marks.read_deployment_record(str(self._identity.id))
        )
        async with self._db.read() as tx:
            claim = await copy_detection.find_deployment_claim(tx)
        if claim is None or claim.copy_reason is not None or not claim.intact:
            raise UnreleasedDatabaseCopy
        if (
            content is None
            or claim.id != self._identity.id
            or not claim.includes_generation(DeploymentGeneration.from_bytes(content))
        ):
            raise StorageUnavailable("nothing is removed while the storage of documents does not know this deployment")

    async def run(self, stop: asyncio.Event) -> None:
        """Check every second until ``stop`` is set."""
        while not await wait_until_set(stop, _LOOK_SECONDS):
            try:
                await self.check_whether_database_was_copied()
            except DATABASE_ERRORS as error:
                self._log("copy_watch_waits", error)
            self._log_copy()

    async def close(self) -> None:
        """Raise the generation once more at shutdown, so that older copies are recognised."""
        if not self._identity.is_active or self._identity.id is None:
            return
        try:
            await self.check_whether_database_was_copied(at_shutdown=True)
        except DATABASE_ERRORS as error:
            self._log("copy_watch_waits", error)

    async def _is_fresh(self) -> bool:
        """Whether another process has checked and raised the generation a moment ago."""
        async with self._db.read() as tx:
            claim, server = (
                await copy_detection.find_deployment_claim(tx),
                await copy_detection.read_server_state(tx, self._address),
            )
        if claim is None or not claim.is_on_server(server) or claim.id != self._identity.id:
            return False
        return self._identity.is_active and self._real_now() - claim.generation_at < copy_detection.RAISE_INTERVAL

    def _awaits_former_server(self) -> bool:
        """Whether the former server may still run; it would have raised the generation."""
        real_now = self._real_now()
        self._awaiting_since = self._awaiting_since or real_now
        return real_now - self._awaiting_since < copy_detection.PROMOTION_WAIT

    async def _claim_or_raise(self, claim: DeploymentClaim | None, server: ServerState, *, at_end: bool) -> None:
        async with self._db.write() as tx:
            raised = await (
                copy_detection.insert_deployment_claim(tx, server)
                if claim is None
                else copy_detection.increment_generation(tx, claim, server)
            )
        if raised is None:  # another process has raised it since it was read
            async with self._db.read() as tx:
                raised = await copy_detection.find_deployment_claim(tx)
            if raised is not None and raised.is_on_server(server):
                self._adopt(raised)
            return
        self._raised += 1
        self._adopt(raised)
        back = 0 if at_end or len(raised.recent_tokens) == 1 else 1
        try:
            async with asyncio.timeout(copy_detection.PATIENCE_SECONDS):
                await self._marks.write_deployment_record(str(raised.id), raised.recent_generation(back).to_bytes())
        except (StorageUnavailable, TimeoutError) as error:
            self._log("storage_waits", error)

    def _adopt(self, claim: DeploymentClaim) -> None:
        self._identity.act_as_deployment(claim.id, claim.storage_marks)
        self._awaiting_since = None
        self._telemetry.unreleased_copy.set(0)

    async def _handle_copy(self, claim: DeploymentClaim | None, reason: str) -> None:
        known, real_now = self._identity.copy, self._real_now()
        since = (
            claim.copy_detected_at
            if claim is not None and claim.copy_detected_at
            else known.detected_at
            if known
            else real_now
        )
        self._identity.copy, self._identity.awaits_promotion = DatabaseCopyNotice(reason, since), False
        self._telemetry.unreleased_copy.set(1)
        self._log_copy()
        if claim is not None and claim.copy_reason != reason:
            async with self._db.write() as tx:
                await copy_detection.record_detected_database_copy(tx, claim, reason)

    def _log_copy(self) -> None:
        """Log the copy once, and then every hour."""
        copy, real_now = self._identity.copy, self._real_now()
        if copy is None:
            self._reported = None
        elif self._reported is None or real_now - self._reported >= _TELL_AGAIN:
            self._reported = real_now
            self._telemetry.log(
                "unreleased_copy", real_now, level="error", why=copy.reason, since=copy.detected_at, advice=ADVICE
            )

    def _real_now(self) -> datetime:
        return self._db.deployment.clock.real_now()

    def _log(self, event: str, error: BaseException) -> None:
        self._telemetry.log(event, self._real_now(), **failure_log_fields(error))

"""The provider's notices to the merchant: signed, repeated with growing gaps until a 2xx, by any server."""

import asyncio
import hmac
from datetime import timedelta
from typing import Final

from almoner.platform.database.transactions import Database
from almoner.platform.jobs.wakeup import PollBackoff, wait_until_set
from almoner.platform.observability.failures import DATABASE_ERRORS
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.client import OutboundClient, OutboundFailure
from almoner.provider_test import store
from almoner.provider_test.domain import GIVE_UP_AFTER, Callback, retry_delay

_SIGNATURE_HEADER: Final = "Provider-Signature"

_LEASE: Final = timedelta(seconds=60)
_BATCH: Final = 20
_OWNER: Final = "provider_test"


def callback_signature(secret: str, timestamp: int, body: bytes) -> str:
    """The signature header ``t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">``."""
    signed = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, "sha256").hexdigest()
    return f"t={timestamp},v1={signed}"


class CallbackSender:
    """Sends due callbacks. Safe in any number of processes that share the database."""

    def __init__(self, database: Database, outbound: OutboundClient, telemetry: Telemetry, secret: str) -> None:
        self._database = database
        self._outbound = outbound
        self._telemetry = telemetry
        self._secret = secret

    async def deliver_due_callbacks(self) -> int:
        """Send one batch of due callbacks; returns how many were attempted."""
        if not self._database.deployment.identity.is_active or self._database.disk.is_low:
            return 0
        async with self._database.single_statement() as tx:
            leased = await store.lease_callbacks(tx, limit=_BATCH, lease=_LEASE)
        for callback in leased:
            await self._deliver(callback)
        return len(leased)

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until stopped; waits while the database is unavailable."""
        pace = PollBackoff()
        while not stop.is_set():
            try:
                tried = await self.deliver_due_callbacks()
            except DATABASE_ERRORS as error:
                self._log("provider_test_callbacks_paused", reason=type(error).__name__)
                tried = 0
            if tried:
                pace.reset()
            else:
                await wait_until_set(stop, pace.seconds)
                pace.increase()

    async def _deliver(self, callback: Callback) -> None:
        delivered = await self._send(callback)
        async with self._database.write() as tx:
            if delivered:
                await store.mark_callback_delivered(tx, callback)
            else:
                gap = retry_delay(callback.attempts)
                keep_on = tx.now + gap < callback.created_at + GIVE_UP_AFTER
                await store.mark_callback_failed(tx, callback, tx.now + gap if keep_on else None)

    async def _send(self, callback: Callback) -> bool:
        timestamp = int(self._database.deployment.clock.real_now().timestamp())
        headers = {
            "Content-Type": "application/json",
            _SIGNATURE_HEADER: callback_signature(self._secret, timestamp, callback.body),
        }
        try:
            answer = await self._outbound.post(callback.url, callback.body, headers, connection_owner=_OWNER)
        except OutboundFailure as failure:
            self._log("provider_test_callback_failed", callback=callback.id, reason=str(failure))
            return False
        return 200 <= answer.status < 300

    def _log(self, event: str, **fields: object) -> None:
        self._telemetry.log(event, self._database.deployment.clock.real_now(), **fields)

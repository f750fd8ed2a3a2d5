"""Buffers requests in memory and writes them in batches, so that no request waits for its log entry."""

import asyncio
import math
from collections import deque
from functools import lru_cache
from typing import Final
from uuid import UUID

from prometheus_client import Counter
from starlette.types import Scope

from almoner.access.keys import service as keys
from almoner.access.keys.domain import ApiRequest
from almoner.platform.database.disk_space import DiskSpaceLow, refuse_writes_when_disk_low
from almoner.platform.database.transactions import Database
from almoner.platform.jobs.wakeup import wait_until_set
from almoner.platform.observability.failures import DATABASE_ERRORS, failure_log_fields
from almoner.platform.observability.telemetry import RequestLogLine, Telemetry
from almoner.platform.outbound.addresses import wider_client_network_for_rate_limit

_WRITE_SECONDS: Final = 1.0
_BATCH: Final = 2_000
_MOST_WAITING: Final = 50_000
"""Maximum number of buffered requests while the database is unavailable; the oldest are dropped."""


class ApiRequestRecorder:
    """Records requests with API keys, and writes them once a second."""

    def __init__(self, db: Database, telemetry: Telemetry) -> None:
        self._db = db
        self._telemetry = telemetry
        self._waiting: deque[ApiRequest] = deque()
        self._dropped = Counter(
            "almoner_api_requests_dropped",
            "Requests that are missing in partners' request logs.",
            registry=telemetry.registry,
        )

    def record_request(self, asgi_scope: Scope, request_id: UUID, log_line: RequestLogLine) -> None:
        """Record one answered request, if it had an API key."""
        if log_line.partner is None or log_line.key is None:
            return
        if len(self._waiting) >= _MOST_WAITING:
            self._waiting.popleft()
            self._dropped.inc()
        self._waiting.append(
            ApiRequest(
                log_line.partner,
                request_id,
                log_line.key,
                log_line.method,
                log_line.route.rpartition(" ")[2],
                asgi_scope.get("almoner.path"),
                asgi_scope.get("almoner.parameters"),
                log_line.status,
                log_line.ms,
                asgi_scope.get("almoner.error"),
                _cut_network(log_line.address),
            )
        )

    async def flush_until_stopped(self, stop: asyncio.Event) -> None:
        """Write buffered requests every second, and once more at shutdown."""
        while not stop.is_set():
            await wait_until_set(stop, _WRITE_SECONDS)
            try:
                await self.flush()
                while stop.is_set() and self._waiting:
                    await self.flush()
            except DATABASE_ERRORS as error:
                now = self._db.deployment.clock.real_now()
                self._telemetry.log("api_requests_wait", now, **failure_log_fields(error))

    async def flush(self) -> None:
        """Write the requests buffered until now; they are dropped while the disk is nearly full.

        Later ones are left for the next time: under load, there are always some, and each transaction would write few.
        """
        for _ in range(math.ceil(len(self._waiting) / _BATCH)):
            batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
            try:
                with refuse_writes_when_disk_low():
                    async with self._db.write() as tx:
                        await keys.insert_requests(tx, batch)
            except DiskSpaceLow:
                self._dropped.inc(len(batch))
            except BaseException:
                self._waiting.extendleft(reversed(batch))
                raise


@lru_cache(4096)
def _cut_network(ip_address: str | None) -> str | None:
    """The /24 or /48 network of an address."""
    return None if ip_address is None else wider_client_network_for_rate_limit(ip_address)

"""Shares rate limit usage between servers through the database."""

import asyncio
from collections.abc import Mapping
from typing import Final

from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs.wakeup import wait_until_set
from almoner.platform.observability.failures import DATABASE_ERRORS, failure_log_fields
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.ratelimit import MOST_SHARED, RateLimiter, Slot, rate_limit_slot_digest

_SHARE_SECONDS: Final = 1.0
_TURNS_TO_FORGET: Final = 60

_SHARE: Final = """
with given as (
    select * from unnest($1::bytea[], $2::float8[]) as given (key, seconds) order by key
), counted as (
    insert into rate_limit_use as u (key_hash, arrival)
    select key, $4::timestamptz + make_interval(secs => seconds) from given
    on conflict (key_hash) do update set arrival = greatest(u.arrival, $4) + (excluded.arrival - $4)
    returning key_hash as key, arrival
)
select key, extract(epoch from arrival - $4)::float8 as ahead from counted
union all
(
    select key_hash, extract(epoch from arrival - $4)::float8 from rate_limit_use
    where arrival > $4 and key_hash <> all($1::bytea[]) order by arrival desc limit $3
)
"""


async def exchange_rate_limit_usage(tx: Tx, usage_seconds_by_slot: Mapping[Slot, float]) -> dict[bytes, float]:
    """Add this server's usage to the shared table; returns how far each key is ahead on all servers."""
    digests = {rate_limit_slot_digest(slot): seconds for slot, seconds in usage_seconds_by_slot.items()}
    rows = await tx.fetch(_SHARE, list(digests), list(digests.values()), MOST_SHARED, tx.real_now)
    return {row["key"]: row["ahead"] for row in rows}


class CrossServerRateLimitSynchroniser:
    """Exchanges rate limit usage between servers every second; a single server skips it."""

    def __init__(self, db: Database, limiter: RateLimiter, telemetry: Telemetry) -> None:
        self._db = db
        self._limiter = limiter
        self._telemetry = telemetry
        self._servers = 1
        self._turns = 0

    def set_server_count(self, live_server_count: int) -> None:
        """Set the number of live servers."""
        self._servers = live_server_count

    async def exchange_usage_once(self) -> None:
        """Exchange usage once; delete expired usage once a minute."""
        used = self._limiter.drain_usage()
        if self._servers <= 1:
            return
        async with self._db.single_statement() as tx:
            ahead = await exchange_rate_limit_usage(tx, used)
            now = tx.real_now.timestamp()
        self._limiter.apply_shared_usage(ahead, now)
        self._turns += 1
        if self._turns % _TURNS_TO_FORGET == 0:
            async with self._db.single_statement() as tx:
                await tx.execute("delete from rate_limit_use where arrival < $1", tx.real_now)

    async def run(self, stop: asyncio.Event) -> None:
        """Exchange usage every second until ``stop`` is set."""
        while not stop.is_set():
            await wait_until_set(stop, _SHARE_SECONDS)
            try:
                await self.exchange_usage_once()
            except DATABASE_ERRORS as error:
                self._telemetry.log(
                    "rate_limits_wait", self._db.deployment.clock.real_now(), **failure_log_fields(error)
                )

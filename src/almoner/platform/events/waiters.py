"""Long polling for a partner's next event, bounded in number and time, without holding a connection."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from almoner.kit.errors import RateExceeded, ServiceUnavailable
from almoner.platform.database.fair_queue import run_as_fair_share_client
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Database, Partner, Tx
from almoner.platform.jobs.wakeup import wait_until_set

_MAX_WAITING: Final = 200
"""The maximum number of waiting calls in a process, which handles up to 800 calls at once."""
MAX_WAITING_PER_PARTNER: Final = 10
_LOOK_SECONDS: Final = 0.25


class TooManyWaiting(RateExceeded):
    """Too many long-polling calls wait already."""

    message = (
        "Too many of your requests are waiting for events; end one, or wait for the time in the Retry-After header"
    )


@dataclass(eq=False, slots=True)
class _Waiter:
    partner_id: UUID
    after: int
    released: asyncio.Event = field(default_factory=asyncio.Event)


class EventLongPollWaiters:
    """The long-polling calls of this process, which share one query."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: set[_Waiter] = set()
        self._partners: Counter[UUID] = Counter()
        self._looking: asyncio.Task[None] | None = None
        self._stopped = False

    @property
    def waiting_call_count(self) -> int:
        """How many calls are waiting."""
        return len(self._waiting)

    async def wait_for_event(self, partner: Partner, after_sequence: int, timeout_seconds: float) -> bool:
        """Wait until the partner may have an event after this sequence number; False on timeout.

        Raises ServiceUnavailable and TooManyWaiting when too many wait already.
        """
        if self._stopped:
            return False
        if self._partners[partner.id] >= MAX_WAITING_PER_PARTNER:
            raise TooManyWaiting(1)
        if len(self._waiting) >= _MAX_WAITING:
            raise ServiceUnavailable
        waiter = _Waiter(partner.id, after_sequence)
        self._waiting.add(waiter)
        self._partners[partner.id] += 1
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._release_ready())
        try:
            return await wait_until_set(waiter.released, timeout_seconds) and not self._stopped
        finally:
            self._waiting.discard(waiter)
            self._partners[partner.id] -= 1
            if not self._partners[partner.id]:
                del self._partners[partner.id]

    async def run(self, stop: asyncio.Event) -> None:
        """Release all waiting calls at shutdown."""
        await stop.wait()
        self._stopped = True
        for waiter in self._waiting:
            waiter.released.set()

    async def _release_ready(self) -> None:
        try:
            while self._waiting:
                with run_as_fair_share_client(None):  # the query counts for none of the waiting clients
                    async with self._db.read() as tx:
                        last = await _last_sequences(tx, ALL_PARTNERS, list(self._partners))
                for waiter in self._waiting:
                    if last.get(waiter.partner_id, 0) > waiter.after:
                        waiter.released.set()
                await asyncio.sleep(_LOOK_SECONDS)
        finally:
            for waiter in self._waiting:  # after a failure they query themselves and report it
                waiter.released.set()


async def _last_sequences(tx: Tx, _: AllPartners, partner_ids: list[UUID]) -> dict[UUID, int]:
    rows = await tx.fetch(
        "select partner_id, last_sequence from event_counter where partner_id = any($1::uuid[])", partner_ids
    )
    return {row["partner_id"]: row["last_sequence"] for row in rows}

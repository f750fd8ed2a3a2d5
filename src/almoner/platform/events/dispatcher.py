"""Number committed events and pass them to reactions (settled 7, architecture 5).

Writers never wait for a number. Any number of dispatchers can run: each takes partners whose counter no other has
locked, so there is one at a time per partner. Undispatched events are found by their missing number, not by a position
in the order of writing, so an event that is committed late is never skipped (P3).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final, TypeVar
from uuid import UUID

from almoner.platform.database.transactions import Database, Tx
from almoner.platform.events.outbox import COLUMNS, WAKEUP, Event, EventReaction, event_from_row
from almoner.platform.events.reaction_retries import build_reaction_retry_job
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import BY_INDEX
from almoner.platform.jobs.wakeup import PollBackoff, wait_for_wakeup, wait_until_set
from almoner.platform.observability.failures import DATABASE_ERRORS, UNAVAILABLE_ERRORS, failure_log_fields
from almoner.platform.observability.telemetry import Telemetry

_K = TypeVar("_K", UUID, int)
_Dispatch = Callable[[Sequence[_K]], Awaitable[int]]

_PARTNERS: Final = 64
_EVENTS_OF_PARTNER: Final = 250
_INTERNAL_EVENTS: Final = 250
_REST_SECONDS: Final = 1.0
_NOBODY: Final = UUID(int=0)

WAITING: Final = """
with recursive waiting (partner_id) as (
    (select partner_id from event where sequence is null and partner_id > $1 order by partner_id, position limit 1)
    union all
    select (
        select e.partner_id from event e where e.sequence is null and e.partner_id > w.partner_id
        order by e.partner_id, e.position limit 1
    ) from waiting w where w.partner_id is not null
)
(select partner_id, null::bigint as position from waiting where partner_id is not null limit $2)
union all
(select null, position from internal_event where position <> all($3::bigint[]) order by position limit $4)
"""
"""Partners with undispatched events, after $1: one index probe for each, however many events; and internal events.

Internal events at the positions $3 are left out.
"""

TURNS: Final = """
select partner_id, last_sequence from event_counter where partner_id = any($1::uuid[])
order by partner_id for no key update skip locked
"""

_COUNTERS: Final = """
with made as (
    insert into event_counter (partner_id, last_sequence)
    select p, 0 from unnest($1::uuid[]) as p where not exists (select from event_counter c where c.partner_id = p)
    order by p on conflict do nothing returning 1
) select count(*) from made
"""
"""Create the counters of partners without one, skipping those that another dispatcher has locked."""

NUMBER: Final = f"""
with taken as materialized (
    select e.partner_id, e.id,
           t.last_sequence + row_number() over (partition by e.partner_id order by e.position) as sequence
    from unnest($1::uuid[], $2::bigint[]) as t (partner_id, last_sequence)
    cross join lateral (
        select partner_id, id, position from event where partner_id = t.partner_id and sequence is null
        order by position limit $3
    ) e
), counted as (
    update event_counter c set last_sequence = t.top
    from (select partner_id, max(sequence) as top from taken group by partner_id) t where c.partner_id = t.partner_id
), numbered as (
    update event set sequence = taken.sequence from taken
    where event.partner_id = taken.partner_id and event.id = taken.id
    returning event.{COLUMNS.replace(", ", ", event.")}
)
select {COLUMNS} from numbered order by partner_id, sequence
"""

_DRAIN: Final = """
with gone as (
    delete from internal_event
    where position in (
        select position from internal_event where position = any($1::bigint[]) order by position for update skip locked
    )
    returning position, id, partner_id, type, payload, created_at
)
select id, partner_id, type, payload, created_at, null::bigint as sequence from gone order by position
"""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """The undispatched work: partners with events to number, and internal events by ``position``."""

    partners: list[UUID]
    internal: list[int]


class EventDispatcher:
    """Numbers events and runs reactions to them; ``run`` repeats it until it is stopped."""

    def __init__(self, db: Database, reactions: Sequence[EventReaction], telemetry: Telemetry) -> None:
        self._db = db
        self._reactions = reactions
        self._telemetry = telemetry
        self._after = _NOBODY
        self._resting: dict[UUID | int, float] = {}

    async def dispatch_next_events(self) -> int:
        """Dispatch up to a limit of events; returns how many (0: none wait, or another process dispatches them)."""
        waiting = await self._find_waiting()
        dispatched = 0
        if waiting.internal:
            dispatched += await self._dispatch_isolating_failures(self._drain, self._drain, waiting.internal)
        if waiting.partners:
            dispatched += await self._dispatch_isolating_failures(
                self._number, self._number_one_by_one, waiting.partners
            )
        return dispatched

    async def _find_waiting(self) -> _Waiting:
        """Find work in rotation, starting after the last partner of the previous call."""
        now = monotonic()
        self._resting = {what: until for what, until in self._resting.items() if until > now}
        resting = [what for what in self._resting if isinstance(what, int)]
        async with self._db.read() as tx:
            rows = await tx.fetch(WAITING, self._after, _PARTNERS, resting, _INTERNAL_EVENTS)
            if not rows and self._after != _NOBODY:
                rows = await tx.fetch(WAITING, _NOBODY, _PARTNERS, resting, _INTERNAL_EVENTS)
        partners = [row["partner_id"] for row in rows if row["partner_id"] is not None]
        self._after = partners[-1] if len(partners) == _PARTNERS else _NOBODY
        return _Waiting(
            [partner for partner in partners if partner not in self._resting],
            [row["position"] for row in rows if row["position"] is not None],
        )

    async def _dispatch_isolating_failures(
        self, dispatch: _Dispatch[_K], alone: _Dispatch[_K], waiting: Sequence[_K]
    ) -> int:
        """Dispatch all together; after a failure one by one, so that only failing ones are left, and pause."""
        try:
            return await dispatch(waiting)
        except Exception as error:  # noqa: BLE001 (a reaction may raise anything)
            self._log_failure(error)
        dispatched = 0
        for one in waiting:
            try:
                dispatched += await alone([one])
            except Exception as error:  # noqa: BLE001 (as above)
                self._log_failure(error, waiting=str(one))
                self._resting[one] = monotonic() + _REST_SECONDS
        return dispatched

    async def _number(self, partners: Sequence[UUID]) -> int:
        async with self._db.write() as tx:
            await tx.execute(BY_INDEX)
            events = await _number_events(tx, partners)
            await self._react(tx, events)
        return len(events)

    async def _number_one_by_one(self, partners: Sequence[UUID]) -> int:
        """Number the partners' events one by one; a job retries a failing reaction, so that no event waits."""
        async with self._db.write() as tx:
            await tx.execute(BY_INDEX)
            events = await _number_events(tx, partners)
            for reaction in self._reactions:
                await queue.enqueue_jobs(
                    tx,
                    [
                        build_reaction_retry_job(reaction, event)
                        for event in await self._run_reaction(tx, reaction, events)
                    ],
                )
        return len(events)

    async def _run_reaction(self, tx: Tx, reaction: EventReaction, events: Sequence[Event]) -> list[Event]:
        """Run a reaction for all events, else for each; returns the events on which it fails."""
        concerned = [happened for happened in events if reaction.applies_to(happened)]
        if not concerned or await self._try_reaction(tx, reaction, concerned):
            return []
        return [one for one in concerned if not await self._try_reaction(tx, reaction, [one], on=str(one.id))]

    async def _try_reaction(self, tx: Tx, reaction: EventReaction, events: Sequence[Event], **fields: object) -> bool:
        try:
            async with tx.savepoint():
                await reaction.react(tx, events)
        except Exception as error:  # noqa: BLE001 (a reaction may raise anything)
            self._log_failure(error, reaction=reaction.name, **fields)
            return False
        return True

    async def _drain(self, internal: Sequence[int]) -> int:
        async with self._db.write() as tx:
            await tx.execute(BY_INDEX)
            events = [event_from_row(row) for row in await tx.fetch(_DRAIN, internal)]
            await self._react(tx, events)
        return len(events)

    async def _react(self, tx: Tx, events: Sequence[Event]) -> None:
        for reaction in self._reactions:
            concerned = [happened for happened in events if reaction.applies_to(happened)]
            if concerned:
                await reaction.react(tx, concerned)

    def _log_failure(self, error: Exception, **fields: object) -> None:
        """Log a reaction's failure; raise it again if the database is unavailable."""
        if isinstance(error, UNAVAILABLE_ERRORS):
            raise error
        self._telemetry.log(
            "dispatch_failed", self._db.deployment.clock.real_now(), **failure_log_fields(error), **fields
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Dispatch events until ``stop`` is set, within half a second of each commit."""
        pace = PollBackoff()
        with WAKEUP.listener() as ear:
            while not stop.is_set():
                if self._db.disk.is_low:
                    await wait_until_set(stop, _REST_SECONDS)
                    continue
                try:
                    dispatched = await self.dispatch_next_events()
                except DATABASE_ERRORS as error:
                    self._telemetry.log(
                        "dispatcher_waits", self._db.deployment.clock.real_now(), **failure_log_fields(error)
                    )
                    await wait_for_wakeup(ear, _REST_SECONDS)
                    continue
                if dispatched:
                    pace.reset()
                else:
                    await pace.wait_for_work(ear)


async def _number_events(tx: Tx, partners: Sequence[UUID]) -> list[Event]:
    """Number the oldest events of the partners whose counters nobody else holds."""
    # The counters are locked by a separate statement: the next one must see what the last holder numbered.
    turns = await tx.fetch(TURNS, partners)
    if len(turns) < len(partners) and await tx.fetchval(_COUNTERS, partners):
        turns = await tx.fetch(TURNS, partners)
    if not turns:
        return []
    rows = await tx.fetch(
        NUMBER, [turn["partner_id"] for turn in turns], [turn["last_sequence"] for turn in turns], _EVENTS_OF_PARTNER
    )
    return [event_from_row(row) for row in rows]


async def count_undispatched_events(tx: Tx) -> int:
    """How many events have not been dispatched."""
    count = await tx.fetchval(
        "select (select count(*) from event where sequence is null) + (select count(*) from internal_event)"
    )
    return int(count)


async def dispatch_lag_seconds(tx: Tx) -> float:
    """The age of the oldest undispatched event in seconds; 0 if there is none."""
    oldest = await tx.fetchval(
        """
        select least(
            (select created_at from event where sequence is null order by position limit 1),
            (select created_at from internal_event order by position limit 1)
        )
        """
    )
    return 0.0 if oldest is None else max(0.0, float((tx.now - oldest).total_seconds()))

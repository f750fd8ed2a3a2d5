"""The transactional outbox: events are written in the transaction of the change (W1).

``emit_event`` fixes what partners receive, byte for byte (W7). Right after the commit a dispatcher gives each event its
number, without gaps per partner (``platform.events.dispatcher``); lists and deliveries include numbered events only.
Events whose type starts with ``internal.`` notify other slices: they have no number and are deleted once their
reactions ran. Partners can read an event for 90 days; then its whole row is deleted, lowest number first, so that the
rest has no gap (V6).
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar
from uuid import UUID

import msgspec
from asyncpg import Record

from almoner.kit.events import InternalEvent
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events import event_blocks
from almoner.platform.events.event_types import EVENT_TYPES as EVENT_TYPES
from almoner.platform.jobs.wakeup import Wakeup

T = TypeVar("T")

EVERY_TYPE: Final = "*"
RETENTION: Final = timedelta(days=90)  # V6

WAKEUP: Final = Wakeup()
"""Notified after a commit that wrote events."""

_encode = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class Event:
    """One event. ``payload``: the JSON envelope (spec 2.11); ``sequence`` is None for internal events."""

    id: UUID
    partner_id: UUID | None
    type: str
    payload: bytes
    created_at: datetime
    sequence: int | None

    def event_data(self) -> object:
        """The decoded ``eventData``."""
        return msgspec.json.decode(self.payload)["data"]["eventData"]


def decode_event_data(event: Event, record_type: type[T]) -> T:
    """The part of ``eventData`` that a reaction uses."""
    return msgspec.convert(event.event_data(), record_type)


class _Named(msgspec.Struct):
    id: str


def list_event_record_ids(tx: Tx, record_type: str, events: Sequence[Event]) -> list[UUID]:
    """The IDs of the events' records of a type (``donation``), without duplicates, in order."""
    named = (tx.ids.decode(record_type, decode_event_data(event, _Named).id) for event in events)
    return list(dict.fromkeys(one for one in named if one is not None))


@dataclass(frozen=True, slots=True)
class EventReaction:
    """A function that a slice runs for each event of a type, in the transaction that numbers it.

    ``react`` gets all events of its type in one batch, in order; ``event_type`` may be ``*``, every public event. Each
    event is passed exactly once. If ``react`` raises on a public event, its effects are rolled back and it gets this
    event alone, later (``platform.events.reaction_retries``); an internal event stays undispatched and is retried.
    """

    event_type: str
    react: Callable[[Tx, Sequence[Event]], Awaitable[None]]

    @property
    def name(self) -> str:
        """The stored name of the reaction: ``* webhooks.deliveries.service.fan_out_events``."""
        function = self.react.func if isinstance(self.react, partial) else self.react
        place = f"{function.__module__}.{function.__qualname__}"
        return f"{self.event_type} {place.removeprefix('almoner.')}"

    def applies_to(self, event: Event) -> bool:
        """Whether the reaction handles this event."""
        if self.event_type == EVERY_TYPE:
            return event.sequence is not None
        return self.event_type == event.type


@dataclass(frozen=True, slots=True)
class _PreparedEvent:
    """An event about to be written."""

    id: UUID
    type: str
    payload: bytes


def _prepare_event(tx: Tx, event_type: str, record: object) -> _PreparedEvent:
    """Build the envelope around ``record`` (a wire record) in its current state."""
    event_id = tx.new_id()
    data = {
        "id": tx.ids.encode("event", event_id),
        "createdAt": iso_timestamp(tx.now),
        "eventType": event_type,
        "eventData": record,
    }
    return _PreparedEvent(event_id, event_type, _encode({"object": "event", "data": data}))


def _prepare_public_event(tx: Tx, event_type: str, record: object) -> _PreparedEvent:
    """Build a public event. Raises ValueError for an unknown type."""
    if event_type not in EVENT_TYPES:
        raise ValueError(f"{event_type} is not in the catalogue of events; add it to platform/events/event_types.py")
    return _prepare_event(tx, event_type, record)


_APPEND: Final = "insert into {table} (id, partner_id, type, payload, created_at) {source}"
_APPEND_PUBLIC: Final = _APPEND.format(table="event", source="values ($1, $2, $3, $4, $5)")
_APPEND_INTERNAL: Final = _APPEND.format(table="internal_event", source="values ($1, $2, $3, $4, $5)")


async def emit_event(tx: Tx, partner_id: UUID, event_type: str, record: object) -> UUID:
    """Write a public event in the caller's transaction; returns its ID."""
    frozen = _prepare_public_event(tx, event_type, record)
    await tx.execute(_APPEND_PUBLIC, frozen.id, partner_id, frozen.type, frozen.payload, tx.now)
    _wake(tx)
    return frozen.id


async def emit_internal_event(tx: Tx, event: InternalEvent[T], record: T, *, partner_id: UUID | None = None) -> None:
    """Emit an internal event in the caller's transaction. ``partner_id``: the partner that it concerns, if any."""
    frozen = _prepare_event(tx, event.name, record)
    await tx.execute(_APPEND_INTERNAL, frozen.id, partner_id, frozen.type, frozen.payload, tx.now)
    _wake(tx)


async def emit_events(tx: Tx, event_type: str, partner_ids_and_records: Sequence[tuple[UUID, object]]) -> None:
    """Write many public events of one type, given as (partner, record), in one statement."""
    frozen = [_prepare_public_event(tx, event_type, record) for _, record in partner_ids_and_records]
    await tx.execute(
        _APPEND.format(
            table="event",
            source="select id, partner_id, $4, payload, $5 from unnest($1::uuid[], $2::uuid[], $3::bytea[]) "
            "as t (id, partner_id, payload)",
        ),
        [event.id for event in frozen],
        [partner for partner, _ in partner_ids_and_records],
        [event.payload for event in frozen],
        event_type,
        tx.now,
    )
    _wake(tx)


def _wake(tx: Tx) -> None:
    """Wake this process's dispatcher after the commit."""
    tx.add_commit_callback(WAKEUP.notify)


def event_from_row(row: Record) -> Event:
    """Build an event from a row with ``COLUMNS``."""
    return Event(row["id"], row["partner_id"], row["type"], row["payload"], row["created_at"], row["sequence"])


COLUMNS: Final = "id, partner_id, type, payload, created_at, sequence"


async def find_public_event(tx: Tx, partner: Partner, event_id: UUID) -> Event | None:
    """A partner's public event; None if it was deleted."""
    row = await tx.fetchrow(f"select {COLUMNS} from event where partner_id = $1 and id = $2", partner.id, event_id)
    return None if row is None else event_from_row(row)


_OLDEST: Final = """
select c.partner_id, first.created_at from event_counter c cross join lateral (
    select created_at from event where partner_id = c.partner_id and sequence is not null order by sequence limit 1
) first
"""
"""Each partner's lowest event: one index probe for each partner, however many events there are."""

_PURGE: Final = f"""
with old as materialized (
    select taken.partner_id, taken.id from ({_OLDEST}) c cross join lateral (
        select *, bool_and(created_at <= $1) over (order by sequence) as unbroken from (
            select partner_id, id, sequence, created_at from event
            where partner_id = c.partner_id and sequence is not null order by sequence limit $2
        ) lowest
    ) taken where c.created_at <= $1 and taken.unbroken limit $2
), gone as (
    delete from event using old where event.partner_id = old.partner_id and event.id = old.id returning 1
) select count(*) from gone
"""


async def next_event_purge_at(tx: Tx) -> datetime | None:
    """When the next event is due for deletion."""
    oldest: datetime | None = await tx.fetchval(f"select min(created_at) from ({_OLDEST}) oldest")
    return None if oldest is None else oldest + RETENTION


async def purge_expired_events(tx: Tx, limit: int = 1000) -> int:
    """Delete events older than 90 days; returns how many."""
    removed: Any = await tx.fetchval(_PURGE, tx.now - RETENTION, limit)
    if removed < limit:
        await event_blocks.delete_event_counts_of_purged_blocks(tx)
    return int(removed)

"""The outbox: events are written in the transaction of the change, so that none is lost and none is a phantom (W1).

``emit`` freezes what partners will be sent, byte for byte (W7). Right after the commit a dispatcher gives each event
its number, without gaps per partner (``platform.dispatcher``); lists and deliveries see numbered events only. Events
whose type begins with ``internal.`` tell other slices something: they have no number and are removed once their
reactions ran.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
from asyncpg import Record

from almoner.kit.time import iso
from almoner.platform.bell import Bell
from almoner.platform.db import Tx
from almoner.platform.event_types import EVENT_TYPES as EVENT_TYPES

INTERNAL: Final = "internal."
EVERY_TYPE: Final = "*"

BELL: Final = Bell()
"""Rung after a commit that wrote events."""

_encode = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class Event:
    """One event. ``payload`` is the envelope (spec 2.11) as bytes; ``sequence`` is None for internal events."""

    id: UUID
    partner_id: UUID | None
    type: str
    payload: bytes
    created_at: datetime
    sequence: int | None

    def record(self) -> object:
        """The ``eventData``, decoded."""
        return msgspec.json.decode(self.payload)["data"]["eventData"]


@dataclass(frozen=True, slots=True)
class Reaction:
    """What a slice does when events are dispatched: rows and jobs only, in the transaction that numbers them.

    ``react`` gets all events of its type in one batch, in order; ``event_type`` may be ``*``, every public event. An
    event is handed over exactly once; when ``react`` raises, it stays undispatched and is tried again.
    """

    event_type: str
    react: Callable[[Tx, Sequence[Event]], Awaitable[None]]

    def concerns(self, event: Event) -> bool:
        """Whether the event is one of those reacted to."""
        if self.event_type == EVERY_TYPE:
            return event.sequence is not None
        return self.event_type == event.type


@dataclass(frozen=True, slots=True)
class Frozen:
    """An event about to be written."""

    id: UUID
    type: str
    payload: bytes


def freeze(tx: Tx, event_type: str, record: object) -> Frozen:
    """The envelope around ``record`` (a wire record) as it stands now. Raises ValueError for an unknown type."""
    if event_type not in EVENT_TYPES and not event_type.startswith(INTERNAL):
        raise ValueError(f"{event_type} is not in the catalogue of events; add it to platform/event_types.py")
    event_id = tx.new_id()
    data = {
        "id": tx.ids.text("event", event_id),
        "createdAt": iso(tx.now),
        "eventType": event_type,
        "eventData": record,
    }
    return Frozen(event_id, event_type, _encode({"object": "event", "data": data}))


APPEND: Final = "insert into event (id, partner_id, type, payload, created_at) {source}"
"""For a hot write's own statement: ``APPEND.format(source="select $9, $1, $10, $11, $7 from made")``, then ``wake``."""


async def emit(tx: Tx, partner: UUID | None, event_type: str, record: object) -> UUID:
    """Write an event in the caller's transaction; its id. ``partner`` may be None for internal events."""
    frozen = freeze(tx, event_type, record)
    if event_type.startswith(INTERNAL):
        await tx.execute(
            "insert into internal_event (id, partner_id, type, payload, created_at) values ($1, $2, $3, $4, $5)",
            frozen.id,
            partner,
            frozen.type,
            frozen.payload,
            tx.now,
        )
    else:
        if partner is None:
            raise ValueError(f"{event_type} is told to a partner: say to which")
        await tx.execute(
            APPEND.format(source="values ($1, $2, $3, $4, $5)"), frozen.id, partner, frozen.type, frozen.payload, tx.now
        )
    wake(tx)
    return frozen.id


async def emit_all(tx: Tx, event_type: str, told: Sequence[tuple[UUID, object]]) -> None:
    """As ``emit``, for many public events of one type in one statement: (partner, record), in order."""
    frozen = [freeze(tx, event_type, record) for _, record in told]
    await tx.execute(
        APPEND.format(
            source="select id, partner_id, $4, payload, $5 from unnest($1::uuid[], $2::uuid[], $3::bytea[]) "
            "as t (id, partner_id, payload)"
        ),
        [event.id for event in frozen],
        [partner for partner, _ in told],
        [event.payload for event in frozen],
        event_type,
        tx.now,
    )
    wake(tx)


def wake(tx: Tx) -> None:
    """Let this process's dispatcher look as soon as the transaction has been committed."""
    tx.after_commit(BELL.ring)


def event(row: Record) -> Event:
    """From a row with the columns ``COLUMNS``."""
    return Event(row["id"], row["partner_id"], row["type"], row["payload"], row["created_at"], row["sequence"])


COLUMNS: Final = "id, partner_id, type, payload, created_at, sequence"

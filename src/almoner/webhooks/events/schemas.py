"""Events on the wire (spec 2.11; settled 8)."""

from typing import Annotated

import msgspec
from pydantic import AfterValidator, Field, model_validator

from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Tx
from almoner.platform.events.event_types import EVENT_TYPES
from almoner.platform.http.unknown_input import did_you_mean_suffix
from almoner.platform.http.wire import DayOrMoment, PageQuery, ResponseRecord, WindowEnd, personal_fields
from almoner.webhooks.events.domain import EventFilter, SequencedEvent

_MAX_WAIT = 30  # seconds


def _known_event_type(event: str) -> str:
    if event not in EVENT_TYPES:
        hint = did_you_mean_suffix(event, EVENT_TYPES) or "; the reference lists them"
        raise ValueError(f"'{event}' is not an event type{hint}")
    return event


Record = Annotated[
    msgspec.Raw,
    msgspec.Meta(
        description="The record as `GET` would have returned it then; it never changes.",
        extra_json_schema={"type": "object"},
    ),
]


class EventsQuery(PageQuery):
    """Filters of a list of events in the order of their sequence."""

    type: Annotated[str, Field(max_length=100), AfterValidator(_known_event_type)] | None = Field(
        None, description="Only events of this type."
    )
    start_date: DayOrMoment | None = Field(None, description="Only events from this time on.")
    end_date: WindowEnd | None = Field(None, description="Only events before this time.")

    after: Annotated[int, Field(ge=0, le=2**62)] | None = Field(
        None, description="Only events after this sequence number, oldest first."
    )
    wait: Annotated[int, Field(ge=0, le=_MAX_WAIT)] | None = Field(
        None, description="With `after`: how many seconds to wait if there is no event yet."
    )

    @model_validator(mode="after")
    def _with_after(self) -> "EventsQuery":
        if self.wait and self.after is None:
            raise ValueError("wait needs after, the sequence that you have seen last")
        return self

    def to_filter(self) -> EventFilter:
        """Convert to a filter."""
        return EventFilter(self.type, self.start_date, self.end_date)


class EventResponse(ResponseRecord, object_name="event"):
    """An event as partners see it: what is delivered, and its number."""

    id: str
    sequence: int
    created_at: str
    event_type: str
    event_data: Record


class _Delivered(msgspec.Struct, rename="camel"):
    event_data: msgspec.Raw


class _Envelope(msgspec.Struct):
    data: _Delivered


_NULL = msgspec.Raw(b"null")
_read = msgspec.json.Decoder(_Envelope).decode


def event_response(tx: Tx, event: SequencedEvent, *, include_personal_data: bool) -> EventResponse:
    """The answer for one event; its record is the delivered one, byte for byte.

    ``include_personal_data``: donors may be told; else the members that name them are null.
    """
    record = _read(event.payload).data.event_data
    declared = EVENT_TYPES.get(event.type)
    if declared is not None and not include_personal_data and (names := personal_fields(declared.record_type)):
        shown = msgspec.json.decode(record, type=dict[str, msgspec.Raw])
        hidden = {name: _NULL for name in names if name in shown}
        record = msgspec.Raw(msgspec.json.encode({**shown, **hidden}))
    return EventResponse(
        id=tx.ids.encode("event", event.id),
        sequence=event.sequence,
        created_at=iso_timestamp(event.created_at),
        event_type=event.type,
        event_data=record,
    )

"""Internal events between slices, which no partner sees."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class InternalEvent(Generic[T]):
    """An internal event, declared in the ``domain`` of its emitting slice.

    Example: ``SENT = InternalEvent("internal.x", RefundSentEvent)``. ``record``: its payload type, checked in
    ``outbox.emit_internal_event`` and ``tasks.on_internal_event``.
    """

    name: str
    record: type[T]

"""What slices tell each other: events that no partner sees."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class InternalEvent(Generic[T]):
    """Declared in the ``domain`` of the slice that tells it: ``SENT = InternalEvent("internal.x", RefundSent)``.

    ``record``: what is told, by which emitting (``outbox.emit_internal``) and reacting (``tasks.reacts_to``) are typed.
    """

    name: str
    record: type[T]

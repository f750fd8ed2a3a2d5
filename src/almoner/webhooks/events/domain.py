"""Events as partners read them back (spec 2.11, settled 7)."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from almoner.kit.errors import BadRequest


class UnknownSubscription(BadRequest):
    code = "event/webhook_subscription_not_found"
    message = "The webhook subscription does not exist or was deleted"


@dataclass(frozen=True, slots=True)
class SequencedEvent:
    """One event that has its number. ``payload``: the envelope, byte for byte as it is delivered."""

    id: UUID
    sequence: int
    type: str
    payload: bytes
    created_at: datetime


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events: of a type, from a moment (inclusive), until a moment (exclusive); None stands for all."""

    type: str | None = None
    starts: datetime | None = None
    ends: datetime | None = None

    @property
    def matches_all(self) -> bool:
        """Whether nothing is filtered out."""
        return self.type is None and self.starts is None and self.ends is None

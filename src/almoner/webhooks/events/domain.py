"""Events as partners read them back (spec 2.11, settled 7)."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from almoner.kit.errors import BadRequest


class WebhookSubscriptionNotFound(BadRequest):
    code = "event/webhook_subscription_not_found"
    message = "The webhook subscription does not exist or was deleted"


@dataclass(frozen=True, slots=True)
class SequencedEvent:
    """One numbered event. ``payload``: the envelope, byte for byte as it is delivered."""

    id: UUID
    sequence: int
    type: str
    payload: bytes
    created_at: datetime


@dataclass(frozen=True, slots=True)
class EventFilter:
    """A filter for events by type and period (start inclusive, end exclusive); None: not filtered."""

    type: str | None = None
    period_start: datetime | None = None
    period_end: datetime | None = None

    @property
    def matches_all(self) -> bool:
        """Whether nothing is filtered out."""
        return self.type is None and self.period_start is None and self.period_end is None

"""Webhook subscriptions: which events a partner wants at which address (spec 4.9; settled 4)."""

from base64 import b64decode, b64encode
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.kit.errors import BadRequest
from almoner.kit.states import Lifecycle

Status = Literal["active", "suspended"]

SUBSCRIPTION: Final = Lifecycle(
    "webhook_subscription", {"active": frozenset({"suspended"}), "suspended": frozenset({"active"})}
)

EVERY_EVENT: Final = "*"
SUSPENDED_EVENT: Final = "webhook_subscription.suspended"

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 (the prefix, not a secret)
SECRET_BYTES: Final = 32
SECRET_OVERLAP: Final = timedelta(hours=24)  # W13
MAX_PREVIOUS_SECRETS: Final = 2  # W13


class Suspended(BadRequest):
    code = "webhook_subscription/invalid_state"
    message = "The subscription is suspended; resume it with PATCH and status active"


@dataclass(frozen=True, slots=True)
class PreviousSecret:
    """A secret that a newer one took the place of, and until when it still signs."""

    secret: str
    until: datetime


@dataclass(frozen=True, slots=True)
class WebhookSubscription:
    """One receiver of one partner. ``replaced``: the newest first."""

    id: UUID
    url: str
    events: Sequence[str]
    secret: str
    previous_secrets: Sequence[PreviousSecret]
    status: Status
    created_at: datetime
    updated_at: datetime | None
    deleted_at: datetime | None

    def signing_secrets(self, now: datetime) -> list[str]:
        """The secrets to sign with at a moment, the newest first."""
        return [self.secret, *(old.secret for old in self.previous_secrets if old.until > now)]

    def previous_secret_expires_at(self, now: datetime) -> datetime | None:
        """When the last replaced secret stops signing; None when there is none any more."""
        return max((old.until for old in self.previous_secrets if old.until > now), default=None)


@dataclass(frozen=True, slots=True)
class EventListener:
    """What the fan-out of events needs to know of a subscription."""

    id: UUID
    partner_id: UUID
    events: Sequence[str]

    def listens_to(self, event_type: str) -> bool:
        """Whether events of the type are for this receiver."""
        return EVERY_EVENT in self.events or event_type in self.events


def encode_secret(random: bytes) -> str:
    """The secret string for 32 random bytes. Raises ValueError for another number."""
    if len(random) != SECRET_BYTES:
        raise ValueError(f"a webhook secret is made of {SECRET_BYTES} bytes, not of {len(random)}")
    return SECRET_PREFIX + b64encode(random).decode()


def decode_secret(secret: str) -> bytes:
    """The 32 bytes that a secret string stands for: the key of the Standard Webhooks signature."""
    return b64decode(secret.removeprefix(SECRET_PREFIX))


def rotated_secrets(subscription: WebhookSubscription, now: datetime) -> tuple[PreviousSecret, ...]:
    """The replaced secrets once the present one is replaced too: it signs for 24 h more, of the others one is kept."""
    living = [old for old in subscription.previous_secrets if old.until > now]
    return (PreviousSecret(subscription.secret, now + SECRET_OVERLAP), *living)[:MAX_PREVIOUS_SECRETS]


def event_problems(events: Sequence[str], known: Collection[str]) -> list[str]:
    """One sentence for every entry that is no event type."""
    if not events:
        return ["body.events must name at least one event type, or *"]
    found = ((place, event_problem(event, known)) for place, event in enumerate(events))
    return [f"body.events.{place} {problem}" for place, problem in found if problem]


def event_problem(event: str, known: Collection[str]) -> str | None:
    """What is wrong with an event type that somebody names, if anything."""
    if event == EVERY_EVENT or event in known:
        return None
    return f"'{event[:100]}' is not an event type; the reference lists them, and * stands for all"

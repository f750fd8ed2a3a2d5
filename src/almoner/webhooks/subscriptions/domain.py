"""Webhook subscriptions and the health of their receivers (spec 4.9; settled 4)."""

from base64 import b64decode, b64encode
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.kit.errors import BadRequest
from almoner.kit.states import Lifecycle

Status = Literal["active", "suspended"]
Reason = Literal["event", "resend", "replay", "test"]
"""The reason for a delivery."""

SUBSCRIPTION: Final = Lifecycle(
    "webhook_subscription", {"active": frozenset({"suspended"}), "suspended": frozenset({"active"})}
)

EVERY_EVENT: Final = "*"
SUSPENDED_EVENT: Final = "webhook_subscription.suspended"
FAILING_EVENT: Final = "webhook_subscription.failing"

_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 (the prefix, not a secret)
SECRET_BYTES: Final = 32
_SECRET_OVERLAP: Final = timedelta(hours=24)  # W13
MAX_PREVIOUS_SECRETS: Final = 2  # W13

# settled 11: limits of the circuit breaker, of warnings and of suspension.
_FAILURES_TO_PAUSE: Final = 5
_FIRST_PAUSE: Final = timedelta(seconds=60)
LONGEST_PAUSE: Final = timedelta(minutes=30)
_WARN_AFTER: Final = timedelta(hours=24)
_SUSPEND_AFTER: Final = timedelta(days=5)
_FAILING_DAYS_TO_SUSPEND: Final = 3
_FAST_ANSWER: Final = timedelta(seconds=1)
CAP: Final = 4
BURST_CAP: Final = 32
_PROBE_CAP: Final = 1
REPLAY_CAP: Final = 1
LANES_KEPT: Final = timedelta(days=3)
"""How long the queue lanes of a deleted subscription are kept: by then no job waits in them."""


class SubscriptionSuspended(BadRequest):
    code = "webhook_subscription/invalid_state"
    message = "The subscription is suspended; resume it with PATCH and status active"


@dataclass(frozen=True, slots=True)
class PreviousSecret:
    """A replaced secret, and until when it still signs."""

    secret: str
    expires_at: datetime


HealthStatus = Literal["healthy", "failing"]
Concern = Literal["warn", "suspend"]


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """The outcome of one delivery attempt, for the receiver's health."""

    started_at: datetime
    duration: timedelta
    succeeded: bool

    @property
    def is_fast(self) -> bool:
        """Whether the answer was fast enough to send more at once."""
        return self.succeeded and self.duration <= _FAST_ANSWER


def is_last_attempt_fast_if_all_succeeded(outcomes: Sequence[AttemptOutcome]) -> bool | None:
    """Whether a receiver that accepted everything was fast in the end; None if it did not accept everything."""
    return outcomes[-1].is_fast if all(answer.succeeded for answer in outcomes) else None


@dataclass(frozen=True, slots=True)
class AttemptLimits:
    """How many attempts may run at once, and until when deliveries are paused."""

    max_concurrent_attempts: int
    max_concurrent_attempts_in_burst: int
    paused_until: datetime | None


@dataclass(frozen=True, slots=True)
class ReceiverHealth:
    """A receiver's health: failures, pauses and last success.

    ``failures``: attempts in a row that failed. ``pauses``: pauses in a row, each twice as long as the one before.
    Moments are business time; ``failing_since_real``, ``last_failing_day`` and ``warned_at`` real time.
    ``fast``: it answers with 2xx within a second.
    """

    failures: int = 0
    pauses: int = 0
    paused_until: datetime | None = None
    failing_since: datetime | None = None
    failing_since_real: datetime | None = None
    failing_days: int = 0
    last_failing_day: date | None = None
    warned_at: datetime | None = None
    last_success_at: datetime | None = None
    fast: bool = False

    @property
    def status(self) -> HealthStatus:
        """The health status in the API."""
        return "healthy" if self.failing_since is None else "failing"

    @property
    def attempt_limits(self) -> "AttemptLimits":
        """The limits for sending to the receiver (settled 11)."""
        if self.paused_until is not None:
            return AttemptLimits(_PROBE_CAP, _PROBE_CAP, self.paused_until)
        return AttemptLimits(CAP, BURST_CAP if self.fast else CAP, None)

    def after_attempt(self, outcome: AttemptOutcome, now: datetime, real_now: datetime) -> "ReceiverHealth":
        """The health after one more attempt."""
        if outcome.succeeded:
            return ReceiverHealth(last_success_at=now, fast=outcome.is_fast)
        day = real_now.date()
        failed = replace(
            self,
            failures=self.failures + 1,
            failing_since=self.failing_since or now,
            failing_since_real=self.failing_since_real or real_now,
            failing_days=self.failing_days + (day != self.last_failing_day),
            last_failing_day=day,
            fast=False,
        )
        if failed.failures < _FAILURES_TO_PAUSE:
            return failed
        if self.paused_until is not None and outcome.started_at < self.paused_until:
            return failed  # the attempt started before the pause
        pause = min(_FIRST_PAUSE * 2 ** min(self.pauses, 10), LONGEST_PAUSE)
        return replace(failed, pauses=self.pauses + 1, paused_until=now + pause)

    def after_day_of_failures(self, now: datetime, real_now: datetime) -> "ReceiverHealth":
        """The health after a day in which every attempt failed, of which the partner is warned."""
        return replace(
            self,
            failures=self.failures + 1,
            failing_since=self.failing_since or now - _WARN_AFTER,
            failing_since_real=self.failing_since_real or real_now - _WARN_AFTER,
            failing_days=max(self.failing_days, 1),
            last_failing_day=self.last_failing_day or real_now.date(),
            warned_at=real_now,
            fast=False,
        )

    def required_action(self, real_now: datetime) -> Concern | None:
        """Whether to warn about, or suspend, a receiver that only fails (settled 11)."""
        if self.failing_since_real is None:
            return None
        failing = real_now - self.failing_since_real
        if failing >= _SUSPEND_AFTER and self.failing_days >= _FAILING_DAYS_TO_SUSPEND:
            return "suspend"
        return "warn" if failing >= _WARN_AFTER and self.warned_at is None else None


@dataclass(frozen=True, slots=True)
class WebhookSubscription:
    """One receiver of one partner. ``previous_secrets``: the newest first."""

    id: UUID
    url: str
    events: Sequence[str]
    secret: str
    previous_secrets: Sequence[PreviousSecret]
    status: Status
    created_at: datetime
    updated_at: datetime | None
    deleted_at: datetime | None
    health: ReceiverHealth = ReceiverHealth()

    def signing_secrets(self, now: datetime) -> list[str]:
        """The secrets to sign with at a given time, newest first."""
        return [self.secret, *(old.secret for old in self.previous_secrets if old.expires_at > now)]

    def previous_secret_expires_at(self, now: datetime) -> datetime | None:
        """When the replaced secret stops signing; None if there is none."""
        return max((old.expires_at for old in self.previous_secrets if old.expires_at > now), default=None)


@dataclass(frozen=True, slots=True)
class UnhealthyReceiver:
    """A failing or suspended receiver, without its secrets. ``partner_name``: its partner's name."""

    id: UUID
    partner_id: UUID
    partner_name: str
    url: str
    status: Status
    health: ReceiverHealth


@dataclass(frozen=True, slots=True)
class EventSubscription:
    """A subscription's event types, for the fan-out."""

    id: UUID
    partner_id: UUID
    events: Sequence[str]

    def listens_to(self, event_type: str) -> bool:
        """Whether events of the type are for this receiver."""
        return EVERY_EVENT in self.events or event_type in self.events


def delivery_job_lane(subscription_id: UUID, reason: Reason) -> str:
    """The queue lane of a subscription's delivery jobs.

    Replays have one of their own, so that they come in order, and so have tests, which no pause holds back.
    """
    return f"{subscription_id}:{reason}" if reason in {"replay", "test"} else str(subscription_id)


def list_delivery_job_lanes(subscription_id: UUID) -> list[str]:
    """All lanes of a subscription."""
    return [delivery_job_lane(subscription_id, reason) for reason in ("event", "replay", "test")]


def encode_secret(random_bytes: bytes) -> str:
    """The secret string for 32 random bytes. Raises ValueError for another number."""
    if len(random_bytes) != SECRET_BYTES:
        raise ValueError(f"a webhook secret is made of {SECRET_BYTES} bytes, not of {len(random_bytes)}")
    return _SECRET_PREFIX + b64encode(random_bytes).decode()


def decode_secret(secret: str) -> bytes:
    """The 32 bytes of a secret: the key of the Standard Webhooks signature."""
    return b64decode(secret.removeprefix(_SECRET_PREFIX))


def previous_secrets_after_rotation(subscription: WebhookSubscription, now: datetime) -> tuple[PreviousSecret, ...]:
    """The replaced secrets after another rotation: the current one signs for 24 h more, and one older is kept."""
    living = [old for old in subscription.previous_secrets if old.expires_at > now]
    return (PreviousSecret(subscription.secret, now + _SECRET_OVERLAP), *living)[:MAX_PREVIOUS_SECRETS]


def find_event_type_problems(event_types: Sequence[str], known_types: Collection[str]) -> list[str]:
    """A sentence for each unknown event type."""
    if not event_types:
        return ["body.events must name at least one event type, or *"]
    found = ((place, find_event_type_problem(event, known_types)) for place, event in enumerate(event_types))
    return [f"body.events.{place} {problem}" for place, problem in found if problem]


def find_event_type_problem(event_type: str, known_types: Collection[str]) -> str | None:
    """The problem of an event type, if there is one."""
    if event_type == EVERY_EVENT or event_type in known_types:
        return None
    return f"'{event_type[:100]}' is not an event type; the reference lists them, and * stands for all"

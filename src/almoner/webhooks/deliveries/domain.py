"""Deliveries of events to subscriptions, and their retries (spec 6, settled 7)."""

import email.utils
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.kit.states import Lifecycle
from almoner.kit.text import clean_text
from almoner.webhooks.subscriptions.domain import LONGEST_PAUSE, Reason

Status = Literal["pending", "succeeded", "failed", "cancelled"]

DELIVERY: Final = Lifecycle(
    "webhook_delivery",
    {
        "pending": frozenset({"succeeded", "failed", "cancelled"}),
        "succeeded": frozenset(),
        "failed": frozenset(),
        "cancelled": frozenset(),
    },
)

OPEN_STATUSES: Final = DELIVERY.source_states_of("succeeded")
"""The statuses in which attempts are still made."""

_MAX_RESPONSE_BODY: Final = 1000  # bytes of the receiver's answer
ATTEMPT_RETENTION: Final = timedelta(days=30)  # V6
DELIVERY_RETENTION: Final = timedelta(days=90)  # V6

# settled 7: the first three count from the attempt before, the fourth from the first attempt.
RETRY_DELAYS: Final = (timedelta(minutes=1), timedelta(minutes=14), timedelta(hours=2, minutes=45))
_RETRY_JITTER: Final = 0.1
_LAST_AFTER_FIRST: Final = timedelta(hours=14)
_LAST_JITTER: Final = timedelta(minutes=10)
MAX_ATTEMPTS: Final = 1 + len(RETRY_DELAYS) + 1

_SHOWN_LOCATION: Final = 200  # characters
_HTTP_GONE: Final = 410

# settled 11: a delivery held back by a paused receiver is checked again after the next failed probe, at most half an
# hour later.
DELIVERY_LIFETIME: Final = timedelta(hours=72)
EXPIRES_AFTER: Final = DELIVERY_LIFETIME - LONGEST_PAUSE

REPLAY_INTERVAL: Final = timedelta(milliseconds=50)
"""Between two deliveries of a replay after the first ``REPLAY_BURST``: 10,000 take under nine minutes."""
REPLAY_BURST: Final = 20


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """One delivery attempt: its time, duration and response or error."""

    number: int
    started_at: datetime
    duration_ms: int
    status_code: int | None
    error: str | None
    response_body: str | None

    @property
    def succeeded(self) -> bool:
        """Whether the receiver accepted the attempt."""
        return self.status_code is not None and 200 <= self.status_code < 300


@dataclass(frozen=True, slots=True)
class Delivery:
    """The delivery of one event to one subscription."""

    id: UUID
    subscription_id: UUID
    event_id: UUID
    event_type: str
    sequence: int | None
    reason: Reason
    status: Status
    attempts: Sequence[DeliveryAttempt]
    next_attempt_at: datetime | None
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class AttemptEvaluation:
    """The result of an attempt: status and next attempt.

    ``suspends_subscription``: the delivery ends and the subscription is suspended, unless its URL was replaced during
    the attempt.
    """

    status: Status
    next_attempt_at: datetime | None = None
    suspends_subscription: bool = False


def evaluate_attempt(
    attempt: DeliveryAttempt,
    created_at: datetime,
    first_attempt_at: datetime,
    retry_after: timedelta | None,
    jitter: float,
) -> AttemptEvaluation:
    """Decide after an attempt: any 2xx succeeds, 410 suspends the subscription, all else is tried again (settled 7).

    After 410 status and next attempt are those at another URL, in case the subscription has got one.

    ``created_at`` of the delivery: there are no retries after three days (settled 11). ``jitter`` is a random number
    from 0 to 1, the same rule for every delivery.
    """
    if attempt.succeeded:
        return AttemptEvaluation("succeeded")
    gone = attempt.status_code == _HTTP_GONE
    due = next_retry_at(attempt.number, first_attempt_at, attempt.started_at, retry_after, jitter)
    if due is None or due > created_at + EXPIRES_AFTER:
        return AttemptEvaluation("failed", suspends_subscription=gone)
    return AttemptEvaluation("pending", due, suspends_subscription=gone)


def next_retry_at(
    attempt_number: int,
    first_attempt_at: datetime,
    last_attempt_at: datetime,
    retry_after: timedelta | None,
    jitter: float,
) -> datetime | None:
    """When to try again after attempt ``attempt_number`` failed; None after the last (W2, W3)."""
    if attempt_number <= len(RETRY_DELAYS):
        step = RETRY_DELAYS[attempt_number - 1]
        wait = step * (1 + _RETRY_JITTER * jitter)
        return last_attempt_at + min(max(wait, retry_after or wait), 2 * step)
    if attempt_number < MAX_ATTEMPTS:
        return first_attempt_at + _LAST_AFTER_FIRST + _LAST_JITTER * jitter
    return None


def parse_retry_after(header: str | None, real_now: datetime) -> timedelta | None:
    """The delay that a receiver requests, in seconds or as an HTTP date in real time; None if it is neither."""
    if header is None:
        return None
    text = header.strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return timedelta(seconds=int(text))
    try:
        moment = email.utils.parsedate_to_datetime(text)
        return max(moment - real_now, timedelta())
    except (ValueError, TypeError, OverflowError):
        return None


def describe_redirect_error(status: int, location: str | None) -> str | None:
    """The error of a redirect, which is not followed; None for other responses."""
    if not 300 <= status < 400 or location is None:
        return None
    readable = location.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    shown = clean_text(readable)[:_SHOWN_LOCATION]
    return f"Redirects are not followed. Set the subscription's url to the address that it leads to: {shown}"


def truncate_response_body(body: bytes) -> str | None:
    """The beginning of the receiver's response, as text that PostgreSQL can store; None if it was empty."""
    text = body[:_MAX_RESPONSE_BODY].decode("utf-8", "replace").replace("\x00", "�")
    while len(text.encode()) > _MAX_RESPONSE_BODY:
        text = text[:-1]
    return text or None

"""Donation subscriptions: their states, due dates and allowed changes (settled 11)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final, Literal, NamedTuple
from uuid import UUID

from almoner.giving.checkout.payments.domain import SavedPaymentMethod
from almoner.kit import recurrence
from almoner.kit.errors import BadRequest
from almoner.kit.events import InternalEvent
from almoner.kit.money import Money
from almoner.kit.records import statically_frozen_dataclass
from almoner.kit.recurrence import Frequency
from almoner.kit.states import Lifecycle

DONATION_SUBSCRIPTION: Final = Lifecycle(
    "donation_subscription",
    {
        "pending": frozenset({"active", "cancelled"}),
        "active": frozenset({"past_due", "paused", "cancelled"}),
        "past_due": frozenset({"active", "paused", "cancelled"}),
        "paused": frozenset({"active", "cancelled"}),
    },
)
SubscriptionSort = Literal["id", "nextDonationAt"]
SubscriptionStatus = Literal["pending", "active", "past_due", "paused", "cancelled"]
ChangedBy = Literal["donor", "partner", "service"]
PauseReason = Literal["donor", "partner", "organisation_cannot_receive"]
CancellationReason = Literal[
    "donor", "partner", "payment_failed", "revoked", "not_started", "payment_method_not_saved", "donor_erased"
]
ChargeStatus = Literal["open", "paid", "failed", "skipped"]
SkipReason = Literal[
    "donor", "partner", "paused", "too_late", "missed_date", "organisation_cannot_receive", "cancelled"
]

CREATED: Final = "donation_subscription.created"
UPDATED: Final = "donation_subscription.updated"
PAYMENT_FAILED: Final = "donation_subscription.payment_failed"
CANCELLED: Final = "donation_subscription.cancelled"

LIVE_STATUSES: Final[tuple[SubscriptionStatus, ...]] = ("active", "past_due", "paused")
CHARGED_STATUSES: Final[tuple[SubscriptionStatus, ...]] = ("active", "past_due")
CHARGED_WITHIN: Final = timedelta(days=7)
"""How long after its due date a donation can be charged."""
RETRY_DAYS: Final = (1, 3, 5, 7)
CANCELLED_AFTER: Final = timedelta(days=28)
"""How long a subscription may be past due before it is cancelled."""
ERASED_AFTER: Final = timedelta(days=30)
"""When the donor of a subscription that never started is erased."""
REMINDED_BEFORE: Final = timedelta(days=21)
"""How long before a yearly donation it is announced: 7 to 30 days are allowed, also after an outage of nine days."""
MAX_NEXT_DATE: Final = timedelta(days=366)
MAX_PAUSE: Final = timedelta(days=366)
_PERIODS_A_YEAR: Final[Mapping[Frequency, int]] = {"weekly": 52, "monthly": 12, "quarterly": 4, "yearly": 1}


class InvalidState(BadRequest):
    code = "donation_subscription/invalid_state"
    message = "The status of the donation subscription does not allow this"


class InvalidMetadata(BadRequest):
    code = "donation_subscription/invalid_metadata"
    message = (
        "The metadata is not valid; use at most 20 keys of up to 40 characters, with values of up to 250 characters"
    )


class InvalidPause(BadRequest):
    code = "donation_subscription/invalid_pause"
    message = "The pause must end in the future, within 366 days"


class InvalidDate(BadRequest):
    code = "donation_subscription/invalid_date"
    message = "The date of the next donation must be in the future, within 366 days"


@dataclass(frozen=True, slots=True)
class Agreement:
    """A donor's consent: the ``text`` that was shown, its ``version`` and language."""

    version: str
    language: str
    text: str


class AcceptedAgreement(NamedTuple):
    """A donor's consent, and when it was given."""

    agreement: Agreement
    agreed_at: datetime


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A change that waits for the donor's consent: amount, frequency, or both."""

    money: Money
    frequency: Frequency
    requested_at: datetime


@statically_frozen_dataclass
class DonationSubscription:
    """One subscription.

    ``anchor_on``: the day from which due dates are counted; all its days are in the issuer's time zone.
    ``charge_time``: the time of day of charges. ``next_due_on``: the next due date; ``next_donation_at``: when it is
    charged. ``wake_at``: when the scheduler processes it next. ``first_payment_id``: the donor's first payment, to
    which later ones refer. ``donor_shown``: API responses name the donor.
    """

    id: UUID
    partner_id: UUID
    organisation_id: UUID
    user_id: UUID | None
    session_id: UUID
    status: SubscriptionStatus
    money: Money
    cover_minor: int
    frequency: Frequency
    first_name: str | None
    last_name: str | None
    email: str | None
    consented: bool
    anonymous: bool
    message: str | None
    language: str | None
    metadata: Mapping[str, str] | None
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None = None
    anchor_on: date | None = None
    charge_time: time | None = None
    next_due_on: date | None = None
    next_donation_at: datetime | None = None
    wake_at: datetime | None = None
    reminded_on: date | None = None
    paused_until: datetime | None = None
    pause_reason: PauseReason | None = None
    cancelled_at: datetime | None = None
    cancellation_reason: CancellationReason | None = None
    past_due_since: datetime | None = None
    pending_change: PendingChange | None = None
    proposed_organisation_id: UUID | None = None
    provider: str | None = None
    payment_method: SavedPaymentMethod | None = None
    chargeable: bool = False
    first_payment_id: UUID | None = None
    donations_count: int = 0
    total_minor: int = 0
    last_charged_on: date | None = None
    card_announced_at: datetime | None = None
    donor_shown: bool = True

    def charge_datetime(self, day: date, zone: tzinfo) -> datetime:
        """When the donation of a due date is charged."""
        assert self.charge_time is not None, "a plan that has begun has its time"
        return recurrence.local_time_to_utc(day, self.charge_time, zone)

    def next_due_date_after(self, day: date) -> date:
        """The first due date after a day."""
        assert self.anchor_on is not None, "a plan that has begun has its day"
        return recurrence.next_occurrence_date(self.anchor_on, self.frequency, day)

    def due_dates_until(self, last_day: date) -> list[date]:
        """The due dates from the next one to ``last_day``, inclusive."""
        found = []
        due = self.next_due_on
        while due is not None and due <= last_day:
            found.append(due)
            due = self.next_due_date_after(due)
        return found


@dataclass(frozen=True, slots=True)
class SubscriptionCharge:
    """One due date of a subscription. ``next_attempt_at``: None during a payment, or if the donor must act."""

    subscription_id: UUID
    due_on: date
    status: ChargeStatus
    donation_id: UUID | None = None
    attempt_count: int = 0
    next_attempt_at: datetime | None = None
    skip_reason: SkipReason | None = None
    decline_code: str | None = None


@dataclass(frozen=True, slots=True)
class SubscriptionFilters:
    """Filters of a list of subscriptions; None: not filtered."""

    user_id: UUID | None = None
    organisation_id: UUID | None = None
    status: str | None = None
    email: str | None = None


NoticeKind = Literal[
    "begun",
    "payment_failed",
    "authentication_needed",
    "card_expiring",
    "dates_skipped",
    "paused",
    "resumed",
    "date_skipped",
    "changed",
    "change_requested",
    "change_declined",
    "yearly_reminder",
    "cancelled",
    "organisation_stopped",
    "organisation_proposed",
    "organisation_moved",
    "payment_method_changed",
]
"""The kinds of emails to donors about their subscription."""


@dataclass(frozen=True, slots=True)
class SubscriptionNoticeEvent:
    """A notification to a donor. ``due_on``: its due date (ISO 8601), or the first of several."""

    subscription: UUID
    partner: UUID
    kind: NoticeKind
    due_on: str | None = None


NOTICE: Final = InternalEvent("internal.donation_subscription_notice", SubscriptionNoticeEvent)


@dataclass(frozen=True, slots=True)
class PaymentMethodReplacedEvent:
    """A saved payment method that no subscription uses any more."""

    provider: str
    customer: str
    payment_method: str


PAYMENT_METHOD_REPLACED: Final = InternalEvent("internal.payment_method_replaced", PaymentMethodReplacedEvent)


def needs_donor_consent(subscription: DonationSubscription, money: Money, frequency: Frequency) -> bool:
    """Whether the donor must agree first: to a higher amount, or to more donations a year."""
    return subscription.money < money or _PERIODS_A_YEAR[subscription.frequency] < _PERIODS_A_YEAR[frequency]


def last_charge_day(due_on: date) -> date:
    """The last day on which a due date can be charged."""
    return due_on + CHARGED_WITHIN


def next_retry_day(due_on: date, today: date) -> date | None:
    """The next retry day of a due date, after today; None if there is none."""
    days = (due_on + timedelta(days=after) for after in RETRY_DAYS)
    return next((day for day in days if day > today), None)


def ensure_status_in(subscription: DonationSubscription, *allowed: SubscriptionStatus) -> None:
    """Check that the subscription has one of these states. Raises InvalidState."""
    if subscription.status not in allowed:
        raise InvalidState(f"the donation subscription is {subscription.status}, and must be {' or '.join(allowed)}")


def as_started(
    subscription: DonationSubscription, started_at: datetime, payment_id: UUID, zone: tzinfo
) -> DonationSubscription:
    """The subscription as started by its first donation, whose day and time determine all later ones."""
    local = started_at.astimezone(zone)
    subscription = replace(
        subscription,
        status="active",
        started_at=started_at,
        anchor_on=local.date(),
        charge_time=local.time().replace(microsecond=0),
        first_payment_id=payment_id,
        last_charged_on=local.date(),
    )
    return with_next_due_date(subscription, subscription.next_due_date_after(local.date()), zone)


def with_next_due_date(subscription: DonationSubscription, due_on: date, zone: tzinfo) -> DonationSubscription:
    """The subscription with another next due date."""
    return replace(subscription, next_due_on=due_on, next_donation_at=subscription.charge_datetime(due_on, zone))


def as_paused(
    subscription: DonationSubscription, until: datetime | None, reason: PauseReason, zone: tzinfo
) -> DonationSubscription:
    """The subscription as paused until then; None: until it is resumed."""
    subscription = replace(subscription, status="paused", paused_until=until, pause_reason=reason, past_due_since=None)
    if until is None:
        return replace(subscription, next_donation_at=None)
    assert subscription.next_due_on is not None, "a plan that has begun has its next date"
    due_on = subscription.next_due_on
    while subscription.charge_datetime(due_on, zone) <= until:
        due_on = subscription.next_due_date_after(due_on)
    return replace(subscription, next_donation_at=subscription.charge_datetime(due_on, zone))


class ResumedSubscription(NamedTuple):
    """A resumed subscription, and the due dates that it missed during the pause."""

    subscription: DonationSubscription
    missed_due_dates: list[date]


def as_resumed(subscription: DonationSubscription, now: datetime, zone: tzinfo) -> ResumedSubscription:
    """The subscription as resumed."""
    missed = [
        day
        for day in subscription.due_dates_until(now.astimezone(zone).date())
        if subscription.charge_datetime(day, zone) <= now
    ]
    subscription = replace(subscription, status="active", paused_until=None, pause_reason=None)
    assert subscription.next_due_on is not None, "a plan that has begun has its next date"
    next_due_on = subscription.next_due_date_after(missed[-1]) if missed else subscription.next_due_on
    return ResumedSubscription(with_next_due_date(subscription, next_due_on, zone), missed)


def next_charge_day(subscription: DonationSubscription, frequency: Frequency, now: datetime, zone: tzinfo) -> date:
    """The day of the next charge at this frequency; for a plan that is paused without an end, if it is resumed now."""
    subscription = with_frequency(subscription, frequency, now.astimezone(zone).date(), zone)
    if subscription.next_donation_at is not None:
        return subscription.next_donation_at.astimezone(zone).date()
    resumed = as_resumed(subscription, now, zone).subscription
    assert resumed.next_due_on is not None, "a plan that has begun and not ended has its next date"
    return resumed.next_due_on


def as_cancelled(subscription: DonationSubscription, reason: CancellationReason, now: datetime) -> DonationSubscription:
    """The subscription as cancelled."""
    return replace(
        subscription,
        status="cancelled",
        cancelled_at=now,
        cancellation_reason=reason,
        next_due_on=None,
        next_donation_at=None,
        paused_until=None,
        pause_reason=None,
        past_due_since=None,
        pending_change=None,
        proposed_organisation_id=None,
    )


def with_frequency(
    subscription: DonationSubscription, frequency: Frequency, today: date, zone: tzinfo
) -> DonationSubscription:
    """The subscription with another frequency; its next date is the first after today and after the last due date."""
    if (
        subscription.frequency == frequency
        or subscription.next_due_on is None
        or subscription.anchor_on == subscription.next_due_on
    ):
        return replace(subscription, frequency=frequency)  # a chosen next date stays
    last = max(today, _date_before(subscription))
    changed = replace(subscription, frequency=frequency)
    due_on = changed.next_due_date_after(last)
    if subscription.status == "paused":
        assert subscription.pause_reason is not None, "a paused plan has its reason"
        return as_paused(
            replace(changed, next_due_on=due_on), subscription.paused_until, subscription.pause_reason, zone
        )
    return with_next_due_date(changed, due_on, zone)


def _date_before(subscription: DonationSubscription) -> date:
    """The date before the next one: the last due date, or the first donation's."""
    assert subscription.anchor_on is not None, "a plan that has begun has its day"
    found, number = subscription.anchor_on, 1
    while (
        subscription.next_due_on is not None
        and (due_on := recurrence.nth_occurrence_date(subscription.anchor_on, subscription.frequency, number))
        < subscription.next_due_on
    ):
        found, number = due_on, number + 1
    return found


def as_rescheduled(subscription: DonationSubscription, due_on: date, today: date, zone: tzinfo) -> DonationSubscription:
    """The subscription with this next date, from which later ones are counted. Raises InvalidDate."""
    if not today < due_on <= today + MAX_NEXT_DATE:
        raise InvalidDate(f"the next gift may be from {today + timedelta(days=1)} to {today + MAX_NEXT_DATE}")
    return with_next_due_date(replace(subscription, anchor_on=due_on), due_on, zone)


def next_processing_at(
    subscription: DonationSubscription, charge: SubscriptionCharge | None, zone: tzinfo
) -> datetime | None:
    """When the scheduler must process the subscription next."""
    if subscription.status == "pending" or (subscription.status == "cancelled" and charge is None):
        return None
    if subscription.status in ("cancelled", "paused") and charge is not None:
        return subscription.updated_at  # the open date must be closed
    if subscription.status == "paused":
        return subscription.paused_until
    moments: list[datetime | None] = [subscription.next_donation_at]
    moments.append(past_due_cancellation_at(subscription, zone))
    if charge is not None:
        after = last_charge_day(charge.due_on) + timedelta(days=1)
        moments.append(recurrence.local_time_to_utc(after, time(), zone))
        moments.append(charge.next_attempt_at if subscription.chargeable else None)
    moments += [yearly_reminder_at(subscription, zone), card_expiry_notice_at(subscription)]
    return min(moment for moment in moments if moment is not None)


def past_due_cancellation_at(subscription: DonationSubscription, zone: tzinfo) -> datetime | None:
    """When a past due subscription is cancelled: before the donation that is due on that day."""
    if subscription.past_due_since is None:
        return None
    return subscription.charge_datetime(subscription.past_due_since.astimezone(zone).date() + CANCELLED_AFTER, zone)


def yearly_reminder_at(subscription: DonationSubscription, zone: tzinfo) -> datetime | None:
    """When to announce the next yearly donation; None if it was announced, or the subscription is not yearly."""
    if (
        subscription.frequency != "yearly"
        or subscription.next_due_on is None
        or subscription.reminded_on == subscription.next_due_on
    ):
        return None
    return subscription.charge_datetime(subscription.next_due_on - REMINDED_BEFORE, zone)


def card_expiry_notice_at(subscription: DonationSubscription) -> datetime | None:
    """When to announce that the card expires: at the start of its last month; None if it was announced."""
    saved = subscription.payment_method
    if saved is None or saved.expires_at == subscription.card_announced_at:
        return None
    return saved.expires_at.replace(day=1, hour=0, minute=0, second=0, microsecond=0)

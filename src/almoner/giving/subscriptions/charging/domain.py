"""Rules for the due dates of a subscription; pure (settled 11)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final

from almoner.giving.subscriptions.donation_subscriptions.domain import DonationSubscription, last_charge_day
from almoner.kit import recurrence

LIVE_PAYMENT_RETRY: Final = timedelta(hours=1)
"""When a due date is checked again if its donor is paying right now."""


@dataclass(frozen=True, slots=True)
class ChargeDueDates:
    """Due dates of a subscription. ``date_to_charge``: the one to charge; ``skipped_older_dates``: those it covers.

    ``dates_too_late_to_charge``: dates that may no longer be charged. ``first_charge_attempt_at``: of the opened date.
    """

    date_to_charge: date | None
    skipped_older_dates: Sequence[date]
    dates_too_late_to_charge: Sequence[date]
    first_charge_attempt_at: datetime | None

    @property
    def last_due_date(self) -> date:
        """The last due date."""
        return max(
            [
                *([self.date_to_charge] if self.date_to_charge else []),
                *self.skipped_older_dates,
                *self.dates_too_late_to_charge,
            ]
        )


def compute_charge_due_dates(subscription: DonationSubscription, now: datetime, zone: tzinfo) -> ChargeDueDates | None:
    """The dates that are due at ``now``: at most one is charged, and none on a day with an earlier charge."""
    today = now.astimezone(zone).date()
    due = [day for day in subscription.due_dates_until(today) if subscription.charge_datetime(day, zone) <= now]
    if not due:
        return None
    in_time = [day for day in due if today <= last_charge_day(day)]
    too_late = [day for day in due if today > last_charge_day(day)]
    if not in_time:
        return ChargeDueDates(None, (), too_late, None)
    *missed, opened = in_time
    return ChargeDueDates(opened, missed, too_late, _first_try(subscription, now, zone))


def _first_try(subscription: DonationSubscription, now: datetime, zone: tzinfo) -> datetime:
    today = now.astimezone(zone).date()
    if subscription.last_charged_on is None or subscription.last_charged_on < today:
        return now
    return subscription.charge_datetime(today + timedelta(days=1), zone)


def charge_window_closes_at(due_on: date, zone: tzinfo) -> datetime:
    """When a date can no longer be charged."""
    return recurrence.local_time_to_utc(last_charge_day(due_on) + timedelta(days=1), time(), zone)

"""A simple model of recurring donations: lists of dates, and the rules one after the other."""

from calendar import monthrange
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("America/New_York")
RETRY, DONOR, REVOKED = "retry", "ask_donor", "revoked"
_MONTHS = {"monthly": 1, "quarterly": 3, "yearly": 12}


def local_day(moment: datetime) -> date:
    """The date in the plan's time zone."""
    return moment.astimezone(ZONE).date()


@dataclass(slots=True)
class OpenDate:
    """A due date that is not settled."""

    due: date
    next_try: datetime | None


@dataclass(slots=True, eq=False)
class ModelNonprofit:
    """Who receives. ``merged_into``: the next one, which may have been merged itself."""

    id: str
    active: bool = True
    merged_into: "ModelNonprofit | None" = None

    @property
    def successor(self) -> "ModelNonprofit | None":
        """The last one of its mergers."""
        last = self.merged_into
        while last is not None and last.merged_into is not None:
            last = last.merged_into
        return last


@dataclass(slots=True)
class ModelPlan:
    """One plan. ``declines``: the outcomes of its next charges; ``dates``: the outcome of each date.

    ``stopped``: paused since its nonprofit cannot receive. ``proposed``: the nonprofit to which its donor may agree.
    """

    begun: datetime
    frequency: str
    nonprofit: ModelNonprofit
    declines: list[str] = field(default_factory=list)
    status: str = "active"
    ended_by: str | None = None
    dates: dict[date, str] = field(default_factory=dict)
    charged: list[tuple[date, date]] = field(default_factory=list)
    open: OpenDate | None = None
    usable: bool = True
    stopped: bool = False
    proposed: ModelNonprofit | None = None
    until: datetime | None = None
    late_since: date | None = None
    last_attempt: date | None = None
    number: int = 1
    told: Counter[str] = field(default_factory=lambda: Counter({"begun": 1}))

    def date_at(self, number: int) -> date:
        """The date with a number, counted in calendar months."""
        first = local_day(self.begun)
        if self.frequency == "weekly":
            return first + timedelta(weeks=number)
        month, year = first.month + _MONTHS[self.frequency] * number, first.year
        while month > 12:
            month, year = month - 12, year + 1
        return date(year, month, min(first.day, monthrange(year, month)[1]))

    def moment(self, day: date) -> datetime:
        """When a date is charged."""
        at = self.begun.astimezone(ZONE).time().replace(microsecond=0)
        return datetime.combine(day, at, ZONE).astimezone(UTC)

    def due_by(self, now: datetime) -> list[date]:
        """Remove and return the dates that are due."""
        found = []
        while self.moment(self.date_at(self.number)) <= now:
            found.append(self.date_at(self.number))
            self.number += 1
        return found

    def settle(self, outcome: str) -> None:
        """Settle the open date."""
        assert self.open is not None
        self.dates[self.open.due] = outcome
        self.open = None

    def end(self, by: str) -> None:
        """End the plan."""
        self.status, self.ended_by = "cancelled", by
        self.told["cancelled"] += 1
        if self.open:
            self.settle("cancelled")

    def pause(self, until: datetime | None) -> None:
        """Pause the plan until then."""
        self.status, self.until, self.late_since = "paused", until, None
        self.told["paused"] += 1
        if self.open:
            self.settle("paused")

    def resume(self, now: datetime) -> None:
        """Resume the plan; dates within the pause are skipped."""
        self.status, self.until, self.stopped = "active", None, False
        self.told["resumed"] += 1
        self.dates |= dict.fromkeys(self.due_by(now), "paused")

    def stop(self) -> None:
        """Its nonprofit cannot receive: nothing is charged until somebody decides."""
        if self.open:
            self.settle("organisation_cannot_receive")
        self.status, self.late_since, self.stopped = "paused", None, True
        self.told["organisation_stopped"] += 1

    @property
    def may_move(self) -> bool:
        """Its donor may agree to the other nonprofit."""
        return self.proposed is not None and self.proposed.active and self.proposed is self.nonprofit.successor

    def follow_mergers(self) -> None:
        """Its donor is asked about the nonprofit into which its own was merged, and not charged until then."""
        successor = self.nonprofit.successor
        if self.status == "cancelled" or successor is None or (successor is self.proposed and successor.active):
            return
        if not successor.active:
            self.proposed = None
            return
        if self.status != "paused":
            self.stop()
        self.proposed = successor
        self.told["organisation_proposed"] += 1

    def move(self, now: datetime) -> None:
        """Its donor agrees to the other nonprofit."""
        assert self.proposed is not None
        self.nonprofit, self.proposed = self.proposed, None
        self.told["organisation_moved"] += 1
        if self.stopped:
            self.status, self.stopped = "active", False
            self.dates |= dict.fromkeys(self.due_by(now), "organisation_cannot_receive")

    def skip(self, by: str) -> None:
        """Skip the next date."""
        self.dates[self.date_at(self.number)] = by
        self.number += 1
        self.told["date_skipped"] += 1

    def take_card(self, now: datetime) -> None:
        """Replace the card by one that works."""
        if self.open and not self.usable and self.open.next_try is None:
            self.open.next_try = now
        self.usable = True
        self.declines.clear()
        self.told["payment_method_changed"] += 1

    def work(self, now: datetime) -> None:
        """Apply everything that a running service does by now."""
        if self.status == "paused" and self.until is not None and self.until <= now:
            self.resume(now)
        if self.status not in ("active", "past_due"):
            return
        today = local_day(now)
        if self.late_since and now >= self.moment(self.late_since + timedelta(days=28)):
            self.end("payment_failed")
            return
        if self.open and now >= datetime.combine(self.open.due + timedelta(days=8), time(), ZONE):
            self.settle("failed")
        due = self.due_by(now)
        if due and self.open:
            self.settle("failed")
        in_time = [day for day in due if (today - day).days <= 7]
        self.dates |= {day: "too_late" for day in due if day not in in_time}
        self.dates |= dict.fromkeys(in_time[:-1], "missed_date")
        self.told["dates_skipped"] += len(due) > 1 or len(in_time) < len(due)
        if in_time:
            first = self.moment(today + timedelta(days=1)) if self.last_attempt == today else now
            self.open = OpenDate(in_time[-1], first)
        if self.open and self.usable and self.open.next_try and self.open.next_try <= now:
            self._charge(today, now)

    def wakes_at(self) -> datetime | None:
        """When a service has to do something about it next, if nobody changes it before."""
        if self.status not in ("active", "past_due"):
            return self.until if self.status == "paused" else None
        moments = [self.moment(self.date_at(self.number))]
        if self.late_since:
            moments.append(self.moment(self.late_since + timedelta(days=28)))
        if self.open:
            moments.append(datetime.combine(self.open.due + timedelta(days=8), time(), ZONE))
            if self.usable and self.open.next_try:
                moments.append(self.open.next_try)
        return min(moments)

    def _charge(self, today: date, now: datetime) -> None:
        assert self.open is not None
        if not self.nonprofit.active:
            self.stop()
            if self.nonprofit.successor is None:
                self.proposed = None
            self.follow_mergers()
            return
        self.proposed = None
        self.last_attempt = today
        outcome = self.declines.pop(0) if self.declines else "paid"
        if outcome == "paid":
            self.charged.append((self.open.due, today))
            self.settle("paid")
            self.status, self.late_since = "active", None
            return
        later = [self.open.due + timedelta(days=days) for days in (1, 3, 5, 7)]
        again = [day for day in later if day > today] if outcome == RETRY else []
        self.open.next_try = self.moment(again[0]) if again else None
        self.usable = outcome == RETRY
        self.late_since = self.late_since or today
        self.status = "past_due"
        if outcome == REVOKED:
            self.end("revoked")
        else:
            self.told["payment_failed"] += 1
